/**
 * When the element draws: with the next frame, and no more often than a person can read.
 *
 * The frames are those of the window that shows the element: it may be a picture-in-picture window, while the one that
 * the script runs in is hidden and has none.
 */

/** What only grew is shown no more often than this, and the newest line alone less often. */
const GROW_MS = 60;
const PEEK_MS = 100;

export class DrawSchedule {
  #frame = 0;
  #timer = 0;
  #laterTimer = 0;
  #idle = false;
  #lastDrawn = 0;
  #host: Node;
  #view: Window = window;
  #draw: () => void;

  constructor(host: Node, draw: () => void) {
    this.#host = host;
    this.#draw = draw;
  }

  /** Draws with the next frame. */
  nextFrame(): void {
    if (this.#frame) return;
    this.#view = this.#host.ownerDocument?.defaultView ?? window;
    this.#frame = this.#view.requestAnimationFrame(this.#draw);
  }

  /** Draws text that only grew, a little later if it was drawn just now. */
  nextGrowth(open: boolean): void {
    if (this.#frame) return;
    const wait = this.#lastDrawn + (open ? GROW_MS : PEEK_MS) - performance.now();
    this.#timer ||= setTimeout(() => this.nextFrame(), wait);
  }

  /** Draws after so many milliseconds; -1 forgets the last such plan. */
  later(ms: number, draw: () => void): void {
    clearTimeout(this.#laterTimer);
    if (ms >= 0) this.#laterTimer = setTimeout(draw, ms);
  }

  /** Draws when the page is idle; Safari cannot tell when that is. */
  whenIdle(draw: () => void): void {
    if (this.#idle) return;
    this.#idle = true;
    (window.requestIdleCallback ?? setTimeout)(() => {
      this.#idle = false;
      draw();
    });
  }

  /** Forgets what was planned, because it is drawn now or not at all. */
  clear(): void {
    this.#view.cancelAnimationFrame(this.#frame);
    clearTimeout(this.#timer);
    this.#frame = this.#timer = 0;
    this.#lastDrawn = performance.now();
  }
}
