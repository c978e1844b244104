/**
 * Delays the closing that the policy wants: a block stays open while a reader is inside, for as long as the page wants,
 * and where it cannot close without moving what the reader looks at.
 */

export class AutoClose {
  /** Whether the block is kept open although the policy would close it. */
  kept = false;
  #timer = 0;
  #delayed = false;

  /** Whether the wait that the page wants is still to come. */
  mustWait(delay: number): boolean {
    return delay > 0 && !this.#delayed;
  }

  /** Closes after the delay; `close` draws. */
  closeLater(delay: number, close: () => void): void {
    this.#timer ||= setTimeout(() => {
      this.allowClosing();
      this.#delayed = true;
      close();
    }, delay);
  }

  /** Lets the policy close what was kept open. */
  allowClosing(): void {
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#delayed = false;
    this.kept = false;
  }

  /** Forgets a wait that has not ended; it begins again where the element comes back to a page. */
  pause(): void {
    if (this.#timer) this.allowClosing();
  }
}
