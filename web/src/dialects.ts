/**
 * Streams of others, read as canonical events: the AI SDK's UI message stream and AG-UI.
 *
 * Both name a block by an id of their own, may leave out a start or an end, and may use an id again. A
 * message that means nothing here is passed over. The element loads this when the first such message comes.
 */

import type { Event, Finish, Kind } from "./events.js";
import type { Core } from "./feed.js";

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

/** Reads messages one by one and tells what they mean; `tell` must have happened when it returns. */
export function dialects(core: Core): (message: Message) => void {
  const reader = new Reader(core);
  return (message) => reader.read(message);
}

class Reader {
  #numbers = new Map<string, number>();
  /** What came in chunks just now. */
  #chunked = "";
  #core: Core;

  constructor(core: Core) {
    this.#core = core;
  }

  read(message: Message): void {
    const { type } = message;
    const [, what, verb] = /^(.+?)[-_](start|delta|end|available|content|args|chunk)$/i.exec(type) ?? [];
    const kind = KINDS[what ?? ""];
    if (kind) this.#grow(kind, (verb as string).toLowerCase(), message);
    else if (/^tool|^TOOL/.test(type)) this.#call(type, message);
    else this.#whole(type, message);
  }

  #grow(kind: Kind, verb: string, message: Message): void {
    const id = message.toolCallId ?? message.messageId ?? message.id;
    const chunk = verb === "chunk";
    // Chunks need to say only once whose they are, and have no end: something else ends them.
    const key = chunk && id == null && this.#chunked.startsWith(kind) ? this.#chunked : `${kind} ${String(id ?? "")}`;
    if (key !== this.#chunked) this.#end(this.#chunked, message);
    this.#chunked = chunk ? key : "";
    // The end of what is over, or never began, says nothing.
    if (verb === "end" && !this.#open(key)) return;
    this.#start(key, kind, text(message.toolName ?? message.toolCallName), message);
    const block = this.#numbers.get(key) as number;
    const whole = verb === "available" && !this.#core.turn.blocks[block]?.size ? message.input : "";
    const delta = text(message.delta ?? message.inputTextDelta ?? whole);
    if (delta) this.#told({ type: "block.grew", block, text: delta }, message);
    if (/end|available/.test(verb)) this.#end(key, message);
  }

  #call(type: string, message: Message): void {
    const block = this.#numbers.get(`tool_call ${String(message.toolCallId)}`);
    if (block === undefined) return;
    if (type === "tool-approval-request") {
      this.#told({ type: "approval.asked", block }, message);
    } else if (type === "tool-output-denied") {
      this.#told({ type: "approval.settled", block, granted: false }, message);
    } else if (/result$|output-available$/i.test(type)) {
      this.#told({ type: "tool.finished", block, result: text(message.content ?? message.output) }, message);
    } else if (/error$/.test(type)) {
      this.#end(`tool_call ${String(message.toolCallId)}`, message);
      this.#told({ type: "tool.finished", block, error: text(message.errorText) || "error" }, message);
    }
  }

  #whole(type: string, message: Message): void {
    if (type === "start" || type === "RUN_STARTED") {
      this.#told({ type: "turn.started" }, message);
    } else if (type === "REASONING_ENCRYPTED_VALUE") {
      this.#seal(message);
    } else if (/^(finish|abort|error|RUN_FINISHED|RUN_ERROR)$/.test(type)) {
      for (const key of this.#numbers.keys()) this.#end(key, message, type === "abort");
      this.#told(ending(type, message), message);
    }
  }

  #seal(message: Message): void {
    const key = `reasoning ${String(message.entityId ?? message.messageId ?? "")}`;
    if (!this.#numbers.has(key)) this.#start(key, "reasoning", "", message);
    const seal = { dialect: "ag_ui", form: "encrypted", payload: text(message.encryptedValue) } as const;
    this.#told({ type: "block.sealed", block: this.#numbers.get(key) as number, seal }, message);
  }

  #open(key: string): boolean {
    return this.#core.turn.blocks[this.#numbers.get(key) ?? -1]?.status === "running";
  }

  #start(key: string, kind: Kind, name: string, message: Message): void {
    if (this.#open(key)) return;
    const block = this.#core.turn.blocks.length;
    this.#numbers.set(key, block);
    this.#told({ type: "block.started", block, kind, name }, message);
  }

  #end(key: string, message: Message, interrupted = false): void {
    if (this.#open(key)) this.#told({ type: "block.ended", block: this.#numbers.get(key) as number, interrupted }, message);
  }

  #told(event: Event, message: Message): void {
    this.#core.tell(event, typeof message.timestamp === "number" ? message.timestamp : undefined);
  }
}

function ending(type: string, message: Message): Event {
  if (type === "abort") return { type: "turn.ended", finish: "cancelled" };
  if (/error/i.test(type))
    return { type: "turn.failed", code: text(message.code) || "error", message: text(message.errorText ?? message.message) };
  return { type: "turn.ended", finish: FINISHES[text(message.finishReason)] ?? "stop" };
}

function text(value: unknown): string {
  return value == null ? "" : typeof value === "string" ? value : JSON.stringify(value);
}
