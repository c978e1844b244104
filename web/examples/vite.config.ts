// Builds the three apps as pages of their own, and copies the one that needs no build.
import { svelte } from "@sveltejs/vite-plugin-svelte";
import vue from "@vitejs/plugin-vue";
import { cpSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

const plain = {
  name: "the page without a build, as it is, with the three files that it names",
  apply: "build" as const,
  closeBundle() {
    cpSync(here("plain"), here("dist/plain"), { recursive: true });
    for (const file of ["replay.js", "../dist/thinking-block.global.js", "../../examples/recorded_turn.ndjson"])
      cpSync(here(file), here(`dist/plain/${file.split("/").at(-1)}`));
  },
};

export default defineConfig({
  base: "./",
  plugins: [
    // Without this, Vue looks for a component of that name and warns that there is none.
    vue({ template: { compilerOptions: { isCustomElement: (tag) => tag === "thinking-block" } } }),
    svelte(),
    plain,
  ],
  server: { fs: { allow: [here("../..")] } },
  build: { rollupOptions: { input: ["react", "vue", "svelte"].map((name) => here(`${name}/index.html`)) } },
});
