export default defineNuxtConfig({
  compatibilityDate: "2026-01-01",
  css: ["thinking-block/style.css"],
  telemetry: false,
  vue: { compilerOptions: { isCustomElement: (tag) => tag === "thinking-block" } },
});
