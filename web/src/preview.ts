/**
 * A long text in one short plain line: its first words at rest, its newest line while it grows.
 *
 * The twin of the Python package's `view.preview`: markdown marks, line breaks and controls are taken out.
 */

import { collapse, firstColumns, foot, head, lastColumns, WINDOW } from "./graphemes.js";
import type { Block } from "./transcript.js";

const PREVIEW_COLUMNS = 40;
const PEEK_COLUMNS = 80;

const CJK = "\\u3005\\u3040-\\u30ff\\u3400-\\u4dbf\\u4e00-\\u9fff\\uf900-\\ufaff\\u{20000}-\\u{3ffff}";
const WORDS = new RegExp(`[${CJK}]|[\\p{L}\\p{N}_][^\\s${CJK}]*`, "gu");

/** What depends on the first `size` units of a text alone is worked out once they are there, and not again. */
export function settled<Found>(size: number, find: (block: Block) => Found): (block: Block) => Found {
  const known = new WeakMap<Block, [key: string, found: Found]>();
  return (block) => {
    const key = `${Math.min(size, block.size)} ${block.rewritten}`;
    const [was, found] = known.get(block) ?? [];
    if (was === key) return found as Found;
    const fresh = find(block);
    known.set(block, [key, fresh]);
    return fresh;
  };
}

/** The first words of a text in one plain line. */
export const preview = /* @__PURE__ */ settled(PREVIEW_COLUMNS * WINDOW + 1, (block) => {
  const window = head(block.first(PREVIEW_COLUMNS * WINDOW + 1), PREVIEW_COLUMNS * WINDOW);
  return firstColumns(plainLine(window), PREVIEW_COLUMNS, window.length < block.size);
});

/** How many words a thought has; asked once it is over. */
export const wordsOf = /* @__PURE__ */ settled(Infinity, (block) => countWords(block.text));

/** The end of the newest line of a text that has anything to read. */
export function peek(block: Block): string {
  const window = foot(block.last(PEEK_COLUMNS * WINDOW + 1), PEEK_COLUMNS * WINDOW);
  const lines = window.split("\n");
  for (let at = lines.length; at--; ) {
    const line = plainLine(lines[at] as string);
    if (line) return lastColumns(line, PEEK_COLUMNS, !at && window.length < block.size);
  }
  return "";
}

/** All of a text in one line without marks. Meant for a window of a text, not for a whole one. */
export function plainLine(text: string): string {
  for (;;) {
    const line = unmarked(text);
    if (line === text) return line;
    text = line;
  }
}

/** Words as a person counts them; where a script has no spaces between them, each character is one. */
export function countWords(text: string): number {
  let count = 0;
  for (WORDS.lastIndex = 0; WORDS.test(text); ) count++;
  return count;
}

function unmarked(text: string): string {
  return collapse(
    text
      .replace(/[\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069]+/g, "")
      .replace(/^[ \t]*(?:```[\p{L}\p{N}_+-]*|[-*_]{3,})[ \t]*$/gmu, "")
      .replace(/^[ \t]*(?:(?:[-*+•>]|#{1,6})[ \t]+)+/gm, "")
      .replace(/`+|(?<![\w*])\*+(?=[^ \t-\r*])|(?<=[^ \t-\r*])\*+(?![\w*])/g, "")
      .replace(/!?\[([^[\]]*)\]\([^()]*\)/g, "$1"),
  );
}
