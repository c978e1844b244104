/** Scrolls along with what is new, for a reader who is at the end, and for nobody else. */

/** A reader who is this close to the end is at the end. */
const NEAR_PX = 120;
/** What is left free above a question that stays in sight. */
const MARGIN_PX = 16;

export class ScrollFollow {
  private following = true;
  private lastTop = 0;
  /** A question that stays in sight while its answer grows; null where the end itself is followed. */
  private kept: HTMLElement | null = null;

  constructor(
    private scroller: HTMLElement,
    /** Told after every change whether the reader is near the end. */
    private moved: (nearEnd: boolean) => void,
  ) {
    scroller.addEventListener("scroll", () => this.scrolled(), { passive: true });
  }

  /** Whether the reader follows, and sees the end. */
  get atEnd(): boolean {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    return this.following && scrollHeight - scrollTop - clientHeight < NEAR_PX;
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

  /** Goes to the end and follows it, or only as far as a question stays in sight. */
  toEnd(kept: HTMLElement | null = null): void {
    this.following = true;
    this.kept = kept;
    this.follow();
  }

  private follow(): void {
    const { scroller } = this;
    let top = scroller.scrollHeight;
    if (this.kept?.isConnected) {
      const distance = this.kept.getBoundingClientRect().top - scroller.getBoundingClientRect().top;
      top = Math.min(top, scroller.scrollTop + distance - MARGIN_PX);
    }
    scroller.scrollTop = top;
    this.lastTop = scroller.scrollTop; // it was not the reader who scrolled
  }

  /** Keeps a reader who follows at the end, whatever was drawn or got its size later. */
  update(more: boolean): void {
    this.scrolled(); // a reader who just scrolled is not pulled back
    if (this.following && !more) this.follow();
    this.scrolled();
  }

  private scrolled(): void {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    const left = scrollHeight - scrollTop - clientHeight;
    const near = left < NEAR_PX;
    if (near && scrollTop > this.lastTop) {
      this.following = true;
      this.kept = null; // the reader went to the end, or all of it is in sight
    }
    // Whoever scrolls up leaves the end, and whoever scrolls down leaves the question that stays in sight; what became
    // shorter takes the reader along to it.
    else if ((scrollTop < this.lastTop - 1 && left > 1) || (this.kept && scrollTop > this.lastTop + 1)) this.stop();
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
