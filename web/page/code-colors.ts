/** Colours for code: highlight.js with the languages that answers mostly have, its tokens made into nodes. */

import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import cpp from "highlight.js/lib/languages/cpp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import go from "highlight.js/lib/languages/go";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import python from "highlight.js/lib/languages/python";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";

/** As much of the library's tree as is read here. */
interface Branch {
  scope?: string;
  children: (Branch | string)[];
}

/** Longer code than this is left as it is: colouring it would hold the page up. */
const LONGEST = 50_000;

for (const [name, language] of Object.entries({
  bash,
  cpp,
  css,
  diff,
  go,
  java,
  javascript,
  json,
  python,
  rust,
  sql,
  typescript,
  xml,
  yaml,
}))
  hljs.registerLanguage(name, language);

/** Colour the text of a node, where its language is known. */
export function colour(node: HTMLElement, language: string): void {
  const text = node.textContent ?? "";
  if (!hljs.getLanguage(language) || text.length > LONGEST || node.childElementCount) return;
  const result = hljs.highlight(text, { language, ignoreIllegals: true });
  const tree = (result as unknown as { _emitter: { rootNode: Branch } })._emitter.rootNode;
  const nodes = tree.children.map(made);
  // Whatever the library does, what is shown is what was written.
  if (nodes.map((one) => (typeof one === "string" ? one : one.textContent)).join("") === text)
    node.replaceChildren(...nodes);
}

function made(branch: Branch | string): Node | string {
  if (typeof branch === "string") return branch;
  const span = document.createElement("span");
  const [scope = ""] = (branch.scope ?? "").split(/[.:]/);
  if (scope) span.className = `hl-${scope}`;
  span.append(...branch.children.map(made));
  return span;
}
