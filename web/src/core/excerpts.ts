/** What a step shows of a text: one line of it, or its first characters. */

import { characters, firstColumns, head } from "./graphemes.js";
import { collapse, ELLIPSIS, WINDOW } from "./spaces.js";

/** A text as it is, in one line of at most `columns`. */
export function oneLine(text: string, columns: number): string {
  const window = head(text, columns * WINDOW);
  return firstColumns(collapse(window), columns, window.length < text.length);
}

/** The first `limit` characters, with “…” when there is more. */
export function firstCharacters(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const window = text.slice(0, (limit + 1) * WINDOW);
  const all = characters(window);
  if (all.length <= limit && window.length === text.length) return text;
  return all.slice(0, Math.min(limit, all.length - 1)).join("") + ELLIPSIS;
}
