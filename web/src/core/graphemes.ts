/**
 * Cuts text by what a person sees: columns and whole characters, never units of an encoding.
 *
 * Sizes are UTF-16 units here and code points in the Python package, which only makes a window a little smaller where
 * it is full of rare characters.
 */

import { ELLIPSIS } from "./spaces.js";

/** What takes two columns. */
const WIDE =
  /^(?:[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|[\u{17000}-\u{18cff}\u{1b000}-\u{1b2fb}\u{20000}-\u{3fffd}]|[\s\S]\ufe0f)/u;
/** What takes no column. */
const ZERO_WIDTH = /^(?:\p{C}|\p{M}|[\u2028\u2029])/u;

const segmenter = /* @__PURE__ */ new Intl.Segmenter("en");

/** The characters of a text as a person counts them. */
export function characters(text: string): string[] {
  // Between plain characters every unit is a character, and cutting them up is much cheaper.
  if (/^[\t\n -~]*$/.test(text)) return text.split("");
  return Array.from(segmenter.segment(text), (part) => part.segment);
}

/** The first `size` units, without a character that may go on after them. */
export function head(text: string, size: number): string {
  return text.length <= size ? text : characters(text.slice(0, size)).slice(0, -1).join("");
}

/** The last `size` units, from the first place where a character surely begins. */
export function foot(text: string, size: number): string {
  if (text.length <= size) return text;
  const window = text.slice(-size);
  const boundary = /[\p{L}\p{N}\s](?=[\p{L}\p{N}\s])/u.exec(window);
  return boundary ? window.slice(boundary.index + boundary[0].length) : "";
}

/** The beginning of a line in at most `columns`; `more` says that the line itself is only a beginning. */
export function firstColumns(line: string, columns: number, more = false): string {
  const all = characters(line);
  const kept = fitting(all, columns, more);
  if (kept < 0) return line;
  let text = all.slice(0, kept).join("");
  // Rather a whole word less than half a word, unless that would lose more than half of the text.
  const space = text.lastIndexOf(" ");
  if (kept < all.length && all[kept] !== " " && space * 2 >= text.length) text = text.slice(0, space);
  return text.replace(/[ .,;:*]+$/, "") + ELLIPSIS;
}

/** The end of a line in at most `columns`; `more` says that the line itself is only an end. */
export function lastColumns(line: string, columns: number, more = false): string {
  const all = characters(line).reverse();
  const kept = fitting(all, columns, more);
  if (kept < 0) return line;
  let text = all.slice(0, kept).reverse().join("");
  const start = text.indexOf(" ") + 1;
  if (kept < all.length && all[kept] !== " " && start * 2 <= text.length) text = text.slice(start);
  return ELLIPSIS + text.replace(/^[ ,;:*]+/, "");
}

/** How many characters to keep beside the ellipsis; -1 where all of them fit. */
function fitting(all: string[], columns: number, more: boolean): number {
  let used = 0;
  const ends = all.map((character) => (used += widthOf(character)));
  if (!all[0] || (!more && used <= columns)) return -1;
  const over = ends.findIndex((end) => end >= columns);
  return over < 0 ? all.length : over;
}

function widthOf(character: string): number {
  if (ZERO_WIDTH.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}
