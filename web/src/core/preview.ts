/**
 * A long text in one short plain line: its first words at rest, its newest line while it grows.
 *
 * Markdown marks, line breaks and control characters are taken out.
 */

import {
  CODE_POINTS_PER_COLUMN,
  FEWEST_PEEK_CHARACTERS,
  PEEK_COLUMNS,
  PREVIEW_COLUMNS,
  READ_AHEAD,
  SUMMARY_COLUMNS,
} from "./limits.js";
import { collapse, ELLIPSIS } from "./spaces.js";
import type { Block } from "./turn.js";

/**
 * How a text is cut to a line. A surface of fixed columns cuts by columns (`graphemes.ts`); one that draws with a style sheet
 * leaves more than fits and lets that cut, so that a line uses the room there is.
 */
export interface Cutter {
  /** The first `size` units, and the last. */
  head(text: string, size: number): string;
  foot(text: string, size: number): string;
  /** The beginning and the end of a line; `more` says that the line itself is only a part. */
  firstColumns(line: string, columns: number, more?: boolean): string;
  lastColumns(line: string, columns: number, more?: boolean): string;
}

const TITLE = /^\s*(?:\*\*([^*\n]+)\*\*|#{1,6}[ \t]+([^\n]+?))[ \t]*(?:\n|$)/;

const OPEN_LINK = /(?<!\w)!?\[([^[\]]*)\]?(?:\([^()]*)?$/;
const OPEN_MARKS = /(?:^|(?<=[ \t]))[*_~#>`+-]+[ \t]*$/;
const LETTER = /[\p{L}\p{Nl}\p{No}]/u;
const SENTENCE_END = /[.!?…。！？]$/;

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

/** How many words a thought has; asked once it is over. */
export const wordCount = /* @__PURE__ */ cachedByStart(Infinity, (block) => countWords(block.text));

/** What is shown of long texts in a line of one surface. */
export interface Lines {
  /** The first words of a text in one plain line. */
  preview(block: Block): string;
  /**
   * The end of the newest line of a text that can be read already. A line that has just begun is a fragment: the one before
   * it stays until this one says something. Without such a line, it is the newest short one that is whole.
   */
  peek(block: Block): string;
  /** The bold or heading line that opens a thought. */
  title(block: Block): string;
  /** A text as the line of a summary. */
  summary(text: string): string;
  /** What is read of a thought in search of a sentence. */
  beginning(block: Block): string;
  end(block: Block): string;
}

export function makeLines(cut: Cutter): Lines {
  const summary = (text: string): string => cut.firstColumns(plainLine(cut.head(text, READ_AHEAD)), SUMMARY_COLUMNS);
  const beginning = (block: Block): string => cut.head(block.first(READ_AHEAD + 1), READ_AHEAD);
  return {
    summary,
    beginning,
    end: (block) => cut.foot(block.last(READ_AHEAD + 1), READ_AHEAD),
    title: cachedByStart(READ_AHEAD + 1, (block) => {
      const [, bold, heading] = TITLE.exec(beginning(block)) ?? [];
      return summary(plainLine(bold ?? heading ?? ""));
    }),
    preview: cachedByStart(PREVIEW_COLUMNS * CODE_POINTS_PER_COLUMN + 1, (block) => {
      const window = cut.head(
        block.first(PREVIEW_COLUMNS * CODE_POINTS_PER_COLUMN + 1),
        PREVIEW_COLUMNS * CODE_POINTS_PER_COLUMN,
      );
      return cut.firstColumns(plainLine(window), PREVIEW_COLUMNS, window.length < block.size);
    }),
    peek(block) {
      const window = cut.foot(
        block.last(PEEK_COLUMNS * CODE_POINTS_PER_COLUMN + 1),
        PEEK_COLUMNS * CODE_POINTS_PER_COLUMN,
      );
      const lines = window.split("\n");
      let wholeLine = "";
      for (let index = lines.length - 1; index >= 0; index--) {
        const line = liveLine(lines[index] as string);
        if (!LETTER.test(line)) continue;
        if ([...line].length >= FEWEST_PEEK_CHARACTERS)
          return cut.lastColumns(line, PEEK_COLUMNS, index === 0 && window.length < block.size);
        if (index < lines.length - 1 || SENTENCE_END.test(line)) wholeLine ||= cut.lastColumns(line, PEEK_COLUMNS);
      }
      return wholeLine;
    },
  };
}

/** All of a text in one line without marks. Meant for a window of a text, not for a whole one. */
export function plainLine(text: string): string {
  // Taking marks away can put new ones together, so it is repeated until nothing changes.
  const line = withoutMarks(text);
  return line === text ? line : plainLine(line);
}

/** A line that may still grow as plain text, without the marks of tables and of what is not closed yet. */
function liveLine(text: string): string {
  let line = text;
  if (/^[ \t]*\|/.test(line))
    line = line
      .split("|")
      .map((cell) => cell.replace(/^[ \t]+|[ \t]+$/g, ""))
      .filter((cell) => cell && !/^:?-+:?$/.test(cell))
      .join(" · ");
  return plainLine(line.replace(OPEN_LINK, "$1").replace(OPEN_MARKS, ""));
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

/** More than a screen shows in one line. */
const WIDEST_LINE = 400;

/**
 * Lines for a surface that cuts them by itself, as a style sheet does: they are longer than any header is wide. Where a
 * cut goes through a character, it is far outside of what is seen.
 */
export const WIDE_LINES = /* @__PURE__ */ makeLines({
  head: (text, size) => text.slice(0, size),
  foot: (text, size) => text.slice(-size),
  firstColumns: (line, _, more) => (more || line.length > WIDEST_LINE ? line.slice(0, WIDEST_LINE) + ELLIPSIS : line),
  lastColumns: (line, _, more) => (more || line.length > WIDEST_LINE ? ELLIPSIS + line.slice(-WIDEST_LINE) : line),
});
