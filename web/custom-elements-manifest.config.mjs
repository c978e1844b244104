// The manifest is read from the header comment of the element.
export default { globs: ["src/element.ts", "src/index.ts"], outdir: ".", packagejson: false };
