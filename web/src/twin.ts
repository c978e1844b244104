/** The pure half, without any DOM and all in one: events in, words out. For tests and for other surfaces. */

import type { Choices, Policy } from "./opening.js";
import { firstSentence } from "./sentence.js";
import type { Standing } from "./standing.js";
import { type BodyView, bodyView } from "./step-views.js";
import * as summary from "./summary.js";
import type { Block, Turn } from "./transcript.js";
import { type PanelView, panelView, scene } from "./view.js";
import type { Words } from "./words.js";

export * from "./consume.js";
export * from "./dialects.js";
export type * from "./events.js";
export * from "./feed.js";
export { firstCharacters } from "./excerpts.js";
export * from "./locales.js";
export * from "./opening.js";
export * from "./portuguese.js";
export { countWords, peek, plainLine, preview } from "./preview.js";
export * from "./records.js";
export * from "./sources.js";
export * from "./standing.js";
export type { BlockView, BodyView, StepView } from "./step-views.js";
export type { SummaryBy } from "./summary.js";
export * from "./transcript.js";
export { notice, type PanelView, statusOf } from "./view.js";
export * from "./words.js";

/** The thinking of a turn: a header in parts and as one line, its thoughts, and all its steps. */
export type ThinkingView = PanelView & BodyView & { header: string };

const ICONS: Record<Standing, string> = { thinking: "⚙", done: "💭", error: "⚠", interrupted: "💭" };

/** The turn's thinking as it is to be shown; `now` lets the clock of a live thought run. */
export function view(
  turn: Turn,
  policy: Policy,
  words: Words,
  now: number | null = null,
  choices: Choices = new Map(),
): ThinkingView | null {
  const at = scene(turn, policy, words, now, choices);
  const seen = panelView(at, firstSentence);
  return seen && { ...seen, header: headerLine(seen, policy.header), ...bodyView(at) };
}

/** One line on what the thinking was about and who wrote it. */
export const summaryLine = (turn: Turn, seen: Block[]): [string, summary.SummaryBy] =>
  summary.summaryLine(turn, seen, firstSentence);

/** The whole header in one line, as a terminal would have it. */
function headerLine({ status, label, duration, words_text, text }: PanelView, header: Policy["header"]): string {
  const icon = ICONS[status];
  if (text && header === "summary") return `${icon} ${text} · ${label}`;
  if (text && header === "preview" && status === "done") return `${icon} ${text}`;
  const facts = [label, status === "done" ? "" : duration, words_text].filter(Boolean);
  return `${icon} ${facts.join(" · ")}${text && ` — ${text}`}`;
}
