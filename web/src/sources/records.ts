/**
 * A turn from plain records instead of events: the gateway's JSON of a turn, the thinking block in it, single steps, and
 * messages of the AI SDK.
 *
 * A record that comes again is compared with what is there, so text that only grew is only appended. The element
 * loads this when the first record comes, so it takes what it needs from `FeedTarget` and imports nothing.
 */

import type { NoticeGiven, Usage } from "../core/events.js";
import type { Block, Outcome } from "../core/turn.js";
import type { FeedTarget } from "./turn-feed.js";
import { type MessageItem, messageItems, type UIMessage } from "./ui-message.js";

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

/** A thinking block of which every field may be missing. */
type GivenThinking = Partial<ThinkingBlock>;

/** One thought of a turn; `unseen` says why it has no text. */
export interface ThoughtRecord {
  block?: number;
  text?: string;
  duration_ms?: number | null;
  unseen?: "withheld" | "encrypted" | "redacted" | null;
}

/** A turn as the gateway answers it; every field may be missing. */
export interface TurnRecord {
  content?: { type?: string; text?: string }[] | null;
  reasoning_content?: string | null;
  reasoning_meta?: { duration_ms?: number | null; tokens?: number | null } | null;
  reasoning_blocks?: ThoughtRecord[] | null;
  thinking?: GivenThinking | null;
  thinking_block?: GivenThinking | null;
  outcome?: Outcome | null;
  usage?: Usage | null;
  model?: string;
}

/** A turn, a thinking block, one step by itself, more text of a step, or a message of the AI SDK. */
export type StepRecord =
  | TurnRecord
  | ThinkingBlock
  | { step: ThinkingStep }
  | { id: string; delta: string }
  | UIMessage;

/** Reads records one by one; it holds which of them became which block of the turn. */
export function recordReader(target: FeedTarget): (record: StepRecord) => void {
  const reader = new RecordReader(target);
  return (record) => reader.read(record);
}

class RecordReader {
  #target: FeedTarget;
  #turn: FeedTarget["turn"];
  /** The number of the block that each record became, by the record's id. */
  #numbers = new Map<string, number>();
  /** How often everything was replaced: what is drawn of an earlier block is not continued. */
  #replacements = 0;
  #messageId: string | undefined;
  /** Whether something of the message was seen at work. */
  #watched = false;

  constructor(target: FeedTarget) {
    this.#target = target;
    this.#turn = target.turn;
  }

  read(record: StepRecord): void {
    this.#target.changes++;
    if ("parts" in record) this.#readMessage(record);
    else if ("steps" in record) this.#readBlock(record, []);
    else if ("step" in record) this.#upsert(record.step);
    else if ("delta" in record) this.#grow(record.id, record.delta);
    else this.#readTurn(record);
  }

