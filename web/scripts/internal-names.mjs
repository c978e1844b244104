// Names of members that only this package uses, so that the bundle may shorten them. A name that a browser knows, or
// that stands in an event, a policy, a table of words or a record, must never be among them: the check below refuses it.
import { readFileSync } from "node:fs";

const NAMES = `
  startedMs endedMs callId summaryBy pieces blank rewrites awaitingResult seals notices replies
  ownBlocks since hasAnswer until calls live thoughts unfinished stateOf openOf timeOf
  turn lastMessageAt emit startBlock manualBlock changes applyStatus givenStatus readsMessage atMs
  drawClosed requestToggle templates drawSingle drawThought setOpen setTimer
  autoClose beforeClosing closes stateChanged pauseClosing
  createTree afterConnect turnFeed currentPolicy customRenderer noteChoice setPolicy customize redraw computeView markChanged drawSoon
  nextFrame nextGrowth kept allowClosing announceState forget closedSteps
  boxes leaf filled within need quote aroundCount
`
  .trim()
  .split(/\s+/);

const TYPES = "../node_modules/typescript/lib/lib";
const KNOWN = ["dom", "es5", "es2015.core", "es2015.collection", "es2023.array"].map((name) => `${TYPES}.${name}.d.ts`);
const WIRE = ["core/events", "core/policy", "core/words-en", "core/locales", "sources/records", "sources/ui-message"];

const read = (path) => readFileSync(new URL(path, import.meta.url), "utf8");
const MEMBER = /^\s*(?:readonly |get |set )*"?(\w+)"?\??[:(<]/gm;

for (const path of [...KNOWN, ...WIRE.map((name) => `../src/${name}.ts`)]) {
  const declared = new Set(Array.from(read(path).matchAll(MEMBER), ([, name]) => name));
  const clashes = NAMES.filter((name) => declared.has(name));
  if (clashes.length) throw new Error(`${clashes.join(", ")}: ${path} has this name, so it cannot be shortened`);
}

// The fields of a provider's JSON are read by these names.
const PROVIDERS = [
  "anthropic",
  "detect",
  "errors",
  "gemini",
  "ollama",
  "openai-chat",
  "openai-responses",
  "partial-call",
];
for (const path of PROVIDERS.map((name) => `../src/sources/providers/${name}.ts`)) {
  const fields = new Set(Array.from(read(path).matchAll(/\.(\w+)\b(?!\()/g), ([, name]) => name));
  const clashes = NAMES.filter((name) => fields.has(name));
  if (clashes.length) throw new Error(`${clashes.join(", ")}: ${path} reads this field, so it cannot be shortened`);
}

// A chunk is used as a module whose exports keep their names.
for (const entry of ["element/body", "sources/streams", "sources/other-formats"]) {
  const exported = Array.from(
    read(`../src/${entry}.ts`).matchAll(/^export (?:async )?function\*? (\w+)/gm),
    ([, name]) => name,
  );
  const clashes = NAMES.filter((name) => exported.includes(name));
  if (clashes.length) throw new Error(`${clashes.join(", ")}: ${entry} exports this name, so it cannot be shortened`);
}

export const internalNames = new RegExp(`^(?:${NAMES.join("|")})$`);
