/** Find in thinking: every place in the thoughts of the open conversation, one after the other, n of m. */

import { addDialogWords } from "./dialog-words.js";
import { button, composing, h, say } from "./dom.js";
import type { Exchange } from "./exchange.js";
import type { PageContext } from "./page-context.js";
import { showError } from "./toasts.js";
import { t } from "./words.js";

addDialogWords();

interface Found {
  exchange: Exchange;
  block: number;
  /** Which of the places in its thought. */
  nth: number;
}

const NAME = "found-thought";
let sheet: CSSStyleSheet | undefined;

/** The search bar above the conversation. */
export function createFinder(page: PageContext): { node: HTMLElement; close(): void } {
  const words = h("input", {
    class: "input",
    type: "search",
    "aria-label": t("find"),
    placeholder: t("find"),
    autocomplete: "off",
    spellcheck: "false",
  });
  const count = h("span", { class: "muted small count", role: "status" });
  let found: Found[] = [];
  let at = -1;
  const back = document.activeElement as HTMLElement | null;
  const close = (): void => {
    CSS.highlights?.delete(NAME);
    node.remove();
    back?.focus();
  };
  const look = (): void => {
    found = places([...page.chat.exchanges.values()], small(words.value.trim()));
    at = -1;
    if (found[0]) step(1);
    else {
      CSS.highlights?.delete(NAME);
      say(count, words.value.trim() ? t("find.none") : "");
    }
  };
  const step = (by: number): void => {
    if (!found[0]) return;
    at = (at + by + found.length) % found.length;
    say(count, t("find.count", { i: at + 1, n: found.length }));
    page.chat.stopFollowing();
    void show(found[at] as Found, small(words.value.trim())).catch(showError);
  };
  const node = h(
    "div",
    { class: "finder", role: "search" },
    words,
    count,
    button(t("find.previous"), "up", () => step(-1), { bare: true, class: "quiet" }),
    button(t("find.next"), "down", () => step(1), { bare: true, class: "quiet" }),
    button(t("close"), "close", close, { bare: true, class: "quiet" }),
  );
  words.addEventListener("input", look);
  node.addEventListener("keydown", (event) => {
    if (composing(event)) return;
    if (event.key === "Escape") close();
    else if (event.key === "Enter" && event.target === words) step(event.shiftKey ? -1 : 1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  return { node, close };
}

/** In small letters and as long as before: there is one letter that would grow. */
function small(text: string): string {
  return text.replace(/İ/g, "i").toLowerCase();
}

function places(exchanges: Exchange[], sought: string): Found[] {
  if (!sought) return [];
  return exchanges.flatMap((exchange) =>
    exchange.thoughts.flatMap((block) => {
      const text = small(block.text);
      const found: Found[] = [];
      for (let from = text.indexOf(sought); from >= 0; from = text.indexOf(sought, from + sought.length))
        found.push({ exchange, block: block.number, nth: found.length });
      return found;
    }),
  );
}

/** Open the thought, bring the place into sight, and mark it. */
async function show({ exchange, block, nth }: Found, sought: string): Promise<void> {
  const { block: element } = exchange;
  if (!element.state.view?.blocks.some((one) => one.block === block && one.open === "expanded") || !element.open) {
    element.choose(block, true, "find");
    element.open = true;
    element.refresh();
  }
  await element.ready; // what is behind the header may still be on its way
  const root = element.shadowRoot;
  if (!root) return;
  const home = root.querySelector(`[data-block="${block}"] .text`) ?? root.querySelector(".text") ?? root;
  const range = nthRange(home, sought, nth) ?? nthRange(home, sought, 0);
  if (!range) return element.scrollIntoView({ block: "center" });
  range.startContainer.parentElement?.scrollIntoView({ block: "nearest" });
  const body = root.querySelector<HTMLElement>(".body");
  if (body)
    body.scrollTop += range.getBoundingClientRect().top - body.getBoundingClientRect().top - body.clientHeight / 2;
  if (!CSS.highlights) return;
  if (!sheet) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(`::highlight(${NAME}){background:light-dark(#ffe08a,#8a6a00);color:light-dark(#1b1b1f,#fff)}`);
  }
  if (!root.adoptedStyleSheets.includes(sheet)) root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
  CSS.highlights.set(NAME, new Highlight(range));
}

/** The nth place of a text below a node, as it is drawn. */
function nthRange(home: Node, sought: string, nth: number): Range | null {
  const walker = document.createTreeWalker(home, NodeFilter.SHOW_TEXT);
  const nodes: Text[] = [];
  let text = "";
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    nodes.push(node as Text);
    text += small((node as Text).data);
  }
  let at = -sought.length;
  for (let count = 0; count <= nth; count++) {
    at = text.indexOf(sought, at + sought.length);
    if (at < 0) return null;
  }
  const range = document.createRange();
  let before = 0;
  for (const node of nodes) {
    const { length } = node.data;
    if (at >= before && at < before + length) range.setStart(node, at - before);
    if (at + sought.length <= before + length) {
      range.setEnd(node, at + sought.length - before);
      return range;
    }
    before += length;
  }
  return null;
}