  /** Appends text to a step; one that is not there begins as a thought. */
  #grow(id: string, delta: string): void {
    const block = this.#blockOf(id, "reasoning", null);
    if (block.status === "running") block.startedMs ??= this.#target.stampOf();
    block.append(delta);
  }

  /** The block of a record, started if it is not there. */
  #blockOf(id: string, kind: Block["kind"], parent: number | null): Block {
    const known = this.#turn.blocks[this.#numbers.get(id) ?? -1];
    if (known) return known;
    const block = this.#target.startBlock(this.#turn, kind);
    block.parent = parent;
    block.rewrites = this.#replacements;
    this.#numbers.set(id, block.number);
    return block;
  }

  /** Adds a step, or brings it up to date; `last` says that it may still be running. */
  #upsert(step: ThinkingStep, parent: number | null = null, last = step.status === "thinking"): Block {
    const block = this.#blockOf(step.id, step.type, parent ?? this.#numbers.get(step.parentId ?? "") ?? null);
    const name = step.toolName ?? step.assistantName ?? "";
    const input = step.toolInput ?? step.assistantTask;
    const text = input ?? (block.call && step.content === name ? "" : step.content);
    if (block.call && input != null) block.description = descriptionOf(step, name, input);
    const result = step.toolResult ?? step.assistantResult ?? null;
    const status = step.status ?? (last && result === null ? "thinking" : "done");
    const running = status === "thinking";
    const wasRunning = block.startedMs !== null;
    block.name = name;
    block.assistantId = step.assistantId ?? "";
    this.#target.setText(block, text ?? "");
    block.status = running ? "running" : status;
    block.result = running ? result : (result ?? "");
    block.error = status === "error" ? (result ?? "") : "";
    const began = step.startedAt ?? step.timestamp;
    // What arrives at work is timed here; of what arrives complete and without stamps, nobody knows how long it took.
    if (running) block.startedMs ??= this.#target.stampOf(began);
    else if (step.endedAt != null) block.startedMs = began ?? block.startedMs;
    else if (wasRunning) block.endedMs ??= this.#target.stampOf();
    if (step.endedAt != null) block.endedMs = step.endedAt;
    this.#upsertAll(step.childSteps ?? [], block.number, running);
    return block;
  }

  #upsertAll(steps: ThinkingStep[], parent: number | null, running: boolean): void {
    for (const step of steps) this.#upsert(step, parent, running && step === steps.at(-1));
  }

  #upsertText(id: string, text: string, running: boolean): Block {
    const block = this.#blockOf(id, "text", null);
    this.#target.setText(block, text);
    block.status = running ? "running" : "done";
    return block;
  }

  /** Takes back what became a block and is not among these any more; unless it is the end alone, all of it begins again. */
  #forgetUnless(ids: string[]): void {
    const known = new Set(ids);
    const gone = [...this.#numbers].filter(([id]) => !known.has(id)).map(([, number]) => number);
    if (!gone.length) return;
    const first = Math.min(...gone);
    const kept = this.#turn.blocks.length - gone.length === first ? first : 0;
    for (const [id, number] of this.#numbers) if (number >= kept) this.#numbers.delete(id);
    this.#turn.blocks.length = kept;
    this.#replacements++;
  }

  /**
   * Reads a whole message. It does not say when it is over, so one that was seen at work goes on until its answer is there: a
   * text that can be read, and after it no call, no thought and no next step.
   */
  #readMessage(message: UIMessage): void {
    const items = messageItems(message);
    if (message.id !== this.#messageId) this.#watched = false;
    this.#forgetUnless(message.id === this.#messageId ? items.map(idOf) : []);
    this.#messageId = message.id;
    this.#turn.replies = [];
    let last: Block | undefined;
    let answered = false;
    for (const item of items) {
      answered &&= item.kind === "text";
      if (item.kind === "text") {
        last = this.#upsertText(item.id, item.text, item.running);
        answered ||= !last.blank;
      } else if (item.kind === "step") {
        last = this.#upsert(item.step);
        last.approval = item.approval;
      } else if (last) this.#turn.replies.push({ type: "reply.ended", until: last.number + 1, calls: [] });
    }
    const running = items.some((item) => item.running);
    this.#watched ||= running;
    Object.assign(this.#turn, { outcome: null, endedMs: null });
    this.#target.readsMessage = true;
    if (running || !last || (this.#watched && !answered)) this.#target.applyStatus(this.#target.givenStatus, null);
    else this.#target.emit({ type: "turn.ended", finish: "stop" });
  }

  /** Reads a whole thinking block, and the texts of an answer; steps that it does not have are gone. */
  #readBlock({ summary, status, steps }: ThinkingBlock, texts: string[]): void {
    const running = status === "thinking";
    this.#forgetUnless(idsOf(steps).concat(texts.map((_, index) => textId(index))));
    this.#turn.summary = summary ?? "";
    this.#turn.summaryBy = "model";
    this.#upsertAll(steps, null, running);
    for (const [index, text] of texts.entries()) this.#upsertText(textId(index), text, running);
    const ending = status === "error" ? "failed" : "answered";
    this.#turn.outcome = running ? null : { ending, cause: "", message: "" };
  }

  #readTurn(record: TurnRecord): void {
    const { reasoning_content: text, reasoning_meta: meta, outcome } = record;
    const given = record.thinking ?? record.thinking_block;
    const known = record.reasoning_blocks ?? [];
    const single: ThoughtRecord[] = text ? [{ text }] : [];
    const knownOrSingle = known[0] ? known : single;
    const thoughts = knownOrSingle.map((thought, index) => ({ ...thought, id: `${thought.block ?? index}` }));
    const givenSteps = (given?.steps ?? []).map((step) => ({ ...step }));
    const ownSteps = thoughts.map(({ id, text }) => thoughtStep(id, text ?? ""));
    const steps = givenSteps[0] ? givenSteps : ownSteps;
    // How long a thought took is known of each, or of a single one; without a stamp the first begins at 0.
    let endedAt = 0;
    const onlyDuration = thoughts[1] ? null : meta?.duration_ms;
    for (const { id, duration_ms = onlyDuration } of thoughts) {
      const step = steps.find((step) => step.id === id && step.type === "reasoning");
      if (!step || duration_ms == null) continue;
      step.startedAt ??= step.timestamp ?? endedAt;
      endedAt = step.endedAt ??= step.startedAt + duration_ms;
    }
    const parts = record.content ?? [];
    const texts = parts.map((part) => part.text ?? "").filter(Boolean);
    this.#turn.notices = parts.filter((part) => part.text == null).map(oddPart);
    this.#readBlock({ summary: given?.summary, status: given?.status ?? "done", steps }, texts);
    for (const { id, unseen } of thoughts) {
      const seals = this.#turn.blocks[this.#numbers.get(id) ?? -1]?.seals;
      const form = unseen === "withheld" ? "signature" : unseen;
      if (form && seals && !seals[0]) seals.push({ dialect: "", form, payload: "" });
    }
    this.#turn.model = record.model ?? "";
    this.#turn.usage = { ...record.usage, reasoning: record.usage?.reasoning ?? meta?.tokens ?? null };
    if (outcome) this.#turn.outcome = outcome;
    else if (this.#turn.outcome?.ending === "answered" && !texts[0] && steps[0])
      this.#turn.outcome.ending = "reasoning_only";
  }
}

/** What a tool does, unless the record has only its name or its input in this place. */
function descriptionOf({ content }: ThinkingStep, name: string, input: string): string {
  const [line, asked] = [content, input].map((text) => (text ?? "").trim().replace(/\s+/g, " ")) as [string, string];
  return line === name || asked.startsWith(line.replace(/…$/, "")) ? "" : content;
}

/** The notice about a part of an answer that has no text, and is not shown. */
function oddPart({ type }: { type?: string }): NoticeGiven {
  return { type: "notice.given", code: "odd_field", text: `content[] is not a text part but of the type '${type}'.` };
}

function thoughtStep(id: string, content: string): ThinkingStep {
  return { id, type: "reasoning", content };
}

function idOf(item: MessageItem): string {
  if (item.kind === "text") return item.id;
  return item.kind === "step" ? item.step.id : "";
}

function idsOf(steps: ThinkingStep[]): string[] {
  return steps.flatMap(({ id, childSteps = [] }) => [id, ...idsOf(childSteps)]);
}

function textId(index: number): string {
  return `text ${index}`;
}
