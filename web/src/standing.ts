/**
 * How the thinking of a turn stands, as facts that every view shares: what is there to show, is it going on.
 *
 * The twin of the Python package's `view.standing`. A thought that can be neither read nor proved is no
 * thought. Thinking is over as soon as the thought is; but while tools or assistants work, and until
 * something follows them, it goes on.
 */

import type { Block, Turn } from "./transcript.js";

export type Standing = "thinking" | "done" | "error" | "interrupted";
export type Unseen = "encrypted" | "redacted" | "withheld";

/** Whether a block is a step of the thinking that a person should know of. */
export function shown(block: Block): boolean {
  return block.call || (block.kind === "reasoning" && (!!block.seals[0] || !block.blank));
}

/** Why there is nothing to read in a sealed thought; null for one that can be read. */
export function unseen(block: Block): Unseen | null {
  if (!block.seals[0] || !block.blank) return null;
  const forms = block.seals.map((seal) => seal.form);
  return forms.includes("redacted") ? "redacted" : forms.includes("encrypted") ? "encrypted" : "withheld";
}

/** Where the turn's thinking stands. An answer cut off after the thinking was done leaves it done. */
export function standingOf(turn: Turn): Standing {
  const ending = turn.outcome?.ending;
  if (!ending) return goesOn(turn) ? "thinking" : "done";
  if (ending === "failed") return "error";
  return (ending === "cut_off" || ending === "cancelled") && thinkingCut(turn) ? "interrupted" : "done";
}

/** Where one step stands; one that the turn's end broke off stands as the `whole` turn does. */
export function stepStanding(block: Block, live: boolean, whole: Standing): Standing {
  if (block.status === "error") return "error";
  if (block.status === "interrupted") return live ? "interrupted" : whole;
  return live && atWork(block) ? "thinking" : "done";
}

/** Whether the stream just stopped, without a word from the provider. */
export function connectionLost(turn: Turn): boolean {
  return turn.outcome?.ending === "cut_off" && turn.outcome.cause === "cut_off";
}

/** Whether the turn is over and its thoughts are all there is to read. */
export function ledNowhere(turn: Turn): boolean {
  const ending = turn.outcome?.ending;
  return (ending === "reasoning_only" || ending === "cut_off") && !said(turn);
}

/** The turn's last step, unless it is a call that came back: what went on when the turn was cut. */
export function lastUnderWay(turn: Turn): Block | null {
  const last = turn.top().filter(shown).pop();
  return last && last.result === null ? last : null;
}

function said(turn: Turn): boolean {
  return turn.top("text").some((block) => !block.blank);
}

function goesOn(turn: Turn): boolean {
  const told = turn.top().filter((block) => shown(block) || !block.blank);
  return told.some((block) => shown(block) && atWork(block)) || !!told[told.length - 1]?.call;
}

function atWork(block: Block): boolean {
  return block.status === "running" || block.awaited;
}

function thinkingCut(turn: Turn): boolean {
  return !said(turn) || turn.top().some((block) => shown(block) && block.status === "interrupted");
}
