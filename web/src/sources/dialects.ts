/**
 * Streams of other protocols, read as canonical events: the AI SDK's UI message stream and AG-UI.
 *
 * Both name a block by an id of their own, may leave out a start or an end, and may use an id again. A message that
 * means nothing here is passed over. The element loads this when the first such message comes.
 */

import type { Event, Finish, Kind } from "../core/events.js";
import type { FeedTarget } from "./turn-feed.js";

/** A message of another dialect; every field may be missing. */
export interface Message {
  type: string;
  [field: string]: unknown;
}

const KINDS: Record<string, Kind> = {
  reasoning: "reasoning",
  REASONING_MESSAGE: "reasoning",
  THINKING_TEXT_MESSAGE: "reasoning",
  text: "text",
  TEXT_MESSAGE: "text",
  "tool-input": "tool_call",
  TOOL_CALL: "tool_call",
};

const FINISHES: Record<string, Finish> = {
  stop: "stop",
  length: "length",
  "tool-calls": "tool_calls",
  "content-filter": "refusal",
};

/** A message about the text of a block: `reasoning-delta`, `TOOL_CALL_ARGS`. */
const BLOCK_MESSAGE = /^(.+?)[-_](start|delta|end|available|content|args|chunk)$/i;

const TURN_ENDS = ["finish", "abort", "error", "RUN_FINISHED", "RUN_ERROR"];

/** Reads messages one by one and emits the events they mean. */
export function dialectReader(target: FeedTarget): (message: Message) => void {
  const reader = new DialectReader(target);
  return (message) => reader.read(message);
}

class DialectReader {
  /** The number of the block that each kind and id stands for. */
  #numbers = new Map<string, number>();
  /** The key of the call that each request for approval is about. */
  #approvals = new Map<unknown, string>();
  /** How many blocks there were when the current step began, and how often a step began again. */
  #stepStart = 0;
  #restarts = 0;
  /** The key of the block whose text just came in chunks. */
  #chunkedKey = "";
  #target: FeedTarget;

  constructor(target: FeedTarget) {
    this.#target = target;
  }

  read(message: Message): void {
    const { type } = message;
    const [, subject = "", verb = ""] = BLOCK_MESSAGE.exec(type) ?? [];
    const kind = KINDS[subject];
    if (kind) this.#readBlock(kind, verb.toLowerCase(), message);
    else if (type.startsWith("tool") || type.startsWith("TOOL")) this.#readCall(type, message);
    else this.#readTurn(type, message);
  }

  #readBlock(kind: Kind, verb: string, message: Message): void {
    const id = message.toolCallId ?? message.messageId ?? message.id;
    const chunk = verb === "chunk";
    // Chunks name their block only once, and have no end: something else ends them.
    const continues = chunk && id == null && this.#chunkedKey.startsWith(kind);
    const key = continues ? this.#chunkedKey : `${kind} ${String(id ?? "")}`;
    if (key !== this.#chunkedKey) this.#end(this.#chunkedKey, message);
    this.#chunkedKey = chunk ? key : "";
    // The end of what is over, or never began, means nothing.
    if (verb === "end" && !this.#running(key)) return;
    this.#start(key, kind, textOf(message.toolName ?? message.toolCallName), message);
    const block = this.#numbers.get(key) as number;
    const whole = verb === "available" && !this.#target.turn.blocks[block]?.size ? message.input : "";
    const delta = textOf(message.delta ?? message.inputTextDelta ?? whole);
    if (delta) this.#emit({ type: "block.grew", block, text: delta }, message);
    if (verb === "end" || verb === "available") this.#end(key, message);
  }

  #readCall(type: string, message: Message): void {
    // An answer to a request for approval names the request alone.
    const key = this.#approvals.get(message.approvalId) ?? `tool_call ${String(message.toolCallId)}`;
    const block = this.#numbers.get(key);
    if (block === undefined) return;
    const approval = this.#target.turn.blocks[block]?.approval;
    if (type === "tool-approval-request") {
      this.#end(key, message);
      if (message.approvalId != null) this.#approvals.set(message.approvalId, key);
      if (!approval) this.#emit({ type: "approval.asked", block }, message);
    } else if (type === "tool-approval-response") {
      const granted = message.approved === true;
      if (approval === "asked") this.#emit({ type: "approval.settled", block, granted }, message);
    } else if (type === "tool-output-denied") {
      if (approval === "asked") this.#emit({ type: "approval.settled", block, granted: false }, message);
    } else if (message.preliminary) {
      // The call is still at work, and what it came back with will come again.
    } else if (type === "TOOL_CALL_RESULT" || type === "tool-output-available") {
      this.#emit({ type: "tool.finished", block, result: textOf(message.content ?? message.output) }, message);
    } else if (type.endsWith("error")) {
      this.#end(key, message);
      this.#emit({ type: "tool.finished", block, error: textOf(message.errorText) || "error" }, message);
    }
  }

