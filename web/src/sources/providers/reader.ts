/**
 * Reads a provider's response into events: detects the dialect and loads its reader. A chunk of its own, which also holds
 * what the readers of the dialects share.
 *
 * Once the dialect is known, the result is the same as if it had been named: frames that came before are read again.
 */

import type { Event } from "../../core/events.js";
import { type Frame, PLAIN_TEXT } from "../frames.js";
import { TurnEmitter } from "./emitter.js";
import { type Fields, index, isObject, name, typeName } from "./fields.js";
import { findProfile, type TagProfile } from "./tags.js";

export type { Key } from "./emitter.js";
export { TurnEmitter } from "./emitter.js";
export * from "./errors.js";
export * from "./fields.js";
export * from "./tagged-text.js";
export { findProfile, opensThought, type TagProfile } from "./tags.js";

/** Reads the frames of one response. */
export interface ProviderReader {
  feed(frame: Frame): void;
  /** Finishes the turn after the last frame. */
  close(): void;
}

/** What the caller knows of a response that the response itself does not say. */
export interface ResponseOptions {
  model?: string;
  /** The tag profile that separates reasoning from answer; by default the model's name decides. */
  tags?: string;
}

type Dialect = "anthropic_messages" | "openai_responses" | "gemini" | "openai_chat" | "ollama" | "text";

const ANTHROPIC_TYPES = [
  "message_start",
  "message_delta",
  "message_stop",
  "content_block_start",
  "content_block_delta",
  "message",
];
/** Names of server-sent events that say nothing about the dialect. */
const COMMON_EVENTS = ["message", "error"];

type MakeReader = new (emitter: TurnEmitter, tags: TagProfile | null) => ProviderReader;

const LOADERS: Record<Dialect, () => Promise<{ Reader: MakeReader }>> = {
  anthropic_messages: () => import("./anthropic.js"),
  openai_responses: () => import("./openai-responses.js"),
  gemini: () => import("./gemini.js"),
  openai_chat: () => import("./openai-chat.js"),
  ollama: () => import("./ollama.js"),
  text: () => import("./plain-text.js"),
};

export class ResponseReader {
  #emitter: TurnEmitter;
  #profile: TagProfile | null;
  #reader: ProviderReader | undefined;

  /** `blockCount` is how many blocks the turn has already. */
  constructor(emit: (event: Event) => void, blockCount: number, { model = "", tags = "" }: ResponseOptions = {}) {
    this.#profile = tags ? findProfile(tags) : null;
    this.#emitter = new TurnEmitter(emit, blockCount, "", model);
  }

  /** Whether the turn is over. */
  get ended(): boolean {
    return this.#emitter.ended;
  }

  /** Loads the reader of the dialect that this frame, or with `orError` an error, shows; false where it shows none. */
  async start(frame: Frame, orError: boolean): Promise<boolean> {
    let dialect = detectDialect(frame);
    if (!dialect && orError) dialect = detectError(frame);
    if (!dialect) return false;
    this.#emitter.dialect = dialect;
    const { Reader } = await LOADERS[dialect]();
    this.#reader = new Reader(this.#emitter, this.#profile);
    return true;
  }

  feed(frame: Frame): void {
    if (!this.ended) this.#reader?.feed(frame);
  }

  /** Shows what was read so far. */
  flush(): void {
    this.#emitter.flush();
  }

  /** `wholeBody`: the response was one JSON value; `unfinished` is what the end cut off. */
  close(wholeBody: boolean, unfinished: string): void {
    Object.assign(this.#emitter, { wholeBody, unfinished });
    if (!this.ended) this.#reader?.close();
    this.#emitter.flush();
  }
}

/** The dialect of an answer as the Python package tells it (`core/dialects/registry.py`), or of a part of one; null if the frame does not show it. */
function detectDialect({ value, event }: Frame): Dialect | null {
  if (event === PLAIN_TEXT) return "text";
  if (!isObject(value)) return null;
  const type = typeName(value.type) || (COMMON_EVENTS.includes(event) ? "" : event);
  if (ANTHROPIC_TYPES.includes(type) || (Array.isArray(value.content) && value.stop_reason != null))
    return "anthropic_messages";
  if (
    value.object === "response" ||
    Array.isArray(value.output) ||
    type.startsWith("response.") ||
    (type === "error" && index(value.sequence_number) !== null)
  )
    return "openai_responses";
  if (value.choices == null && hasCandidates(value)) return "gemini";
  if (value.choices != null) return "openai_chat";
  if ((value.done ?? value.created_at) != null && (value.message ?? value.response) != null) return "ollama";
  return value.text != null && (value.token ?? value.generation_tokens) != null ? "text" : null;
}

/** The dialect of an error; those of different providers look more alike than their answers. */
function detectError({ value }: Frame): Dialect | null {
  if (!isObject(value)) return null;
  const { error } = value;
  if (value.object != null && value.object !== "error") return null; // it names another format
  if (error == null) return value.object === "error" ? "openai_chat" : null;
  if (value.type === "error") return "anthropic_messages";
  return isObject(error) && name(error.status) ? "gemini" : "openai_chat";
}

function hasCandidates({ candidates, usageMetadata, promptFeedback, response }: Fields): boolean {
  return (candidates ?? usageMetadata ?? promptFeedback) != null || (isObject(response) && hasCandidates(response));
}
