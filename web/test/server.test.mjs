// A server imports the package too, and has no elements: an import of any entry point does nothing there.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const WEB = new URL("..", import.meta.url);
const { exports } = JSON.parse(readFileSync(new URL("package.json", WEB), "utf8"));

/** Imports the package by its own name, as an app would, in a process without a DOM. */
function run(script) {
  return execFileSync(process.execPath, ["--input-type=module", "--eval", script], { cwd: WEB, encoding: "utf8" });
}

for (const entry of Object.keys(exports).filter((entry) => !/\.(?:json|css)$/.test(entry)))
  test(`import of ${entry} does nothing on a server`, () => {
    const before = "const before = Object.keys(globalThis).join();";
    const after = "console.log(Object.keys(globalThis).join() === before);";
    const name = `thinking-block${entry.slice(1)}`;
    assert.equal(run(`${before} await import(${JSON.stringify(name)}); ${after}`).trim(), "true");
  });

test("the class can be named on a server, and none is made there", () => {
  const script = 'import { ThinkingBlockElement } from "thinking-block"; console.log(typeof ThinkingBlockElement);';
  assert.equal(run(script).trim(), "function");
});
