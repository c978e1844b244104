/** When the element draws: with the next frame, and no more often than a person can read. */

/** What only grew is shown no more often than this, and the newest line alone less often. */
const GROW_MS = 60;
const PEEK_MS = 100;

export class DrawSchedule {
  #frame = 0;
  #timer = 0;
  #lastDrawn = 0;
  #draw: () => void;

  constructor(draw: () => void) {
    this.#draw = draw;
  }

  /** Draws with the next frame. */
  nextFrame(): void {
    this.#frame ||= requestAnimationFrame(this.#draw);
  }

  /** Draws text that only grew, a little later if it was drawn just now. */
  nextGrowth(open: boolean): void {
    if (this.#frame) return;
    const wait = this.#lastDrawn + (open ? GROW_MS : PEEK_MS) - performance.now();
    this.#timer ||= setTimeout(() => this.nextFrame(), wait);
  }

  /** Forgets what was planned, because it is drawn now or not at all. */
  clear(): void {
    cancelAnimationFrame(this.#frame);
    clearTimeout(this.#timer);
    this.#frame = this.#timer = 0;
    this.#lastDrawn = performance.now();
  }
}

/** Does something when the page is idle; Safari cannot tell when that is. */
export function whenIdle(work: () => void): number {
  return (window.requestIdleCallback ?? setTimeout)(work);
}
