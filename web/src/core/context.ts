/** Everything that one view of a turn depends on, computed once and handed to whoever builds a part of the view. */

import { blockChoice, type Choices, openState } from "./open-rule.js";
import type { Open, Policy } from "./policy.js";
import { endedWithoutAnswer, interruptedStep, stepState, type ThinkingState, thinkingState, visible } from "./state.js";
import { BURST_MS, type ThinkingTime, thinkingTime } from "./timing.js";
import type { Block, Turn } from "./turn.js";
import type { Words } from "./words.js";

/** A turn, how a person wants to see it, and what is true of all of it. */
export interface ViewContext {
  turn: Turn;
  policy: Policy;
  words: Words;
  /** The time until which a live thought counts; null where nobody knows. */
  now: number | null;
  choices: Choices;
  /** The turn's own steps, and the thoughts among them. */
  top: Block[];
  thoughts: Block[];
  state: ThinkingState;
  time: ThinkingTime | null;
  /** The thought to keep in sight because the turn ended with it. */
  unfinished: Block | undefined;
  /** The state of one step. */
  stateOf(block: Block): ThinkingState;
  /** How much of one step is shown. */
  openOf(block: Block): Open;
  /** How long one thought took; the turn's own approximate time is used for its only thought. */
  timeOf(block: Block): ThinkingTime | null;
}

export function viewContext(
  turn: Turn,
  policy: Policy,
  words: Words,
  now: number | null = null,
  choices: Choices = new Map(),
): ViewContext {
  const top = turn.ownBlocks().filter(visible);
  const thoughts = top.filter((block) => block.kind === "reasoning");
  const state = thinkingState(turn);
  const measured = thinkingTime(turn, now);
  const time = measured && (measured.approximate || measured.ms >= BURST_MS) ? measured : null;
  const unfinished = endedWithoutAnswer(turn) ? thoughts[thoughts.length - 1] : undefined;
  // The step that was running when the turn was interrupted, whatever its provider said of it.
  const interrupted = state === "interrupted" ? interruptedStep(turn) : null;
  const stateOf = (block: Block): ThinkingState => (block === interrupted ? state : stepState(block, turn.live, state));
  return {
    turn,
    policy,
    words,
    now,
    choices,
    top,
    thoughts,
    state,
    time,
    unfinished,
    stateOf,
    openOf: (block) =>
      openState(policy, stateOf(block) === "thinking", blockChoice(choices, block.number), block === unfinished),
    timeOf({ startedMs, endedMs }) {
      const until = endedMs ?? now;
      const ms = startedMs === null || until === null ? 0 : until - startedMs;
      if (ms >= BURST_MS) return { ms, approximate: false };
      return !thoughts[1] && time?.approximate ? time : null;
    },
  };
}
