// Bundles the element: a module, beside it the chunks that it loads from its own folder when a page first needs them,
// and all of it in one file for a plain `<script>`. The pure twin is a file of its own.
import { build, transform } from "esbuild";
import { readFile, writeFile } from "node:fs/promises";
import { minify } from "terser";
import { inside } from "./inside.mjs";

const common = { bundle: true, minify: true, target: "es2022", format: "esm", charset: "utf8", legalComments: "none" };
/** Each chunk with the modules that are its own; all others it takes from the element's script. */
const CHUNKS = {
  body: ["steps", "markdown", "scrolling", "body-styles", "step-views", "excerpts", "button"],
  consume: [],
  others: ["dialects", "records"],
  portuguese: [],
  sentence: [],
};

/** What is imported when it is needed is found beside the script, and what a chunk shares with it is taken from it. */
const apart = (own) => ({
  name: "leave the chunks apart",
  setup: ({ onResolve }) =>
    onResolve({ filter: /^\.\// }, ({ kind, path }) => {
      if (kind === "entry-point") return null;
      if (kind === "dynamic-import") return { path, external: true };
      const shared = own && !own.includes(path.slice(2, -3));
      return shared ? { path: "./thinking-block.js", external: true } : null;
    }),
});

/** The sheet inside styles.ts, without what only people need. */
const shortStyles = {
  name: "shorten the styles",
  setup: ({ onLoad }) =>
    onLoad({ filter: /styles\.ts$/ }, async ({ path }) => {
      const source = await readFile(path, "utf8");
      const [, css] = /const CSS = `([^`]*)`/.exec(source);
      const { code } = await transform(css, { loader: "css", minify: true, charset: "utf8" });
      return { loader: "ts", contents: source.replace(css, () => code.trim()) };
    }),
};

/** Bundle one entry with the names of the inside shortened, the same name always in the same way. */
export async function bundled(entry, { plugins = [], names = {}, ...wishes } = {}) {
  const { outputFiles, mangleCache } = await build({
    ...common,
    ...wishes,
    entryPoints: [`src/${entry}.ts`],
    write: false,
    plugins: [...plugins, shortStyles],
    mangleProps: inside,
    mangleCache: names,
  });
  return { code: outputFiles[0].text, names: mangleCache };
}

/** A second look by another minifier: it earns 4 %. */
async function shortest(code) {
  const compress = { passes: 3, ecma: 2022, unsafe_arrows: true, unsafe_methods: true, keep_fargs: false, inline: 1, lhs_constants: false };
  return (await minify(code, { module: true, compress, ecma: 2022 })).code;
}

/** The element's script; `names` is how it shortened what is inside. */
export const script = (plugins = []) => bundled("core", { plugins: [...plugins, apart(null)] });

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const save = async (name, code) => writeFile(`dist/${name}.js`, await shortest(code));
  const { code, names } = await script();
  await save("thinking-block", code);
  await save("thinking-block.global", (await bundled("index", { format: "iife" })).code);
  for (const [chunk, own] of Object.entries(CHUNKS)) await save(chunk, (await bundled(chunk, { names, plugins: [apart(own)] })).code);
  await build({ ...common, entryPoints: ["src/twin.ts"], outfile: "dist/twin.js" });
}
