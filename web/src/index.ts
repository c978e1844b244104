/** Registers `<thinking-block>`, also under its other name `<koder-thinking-block>`, where there is a browser. */

import type { BlockStatus } from "./core/state.js";
import type { ToggledBy } from "./element/disclosure.js";
import { ThinkingBlockElement } from "./element/element.js";

/** The same element under its other name; a class can be registered only once. */
export class KoderThinkingBlockElement extends ThinkingBlockElement {}

// A server has no registry, and an import does nothing there.
if (globalThis.customElements && !customElements.get("thinking-block")) {
  customElements.define("thinking-block", ThinkingBlockElement);
  customElements.define("koder-thinking-block", KoderThinkingBlockElement);
}

export type { Entry, Event } from "./core/events.js";
export type { Policy } from "./core/policy.js";
export type { BlockStatus } from "./core/state.js";
export type { ThinkingView } from "./element/drawn-block.js";
export type { Renderer } from "./element/markdown.js";
export type { ThinkingBlock, ThinkingStep, TurnRecord } from "./sources/records.js";
export type { Source } from "./sources/source.js";
export type { StreamOptions } from "./sources/streams.js";
export type { UIMessage } from "./sources/ui-message.js";
export { ThinkingBlockElement };

/** The events of the element and their details. All of them bubble; what a person does can be cancelled. */
export interface ThinkingEvents {
  "thinking-toggle": CustomEvent<{ open: boolean; by: ToggledBy; block: null }>;
  "thinking-step-toggle": CustomEvent<{ open: boolean; by: ToggledBy; block: number }>;
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
