/**
 * The short texts of a header: label, time and counts; and the sentence on how a turn ended.
 *
 * A number is said only when it is known. At rest the time is part of the label ("Thought for 4.2s").
 */

import type { ViewContext } from "./context.js";
import type { Wording } from "./events.js";
import { connectionLost, type ThinkingState } from "./state.js";
import type { ThinkingTime } from "./timing.js";
import type { Block, Ending, Turn } from "./turn.js";
import type { Words } from "./words.js";

/** The words for endings that are not called what the ending is. */
const ENDING_WORDS: Partial<Record<Ending, string>> = { cut_off: "cut_by_limit", cancelled: "stopped" };

/** How long, marked when it is the best that can be said; nothing when nobody knows. */
export function timeText(words: Words, time: ThinkingTime | null): string {
  const duration = words.duration(time?.ms ?? null);
  return time?.approximate ? words.say("approximate", { duration }) : duration;
}

/** A count in words; nothing for zero and for unknown. */
export function countText(words: Words, key: string, n: number | null): string {
  return n ? words.say(key, { n }) : "";
}

/** The label of a thought, or of all of them. */
export function thoughtLabel({ turn, words }: ViewContext, state: ThinkingState, duration: string): string {
  if (state === "thinking") return words.say("streaming");
  if (state === "error") return words.say("status.error");
  if (state === "interrupted") return words.say(interruption(turn));
  return words.say(duration ? "complete" : "complete_unknown", { duration });
}

/** The label of the whole panel: the call at work, else a status word where the header is a summary or nothing was thought. */
export function turnLabel(context: ViewContext, duration: string): string {
  const { state, words, policy, thoughts, call } = context;
  if (call) {
    const label = stepLabel(context, call);
    return call.kind === "tool_call" && call.approval !== "asked" ? words.say("calling", { name: label }) : label;
  }
  const summarized = policy.header === "summary";
  if ((state === "thinking" && summarized) || (state === "done" && (summarized || !thoughts[0])))
    return words.say(`status.${state}`);
  return thoughtLabel(context, state, duration);
}

/** The label of a step. A call is labelled with its name, and with what it waits for. */
export function stepLabel(context: ViewContext, block: Block): string {
  const { words } = context;
  const state = context.stateOf(block);
  if (!block.call) return thoughtLabel(context, state, timeText(words, context.timeOf(block)));
  const assistant = block.kind === "assistant_call";
  const name = block.name || words.say(assistant ? "assistant" : "tool");
  if (state !== "thinking") return name;
  if (block.approval === "asked") return words.say("approval", { name });
  return assistant ? words.say("working", { name }) : name;
}

function interruption(turn: Turn): string {
  if (connectionLost(turn)) return "connection_lost";
  return (turn.outcome && ENDING_WORDS[turn.outcome.ending]) || "interrupted";
}

/** Says a text of the gateway in another language. */
export type Translate = (text: string, wording?: Wording | null) => string;

/** What to tell a person about how the turn ended; it is said whether or not any thinking is shown. */
export function notice(turn: Turn, words: Words, translate: Translate = (text) => text): string {
  if (!turn.outcome) return "";
  const { ending, cause, message, wording } = turn.outcome;
  const key = `notice.${connectionLost(turn) ? "connection_lost" : (ENDING_WORDS[ending] ?? ending)}`;
  const reason = translate(message, wording) || cause;
  // A failure without a reason is said by the label alone, and an answer needs no words.
  return words.has(key) && (reason || ending !== "failed") ? words.say(key, { reason }) : "";
}
