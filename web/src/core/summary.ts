/**
 * One line on what the thinking was about, without asking any model for it.
 *
 * In order: the line that an event brought; the bold or heading line that opens the newest thought that has one; the
 * first sentence that says something, and once the turn is over the last one, which says what was accomplished.
 */

import { firstColumns, foot, head } from "./graphemes.js";
import { cachedByStart, countWords, plainLine } from "./preview.js";
import type { findSentence } from "./sentence.js";
import type { Block, Turn } from "./turn.js";

const SUMMARY_COLUMNS = 120;
/** How much of a thought is read in search of a title or a sentence. */
const READ_AHEAD = 2000;

const TITLE = /^\s*(?:\*\*([^*\n]+)\*\*|#{1,6}[ \t]+([^\n]+?))[ \t]*(?:\n|$)/;

export type SummaryBy = "model" | "provider" | "extract" | "nobody";

/** Finds a sentence where nobody wrote a summary; without it there is none. */
export type FindSentence = typeof findSentence;

/** The line and who wrote it; empty when there is nothing to read. `thoughts` are those that are shown. */
export function summaryLine(turn: Turn, thoughts: Block[], findSentence?: FindSentence): [string, SummaryBy] {
  const written = shortLine(turn.summary);
  if (written) return [written, turn.summaryBy as SummaryBy];
  const title = thoughts.map(titleOf).findLast(Boolean);
  if (title) return [title, "provider"];
  const readable = thoughts.filter((block) => !block.blank);
  const block = turn.live ? readable[0] : readable.at(-1);
  const text = block && (turn.live ? beginning(block) : foot(block.last(READ_AHEAD + 1), READ_AHEAD));
  const sentence = text && findSentence ? shortLine(findSentence(text, !turn.live, plainLine, countWords)) : "";
  return [sentence, sentence ? "extract" : "nobody"];
}

/** Whether somebody wrote the summary, rather than it being taken from the thoughts. */
export function writtenSummary(by: SummaryBy): boolean {
  return by === "model" || by === "provider";
}

const titleOf = /* @__PURE__ */ cachedByStart(READ_AHEAD + 1, (block) => {
  const [, bold, heading] = TITLE.exec(beginning(block)) ?? [];
  return shortLine(plainLine(bold ?? heading ?? ""));
});

function beginning(block: Block): string {
  return head(block.first(READ_AHEAD + 1), READ_AHEAD);
}

function shortLine(text: string): string {
  return firstColumns(plainLine(head(text, READ_AHEAD)), SUMMARY_COLUMNS);
}
