/**
 * Finds words in the open conversation, one place after the other, n of m: in its thoughts, or, from a search hit, in
 * questions and answers too.
 */

import { addDialogWords } from "./dialog-words.js";
import { button, composing, h, say } from "./dom.js";
import type { Exchange } from "./exchange.js";
import type { Hit, PageContext, Place } from "./page-context.js";
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
export class Finder {
  readonly node: HTMLElement;
  private words: HTMLInputElement;
  private count = h("span", { class: "muted small count", role: "status" });
  private found: Found[] = [];
  private sought: Sought = null;
  private at = -1;
  /** What had the focus before. */
  private focused = document.activeElement as HTMLElement | null;

  constructor(
    private page: PageContext,
    private hit: Hit | null,
  ) {
    const label = t(hit ? "find.all" : "find");
    this.words = h("input", {
      class: "input",
      type: "search",
      "aria-label": label,
      placeholder: label,
      autocomplete: "off",
      spellcheck: "false",
    });
    const quiet = { bare: true, class: "quiet" };
    this.node = h(
      "div",
      { class: "finder", role: "search" },
      this.words,
      this.count,
      button(t("find.previous"), "up", () => this.step(-1), quiet),
      button(t("find.next"), "down", () => this.step(1), quiet),
      button(t("close"), "close", () => this.close(), quiet),
    );
    this.words.addEventListener("input", () => this.find());
    this.node.addEventListener("keydown", (event) => this.handleKey(event));
    if (hit) this.showHit(hit);
  }

  close(): void {
    CSS.highlights?.delete(NAME);
    this.node.remove();
    this.focused?.focus();
  }

  private find(): void {
    this.sought = phrasePattern(this.words.value);
    this.found = this.places();
    this.at = -1;
    if (this.found[0]) return this.step(1);
    CSS.highlights?.delete(NAME);
    say(this.count, this.words.value.trim() ? t("find.none") : "");
  }

  private places(): Found[] {
    return places([...this.page.chat.exchanges.values()], this.sought, !!this.hit);
  }

  private step(by: number): void {
    if (!this.found[0]) return;
    this.at = (this.at + by + this.found.length) % this.found.length;
    say(this.count, t("find.count", { i: this.at + 1, n: this.found.length }));
    this.page.chat.stopFollowing();
    void show(this.found[this.at] as Found, this.sought).catch(showError);
  }

  /** Goes to the query in its order, else to the words of it that were found, where most of them are. */
  private showHit({ query, words, place }: Hit): void {
    this.words.value = query;
    for (this.sought of [phrasePattern(query.replace(/["*]/g, " ")), wordsPattern(words)]) {
      this.found = this.places();
      this.at = bestAt(this.found, place);
      if (this.at >= 0) return this.step(0);
    }
    // The place itself is shown, such as a tool's.
  }

  private handleKey(event: KeyboardEvent): void {
    if (composing(event)) return;
    if (event.key === "Escape") this.close();
    else if (event.key === "Enter" && event.target === this.words) this.step(event.shiftKey ? -1 : 1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
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
