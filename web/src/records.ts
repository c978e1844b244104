/**
 * A turn from plain records instead of events: the thinking block's JSON, single steps, and a status word.
 *
 * A record that comes again is compared with what is there, so text that only grew is only appended.
 */

import type { Event } from "./events.js";
import { Block, stopped, type Turn } from "./transcript.js";

/** A thought, a tool call or an assistant call, with what hangs below it. */
export interface ThinkingStep {
  id: string;
  type: "reasoning" | "tool_call" | "assistant_call";
  content: string;
  toolName?: string;
  toolInput?: string;
  toolResult?: string;
  assistantName?: string;
  assistantId?: string;
  assistantTask?: string;
  assistantResult?: string;
  childSteps?: ThinkingStep[];
  timestamp?: number;
  status?: "thinking" | "done" | "error";
  startedAt?: number;
  endedAt?: number;
  parentId?: string;
}

/** A summary, a status and the steps in the order they began. */
export interface ThinkingBlock {
  summary?: string;
  status: "thinking" | "done" | "error";
  steps: ThinkingStep[];
}

/** The words of the `status` attribute. */
export type BlockStatus =
  | "pending"
  | "streaming"
  | "done"
  | "error"
  | "aborted"
  | "truncated"
  | "redacted"
  | "disconnected";

/** Holds which record became which block of a turn. */
export class Records {
  #numbers = new Map<string, number>();
  #turn: Turn;

  constructor(turn: Turn) {
    this.#turn = turn;
  }

  /** Take a whole thinking block; steps that are there already are brought up to date. */
  take({ summary, status, steps }: ThinkingBlock): void {
    this.#turn.summary = summary ?? "";
    this.#turn.summaryBy = "model";
    steps.forEach((step, at) => this.upsert(step, null, status === "thinking" && at === steps.length - 1));
    this.#turn.outcome =
      status === "thinking" ? null : { ending: status === "error" ? "failed" : "answered", cause: "", message: "" };
  }

  /** Add a step, or bring it up to date; `last` says that it may still be going on. */
  upsert(step: ThinkingStep, parent: number | null = null, last = step.status === "thinking"): void {
    const block = this.block(step.id, step.type, parent ?? this.#numbers.get(step.parentId ?? "") ?? null);
    const name = step.toolName ?? step.assistantName ?? "";
    const said = step.toolInput ?? step.assistantTask ?? (block.call && step.content === name ? "" : step.content);
    const back = step.toolResult ?? step.assistantResult ?? null;
    const status = step.status ?? (last && back === null ? "thinking" : "done");
    block.name = name;
    block.assistantId = step.assistantId ?? "";
    setText(block, said);
    block.status = status === "thinking" ? "running" : status;
    block.result = status === "thinking" ? back : (back ?? "");
    block.error = status === "error" ? (back ?? "") : "";
    block.endedMs = step.endedAt ?? null;
    // When it ended nobody says, so how long it took nobody knows.
    block.startedMs = status === "thinking" || step.endedAt != null ? (step.startedAt ?? step.timestamp ?? null) : null;
    const below = step.childSteps ?? [];
    below.forEach((child, at) => this.upsert(child, block.number, status === "thinking" && at === below.length - 1));
  }

  /** More text of a step; one that is not there begins as a thought. */
  append(id: string, delta: string): void {
    this.block(id, "reasoning", null).grow(delta);
  }

  /** The block of a record, begun if it is not there. */
  block(id: string, kind: Block["kind"], parent: number | null): Block {
    const known = this.#turn.blocks[this.#numbers.get(id) ?? -1];
    if (known) return known;
    const block = new Block(this.#turn.blocks.length, kind);
    block.parent = parent;
    this.#numbers.set(id, block.number);
    this.#turn.blocks.push(block);
    return block;
  }
}

/** Make a block say exactly this; where it only grew, nothing that is there is touched. */
export function setText(block: Block, text: string): void {
  if (text.startsWith(block.text)) block.grow(text.slice(block.size));
  else block.text = text;
}

/** The events that bring a live turn to where a status word says it is. */
export function settled(turn: Turn, status: BlockStatus): Event[] {
  switch (status) {
    case "error":
      return stopped(turn, { type: "turn.failed", code: "" });
    case "aborted":
      return stopped(turn, { type: "turn.ended", finish: "cancelled" });
    case "truncated":
      return stopped(turn, { type: "turn.ended", finish: "length" });
    case "disconnected":
      return stopped(turn, { type: "turn.failed", code: "cut_off" });
    case "done":
    case "redacted":
      // The thinking is over; of an answer nothing is known, so the turn goes on.
      return turn.blocks
        .filter((block) => block.status === "running")
        .map(({ number }) => ({ type: "block.ended", block: number }) as const);
    default:
      return [];
  }
}
