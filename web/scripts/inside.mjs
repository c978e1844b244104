// Names of members that only we use, so the bundle may shorten them. A name that a browser knows, or that stands in
// an event, a policy, a table of words or a record, must never be among them: the check below refuses it.
import { readFileSync } from "node:fs";

const NAMES = `
  startedMs endedMs callId summaryBy pieces blank rewritten awaited seals outcome notices replies
  since holdStill tick alone think deep offers notes
  boxes leaf filled within need quote
  heard settle tell begin skew extras
  stands openOf took lasted counted thoughtLabel labelOf unfinished thoughts standing changes approval ask home
`.trim().split(/\s+/);

const TYPES = "../node_modules/typescript/lib/lib";
const KNOWN = ["dom", "es5", "es2015.core", "es2015.collection", "es2023.array"].map((name) => `${TYPES}.${name}.d.ts`);
const WIRE = ["events", "opening", "locales", "portuguese", "records"].map((name) => `../src/${name}.ts`);

const read = (path) => readFileSync(new URL(path, import.meta.url), "utf8");
const declared = (text) => new Set(Array.from(text.matchAll(/^\s*(?:readonly |get |set )*"?(\w+)"?\??[:(<]/gm), (found) => found[1]));

for (const path of [...KNOWN, ...WIRE]) {
  const names = declared(read(path));
  const clash = NAMES.filter((name) => names.has(name));
  if (clash.length) throw new Error(`${clash.join(", ")}: ${path} has this name, so it cannot be shortened`);
}

export const inside = new RegExp(`^(?:${NAMES.join("|")})$`);
