/**
 * Reads a provider's response into events: detects the dialect and loads its reader. A chunk of its own, which also holds
 * what the readers of the dialects share.
 *
 * Once the dialect is known, the result is the same as if it had been named: frames that came before are read again.
 */

import type { Event } from "../../core/events.js";
import { type Frame, PLAIN_TEXT } from "../frames.js";
import { type Dialect, detectDialect, detectError } from "./detect.js";
import { TurnEmitter } from "./emitter.js";
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
    const dialect = frame.event === PLAIN_TEXT ? "text" : (detectDialect(frame) ?? (orError && detectError(frame)));
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
