// The size gate: what a page loads, compressed. The element's script holds all that a page needs to show thinking;
// the chunks are loaded by pages that need them, and the twin by those who have no element.
//
// The aim for the script is AIM; what it holds has not fitted yet, so the gate stands where we are. `--pieces` says
// what each module adds to it.
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { script } from "./bundle.mjs";

const AIM = 10 * 1024;
const GATES = {
  "thinking-block.js": 18_200,
  "thinking-block.global.js": 18_200,
  "others.js": 1_700,
  "portuguese.js": 950,
  "sentence.js": 750,
  "twin.js": 11_500,
};

const zipped = (code) => gzipSync(code, { level: 9 }).length;

for (const [file, most] of Object.entries(GATES)) {
  const code = readFileSync(new URL(`../dist/${file}`, import.meta.url));
  const size = zipped(code);
  console.log(`${file}: ${code.length} bytes, ${size} gzip of at most ${most}${size > most ? ": too large" : ""}`);
  if (size > most) process.exitCode = 1;
  if (file === "thinking-block.js") console.log(`  ${size - AIM} above the aim of ${AIM}`);
}

if (process.argv.includes("--pieces")) await pieces();

/** Every module's share: how much smaller the script would be without its code. Before the second minifier, which mixes them. */
async function pieces() {
  const marked = {
    name: "mark where each module begins",
    setup: ({ onLoad }) =>
      onLoad({ filter: /src\/[\w-]+\.ts$/ }, ({ path }) => ({
        loader: "ts",
        contents: `MODULE(${JSON.stringify(path.replace(/.*\//, ""))});\n${readFileSync(path, "utf8")}`,
      })),
  };
  const { code } = await script([marked]);
  const parts = code.split(/MODULE\("([\w.-]+)"\);?,?/);
  const texts = parts.filter((_, at) => at % 2 === 0);
  const whole = zipped(texts.join(""));
  const shares = texts.slice(1).map((text, at) => [parts[at * 2 + 1], text.length, whole - zipped(texts.filter((one) => one !== text).join(""))]);
  for (const [name, size, share] of shares.sort((one, other) => other[2] - one[2]))
    console.log(`${String(share).padStart(6)} gzip, ${String(size).padStart(5)} bytes: ${name}`);
}
