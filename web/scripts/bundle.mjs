// Bundles the element: one script that does the whole job, as a module and for a plain `<script>`, and beside it the
// chunks that it loads from its own folder when a page first needs them. The pure twin is a file of its own.
import { build, transform } from "esbuild";
import { readFile, writeFile } from "node:fs/promises";
import { minify } from "terser";
import { inside } from "./inside.mjs";

const common = { bundle: true, minify: true, target: "es2022", format: "esm", charset: "utf8", legalComments: "none" };
const CHUNKS = ["others", "portuguese", "sentence"];

/** What the element imports when it needs it stays outside, to be found beside the script. */
export const apart = {
  name: "leave the chunks apart",
  setup: ({ onResolve }) =>
    onResolve({ filter: /^\.\// }, ({ kind, path }) => (kind === "dynamic-import" ? { path, external: true } : null)),
};

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
export async function core(entry, { plugins = [], names = {} } = {}) {
  const { outputFiles, mangleCache } = await build({
    ...common,
    entryPoints: [`src/${entry}.ts`],
    write: false,
    plugins: [...plugins, apart, shortStyles],
    mangleProps: inside,
    mangleCache: names,
  });
  return { code: outputFiles[0].text, names: mangleCache };
}

/** A second look by another minifier: it earns 4 %. */
async function shortest(code, enclose) {
  const compress = { passes: 3, ecma: 2022, unsafe_arrows: true, unsafe_methods: true, keep_fargs: false, inline: 1, lhs_constants: false };
  return (await minify(code, { module: true, enclose, compress, ecma: 2022 })).code;
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const { code, names } = await core("index");
  const save = (name, text) => writeFile(`dist/${name}.js`, text);
  await save("thinking-block", await shortest(code, false));
  await save("thinking-block.global", await shortest(code.replace(/export\s*\{[^}]*\};?\s*$/, ""), true));
  for (const chunk of CHUNKS) await save(chunk, await shortest((await core(chunk, { names })).code, false));
  await build({ ...common, entryPoints: ["src/twin.ts"], outfile: "dist/twin.js" });
}
