/**
 * A long text in one short plain line: its first words at rest, its newest line while it grows.
 *
 * Markdown marks, line breaks and control characters are taken out.
 */

import { collapse, firstColumns, foot, head, lastColumns, WINDOW } from "./graphemes.js";
import type { Block } from "./turn.js";

const PREVIEW_COLUMNS = 40;
const PEEK_COLUMNS = 80;

const CJK = "\\u3005\\u3040-\\u30ff\\u3400-\\u4dbf\\u4e00-\\u9fff\\uf900-\\ufaff\\u{20000}-\\u{3ffff}";
const WORDS = new RegExp(`[${CJK}]|[\\p{L}\\p{N}_][^\\s${CJK}]*`, "gu");

/** Caches what depends on the first `size` units of a block's text alone; it is computed again only if they change. */
export function cachedByStart<Value>(size: number, compute: (block: Block) => Value): (block: Block) => Value {
  const cache = new WeakMap<Block, [key: string, value: Value]>();
  return (block) => {
    const key = `${Math.min(size, block.size)} ${block.rewrites}`;
    const cached = cache.get(block);
    if (cached?.[0] === key) return cached[1];
    const value = compute(block);
    cache.set(block, [key, value]);
    return value;
  };
}

/** The first words of a text in one plain line. */
export const preview = /* @__PURE__ */ cachedByStart(PREVIEW_COLUMNS * WINDOW + 1, (block) => {
  const window = head(block.first(PREVIEW_COLUMNS * WINDOW + 1), PREVIEW_COLUMNS * WINDOW);
  return firstColumns(plainLine(window), PREVIEW_COLUMNS, window.length < block.size);
});

/** How many words a thought has; asked once it is over. */
export const wordCount = /* @__PURE__ */ cachedByStart(Infinity, (block) => countWords(block.text));

/** The end of the newest line of a text that has anything to read. */
export function peek(block: Block): string {
  const window = foot(block.last(PEEK_COLUMNS * WINDOW + 1), PEEK_COLUMNS * WINDOW);
  const lines = window.split("\n");
  for (let index = lines.length - 1; index >= 0; index--) {
    const line = plainLine(lines[index] as string);
    if (line) return lastColumns(line, PEEK_COLUMNS, index === 0 && window.length < block.size);
  }
  return "";
}

/** All of a text in one line without marks. Meant for a window of a text, not for a whole one. */
export function plainLine(text: string): string {
  // Taking marks away can put new ones together, so it is repeated until nothing changes.
  const line = withoutMarks(text);
  return line === text ? line : plainLine(line);
}

/** Words as a person counts them; where a script has no spaces between them, each character is one. */
export function countWords(text: string): number {
  let count = 0;
  WORDS.lastIndex = 0;
  while (WORDS.test(text)) count++;
  return count;
}

function withoutMarks(text: string): string {
  return collapse(
    text
      .replace(/[\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069]+/g, "")
      .replace(/^[ \t]*(?:```[\p{L}\p{N}_+-]*|[-*_]{3,})[ \t]*$/gmu, "")
      .replace(/^[ \t]*(?:(?:[-*+•>]|#{1,6})[ \t]+)+/gm, "")
      .replace(/`+|(?<![\w*])\*+(?=[^ \t-\r*])|(?<=[^ \t-\r*])\*+(?![\w*])/g, "")
      .replace(/!?\[([^[\]]*)\]\([^()]*\)/g, "$1"),
  );
}
