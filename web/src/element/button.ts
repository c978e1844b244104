/** Buttons. */

import { make } from "./dom.js";

/** A button and its action. Where the clipboard refuses, nothing was copied, and nothing breaks. */
export function button(part: string, act: () => unknown): HTMLButtonElement {
  const node = make("button", part);
  node.type = "button";
  node.onclick = async () => {
    try {
      await act();
    } catch {
      // The clipboard refused.
    }
  };
  return node;
}
