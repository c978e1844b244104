/**
 * Finds words in the open conversation, one place after the other, n of m: in its thoughts, or, from a search hit, in
 * questions and answers too.
 */

import { addDialogWords } from "./dialog-words.js";
import { button, composing, h, say } from "./dom.js";
import type { Exchange } from "./exchange.js";
import type { PageContext } from "./page-context.js";
import type { Hit, Place } from "./place.js";
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
  /** How many of the sought words stand right there, each as a word of its own. */
  score: number;
}

/** A pattern whose places are sought; several words are several places. */
type Sought = RegExp | null;

/** Words that are so close to each other belong together. */
const CLOSE = 110;

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
  let sought: Sought = null;
  let at = -1;
  const back = document.activeElement as HTMLElement | null;
  const close = (): void => {
    CSS.highlights?.delete(NAME);
    node.remove();
    back?.focus();
  };
  const look = (): void => {
    sought = phrasePattern(words.value);
    found = places([...page.chat.exchanges.values()], sought, !!hit);
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
    void show(found[at] as Found, sought).catch(showError);
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
    words.value = hit.query;
    // The query in its order, else the words of it that were found, where most of them are.
    for (sought of [phrasePattern(hit.query.replace(/["*]/g, " ")), wordsPattern(hit.words)]) {
      found = places([...page.chat.exchanges.values()], sought, true);
      at = bestAt(found, hit.place);
      if (at >= 0) break;
    }
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

/** In small letters without accents, and as long as before: there is one letter that would grow. */
function small(text: string): string {
  return text
    .replace(/İ/g, "i")
    .toLowerCase()
    .replace(/[\u00e0-\u024f\u1e00-\u1eff]/g, (letter) => letter.normalize("NFD")[0] as string);
}

/** The words one after the other; null where there are none. */
function phrasePattern(text: string): Sought {
  const parts = small(text).split(/\s+/).filter(Boolean).map(literal);
  return parts[0] ? new RegExp(parts.join("\\s+"), "g") : null;
}

/** Any of the words; the longest first, because one may begin with another. */
function wordsPattern(words: string[]): Sought {
  const parts = words.map((word) => literal(small(word))).sort((one, other) => other.length - one.length);
  return parts[0] ? new RegExp(parts.join("|"), "g") : null;
}

function literal(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}

/** The first of the best places in the block that a search hit names; -1 where there is none. */
function bestAt(found: Found[], place: Place): number {
  const here = found.filter((one) => matches(one, place));
  const best = here.reduce((most, { score }) => Math.max(most, score), 0); // there may be very many
  return found.indexOf(here.find(({ score }) => score === best) as Found);
}

/** Whether this is in the block that a search hit names. */
function matches({ exchange, block }: Found, place: Place): boolean {
  if (exchange.id !== place.turn) return false;
  if (typeof block === "number") return block === place.block;
  const kind = place.block === null ? "prompt" : exchange.turn.blocks[place.block]?.kind;
  return block === "prompt" ? kind === "prompt" : kind === "text";
}

function places(exchanges: Exchange[], sought: Sought, everywhere: boolean): Found[] {
  if (!sought) return [];
  return exchanges.flatMap((exchange) => {
    const thoughts = exchange.thoughts.map(({ number, text }): [Found["block"], string] => [number, text]);
    const texts: [Found["block"], string][] = everywhere
      ? [["prompt", exchange.prompt], ...thoughts, ["answer", exchange.turn.answer]]
      : thoughts;
    return texts.flatMap(([block, text]) =>
      scoresOf(text, sought).map((score, nth) => ({ exchange, block, nth, score })),
    );
  });
}

/** The places in a text as it is written, else as it is read: markup may divide the words. Each with its score. */
function scoresOf(text: string, sought: RegExp): number[] {
  const written = scoresIn(small(text), sought);
  return written[0] === undefined ? scoresIn(small(withoutMarkup(text)), sought) : written;
}

function scoresIn(text: string, sought: RegExp): number[] {
  const all = [...text.matchAll(sought)].map(({ 0: word, index }) => {
    const around = `${text[index - 1] ?? " "}${text[index + word.length] ?? " "}`;
    return { word: /[\p{L}\p{N}]/u.test(around) ? "" : word, index };
  });
  let end = 0;
  return all.map(({ index }, first) => {
    while (all[end] && (all[end] as { index: number }).index < index + CLOSE) end++;
    const close = new Set(all.slice(first, end).map(({ word }) => word));
    close.delete("");
    return close.size;
  });
}

/** Brings the place into sight, and marks it. */
async function show(found: Found, sought: Sought): Promise<void> {
  if (typeof found.block === "number") return showThought(found.exchange, found.block, found.nth, sought);
  await found.exchange.answer.ready; // formatting draws the text anew
  const home = found.block === "prompt" ? found.exchange.promptsNode : found.exchange.answer.node;
  home.querySelector<HTMLElement>(".clamped > .show-more")?.click();
  const range = nthRange(home, sought, found.nth) ?? nthRange(home, sought, 0);
  (range?.startContainer.parentElement ?? home).scrollIntoView({ block: "center" });
  if (range) mark(range, document);
}

/** Opens the thought, brings the place into sight, and marks it. */
async function showThought({ block: element }: Exchange, block: number, nth: number, sought: Sought): Promise<void> {
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
function nthRange(home: Node, sought: Sought, nth: number): Range | null {
  const walker = document.createTreeWalker(home, NodeFilter.SHOW_TEXT);
  const nodes: Text[] = [];
  let text = "";
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    nodes.push(node as Text);
    text += small((node as Text).data);
  }
  const match = sought && [...text.matchAll(sought)][nth];
  if (!match) return null;
  const at = match.index;
  const end = at + match[0].length;
  const range = document.createRange();
  let before = 0;
  for (const node of nodes) {
    const { length } = node.data;
    if (at >= before && at < before + length) range.setStart(node, at - before);
    if (end <= before + length) {
      range.setEnd(node, end - before);
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
