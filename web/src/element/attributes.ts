/** What a page says about an element: its attributes, the text inside it, and the language and words of its place. */

import { EN_US, type Locale } from "../core/locales.js";
import type { Open, Policy } from "../core/policy.js";
import type { BlockStatus } from "../core/state.js";
import type { Block } from "../core/turn.js";
import { type Formatters, namesPortuguese, readLocale, Words } from "../core/words.js";
import type { TurnFeed } from "../sources/turn-feed.js";

/** What the attributes `live` and `rest` call the states of the open rule. */
const OPEN_STATES: Record<string, Open> = { closed: "collapsed", preview: "peek", open: "expanded", hidden: "hidden" };

/** The attributes that say something about a block that is fed by hand. */
export const BLOCK_ATTRIBUTES = ["status", "tokens", "summary", "provenance"];

/** The policy settings of the attributes, overridden by those of the page. */
export function policySettings(element: Element, settings: Partial<Policy>): Partial<Policy> {
  const all: Record<string, unknown> = {
    preset: element.getAttribute("preset"),
    while_streaming: OPEN_STATES[element.getAttribute("live") ?? ""],
    after_complete: OPEN_STATES[element.getAttribute("rest") ?? ""],
    header: element.getAttribute("header"),
    auto_close: element.getAttribute("auto-close") === "false" ? false : null,
    ...settings,
  };
  for (const name in all) if (all[name] == null) delete all[name];
  return all;
}

/** The text that a page wrote inside the element, without that of its child elements. */
function ownText(element: Element): string {
  const texts = Array.from(element.childNodes, (node) => (node.nodeType === Node.TEXT_NODE ? (node as Text).data : ""));
  return texts.join("").trim();
}

export function startedAt(element: Element): number | null {
  return Number(element.getAttribute("started-at")) || null;
}

/** Applies an attribute that says something about a block that is fed by hand. */
export function applyAttribute(feed: TurnFeed, element: Element, name: string, value: string | null): void {
  const { turn } = feed;
  if (name === "tokens") turn.usage.reasoning = Number(value) || null;
  if (name === "summary") Object.assign(turn, { summary: value ?? "", summaryBy: "model" });
  // The block that was there before: a status may start one, which then reads all attributes by itself.
  const block = turn.blocks[0];
  if (name === "status") feed.applyStatus((value ?? "") as BlockStatus | "", startedAt(element));
  if (!block) return;
  if (name === "provenance") block.provenance = (value ?? "unknown") as Block["provenance"];
  if (name === "started-at") block.startedMs = startedAt(element);
  const duration = element.getAttribute("duration-ms");
  if (duration && block.startedMs !== null && block.status !== "running")
    block.endedMs = block.startedMs + Number(duration);
}

/** The text that a page wrote inside the element: for readers without script, or by a framework as it grows. */
export class OwnText {
  #host: Element;
  #observer: MutationObserver;
  #take: (text: string) => void;

  /** `take` gets the text where there is any, and again whenever it may have changed. */
  constructor(host: Element, take: (text: string) => void) {
    this.#host = host;
    this.#take = take;
    this.#observer = new MutationObserver(() => this.#read());
  }

  observe(): void {
    this.#observer.observe(this.#host, { childList: true, characterData: true, subtree: true });
    this.#read();
  }

  disconnect(): void {
    this.#observer.disconnect();
  }

  #read(): void {
    const text = ownText(this.#host);
    if (text) this.#take(text);
  }
}

// Loaded when the first element needs it, for all of them.
let portuguese: Locale | undefined;

/** The words of one element: those of the language at its place in the page, or those that the page brings. */
export class Language {
  #host: Element;
  #strings: Partial<Locale> = {};
  #formatters: Formatters = {};
  #words: Words | null = null;

  constructor(host: Element) {
    this.#host = host;
  }

  /** Takes a page's own words or formatters. */
  customize(strings = this.#strings, formatters = this.#formatters): void {
    this.#strings = strings;
    this.#formatters = formatters;
    this.forget();
  }

  /** Reads the language of the page again when words are next needed. */
  forget(): void {
    this.#words = null;
  }

  /** The words; `load` is called where those of Portuguese are wanted and not there yet. */
  words(load: (portuguese: () => Promise<void>) => void): Words {
    if (this.#words) return this.#words;
    const tag = this.#strings.name ?? (this.#host.closest<HTMLElement>("[lang]") ?? document.documentElement).lang;
    const wanted = namesPortuguese(tag);
    if (wanted && !portuguese)
      load(async () => {
        portuguese = (await import("../core/portuguese.js")).PT_BR;
        this.forget();
      });
    const words = new Words(readLocale(this.#strings, (wanted && portuguese) || EN_US));
    this.#words = Object.assign(words, this.#formatters);
    return this.#words;
  }
}
