// Bundles the element twice: as modules, where the pure twin is a file of its own that a page can share, and
// as one plain script that needs nothing else.
import { build } from "esbuild";

const common = { bundle: true, minify: true, target: "es2022", charset: "utf8", legalComments: "none" };

/** The modules without any DOM; the element takes them from the twin's file. */
const PURE = /^\.\/(consume|dialects|events|feed|graphemes|locales|opening|preview|records|standing|summary|transcript|view|words)\.js$/;

const shared = {
  name: "take the pure modules from the twin's file",
  setup: ({ onResolve }) => onResolve({ filter: PURE }, () => ({ path: "./twin.js", external: true })),
};

await build({ ...common, entryPoints: ["src/twin.ts"], format: "esm", outfile: "dist/twin.js" });
await build({ ...common, entryPoints: ["src/index.ts"], format: "esm", outfile: "dist/thinking-block.js", plugins: [shared] });
await build({ ...common, entryPoints: ["src/index.ts"], format: "iife", outfile: "dist/thinking-block.global.js" });
