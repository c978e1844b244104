/** Registers `<thinking-block>` and, for those who know it by that name, `<koder-thinking-block>`. */

import { ThinkingBlockElement } from "./element.js";

/** The same element under its other name; a class can be registered only once. */
export class KoderThinkingBlockElement extends ThinkingBlockElement {}

if (!customElements.get("thinking-block")) {
  customElements.define("thinking-block", ThinkingBlockElement);
  customElements.define("koder-thinking-block", KoderThinkingBlockElement);
}

export { ThinkingBlockElement };
export type { ThinkingView } from "./element.js";
export type { Entry, Event } from "./events.js";
export type { Renderer } from "./markdown.js";
export type { Policy } from "./opening.js";
export type { ThinkingBlock, ThinkingStep } from "./records.js";


declare global {
  interface HTMLElementTagNameMap {
    "thinking-block": ThinkingBlockElement;
    "koder-thinking-block": ThinkingBlockElement;
  }
}
