/**
 * One line on what the thinking was about, without asking any model for it.
 *
 * The twin of the Python package's `view.summary`. In order: the line that an event brought; the bold or
 * heading line that opens the newest thought that has one; the first sentence that says something.
 */

import { firstColumns, head } from "./graphemes.js";
import { countWords, plainLine, settled } from "./preview.js";
import type { firstSentence } from "./sentence.js";
import type { Block, Turn } from "./transcript.js";

const SUMMARY_COLUMNS = 120;
/** How much of a thought is read in search of a title or a sentence. */
const READ_AHEAD = 2000;

const TITLE = /^\s*(?:\*\*([^*\n]+)\*\*|#{1,6}[ \t]+([^\n]+?))[ \t]*(?:\n|$)/;

export type SummaryBy = "model" | "provider" | "extract" | "nobody";

/** Finds a sentence where nobody wrote a summary; without it there is none. */
export type Sentence = typeof firstSentence;

/** The line and who wrote it; empty when there is nothing to read. `seen` are the thoughts on show. */
export function summaryLine(turn: Turn, seen: Block[], sentence?: Sentence): [string, SummaryBy] {
  const told = shortLine(turn.summary);
  if (told) return [told, turn.summaryBy as SummaryBy];
  const title = seen.map(titleOf).findLast(Boolean);
  if (title) return [title, "provider"];
  const first = seen.find((block) => !block.blank);
  const found = first && sentence ? shortLine(sentence(read(first), plainLine, countWords)) : "";
  return [found, found ? "extract" : "nobody"];
}

const titleOf = /* @__PURE__ */ settled(READ_AHEAD + 1, (block) => {
  const [, bold, heading] = TITLE.exec(read(block)) ?? [];
  return shortLine(plainLine(bold ?? heading ?? ""));
});

function read(block: Block): string {
  return head(block.first(READ_AHEAD + 1), READ_AHEAD);
}

function shortLine(text: string): string {
  return firstColumns(plainLine(head(text, READ_AHEAD)), SUMMARY_COLUMNS);
}
