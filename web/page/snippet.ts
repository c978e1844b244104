/** The snippet of a search hit as it is read: without the marks of markdown, and with the words that were found. */

import type { SearchHit } from "./api.js";
import { h } from "./dom.js";

/**
 * Marks of headings, quotes, lists, emphasis, code, tables and links of usual length; a star or a line between spaces is none.
 * A snippet is one line, so that a heading or the rule of a table may stand in its middle.
 */
const MARKUP =
  /^[ \t]*(?:#{1,6}|>|[-*+])[ \t]+|(?<=[ \t])#{2,6}[ \t]+|\|(?:[ \t]*:?-{2,}:?[ \t]*\|)+[ \t]?|^\|[ \t]?|[ \t]?\|$|\*\*|~~|`+|\[(?=[^\]\n]{0,300}\]\()|\]\([^)\s]{0,300}\)|(?<![\w*])[*_](?=[^\s*_])|(?<=[^\s*_])[*_](?![\w*{])/gm;

/** The line between two cells of a table. */
const CELL_LINE = /(?<!\S)\|(?=[\s…]|$)[ \t]?/g;
/** One or two such lines may be something else, such as commands that are joined. */
const FEWEST_CELL_LINES = 3;

/** A text as it is read. */
export function withoutMarkup(text: string): string {
  return text.replace(markupOf(text), "");
}

function markupOf(text: string): RegExp {
  const table = (text.match(CELL_LINE) ?? []).length >= FEWEST_CELL_LINES;
  return table ? new RegExp(`${MARKUP.source}|${CELL_LINE.source}`, MARKUP.flags) : MARKUP;
}

export interface Snippet {
  text: string;
  /** The ranges of the words that were found, in UTF-16 units of `text`. */
  marks: [number, number][];
}

/** The text of a snippet without markup. The hit's own marks count code points. */
export function readSnippet({ snippet, marks }: Pick<SearchHit, "snippet" | "marks">): Snippet {
  const points = [...snippet];
  const unitOf = (point: number): number => points.slice(0, point).join("").length;
  const removed = [...snippet.matchAll(markupOf(snippet))].map(
    ({ 0: mark, index }) => [index, index + mark.length] as const,
  );
  /** Where a unit of the snippet stands once the markup before it is gone. */
  const moved = (unit: number): number =>
    unit - removed.reduce((sum, [start, end]) => sum + Math.max(0, Math.min(end, unit) - start), 0);
  return {
    text: withoutMarkup(snippet),
    marks: marks.map(([start, end]) => [moved(unitOf(start)), moved(unitOf(end))]),
  };
}

/** The words that were found, as they are written there, each once. */
export function foundWords({ text, marks }: Snippet): string[] {
  return [...new Set(marks.map(([start, end]) => text.slice(start, end)))];
}

export function snippetNodes({ text, marks }: Snippet): (Node | string)[] {
  const nodes: (Node | string)[] = [];
  let at = 0;
  for (const [start, end] of marks) {
    nodes.push(text.slice(at, start), h("mark", null, text.slice(start, end)));
    at = end;
  }
  return [...nodes, text.slice(at)];
}
