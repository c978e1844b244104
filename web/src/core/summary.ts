/**
 * One line on what the thinking was about, without asking any model for it.
 *
 * In order: the line that an event brought; the bold or heading line that opens the newest thought that has one; the
 * first sentence that says something, and once the turn is over the last one, which says what was accomplished.
 */

import { countWords, type Lines, plainLine } from "./preview.js";
import type { findSentence } from "./sentence.js";
import type { Block, Turn } from "./turn.js";

export type SummaryBy = "model" | "provider" | "extract" | "nobody";

/** Finds a sentence where nobody wrote a summary; without it there is none. */
export type FindSentence = typeof findSentence;

/** The line and who wrote it; empty when there is nothing to read. `thoughts` are those that are shown. */
export function summaryLine(
  turn: Turn,
  thoughts: Block[],
  lines: Lines,
  findSentence?: FindSentence,
): [string, SummaryBy] {
  const written = lines.summary(turn.summary);
  if (written) return [written, turn.summaryBy as SummaryBy];
  const title = thoughts.map(lines.title).findLast(Boolean);
  if (title) return [title, "provider"];
  const readable = thoughts.filter((block) => !block.blank);
  const block = turn.live ? readable[0] : readable.at(-1);
  const text = block && (turn.live ? lines.beginning(block) : lines.end(block));
  const sentence = text && findSentence ? lines.summary(findSentence(text, !turn.live, plainLine, countWords)) : "";
  return [sentence, sentence ? "extract" : "nobody"];
}

/** Whether somebody wrote the summary, rather than it being taken from the thoughts. */
export function writtenSummary(by: SummaryBy): boolean {
  return by === "model" || by === "provider";
}
