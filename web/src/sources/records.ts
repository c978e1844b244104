/**
 * A turn from plain records instead of events: the thinking block's JSON, and single steps.
 *
 * A record that comes again is compared with what is there, so text that only grew is only appended. The element
 * loads this when the first record comes, so it takes what it needs from `FeedTarget` and imports nothing.
 */

import type { Block } from "../core/turn.js";
import type { FeedTarget } from "./turn-feed.js";

/** A thought, a tool call or an assistant call, with the steps below it. */
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

/** A thinking block, one step by itself, or more text of a step. */
export type StepRecord = ThinkingBlock | { step: ThinkingStep } | { id: string; delta: string };

/** Reads records one by one; it holds which of them became which block of the turn. */
export function recordReader(target: FeedTarget): (record: StepRecord) => void {
  const { turn, startBlock, setText } = target;
  const numbers = new Map<string, number>();

  /** The block of a record, started if it is not there. */
  function blockOf(id: string, kind: Block["kind"], parent: number | null): Block {
    const known = turn.blocks[numbers.get(id) ?? -1];
    if (known) return known;
    const block = startBlock(turn, kind);
    block.parent = parent;
    numbers.set(id, block.number);
    return block;
  }

  /** Adds a step, or brings it up to date; `last` says that it may still be running. */
  function upsert(step: ThinkingStep, parent: number | null = null, last = step.status === "thinking"): void {
    const block = blockOf(step.id, step.type, parent ?? numbers.get(step.parentId ?? "") ?? null);
    const name = step.toolName ?? step.assistantName ?? "";
    const text = step.toolInput ?? step.assistantTask ?? (block.call && step.content === name ? "" : step.content);
    const result = step.toolResult ?? step.assistantResult ?? null;
    const status = step.status ?? (last && result === null ? "thinking" : "done");
    const running = status === "thinking";
    const wasRunning = block.startedMs !== null;
    block.name = name;
    block.assistantId = step.assistantId ?? "";
    setText(block, text ?? "");
    block.status = running ? "running" : status;
    block.result = running ? result : (result ?? "");
    block.error = status === "error" ? (result ?? "") : "";
    const began = step.startedAt ?? step.timestamp;
    // What arrives at work is timed here; of what arrives complete and without stamps, nobody knows how long it took.
    if (running) block.startedMs ??= target.stampOf(began);
    else if (step.endedAt != null) block.startedMs = began ?? block.startedMs;
    else if (wasRunning) block.endedMs ??= target.stampOf();
    if (step.endedAt != null) block.endedMs = step.endedAt;
    upsertAll(step.childSteps ?? [], block.number, running);
  }

  function upsertAll(steps: ThinkingStep[], parent: number | null, running: boolean): void {
    for (const step of steps) upsert(step, parent, running && step === steps.at(-1));
  }

  return (record) => {
    target.changes++;
    if ("steps" in record) {
      const { summary, status, steps } = record;
      const running = status === "thinking";
      turn.summary = summary ?? "";
      turn.summaryBy = "model";
      upsertAll(steps, null, running);
      turn.outcome = running ? null : { ending: status === "error" ? "failed" : "answered", cause: "", message: "" };
    } else if ("step" in record) {
      upsert(record.step);
    } else {
      // A step that is not there begins as a thought.
      const block = blockOf(record.id, "reasoning", null);
      if (block.status === "running") block.startedMs ??= target.stampOf();
      block.append(record.delta);
    }
  };
}
