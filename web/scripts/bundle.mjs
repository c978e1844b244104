// Bundles the element: a module, beside it the chunks that it loads from its own folder when a page first needs them,
// and all of it in one file for a plain `<script>`. The part without any DOM is a file of its own, and so is the widget.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { basename, join, relative, resolve } from "node:path";
import { build, transform } from "esbuild";
import { minify } from "terser";
import { internalNames } from "./internal-names.mjs";

const SOURCES = resolve("src");
/** The Python package puts these into pages of its own: the element in one file, and the widget of notebooks. */
const PYTHON_SCRIPTS = resolve("../src/thinkaloud/integrations/static");
const common = { bundle: true, minify: true, target: "es2022", format: "esm", charset: "utf8", legalComments: "none" };

/** Each chunk with the modules that are its own. All others it takes from the chunk that has them, else from the script. */
const CHUNK_NAMES = { "sources/providers/reader": "providers" };
const CHUNKS = {
  "element/body": [
    "core/steps",
    "core/excerpts",
    "core/graphemes",
    "core/limits",
    "element/auto-close",
    "element/body-styles",
    "element/markdown",
    "element/step-list",
  ],
  "element/timeline": [],
  "sources/streams": ["sources/frames"],
  "sources/providers/reader": [
    "sources/providers/emitter",
    "sources/providers/errors",
    "sources/providers/fields",
    "sources/providers/markers",
    "sources/providers/tag-profiles",
    "sources/providers/tagged-text",
    "sources/providers/tags",
  ],
  "sources/providers/anthropic": [],
  "sources/providers/gemini": [],
  "sources/providers/ollama": [],
  "sources/providers/openai-chat": [],
  "sources/providers/openai-responses": [],
  "sources/providers/plain-text": [],
  "sources/other-formats": ["sources/dialects", "sources/records", "sources/ui-message"],
  "core/portuguese": ["core/words-pt"],
  "core/sentence": [],
};

/** The file of a chunk or a module: chunks lie side by side. */
const fileOf = (module) => {
  const [owner = "thinking-block"] =
    Object.entries(CHUNKS).find(([entry, ownModules]) => entry === module || ownModules.includes(module)) ?? [];
  return `./${CHUNK_NAMES[owner] ?? basename(owner)}.js`;
};

/** Leaves out what is loaded later or shared: chunks lie beside the script, and take what they share from it. */
const separateChunks = (ownModules) => ({
  name: "separate chunks",
  setup: ({ onResolve }) =>
    onResolve({ filter: /^\.\.?\// }, ({ kind, path, resolveDir }) => {
      if (kind === "entry-point") return null;
      const module = relative(SOURCES, join(resolveDir, path)).replace(/\.js$/, "");
      const shared = kind === "dynamic-import" || (ownModules && !ownModules.includes(module));
      return shared ? { path: fileOf(module), external: true } : null;
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
  const wholeElement = await minified((await bundle("index", { format: "iife" })).code);
  await save("thinking-block", code);
  await writeFile("dist/thinking-block.global.js", wholeElement);
  await mkdir(PYTHON_SCRIPTS, { recursive: true });
  await writeFile(join(PYTHON_SCRIPTS, "thinking-block.js"), wholeElement);
  await writeFile(join(PYTHON_SCRIPTS, "notebook.js"), await minified((await bundle("notebook")).code));
  for (const [entry, ownModules] of Object.entries(CHUNKS)) {
    const chunk = await bundle(entry, { names, plugins: [separateChunks(ownModules)] });
    await save(basename(fileOf(entry), ".js"), chunk.code);
  }
  const { outputFiles } = await build({ ...common, entryPoints: ["src/core.ts"], write: false });
  await save("core", outputFiles[0].text);
  await build({ entryPoints: ["src/undefined.css"], minify: true, outfile: "dist/thinking-block.css" });
}

if (process.argv[1] === new URL(import.meta.url).pathname) await bundleAll();
