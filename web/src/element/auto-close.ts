/**
 * Delays the closing that the policy wants: a block stays open while a reader is inside, for as long as the page wants,
 * and where it cannot close without moving what the reader looks at.
 *
 * When a block begins above what is in sight, everything below it would jump up as it closes. Then it closes at once,
 * and the page scrolls back by as much as it became shorter; where the page cannot scroll back that far, the block
 * stays open.
 */

import { type Choices, PANEL } from "../core/open-rule.js";

/** What is about to happen to an open block. */
export interface Closing {
  /** Whether the policy closes it now. */
  closes: boolean;
  /** Whether the thinking has another state than at the last drawing. */
  stateChanged: boolean;
  /** How many milliseconds the page wants it to stay open. */
  delay: number;
  choices: Choices;
  /** Draws again when the delay is over. */
  refresh(): void;
}

/** Whether a block may close by itself, and why not; true where it is kept open. */
const KEPT_OPEN = {
  /** The policy may close it, after the delay that the page wants. */
  free: false,
  /** The delay runs. */
  delayed: true,
  /** The delay is over. */
  due: false,
  /** A reader is inside, or closing it would move the page. */
  held: true,
};

export class AutoClose {
  #state: keyof typeof KEPT_OPEN = "free";
  #timer = 0;
  #readerPlace: () => number | null;
  #anchorScroll: () => (() => void) | false;

  /**
   * `readerPlace` tells where in the body the reader is: a step's number, or PANEL outside of any; else null.
   * `anchorScroll` prepares to close without moving what the reader looks at; false where that is impossible.
   */
  constructor(readerPlace: () => number | null, anchorScroll: () => (() => void) | false) {
    this.#readerPlace = readerPlace;
    this.#anchorScroll = anchorScroll;
  }

  /** Whether the block is kept open although the policy would close it. */
  get kept(): boolean {
    return KEPT_OPEN[this.#state];
  }

  /** Keeps open what must not close now; the returned function restores the page's scroll position. */
  beforeClosing({ closes, stateChanged, delay, choices, refresh }: Closing): (() => void) | false {
    const place = closes || stateChanged ? this.#readerPlace() : null;
    if (place !== null) {
      // The step that the focus or a selection is in counts as opened by the person.
      if (place !== PANEL && !choices.has(place)) choices.set(place, true);
      if (this.#state !== "delayed") this.#state = "held";
      return false;
    }
    if (!closes) return false;
    if (delay > 0 && this.#state === "free") {
      this.#state = "delayed";
      this.#timer = setTimeout(() => {
        this.#state = "due";
        refresh();
      }, delay);
      return false;
    }
    const restoreScroll = this.#anchorScroll();
    if (!restoreScroll) this.#state = "held";
    return restoreScroll;
  }

  /** Lets the policy close what was kept open. */
  allowClosing(): void {
    clearTimeout(this.#timer);
    this.#state = "free";
  }

  /** Forgets a delay that has not ended; it begins again where the element comes back to a page. */
  pauseClosing(): void {
    if (this.#state === "delayed") this.allowClosing();
  }
}

/** Notes where things are. The returned function puts them there again; false says that nothing could. */
export function anchorScroll(node: HTMLElement, shrinks: number): (() => void) | false {
  const scroller = scrollerOf(node);
  const edge = scroller === node.ownerDocument.scrollingElement ? 0 : scroller.getBoundingClientRect().top;
  const before = node.getBoundingClientRect();
  if (before.top >= edge) return () => undefined;
  if (scroller.scrollTop < shrinks) return false;
  node.classList.add("instant");
  return () => {
    scroller.scrollTop += node.getBoundingClientRect().bottom - before.bottom;
    requestAnimationFrame(() => node.classList.remove("instant"));
  };
}

/** The nearest ancestor that scrolls, also through shadow roots. */
function scrollerOf(node: HTMLElement): Element {
  for (
    let ancestor: Node | null = node;
    ancestor;
    ancestor = ancestor.parentNode ?? (ancestor as ShadowRoot).host ?? null
  ) {
    const element = ancestor as Element; // of a shadow root and a document, both sizes are undefined
    if (!(element.scrollHeight > element.clientHeight)) continue;
    const { overflowY } = getComputedStyle(element);
    if (overflowY === "auto" || overflowY === "scroll") return element;
  }
  const { scrollingElement, documentElement } = node.ownerDocument;
  return scrollingElement ?? documentElement;
}
