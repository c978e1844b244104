/**
 * Reads raw model text, as a model writes it without a server: reasoning is between tags or in channels. The format has
 * no end of the turn, so the turn ends with the text.
 */

import type { Finish } from "../../core/events.js";
import { type Frame, PLAIN_TEXT } from "../frames.js";
import { fieldsOf, name, type ProviderReader, TaggedText, type TagProfile, type TurnEmitter, text } from "./reader.js";

const FINISHES: Record<string, Finish> = { stop: "stop", length: "length" };

export class Reader implements ProviderReader {
  #emitter: TurnEmitter;
  #taggedText: TaggedText;
  #finishReason = "";

  constructor(emitter: TurnEmitter, tags: TagProfile | null) {
    this.#emitter = emitter;
    this.#taggedText = new TaggedText(emitter, tags, undefined, true);
  }

  /** Reads a run of text, or the JSON of one token as local runners print them. */
  feed(frame: Frame): void {
    if (frame.event === PLAIN_TEXT) return this.#taggedText.feed(frame.data);
    const token = fieldsOf(this.#emitter, frame);
    if (!token) return;
    this.#finishReason = name(token.finish_reason) || this.#finishReason;
    this.#taggedText.feed(text(token.text));
  }

  close(): void {
    this.#taggedText.close();
    this.#emitter.finish(FINISHES[this.#finishReason] ?? "unknown", this.#finishReason);
  }
}
