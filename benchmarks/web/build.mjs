// Bundles one script per contender, as an app in production would. The element stays outside: a page loads it as it is
// built in web/, so that what is measured is never an older one.
import { build } from "esbuild";

const element = {
  name: "leave the element outside",
  setup: ({ onResolve }) => onResolve({ filter: /^thinking-block$/ }, () => ({ path: "/element/thinking-block.js", external: true })),
};

await build({
  entryPoints: ["src/thinking-block.ts", "src/streamdown.tsx", "src/bare-text.ts"],
  outdir: "dist",
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  legalComments: "none",
  logLevel: "warning",
  define: { "process.env.NODE_ENV": '"production"' },
  plugins: [element],
});
