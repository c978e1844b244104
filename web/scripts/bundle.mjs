// Bundles the element: a module, beside it the chunks that it loads from its own folder when a page first needs them,
// and all of it in one file for a plain `<script>`. The part without any DOM is a file of its own.
import { readFile, writeFile } from "node:fs/promises";
import { basename, join, relative, resolve } from "node:path";
import { build, transform } from "esbuild";
import { minify } from "terser";
import { internalNames } from "./internal-names.mjs";

const SOURCES = resolve("src");
const common = { bundle: true, minify: true, target: "es2022", format: "esm", charset: "utf8", legalComments: "none" };

/** Each chunk with the modules that are its own; all others it takes from the element's script. */
const CHUNKS = {
  "element/body": [
    "core/steps",
    "core/excerpts",
    "element/auto-close",
    "element/body-icons",
    "element/body-styles",
    "element/button",
    "element/draw-options",
    "element/markdown",
    "element/readable-call",
    "element/scroll-anchor",
    "element/step-list",
  ],
  "element/timeline": [],
  "sources/messages": [],
  "sources/other-formats": ["sources/dialects", "sources/records"],
  "core/portuguese": ["core/words-pt"],
  "core/sentence": [],
};

/** Leaves out what is loaded later or shared: chunks lie beside the script, and take what they share from it. */
const separateChunks = (ownModules) => ({
  name: "separate chunks",
  setup: ({ onResolve }) =>
    onResolve({ filter: /^\.\.?\// }, ({ kind, path, resolveDir }) => {
      if (kind === "entry-point") return null;
      if (kind === "dynamic-import") return { path: `./${basename(path)}`, external: true };
      const module = relative(SOURCES, join(resolveDir, path)).replace(/\.js$/, "");
      const shared = ownModules && !ownModules.includes(module);
      return shared ? { path: "./thinking-block.js", external: true } : null;
    }),
});

/** Minifies the style sheets, which are template strings. */
const minifiedStyles = {
  name: "minified styles",
  setup: ({ onLoad }) =>
    onLoad({ filter: /styles\.ts$/ }, async ({ path }) => {
      const source = await readFile(path, "utf8");
      const [, css] = /const CSS = `([^`]*)`/.exec(source);
      const { code } = await transform(css, { loader: "css", minify: true, charset: "utf8" });
      return { loader: "ts", contents: source.replace(css, () => code.trim()) };
    }),
};

/** Bundles one entry with internal names shortened, the same name always in the same way. */
async function bundle(entry, { plugins = [], names = {}, ...options } = {}) {
  const { outputFiles, mangleCache } = await build({
    ...common,
    ...options,
    entryPoints: [`src/${entry}.ts`],
    write: false,
    plugins: [...plugins, minifiedStyles],
    mangleProps: internalNames,
    mangleCache: names,
  });
  return { code: outputFiles[0].text, names: mangleCache };
}

/** A second minifier makes the result 4 % smaller. */
async function minified(code) {
  const compress = {
    passes: 3,
    ecma: 2022,
    unsafe_arrows: true,
    unsafe_methods: true,
    keep_fargs: false,
    inline: 1,
    lhs_constants: false,
  };
  return (await minify(code, { module: true, compress, ecma: 2022 })).code;
}

/** The element's script; `names` says how internal names were shortened. */
export const bundleScript = (plugins = []) => bundle("script", { plugins: [...plugins, separateChunks(null)] });

async function bundleAll() {
  const save = async (name, code) => writeFile(`dist/${name}.js`, await minified(code));
  const { code, names } = await bundleScript();
  await save("thinking-block", code);
  await save("thinking-block.global", (await bundle("index", { format: "iife" })).code);
  for (const [entry, ownModules] of Object.entries(CHUNKS)) {
    const chunk = await bundle(entry, { names, plugins: [separateChunks(ownModules)] });
    await save(basename(entry), chunk.code);
  }
  const { outputFiles } = await build({ ...common, entryPoints: ["src/core.ts"], write: false });
  await save("core", outputFiles[0].text);
}

if (process.argv[1] === new URL(import.meta.url).pathname) await bundleAll();
