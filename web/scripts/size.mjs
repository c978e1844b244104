// The size gate: what a page loads, compressed. The script shows a header, the body is loaded when somebody opens it,
// and the other chunks by pages that need them; the global script is all of it, and the core is for those without a DOM.
//
// The goal for header and markdown together is GOAL; it has not been reached, so the gates stand where we are.
// `--modules` tells how much each module adds to the script.
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { bundleScript } from "./bundle.mjs";

const GOAL = 10 * 1024;
const GATES = {
  "thinking-block.js": 16_300,
  "body.js": 9_550,
  "timeline.js": 600,
  "streams.js": 3_150,
  "providers.js": 8_200,
  "openai-chat.js": 3_100,
  "openai-responses.js": 2_450,
  "anthropic.js": 1_550,
  "gemini.js": 2_100,
  "ollama.js": 800,
  "plain-text.js": 400,
  "other-formats.js": 3_800,
  "portuguese.js": 1_000,
  "sentence.js": 700,
  "thinking-block.global.js": 47_050,
  "core.js": 32_000,
};

const compressedSize = (code) => gzipSync(code, { level: 9 }).length;

const inKB = (size) => `${(size / 1024).toFixed(1)} KB`;

const sizes = {};
for (const [file, limit] of Object.entries(GATES)) {
  const code = readFileSync(new URL(`../dist/${file}`, import.meta.url));
  const size = compressedSize(code);
  sizes[file] = size;
  const verdict = size > limit ? ": too large" : "";
  console.log(`${file}: ${code.length} bytes, ${inKB(size)} gzip, ${size} of at most ${limit}${verdict}`);
  if (size > limit) process.exitCode = 1;
}
console.log(`script and body: ${sizes["thinking-block.js"] + sizes["body.js"]} gzip, with a goal of ${GOAL}`);

if (process.argv.includes("--modules")) await listModules();

/** Lists how much smaller the script would be without each module, before the second minifier mixes them. */
async function listModules() {
  const markers = {
    name: "mark where each module begins",
    setup: ({ onLoad }) =>
      onLoad({ filter: /src\/.*\.ts$/ }, ({ path }) => ({
        loader: "ts",
        contents: `MODULE(${JSON.stringify(path.replace(/.*\/src\//, ""))});\n${readFileSync(path, "utf8")}`,
      })),
  };
  const { code } = await bundleScript([markers]);
  const parts = code.split(/MODULE\("([\w./-]+)"\);?,?/);
  const texts = parts.filter((_, index) => index % 2 === 0);
  const whole = compressedSize(texts.join(""));
  const modules = texts.slice(1).map((text, index) => ({
    name: parts[index * 2 + 1],
    bytes: text.length,
    share: whole - compressedSize(texts.filter((other) => other !== text).join("")),
  }));
  for (const { name, bytes, share } of modules.sort((one, other) => other.share - one.share))
    console.log(`${String(share).padStart(6)} gzip, ${String(bytes).padStart(5)} bytes: ${name}`);
}
