/**
 * Closing a block without moving what the reader looks at.
 *
 * When a block begins above what is in sight, everything below it would jump up as it closes. Then it
 * closes at once, and the page scrolls back by as much as it became shorter; where the page cannot scroll
 * back that far, the block had better stay open.
 */

/** Note where things are. What comes back puts them there again; false says that nothing could. */
export function holdStill(node: HTMLElement, shrinks: number): (() => void) | false {
  const scroller = scrollerOf(node);
  const edge = scroller === document.scrollingElement ? 0 : scroller.getBoundingClientRect().top;
  const before = node.getBoundingClientRect();
  if (before.top >= edge) return () => undefined;
  if (scroller.scrollTop < shrinks) return false;
  node.classList.add("instant");
  return () => {
    scroller.scrollTop += node.getBoundingClientRect().bottom - before.bottom;
    requestAnimationFrame(() => node.classList.remove("instant"));
  };
}

function scrollerOf(node: Node): Element {
  for (let at: Node | null = node; at; at = at.parentNode ?? (at as ShadowRoot).host ?? null)
    if (at instanceof Element && /auto|scroll/.test(getComputedStyle(at).overflowY) && at.scrollHeight > at.clientHeight)
      return at;
  return document.scrollingElement ?? document.documentElement;
}
