/**
 * Closes a block without moving what the reader looks at.
 *
 * When a block begins above what is in sight, everything below it would jump up as it closes. Then it closes at once,
 * and the page scrolls back by as much as it became shorter; where the page cannot scroll back that far, the block
 * stays open.
 */

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
