// The size gate: what a page loads, compressed. The element's file holds all that draws, markdown among it; the
// twin's file holds the pure half, which a page that draws answers too loads anyway; the plain script holds both.
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const KILOBYTE = 1024;
const GATES = { "thinking-block.js": 12, "twin.js": 11, "thinking-block.global.js": 22 };

for (const [file, most] of Object.entries(GATES)) {
  const code = readFileSync(new URL(`../dist/${file}`, import.meta.url));
  const size = gzipSync(code, { level: 9 }).length;
  const fits = size <= most * KILOBYTE;
  console.log(`${file}: ${code.length} bytes, ${size} gzip of at most ${most * KILOBYTE}${fits ? "" : ": too large"}`);
  if (!fits) process.exitCode = 1;
}
