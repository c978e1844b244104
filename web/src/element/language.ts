/** The words of one element: those of the language at its place in the page, or those that the page brings. */

import { EN_US, type Locale } from "../core/locales.js";
import { type Formatters, namesPortuguese, readLocale, Words } from "../core/words.js";

// Loaded when the first element needs it, for all of them.
let portuguese: Locale | undefined;

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
