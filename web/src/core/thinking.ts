/**
 * What the element says of a turn's thinking, every word already chosen: the panel, above all its header.
 *
 * It is pure, and says what the Python package's `view` says: the same turn, policy, language, moment and choices
 * always give the same words. The steps behind the header are in `steps.ts`. No thinking, no view.
 */

import type { ViewContext } from "./context.js";
import { countText, notice, timeText, turnLabel } from "./labels.js";
import { openState, panelChoice } from "./open-rule.js";
import type { Open, Policy } from "./policy.js";
import { wordCount } from "./preview.js";
import { type BlockStatus, connectionLost, hiddenReason, type ThinkingState } from "./state.js";
import { type FindSentence, type SummaryBy, summaryLine, writtenSummary } from "./summary.js";
import type { ThinkingTime } from "./timing.js";
import { Block } from "./turn.js";

/** The thinking of a turn, without its steps. */
export interface PanelView {
  status: ThinkingState;
  label: string;
  /** The label with its time written out, for a screen reader; empty while it thinks. */
  spoken: string;
  /** The words beside the label. */
  text: string;
  open: Open;
  duration: string;
  duration_ms: number | null;
  words: number | null;
  words_text: string;
  tokens: number | null;
  tokens_text: string;
  summary: string;
  summary_by: SummaryBy;
  preview: string;
  peek: string;
  /** What is shown for the first thought where it cannot be read. */
  placeholder: string;
  tool_count: number;
  tool_count_deep: number;
  badge: string;
  badge_title: string;
  marker: string;
  notice: string;
}

/** The panel of a turn; `findSentence` makes a summary where nobody wrote one. */
export function panelView(context: ViewContext, findSentence?: FindSentence): PanelView | null {
  const { turn, policy, words, state, thoughts, top, lines } = context;
  const time = headerTime(context);
  if (!top[0]) return null;
  const live = state === "thinking";
  const count = live ? null : totalWords(context);
  const [summary, summary_by] = summaryLine(turn, thoughts, lines, findSentence);
  const calls = turn.blocks.filter((block) => block.call);
  const ownCalls = calls.filter((block) => block.parent === null).length;
  const firstWords = thoughts.map(lines.preview).find(Boolean) ?? "";
  const numbers = top.map((block) => block.number);
  const open = openState(policy, live, panelChoice(context.choices, numbers), !!context.unfinished);
  const hidden = thoughts[0] && hiddenReason(thoughts[0]);
  const tokens = turn.usage.reasoning ?? null;
  return {
    status: state,
    label: turnLabel(context, timeText(words, time)),
    spoken: live ? "" : turnLabel(context, time ? words.spoken(time.ms) : ""),
    text: headerText(policy, firstWords, summary, summary_by),
    open,
    duration: timeText(words, time),
    duration_ms: time?.ms ?? null,
    words: count,
    words_text: countText(words, "words", count),
    tokens,
    tokens_text: countText(words, "tokens", tokens),
    summary,
    summary_by,
    preview: firstWords,
    peek: live ? newestPhrase(context) : "",
    placeholder: hidden ? words.say(hidden) : "",
    tool_count: ownCalls,
    tool_count_deep: calls.length,
    badge: ownCalls ? `🔧 ${words.say("tools", { n: ownCalls })}` : "",
    badge_title: calls.length > ownCalls ? words.say("tools_deep", { n: calls.length }) : "",
    marker: !live && open === "hidden" ? words.say("hidden") : "",
    notice: notice(turn, words),
  };
}

/** What is shown before the first thought, where the page wants the wait to be seen: the view of an empty thought. */
export function waitingView(context: ViewContext): PanelView {
  const { turn, words, now, policy } = context;
  const top = [new Block(0, "reasoning")];
  // The room of the newest line is kept from the beginning, so that the first thought moves nothing.
  const while_streaming = policy.while_streaming === "peek" ? "peek" : "collapsed";
  const view = panelView({ ...context, top, state: "thinking", policy: { ...policy, while_streaming } });
  const duration_ms = turn.startedMs === null || now === null ? 0 : now - turn.startedMs;
  return { ...(view as PanelView), label: words.say("waiting"), duration_ms };
}

/** The value of the element's `status` attribute. */
export function blockStatus({ turn, thoughts, top, state }: ViewContext): BlockStatus | "" {
  if (!top[0]) return "";
  if (state === "thinking") return "streaming";
  if (state === "error") return "error";
  if (state === "done") return thoughts[0] && thoughts.every(hiddenReason) ? "redacted" : "done";
  if (connectionLost(turn)) return "disconnected";
  return turn.outcome?.ending === "cancelled" ? "aborted" : "truncated";
}

/** The time of the header: that of the call at work, else the thinking time, which has no calls in it. */
function headerTime({ call, now, time }: ViewContext): ThinkingTime | null {
  if (!call) return time;
  return call.startedMs === null || now === null ? null : { ms: Math.max(0, now - call.startedMs), approximate: false };
}

/** All words of the turn's thoughts; null where none can be read. */
function totalWords(context: ViewContext): number | null {
  const readable = context.thoughts.filter((block) => !hiddenReason(block) && context.stateOf(block) !== "thinking");
  return readable[0] ? readable.reduce((sum, block) => sum + wordCount(block), 0) : null;
}

/** The words beside the label: a summary that somebody wrote, else the first words. */
function headerText({ header }: Policy, firstWords: string, summary: string, by: SummaryBy): string {
  if (header === "label") return "";
  const summarized = header === "summary" || (header === "auto" && writtenSummary(by));
  return (summarized && summary) || firstWords;
}

/** The newest line that can be read; it stays while a call works and a thought begins. */
function newestPhrase({ thoughts, lines }: ViewContext): string {
  let phrase = "";
  for (let index = thoughts.length - 1; !phrase && index >= 0; index--) phrase = lines.peek(thoughts[index] as Block);
  return phrase;
}
