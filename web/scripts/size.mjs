// The size gate: what a page loads, compressed. The script shows a header, the body is loaded when somebody looks, and
// the other chunks by pages that need them; the global script is all of it, and the twin is for those who have no element.
//
// The aim for header and markdown together is AIM; it has not been reached, so the gates stand where we are. `--pieces`
// says what each module adds to the script.
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { script } from "./bundle.mjs";

const AIM = 10 * 1024;
const GATES = {
  "thinking-block.js": 14_600,
  "body.js": 6_900,
  "consume.js": 500,
  "others.js": 1_900,
  "portuguese.js": 950,
  "sentence.js": 600,
  "thinking-block.global.js": 23_500,
  "twin.js": 11_800,
};

let seen = 0;
const zipped = (code) => gzipSync(code, { level: 9 }).length;

for (const [file, most] of Object.entries(GATES)) {
  const code = readFileSync(new URL(`../dist/${file}`, import.meta.url));
  const size = zipped(code);
  console.log(`${file}: ${code.length} bytes, ${size} gzip of at most ${most}${size > most ? ": too large" : ""}`);
  if (size > most) process.exitCode = 1;
  if (file === "body.js") console.log(`  with the script ${size + seen} of an aim of ${AIM}`);
  seen = size;
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
