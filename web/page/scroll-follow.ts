/** Scrolls along with what is new, for a reader who is at the end, and for nobody else. */

/** A reader who is this close to the end is at the end. */
const NEAR_PX = 120;

export class ScrollFollow {
  private following = true;
  private lastTop = 0;

  constructor(
    private scroller: HTMLElement,
    /** Told after every change whether the reader is near the end. */
    private moved: (nearEnd: boolean) => void,
  ) {
    scroller.addEventListener("scroll", () => this.scrolled(), { passive: true });
  }

  /** Stays where the reader is, from now on. */
  stop(): void {
    this.following = false;
  }

  /** Goes to the beginning and stays there. */
  toStart(): void {
    this.stop();
    this.scroller.scrollTop = 0;
  }

  /** Goes to the end and follows it. */
  toEnd(): void {
    this.following = true;
    this.scroller.scrollTop = this.scroller.scrollHeight;
  }

  /** Keeps a reader who follows at the end, whatever was drawn or got its size later. */
  update(more: boolean): void {
    this.scrolled(); // a reader who just scrolled is not pulled back
    if (this.following && !more) this.scroller.scrollTop = this.scroller.scrollHeight;
    this.scrolled();
  }

  private scrolled(): void {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    const left = scrollHeight - scrollTop - clientHeight;
    const near = left < NEAR_PX;
    if (near && scrollTop > this.lastTop) this.following = true;
    // Whoever scrolls up leaves the end; what became shorter takes the reader along to it.
    else if (scrollTop < this.lastTop - 1 && left > 1) this.following = false;
    this.lastTop = scrollTop;
    this.moved(near);
  }
}

/** How far ahead of the reader something is loaded. */
const AHEAD = "400px";

/** Acts whenever a node comes near what is in sight. */
export function whenNear(scroller: HTMLElement, node: Element, act: () => void): void {
  const observer = new IntersectionObserver(
    (changes) => {
      if (changes.some((change) => change.isIntersecting)) act();
    },
    { root: scroller, rootMargin: AHEAD },
  );
  observer.observe(node);
}
