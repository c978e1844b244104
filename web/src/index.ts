/** Registers `<thinking-block>` and, for those who know it by that name, `<koder-thinking-block>`. */

import { ThinkingBlockElement } from "./element.js";
import type { BlockStatus } from "./feed.js";
import type { By } from "./fold.js";

/** The same element under its other name; a class can be registered only once. */
export class KoderThinkingBlockElement extends ThinkingBlockElement {}

if (!customElements.get("thinking-block")) {
  customElements.define("thinking-block", ThinkingBlockElement);
  customElements.define("koder-thinking-block", KoderThinkingBlockElement);
}

export { ThinkingBlockElement };
export type { ThinkingView } from "./element.js";
export type { Entry, Event } from "./events.js";
export type { BlockStatus } from "./feed.js";
export type { Renderer } from "./markdown.js";
export type { Policy } from "./opening.js";
export type { Source } from "./sources.js";
export type { ThinkingBlock, ThinkingStep } from "./records.js";

/** What a page is told, and what comes with it. All of them bubble; what a person does can be cancelled. */
export interface ThinkingEvents {
  "thinking-toggle": CustomEvent<{ open: boolean; by: By; block: null }>;
  "thinking-step-toggle": CustomEvent<{ open: boolean; by: By; block: number }>;
  "thinking-copy": CustomEvent<{ text: string }>;
  "thinking-status": CustomEvent<{ from: BlockStatus | ""; to: BlockStatus | "" }>;
  "thinking-retry": CustomEvent<null>;
  "thinking-answer-now": CustomEvent<null>;
  "thinking-first-paint": CustomEvent<null>;
}

declare global {
  interface HTMLElementEventMap extends ThinkingEvents {}
  interface HTMLElementTagNameMap {
    "thinking-block": ThinkingBlockElement;
    "koder-thinking-block": ThinkingBlockElement;
  }
}
