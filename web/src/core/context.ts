/** Everything that one view of a turn depends on, computed once and handed to whoever builds a part of the view. */

import { BURST_MS } from "./limits.js";
import { type Choices, openState, PANEL } from "./open-rule.js";
import type { Open, Policy } from "./policy.js";
import type { Lines } from "./preview.js";
import {
  callAtWork,
  endedWithoutAnswer,
  interruptedStep,
  stepState,
  type ThinkingState,
  thinkingState,
  visible,
} from "./state.js";
import { type ThinkingTime, thinkingTime } from "./timing.js";
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
  /** How long texts become lines. */
  lines: Lines;
  /** The turn's own steps, and the thoughts among them. */
  top: Block[];
  thoughts: Block[];
  state: ThinkingState;
  time: ThinkingTime | null;
  /** The call that the turn waits for; the header names it and counts its time, which is no thinking time. */
  call: Block | undefined;
  /** The thought to keep in sight because the turn ended with it. */
  unfinished: Block | undefined;
  /** The state of one step. */
  stateOf(block: Block): ThinkingState;
  /** How much of one step is shown. */
  openOf(block: Block): Open;
  /** How long one thought took; the turn's own approximate time is used for its only thought. */
  timeOf(block: Block): ThinkingTime | null;
}

/**
 * Computes what every part of a view needs. In our own preset, a person who opened the panel sees the step at work or the last
 * one; all the others are closed unless that person opened them. The other presets are those of other products, which open all.
 */
export function viewContext(
  turn: Turn,
  policy: Policy,
  words: Words,
  now: number | null,
  choices: Choices,
  lines: Lines,
): ViewContext {
  const oneStepOpen = policy.preset === "default";
  const top = turn.ownBlocks().filter(visible);
  const thoughts = top.filter((block) => block.kind === "reasoning");
  const state = thinkingState(turn);
  const measured = thinkingTime(turn, now);
  const time = measured && (measured.approximate || measured.ms >= BURST_MS) ? measured : null;
  const unfinished = endedWithoutAnswer(turn) ? thoughts[thoughts.length - 1] : undefined;
  // The step that was running when the turn was interrupted, whatever its provider said of it.
  const interrupted = state === "interrupted" ? interruptedStep(turn) : null;
  const stateOf = (block: Block): ThinkingState => (block === interrupted ? state : stepState(block, turn.live, state));
  const lastSteps = new Map<number | null, Block>();
  if (oneStepOpen) for (const block of turn.blocks) if (visible(block)) lastSteps.set(block.parent, block);
  return {
    turn,
    policy,
    words,
    now,
    choices,
    lines,
    top,
    thoughts,
    state,
    time,
    call: callAtWork(turn),
    unfinished,
    stateOf,
    openOf(block) {
      const works = stateOf(block) === "thinking";
      const own = choices.get(block.number);
      const choice =
        oneStepOpen && own === undefined && choices.get(PANEL) ? works || lastSteps.get(block.parent) === block : own;
      return openState(policy, works, choice ?? choices.get(PANEL), block === unfinished);
    },
    timeOf({ startedMs, endedMs }) {
      const until = endedMs ?? now;
      const ms = startedMs === null || until === null ? 0 : until - startedMs;
      if (ms >= BURST_MS) return { ms, approximate: false };
      return !thoughts[1] && time?.approximate ? time : null;
    },
  };
}
