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
  for (const applied of made.querySelectorAll("mo")) if (applied.textContent === APPLIED) spaceFunction(applied);
  node.replaceChildren(...made.childNodes);
}

/** The invisible operator that KaTeX puts after the name of a function. */
const APPLIED = "\u2061";
const THIN_SPACE = "\u2009";
const MATHML = "http://www.w3.org/1998/Math/MathML";

/** Puts the spaces of TeX around the name of a function: MathML has none there, and “n log n” would be one word. */
function spaceFunction(applied: Element): void {
  const name = applied.previousElementSibling;
  const before = name?.previousElementSibling?.localName ?? "";
  const after = applied.nextElementSibling?.localName ?? "";
  if (before && before !== "mo") name?.before(thinSpace());
  if (after && after !== "mo") applied.after(thinSpace());
}

function thinSpace(): Element {
  const space = document.createElementNS(MATHML, "mtext");
  space.textContent = THIN_SPACE;
  return space;
}
