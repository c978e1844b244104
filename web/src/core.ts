/** The part without any DOM, all in one: events in, words out. For tests and for other surfaces. */

import { viewContext } from "./core/context.js";
import { firstColumns, foot, head, lastColumns } from "./core/graphemes.js";
import type { Choices } from "./core/open-rule.js";
import type { Policy } from "./core/policy.js";
import { makeLines } from "./core/preview.js";
import { findSentence } from "./core/sentence.js";
import type { ThinkingState } from "./core/state.js";
import { type BodyView, bodyView } from "./core/steps.js";
import * as summary from "./core/summary.js";
import { type PanelView, panelView } from "./core/thinking.js";
import type { Block, Turn } from "./core/turn.js";
import type { Words } from "./core/words.js";

export { type ViewContext, viewContext } from "./core/context.js";
export type * from "./core/events.js";
export { firstCharacters } from "./core/excerpts.js";
export { notice } from "./core/labels.js";
export * from "./core/locales.js";
export * from "./core/open-rule.js";
export * from "./core/policy.js";
export * from "./core/portuguese.js";
export { countWords, plainLine } from "./core/preview.js";

/** Lines for a surface of fixed columns, to the letter of the Python package. */
const COLUMN_LINES = makeLines({ head, foot, firstColumns, lastColumns });
export const { peek, preview } = COLUMN_LINES;
export * from "./core/reducer.js";
export * from "./core/state.js";
export type { BlockView, BodyView, StepView } from "./core/steps.js";
export type { SummaryBy } from "./core/summary.js";
export { blockStatus, type PanelView } from "./core/thinking.js";
export * from "./core/timing.js";
export * from "./core/turn.js";
export * from "./core/words.js";
export * from "./sources/dialects.js";
export { FrameDecoder } from "./sources/frames.js";
export * from "./sources/records.js";
export * from "./sources/source.js";
export * from "./sources/turn-feed.js";

/** The thinking of a turn: a header in parts and as one line, its thoughts, and all its steps. */
export type ThinkingView = PanelView & BodyView & { header: string };

const ICONS: Record<ThinkingState, string> = { thinking: "⚙", done: "💭", error: "⚠", interrupted: "💭" };

/** The thinking of the turn as it is to be shown; `now` lets the clock of a live thought run. */
export function view(
  turn: Turn,
  policy: Policy,
  words: Words,
  now: number | null = null,
  choices: Choices = new Map(),
): ThinkingView | null {
  const context = viewContext(turn, policy, words, now, choices, COLUMN_LINES);
  const panel = panelView(context, findSentence);
  return panel && { ...panel, header: headerLine(panel, policy.header), ...bodyView(context) };
}

/** One line on what the thinking was about and who wrote it. */
export function summaryLine(turn: Turn, thoughts: Block[]): [string, summary.SummaryBy] {
  return summary.summaryLine(turn, thoughts, COLUMN_LINES, findSentence);
}

/** The whole header in one line, as a terminal shows it. */
function headerLine({ status, label, duration, words_text, text }: PanelView, header: Policy["header"]): string {
  const icon = ICONS[status];
  if (text && header === "summary") return `${icon} ${text} · ${label}`;
  if (text && header === "preview" && status === "done") return `${icon} ${text}`;
  const facts = [label, status === "done" ? "" : duration, words_text].filter(Boolean);
  return `${icon} ${facts.join(" · ")}${text && ` — ${text}`}`;
}
