/** The pure half, without any DOM and all in one: events in, words out. For tests and for other surfaces. */

import type { Choices, Policy } from "./opening.js";
import { firstSentence } from "./sentence.js";
import * as summary from "./summary.js";
import type { Block, Turn } from "./transcript.js";
import * as looking from "./view.js";
import type { Words } from "./words.js";

export * from "./consume.js";
export * from "./dialects.js";
export type * from "./events.js";
export * from "./feed.js";
export { firstCharacters } from "./graphemes.js";
export * from "./locales.js";
export * from "./opening.js";
export * from "./portuguese.js";
export { countWords, peek, plainLine, preview } from "./preview.js";
export * from "./records.js";
export * from "./standing.js";
export type { SummaryBy } from "./summary.js";
export * from "./transcript.js";
export { type BlockView, notice, statusOf, type StepView, type ThinkingView, waitedText, waitingView } from "./view.js";
export * from "./words.js";

/** The turn's thinking as it is to be shown; `now` lets the clock of a live thought run. */
export const view = (
  turn: Turn,
  policy: Policy,
  words: Words,
  now: number | null = null,
  choices: Choices = new Map(),
): looking.ThinkingView | null => looking.view(turn, policy, words, now, choices, firstSentence);

/** One line on what the thinking was about and who wrote it. */
export const summaryLine = (turn: Turn, seen: Block[]): [string, summary.SummaryBy] =>
  summary.summaryLine(turn, seen, firstSentence);
