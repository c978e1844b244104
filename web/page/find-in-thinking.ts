/**
 * Finds words in the open conversation, one place after the other, n of m: in its thoughts, or, from a search hit, in
 * questions and answers too.
 */

import { addDialogWords } from "./dialog-words.js";
import { button, composing, h, say } from "./dom.js";
import type { Exchange } from "./exchange.js";
import type { PageContext } from "./page-context.js";
import type { Place } from "./place.js";
import { withoutMarkup } from "./snippet.js";
import { showError } from "./toasts.js";
import { t } from "./words.js";

addDialogWords();

interface Found {
  exchange: Exchange;
  /** A thought by its number; without one it is the question or the answer. */
  block: number | "prompt" | "answer";
  /** Which of the places in its text. */
  nth: number;
}

/** Words that a search found, and where. */
interface Hit {
  place: Place;
  words: string;
}

const NAME = "found-thought";
let sheet: CSSStyleSheet | undefined;

/** The search bar above the conversation. */
export function createFinder(page: PageContext, hit: Hit | null): { node: HTMLElement; close(): void } {
  const label = t(hit ? "find.all" : "find");
  const words = h("input", {
    class: "input",
    type: "search",
    "aria-label": label,
    placeholder: label,
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
    found = places([...page.chat.exchanges.values()], small(words.value.trim()), !!hit);
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
  if (hit) {
    words.value = hit.words;
    found = places([...page.chat.exchanges.values()], small(hit.words), true);
    at = found.findIndex((one) => matches(one, hit.place));
    if (at >= 0) step(0); // else the place itself is shown, such as a tool's
  }
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

/** Whether this is in the block that a search hit names. */
function matches({ exchange, block }: Found, place: Place): boolean {
  if (exchange.id !== place.turn) return false;
  if (typeof block === "number") return block === place.block;
  const kind = place.block === null ? "prompt" : exchange.turn.blocks[place.block]?.kind;
  return block === "prompt" ? kind === "prompt" : kind === "text";
}

function places(exchanges: Exchange[], sought: string, everywhere: boolean): Found[] {
  if (!sought) return [];
  return exchanges.flatMap((exchange) => {
    const thoughts = exchange.thoughts.map(({ number, text }): [Found["block"], string] => [number, text]);
    const texts: [Found["block"], string][] = everywhere
      ? [["prompt", exchange.prompt], ...thoughts, ["answer", exchange.turn.answer]]
      : thoughts;
    return texts.flatMap(([block, text]) => placesOf(text, sought).map((_, nth) => ({ exchange, block, nth })));
  });
}

/** The places in a text as it is written, else as it is read: markup may divide the words. */
function placesOf(text: string, sought: string): number[] {
  const written = placesIn(small(text), sought);
  return written[0] === undefined ? placesIn(small(withoutMarkup(text)), sought) : written;
}

function placesIn(text: string, sought: string): number[] {
  const indices: number[] = [];
  for (let at = text.indexOf(sought); at >= 0; at = text.indexOf(sought, at + sought.length)) indices.push(at);
  return indices;
}

/** Brings the place into sight, and marks it. */
async function show(found: Found, sought: string): Promise<void> {
  if (typeof found.block === "number") return showThought(found.exchange, found.block, found.nth, sought);
  await found.exchange.answer.ready; // formatting draws the text anew
  const home = found.block === "prompt" ? found.exchange.promptsNode : found.exchange.answer.node;
  const range = nthRange(home, sought, found.nth) ?? nthRange(home, sought, 0);
  (range?.startContainer.parentElement ?? home).scrollIntoView({ block: "center" });
  if (range) mark(range, document);
}

/** Opens the thought, brings the place into sight, and marks it. */
async function showThought({ block: element }: Exchange, block: number, nth: number, sought: string): Promise<void> {
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
  mark(range, root);
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

/** Marks a range in a tree, which needs the style for it. */
function mark(range: Range, root: DocumentOrShadowRoot): void {
  if (!CSS.highlights) return;
  if (!sheet) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(`::highlight(${NAME}){background:light-dark(#ffe08a,#8a6a00);color:light-dark(#1b1b1f,#fff)}`);
  }
  if (!root.adoptedStyleSheets.includes(sheet)) root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
  CSS.highlights.set(NAME, new Highlight(range));
}
