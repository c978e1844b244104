/**
 * Delays the closing that the policy wants: a block stays open while a reader is inside, for as long as the page wants,
 * and where it cannot close without moving what the reader looks at.
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

export class AutoClose {
  /** Whether the block is kept open although the policy would close it. */
  kept = false;
  #timer = 0;
  #delayed = false;
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

  /** Keeps open what must not close now; the returned function restores the page's scroll position. */
  beforeClosing({ closes, stateChanged, delay, choices, refresh }: Closing): (() => void) | false {
    const place = closes || stateChanged ? this.#readerPlace() : null;
    const waits = closes && delay > 0 && !this.#delayed;
    const restoreScroll = closes && place === null && !waits && this.#anchorScroll();
    // The step that the focus or a selection is in counts as opened by the person.
    if (place !== null && place !== PANEL && !choices.has(place)) choices.set(place, true);
    if (place !== null || (closes && !restoreScroll)) this.kept = true;
    if (waits && place === null)
      this.#timer ||= setTimeout(() => {
        this.allowClosing();
        this.#delayed = true;
        refresh();
      }, delay);
    return restoreScroll;
  }

  /** Lets the policy close what was kept open. */
  allowClosing(): void {
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#delayed = false;
    this.kept = false;
  }

  /** Forgets a wait that has not ended; it begins again where the element comes back to a page. */
  pauseClosing(): void {
    if (this.#timer) this.allowClosing();
  }
}
