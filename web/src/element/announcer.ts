/**
 * The one place that speaks to a screen reader by itself: a status line for the whole page.
 *
 * It speaks at boundaries only, never repeats itself, and leaves a pause between two sentences; thinking itself is read
 * out only where the policy wants it, a line now and then.
 */

import type { Policy } from "../core/policy.js";
import type { ThinkingState } from "../core/state.js";
import type { PanelView } from "../core/thinking.js";
import { make, mark } from "./dom.js";

const PAUSE_MS = 1000;
const CLEAR_MS = 5000;

let region: HTMLElement | undefined;
let pending = "";
let timer = 0;
let free = true;

/** Says this once the line is free; of several texts that wait, the newest is said. */
export function announce(text: string): void {
  if (!text || text === region?.textContent) return;
  pending = text;
  if (free) speak();
}

function speak(): void {
  clearTimeout(timer);
  free = !pending;
  statusLine().textContent = pending;
  if (free) return;
  pending = "";
  timer = setTimeout(afterPause, PAUSE_MS);
}

function afterPause(): void {
  free = true;
  if (pending) speak();
  else timer = setTimeout(speak, CLEAR_MS - PAUSE_MS);
}

function statusLine(): HTMLElement {
  if (region?.isConnected) return region;
  region = make("div");
  mark(region, "role", "status");
  mark(region, "aria-atomic", "true");
  region.style.cssText = "position:fixed;inline-size:1px;block-size:1px;overflow:hidden;clip-path:inset(50%)";
  document.body.append(region);
  return region;
}

const START_AFTER_MS = 1000;
/** Where a page wants thinking itself read out, the newest line is, no more often than this. */
const READ_EVERY_MS = 4000;

/** Tells a screen reader of the beginning of thinking, if it lasts, and of its end. */
export class StatusAnnouncer {
  #state: ThinkingState | "" = "";
  #label = "";
  #timer = 0;
  #lastLine = "";
  #lastReadMs = -READ_EVERY_MS;

  /** `calling` says that a call works: the newest line stays in the view, but it was read when it was new. */
  announceState(view: PanelView | null, { live_region }: Policy, calling: boolean): void {
    const before = this.#state;
    this.#state = view?.status ?? "";
    this.#label = view?.label ?? "";
    if (live_region === "content" && view?.status === "thinking") this.#read(calling ? view.label : view.peek);
    if (before === this.#state || live_region === "off") return;
    this.clear();
    if (this.#state === "thinking") this.#timer = setTimeout(() => announce(this.#label), START_AFTER_MS);
    else if (before === "thinking" && view) announce([view.spoken, view.notice].filter(Boolean).join(". "));
  }

  clear(): void {
    clearTimeout(this.#timer);
  }

  /** Forgets the turn, for another one. */
  reset(): void {
    this.#state = this.#lastLine = "";
  }

  #read(line: string): void {
    if (line === this.#lastLine || performance.now() - this.#lastReadMs <= READ_EVERY_MS) return;
    this.#lastLine = line;
    this.#lastReadMs = performance.now();
    announce(line);
  }
}
