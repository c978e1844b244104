/**
 * The state of a turn's thinking, as facts that every view shares: what is there to show, is it still running.
 *
 * A thought that can be neither read nor proved is no thought: a blank block counts only with a seal. Thinking is over
 * as soon as the thought is; but while tools or assistants work, and until something follows them, it continues.
 */

import type { Block, Turn } from "./turn.js";

export type ThinkingState = "thinking" | "done" | "error" | "interrupted";
export type HiddenReason = "encrypted" | "redacted" | "withheld";

/** The values of the element's `status` attribute. */
export type BlockStatus =
  | "pending"
  | "streaming"
  | "done"
  | "error"
  | "aborted"
  | "truncated"
  | "redacted"
  | "disconnected";

/** Whether a block is a step of the thinking that a person should know of. */
export function visible(block: Block): boolean {
  return block.call || (block.kind === "reasoning" && (!!block.seals[0] || !block.blank));
}

/** Why there is nothing to read in a sealed thought; null for one that can be read. */
export function hiddenReason({ seals, blank }: Block): HiddenReason | null {
  if (!seals[0] || !blank) return null;
  const forms = seals.map((seal) => seal.form);
  return forms.includes("redacted") ? "redacted" : forms.includes("encrypted") ? "encrypted" : "withheld";
}

/** The state of the turn's thinking. An answer cut off after the thinking was done leaves it done. */
export function thinkingState(turn: Turn): ThinkingState {
  const ending = turn.outcome?.ending;
  if (!ending) return inProgress(turn) ? "thinking" : "done";
  if (ending === "failed") return "error";
  return (ending === "cut_off" || ending === "cancelled") && interruptedWhileThinking(turn) ? "interrupted" : "done";
}

/** The state of one step; a step that the turn's end broke off has the state of the `whole` turn. */
export function stepState(block: Block, live: boolean, whole: ThinkingState): ThinkingState {
  if (block.status === "error") return "error";
  if (block.status === "interrupted") return live ? "interrupted" : whole;
  return live && working(block) ? "thinking" : "done";
}

/** Whether the stream just stopped, without a word from the provider. */
export function connectionLost({ outcome }: Turn): boolean {
  return outcome?.ending === "cut_off" && outcome.cause === "cut_off";
}

/** Whether the turn is over and its thoughts are all there is to read. */
export function endedWithoutAnswer(turn: Turn): boolean {
  const ending = turn.outcome?.ending;
  return (ending === "reasoning_only" || ending === "cut_off") && !turn.hasAnswer;
}

/** The turn's last step, unless it is a call that came back: the step that was running when the turn was cut. */
export function interruptedStep(turn: Turn): Block | null {
  const last = turn.ownBlocks().filter(visible).pop();
  return last && last.result === null ? last : null;
}

/** Whether a step of a live turn is running, or the last thing that happened in it is a call. */
function inProgress(turn: Turn): boolean {
  const readable = turn.ownBlocks().filter((block) => visible(block) || !block.blank);
  return readable.some((block) => visible(block) && working(block)) || !!readable[readable.length - 1]?.call;
}

/** The call that a live turn waits for: its last one at work, unless a thought is at work as well. */
export function callAtWork(turn: Turn): Block | undefined {
  const atWork = turn.live ? turn.ownBlocks().filter((block) => visible(block) && working(block)) : [];
  return atWork.every((block) => block.call) ? atWork.at(-1) : undefined;
}

function working(block: Block): boolean {
  return block.status === "running" || block.awaitingResult;
}

function interruptedWhileThinking(turn: Turn): boolean {
  return !turn.hasAnswer || turn.ownBlocks().some((block) => visible(block) && block.status === "interrupted");
}
