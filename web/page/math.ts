/** Mathematics: KaTeX reads TeX, the browser draws the MathML; no style sheet, no font, no markup from text. */

import katex from "katex";

/** Replace the TeX in a node by what it means; TeX that cannot be read stays as it is. */
export function typeset(node: HTMLElement, display: boolean): void {
  const tex = node.textContent ?? "";
  const made = document.createElement("span");
  try {
    katex.render(tex, made, {
      output: "mathml",
      displayMode: display,
      throwOnError: true,
      trust: false,
      strict: "ignore",
      maxExpand: 200,
    });
  } catch {
    return;
  }
  node.replaceChildren(...made.childNodes);
}
