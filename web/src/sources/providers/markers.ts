/** Finds a set of markers in text that arrives in chunks: complete ones, and the start of one that the text does not finish. */

import { SPACE } from "../../core/spaces.js";

export const LEADING_SPACE = new RegExp(`^[${SPACE}]*`);

const WILDCARD = "[^<>\\s]{1,24}";
const WILDCARD_LENGTH = 24;
const NOTHING = "(?!)";

export interface Found {
  role: string;
  text: string;
  start: number;
  end: number;
}

/** Markers by role; where one marker is a prefix of another, the longer one wins. A `*` is 1 to 24 characters. */
export class Markers {
  readonly none: boolean;
  #next: RegExp;
  #here: RegExp;
  #unfinishedNext: RegExp;
  #unfinishedHere: RegExp;
  #longest: number;

  constructor(roles: Record<string, string[]>) {
    const all = Object.values(roles).flat();
    const named = Object.entries(roles).filter(([, markers]) => markers[0]);
    this.none = !all[0];
    this.#longest = Math.max(0, ...all.map((one) => one.length + (one.includes("*") ? WILDCARD_LENGTH - 1 : 0)));
    const complete = named.map(([role, markers]) => `(?<${role}>${anyOf(markers)})`).join("|") || NOTHING;
    const unfinished = `(?:${all.map(unfinishedPattern).join("|") || NOTHING})$`;
    this.#next = new RegExp(complete, "g");
    this.#here = new RegExp(complete, "y");
    this.#unfinishedNext = new RegExp(unfinished, "g");
    this.#unfinishedHere = new RegExp(unfinished, "y");
  }

  /** The next marker from `start` on; with `sticky` only one that starts exactly there. */
  find(text: string, start: number, sticky = false): Found | null {
    const pattern = sticky ? this.#here : this.#next;
    pattern.lastIndex = start;
    const match = pattern.exec(text);
    if (!match) return null;
    const [role = ""] = Object.entries(match.groups ?? {}).find(([, group]) => group !== undefined) ?? [];
    return { role, text: match[0], start: match.index, end: match.index + match[0].length };
  }

  /** Where an unfinished marker at the end of the text starts, or the length of the text. */
  unfinishedStart(text: string, start: number): number {
    this.#unfinishedNext.lastIndex = Math.max(start, text.length - this.#longest + 1);
    return this.#unfinishedNext.exec(text)?.index ?? text.length;
  }

  /** Whether the text from `position` on is the start of a longer marker. */
  unfinishedAt(text: string, position: number): boolean {
    this.#unfinishedHere.lastIndex = position;
    return text.length - position < this.#longest && this.#unfinishedHere.test(text);
  }
}

function escaped(text: string): string {
  return text.replace(/[$()*+.?[\\\]^{|}/]/g, "\\$&");
}

function anyOf(markers: string[]): string {
  const longestFirst = [...markers].sort((one, other) => other.length - one.length);
  return longestFirst.map((marker) => escaped(marker).replace("\\*", WILDCARD)).join("|");
}

/** A pattern for every proper prefix of a marker: `<`, `<t`, `<th`, ... */
function unfinishedPattern(marker: string): string {
  const [head = "", tail] = marker.split("*");
  if (tail === undefined) return prefixPattern(marker.slice(0, -1));
  return `${prefixPattern(head)}|${escaped(head)}${WILDCARD}(?:${prefixPattern(tail.slice(0, -1))})?`;
}

function prefixPattern(text: string): string {
  let pattern = "";
  for (const character of [...text].reverse()) pattern = escaped(character) + (pattern && `(?:${pattern})?`);
  return pattern;
}
