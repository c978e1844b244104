/** Tells a screen reader of the beginning of thinking, if it lasts, and of its end. */

import type { Policy } from "../core/policy.js";
import type { ThinkingState } from "../core/state.js";
import type { PanelView } from "../core/thinking.js";
import { announce } from "./announcer.js";

const START_AFTER_MS = 1000;
/** Where a page wants thinking itself read out, the newest line is, no more often than this. */
const READ_EVERY_MS = 4000;

export class StatusAnnouncer {
  /** The state of what was drawn last. */
  state: ThinkingState | "" = "";
  #label = "";
  #timer = 0;
  #lastRead = 0;

  announceState(view: PanelView | null, { live_region }: Policy): void {
    const before = this.state;
    this.state = view?.status ?? "";
    this.#label = view?.label ?? "";
    if (live_region === "content" && view?.status === "thinking") this.#read(view.peek);
    if (before === this.state || live_region === "off") return;
    this.clear();
    if (this.state === "thinking") this.#timer = setTimeout(() => announce(this.#label), START_AFTER_MS);
    else if (before === "thinking" && view) announce([view.spoken, view.notice].filter(Boolean).join(". "));
  }

  clear(): void {
    clearTimeout(this.#timer);
  }

  #read(line: string): void {
    if (performance.now() - this.#lastRead <= READ_EVERY_MS) return;
    this.#lastRead = performance.now();
    announce(line);
  }
}
