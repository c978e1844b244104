/**
 * One language, ready to use: `new Words(PT_BR).say("words", { n: 3 })`.
 *
 * A time that is unknown or makes no sense is written as nothing at all.
 */

import { EN_US, type Locale, type Table } from "./locales.js";
import { PT_BR } from "./portuguese.js";

/** What fills the gaps of a text. */
export interface Gaps {
  n?: number;
  name?: string;
  duration?: string;
  reason?: string;
  of?: string;
}

/** How numbers and times are written; a page may bring its own. */
export type Formatters = Partial<Pick<Words, "count" | "duration" | "spoken">>;

const UNITS = ["hour", "minute", "second"] as const;

export class Words {
  constructor(readonly locale: Locale = EN_US) {}

  /** The text of a key with its gaps filled; a text with a plural needs `n`. */
  say(key: string, gaps: Gaps = {}): string {
    return template(this.locale, key, gaps.n).replace(/\{(\w+)\}/g, (_, gap: keyof Gaps) =>
      gap === "n" ? this.count(gaps.n as number) : (gaps[gap] ?? ""),
    );
  }

  /** The texts before and after the count in the text of a key; only the first if it has none. */
  aroundCount(key: string, n: number): string[] {
    return template(this.locale, key, n).split("{n}");
  }

  /** Whether there are words for a key. */
  has(key: string): boolean {
    return key in EN_US.words;
  }

  /** A whole number with its thousands separated. */
  count(n: number): string {
    return String(n).replace(/\B(?=(\d{3})+$)/g, this.locale.thousands);
  }

  /** A time in the two units that matter: "850 ms", "4.2s", "1m 20s", "1h 2m". */
  duration(ms: number | null): string {
    if (ms === null || ms < 0) return "";
    if (ms < 1000) return `${ms} ms`;
    const tenths = Math.round(ms / 100);
    const seconds = Math.round(ms / 1000);
    if (tenths < 600) return `${tenths / 10}s`.replace(".", this.locale.decimal);
    return seconds < 3600 ? twoUnits(seconds, "m", "s") : twoUnits(Math.round(ms / 60000), "h", "m");
  }

  /** The same time for a screen reader: "4.2 seconds", "1 minute 20 seconds". */
  spoken(ms: number): string {
    const seconds = Math.round(ms / 100) < 600 ? Math.round(ms / 100) / 10 : Math.round(ms / 1000);
    return [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60]
      .flatMap((amount, at) =>
        amount
          ? amount.toLocaleString(this.locale.name.replace("_", "-"), {
              style: "unit",
              unit: UNITS[at],
              unitDisplay: "long",
            })
          : [],
      )
      .join(" ");
  }
}

/** Whether a tag such as "pt", "pt-br" or "pt_BR.UTF-8" names Portuguese. */
export function namesPortuguese(tag: string): boolean {
  return /^\s*pt(?![a-z])/i.test(tag);
}

/** The built-in locale whose language a tag names. */
export function findLocale(tag: string): Locale {
  return namesPortuguese(tag) ? PT_BR : EN_US;
}

/** A locale from a page's own table; what it leaves out is taken from the built-in one of its language. */
export function readLocale(table: Partial<Locale> | Table, base: Locale): Locale {
  const words = (typeof table.words === "object" ? table.words : table) as Table;
  const own = Object.entries(words).map(([key, text]) => [key.replace(/^ai\.(?:thinking\.)?/, ""), text]);
  return { ...base, ...(words === table ? {} : table), words: { ...base.words, ...Object.fromEntries(own) } };
}

function template({ words, ones }: Locale, key: string, n?: number): string {
  const [one = "", other = one] = (words[key] ?? EN_US.words[key] ?? key).split("|");
  return ones.includes(n as number) ? one : other;
}

function twoUnits(amount: number, large: string, small: string): string {
  const low = amount % 60;
  return `${Math.floor(amount / 60)}${large}${low ? ` ${low}${small}` : ""}`;
}
