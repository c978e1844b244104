// Builds the chat page into the Python package: scripts and styles named by their content, and the page that names them.

import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.env.PAGE_OUT ?? join(here, "../../src/thinkaloud/gateway/server/static");
const FIRST_LOAD_LIMIT = 40 * 1024;

await rm(out, { recursive: true, force: true });
await mkdir(out, { recursive: true });

const sharedName = await buildShared();

const options = {
  entryPoints: [join(here, "main.ts"), join(here, "before-paint.ts"), join(here, "page.css")],
  outdir: out,
  bundle: true,
  splitting: true,
  minify: true,
  metafile: true,
  format: "esm",
  target: "es2022",
  legalComments: "none",
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  absWorkingDir: here,
  define: { SHARED_TEMPLATE: JSON.stringify(`/static/${sharedName}`) },
};
const { metafile } = await build({ ...options, plugins: [firstLoadInOneFile(await lateModules(options))] });

const outputs = Object.entries(metafile.outputs).map(([path, output]) => ({ name: basename(path), ...output }));
const named = (stem) => outputs.find(({ name }) => name.startsWith(`${stem}-`)).name;

const icon = await readFile(join(here, "icon.svg"));
const iconName = `icon-${createHash("sha256").update(icon).digest("hex").slice(0, 8)}.svg`;
await writeFile(join(out, iconName), icon);

const names = { css: named("page"), beforePaint: named("before-paint"), main: named("main"), icon: iconName };
const template = await readFile(join(here, "index.html"), "utf8");
await writeFile(
  join(out, "index.html"),
  template.replace(/%(\w+)%/g, (_, key) => `/static/${names[key]}`),
);
await writeFile(join(out, "licenses.txt"), await licenses(["marked", "highlight.js", "katex", "uplot"]));

// The first load is every script that runs before anybody clicks: the entries, the welcome, and what they import at once.
const first = new Set();
const walk = (name) => {
  if (first.has(name)) return;
  first.add(name);
  const { imports } = outputs.find((output) => output.name === name);
  for (const { path, kind } of imports) if (kind === "import-statement") walk(basename(path));
};
walk(names.main);
walk(names.beforePaint);
walk(named("welcome"));
const zipped = async (name) => gzipSync(await readFile(join(out, name)), { level: 9 }).length;
let size = 0;
for (const name of first) size += await zipped(name);
console.log(`Built the page: ${size} bytes of script on first load (gzip), at most ${FIRST_LOAD_LIMIT}`);
if (size > FIRST_LOAD_LIMIT) process.exit(1);

/** The modules that the page imports only when it needs them. */
async function lateModules(options) {
  const { metafile } = await build({ ...options, write: false });
  const entries = Object.values(metafile.outputs).flatMap(({ entryPoint }) =>
    entryPoint ? [join(here, entryPoint)] : [],
  );
  return new Set(entries.filter((path) => !options.entryPoints.includes(path)));
}

/**
 * Has every late module import the main one, which has run by then. esbuild puts modules into one file where the same
 * entries need them: so all of the first load is one file, and not twenty that compress badly.
 */
function firstLoadInOneFile(late) {
  const first = `import ${JSON.stringify(join(here, "main.ts"))};\n`;
  const load = async ({ path }) =>
    late.has(path) ? { contents: first + (await readFile(path, "utf8")), loader: "ts" } : undefined;
  return { name: "first-load-in-one-file", setup: (building) => building.onLoad({ filter: /\.ts$/ }, load) };
}

/** The file for a shared conversation: one script, one style, and a policy that allows these two and nothing else. */
async function buildShared() {
  const options = {
    bundle: true,
    minify: true,
    write: false,
    target: "es2022",
    legalComments: "none",
    charset: "utf8",
  };
  const bundled = async (entry, more = {}) => {
    const { outputFiles } = await build({ ...options, ...more, entryPoints: [join(here, entry)] });
    return outputFiles[0].text.trim();
  };
  const script = (await bundled("shared-view.ts", { format: "iife" })).replaceAll("</script", "<\\/script");
  const css = await bundled("page.css");
  const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
  const csp = `default-src 'none'; script-src ${hash(script)}; style-src ${hash(css)}; img-src data:; base-uri 'none'; form-action 'none'`;
  const template = await readFile(join(here, "shared.html"), "utf8");
  // Only what stands in the template is filled in here; the rest when a conversation is shared.
  const parts = { csp, css, script };
  const file = template.replace(/%(csp|css|script)%/g, (_, key) => parts[key]);
  const name = `shared-${createHash("sha256").update(file).digest("hex").slice(0, 8)}.txt`;
  await writeFile(join(out, name), file);
  return name;
}

async function licenses(packages) {
  const texts = packages.map(async (name) => {
    const folder = join(here, "../node_modules", name);
    const file = (await readdir(folder)).find((one) => /^licen[cs]e/i.test(one));
    return `${name}\n\n${await readFile(join(folder, file), "utf8")}`;
  });
  return (await Promise.all(texts)).join("\n\n");
}
