/**
 * A turn from plain records instead of events: the thinking block's JSON, and single steps.
 *
 * A record that comes again is compared with what is there, so text that only grew is only appended. The
 * element loads this when the first record comes, so it stands alone and takes from `Core` what it needs.
 */

import type { Core } from "./feed.js";
import type { Block } from "./transcript.js";

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

/** One step by itself, or more text of one. */
export type StepRecord = ThinkingBlock | { step: ThinkingStep } | { id: string; delta: string };

/** Takes records one by one; it holds which of them became which block of the turn. */
export function records(core: Core): (record: StepRecord) => void {
  const { turn, begin, setText } = core;
  const numbers = new Map<string, number>();

  /** The block of a record, begun if it is not there. */
  function blockOf(id: string, kind: Block["kind"], parent: number | null): Block {
    const known = turn.blocks[numbers.get(id) ?? -1];
    if (known) return known;
    const block = begin(turn, kind);
    block.parent = parent;
    numbers.set(id, block.number);
    return block;
  }

  /** Add a step, or bring it up to date; `last` says that it may still be going on. */
  function upsert(step: ThinkingStep, parent: number | null = null, last = step.status === "thinking"): void {
    const block = blockOf(step.id, step.type, parent ?? numbers.get(step.parentId ?? "") ?? null);
    const name = step.toolName ?? step.assistantName ?? "";
    const said = step.toolInput ?? step.assistantTask ?? (block.call && step.content === name ? "" : step.content);
    const back = step.toolResult ?? step.assistantResult ?? null;
    const status = step.status ?? (last && back === null ? "thinking" : "done");
    block.name = name;
    block.assistantId = step.assistantId ?? "";
    setText(block, said ?? "");
    block.status = status === "thinking" ? "running" : status;
    block.result = status === "thinking" ? back : (back ?? "");
    block.error = status === "error" ? (back ?? "") : "";
    block.endedMs = step.endedAt ?? null;
    // When it ended nobody says, so how long it took nobody knows.
    block.startedMs = status === "thinking" || step.endedAt != null ? (step.startedAt ?? step.timestamp ?? null) : null;
    const below = step.childSteps ?? [];
    below.forEach((child, at) => upsert(child, block.number, status === "thinking" && at === below.length - 1));
  }

  return (record) => {
    core.changes++;
    if ("steps" in record) {
      const { summary, status, steps } = record;
      turn.summary = summary ?? "";
      turn.summaryBy = "model";
      steps.forEach((step, at) => upsert(step, null, status === "thinking" && at === steps.length - 1));
      turn.outcome =
        status === "thinking" ? null : { ending: status === "error" ? "failed" : "answered", cause: "", message: "" };
    } else if ("step" in record) {
      upsert(record.step);
    } else {
      // A step that is not there begins as a thought.
      blockOf(record.id, "reasoning", null).grow(record.delta);
    }
  };
}