  #readTurn(type: string, message: Message): void {
    if (type === "start" || type === "RUN_STARTED") {
      this.#emit({ type: "turn.started" }, message);
    } else if (type === "start-step") {
      this.#endBlocks(message);
      this.#endStep();
      this.#stepStart = this.#target.turn.blocks.length;
    } else if (type === "reset-step") {
      this.#restartStep();
    } else if (type === "REASONING_ENCRYPTED_VALUE") {
      this.#seal(message);
    } else if (TURN_ENDS.includes(type)) {
      this.#endBlocks(message, type === "abort");
      // A turn of one step is that step.
      if (type === "finish" && this.#target.turn.replies[0]) this.#endStep();
      this.#emit(endEvent(type, message), message);
    }
  }

  #endBlocks(message: Message, interrupted = false): void {
    for (const key of this.#numbers.keys()) this.#end(key, message, interrupted);
  }

  /** Ends a step that brought anything: it is a reply of its own, and so are its texts. */
  #endStep(): void {
    const { blocks, replies } = this.#target.turn;
    const step = blocks.slice(replies.at(-1)?.until ?? 0);
    const calls = step.filter((block) => block.awaitingResult).map(({ number }) => number);
    if (step[0]) replies.push({ type: "reply.ended", until: blocks.length, calls });
  }

  /** Takes back what the current step brought: it is tried again. */
  #restartStep(): void {
    const { turn } = this.#target;
    turn.blocks.length = Math.min(turn.blocks.length, this.#stepStart);
    for (const [key, number] of this.#numbers) if (number >= this.#stepStart) this.#numbers.delete(key);
    this.#chunkedKey = "";
    this.#restarts++;
    this.#target.changes++;
  }

  #seal(message: Message): void {
    const key = `reasoning ${String(message.entityId ?? message.messageId ?? "")}`;
    if (!this.#numbers.has(key)) this.#start(key, "reasoning", "", message);
    const seal = { dialect: "ag_ui", form: "encrypted", payload: textOf(message.encryptedValue) } as const;
    this.#emit({ type: "block.sealed", block: this.#numbers.get(key) as number, seal }, message);
  }

  #running(key: string): boolean {
    return this.#target.turn.blocks[this.#numbers.get(key) ?? -1]?.status === "running";
  }

  #start(key: string, kind: Kind, name: string, message: Message): void {
    if (this.#running(key)) return;
    const block = this.#target.turn.blocks.length;
    this.#numbers.set(key, block);
    this.#emit({ type: "block.started", block, kind, name }, message);
    // What was drawn of a block that was taken back is not continued.
    const started = this.#target.turn.blocks[block];
    if (started) started.rewrites = this.#restarts;
  }

  #end(key: string, message: Message, interrupted = false): void {
    if (!this.#running(key)) return;
    this.#emit({ type: "block.ended", block: this.#numbers.get(key) as number, interrupted }, message);
  }

  #emit(event: Event, { timestamp }: Message): void {
    this.#target.emit(event, typeof timestamp === "number" ? timestamp : undefined);
  }
}

function endEvent(type: string, message: Message): Event {
  if (type === "abort") return { type: "turn.ended", finish: "cancelled" };
  if (type === "error" || type === "RUN_ERROR") {
    const code = textOf(message.code) || "error";
    return { type: "turn.failed", code, message: textOf(message.errorText ?? message.message) };
  }
  return { type: "turn.ended", finish: FINISHES[textOf(message.finishReason)] ?? "stop" };
}

function textOf(value: unknown): string {
  if (value == null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
