// The manifest is read from the header comment of the element.
export default {
  globs: ["src/element/drawn-block.ts", "src/element/element.ts", "src/index.ts"],
  outdir: ".",
  packagejson: false,
};
