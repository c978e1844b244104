/** What a step shows of a text: one line of it, its first characters, or the fields of JSON by name. */

import { characters, firstColumns, head } from "./graphemes.js";
import { CODE_POINTS_PER_COLUMN } from "./limits.js";
import { collapse, ELLIPSIS } from "./spaces.js";

/** A text as it is, in one line of at most `columns`. */
export function oneLine(text: string, columns: number): string {
  const window = head(text, columns * CODE_POINTS_PER_COLUMN);
  return firstColumns(collapse(window), columns, window.length < text.length);
}

/** The first `limit` characters, with “…” when there is more. */
export function firstCharacters(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const window = text.slice(0, (limit + 1) * CODE_POINTS_PER_COLUMN);
  const all = characters(window);
  if (all.length <= limit && window.length === text.length) return text;
  return all.slice(0, Math.min(limit, all.length - 1)).join("") + ELLIPSIS;
}

const JSON_TOKENS = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^"{}[\],:]+/g;

/**
 * `expression: 8 × (7 + 4 − 8)` for each field of a JSON object; null for any other text. Values that are not texts stay as they
 * were written: parsing would round a long number.
 */
export function jsonFields(text: string): string[] | null {
  if (!/^\s*\{/.test(text) || !parsedJson(text)) return null;
  const fields: string[] = [];
  const read = (value: string): string => (/^\s*"/.test(value) ? (JSON.parse(value) as string) : value.trim());
  let depth = 0;
  let name = "";
  let value = "";
  for (const token of text.match(JSON_TOKENS) ?? []) {
    if (depth === 1 && /[:,}]/.test(token) && !token[1]) {
      if (token === ":") name = value;
      else if (value.trim()) fields.push(`${read(name)}: ${read(value)}`);
      value = "";
    } else if (depth) value += token;
    if (/^[{[]/.test(token)) depth++;
    if (/^[}\]]/.test(token)) depth--;
  }
  return /\p{Surrogate}/u.test(fields.join()) ? null : fields;
}

/** An object or an array; null for anything else, and for what is not complete. */
export function parsedJson(json: string): unknown {
  try {
    return /^\s*[[{]/.test(json) ? JSON.parse(json) : null;
  } catch {
    return null; // it is shown as it is
  }
}
