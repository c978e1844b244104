// Limits on the shape of the code, as `tests/test_shape.py` has them for Python.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const FUNCTION_LINES = 60;
const WEB = fileURLToPath(new URL("..", import.meta.url));
const SOURCE = /\.(?:ts|mjs)$/;

/** The functions of a text that are too long, each with its first line, its name and its number of lines. */
function longFunctions(file, text) {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const lineOf = (position) => source.getLineAndCharacterOfPosition(position).line + 1;
  const found = [];
  const visit = (node) => {
    if (ts.isFunctionLike(node) && node.body) {
      const first = lineOf(node.getStart());
      const lines = lineOf(node.end) - first + 1;
      const name = node.name?.getText() ?? "a function";
      if (lines > FUNCTION_LINES) found.push(`${file}:${first}: ${name} has ${lines} lines`);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

test("no function is longer than 60 lines", () => {
  const files = ["src", "page", "scripts", "test"].flatMap((folder) =>
    readdirSync(join(WEB, folder), { recursive: true }).map((name) => join(folder, name)),
  );
  const sources = files.filter((file) => SOURCE.test(file) && !file.includes("node_modules"));
  assert.ok(sources.length > 100, "too few modules were found");
  const found = sources.flatMap((file) => longFunctions(file, readFileSync(join(WEB, file), "utf8")));
  assert.deepEqual(found, []);
});

test("a function that is too long is found, wherever it stands", () => {
  const body = "\n  work();".repeat(59);
  assert.deepEqual(longFunctions("a.ts", `function long() {${body}\n}`), ["a.ts:1: long has 61 lines"]);
  assert.deepEqual(longFunctions("a.ts", `class A {\n#long() {${body}\n}\n}`), ["a.ts:2: #long has 61 lines"]);
  assert.deepEqual(longFunctions("a.ts", `start(() => {${body}\n});`), ["a.ts:1: a function has 61 lines"]);
  assert.deepEqual(longFunctions("a.ts", `function short() {${body}}`), []);
});
