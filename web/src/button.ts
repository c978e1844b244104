import { make } from "./dom.js";

/** A button, and what a click on it does. */
export function button(part: string, act: () => void): HTMLButtonElement {
  const node = make("button", part);
  node.type = "button";
  node.onclick = act;
  return node;
}
