/** Emits the blocks of text that may contain thinking tags, for the dialects whose text can. */

import type { Kind } from "../../core/events.js";
import { blankText } from "../../core/spaces.js";
import type { Key, TurnEmitter } from "./emitter.js";
import { makeSplitter, type Piece, profileForModel, type Splitter, type TagProfile } from "./tags.js";

export const REASONING_KEY = "reasoning";
export const TEXT_KEY = "text";

/** Emits text as reasoning, answer and tool call blocks, one open block at a time. */
export class TaggedText {
  thoughtSeen = false;
  /** Whether all further text is answer. */
  plain = false;
  #emitter: TurnEmitter;
  #profile: TagProfile | null;
  #raw: boolean;
  #textKey: Key;
  #reasoningKey: Key;
  #splitter: Splitter | null = null;
  #disabled = false;
  #callCount = 0;

  /** Without a profile the model's name selects one. `key` is that of the answer, where a turn has several texts. */
  constructor(emitter: TurnEmitter, profile: TagProfile | null, key: Key = TEXT_KEY, raw = false) {
    this.#emitter = emitter;
    this.#profile = profile;
    this.#raw = raw;
    this.#textKey = key;
    this.#reasoningKey = key === TEXT_KEY ? REASONING_KEY : `${REASONING_KEY} ${key}`;
  }

  feed(text: string): void {
    if (this.plain) return this.#append("text", text);
    this.#splitter ??= makeSplitter(this.#profile ?? profileForModel(this.#emitter.model, this.#raw));
    this.#emit(this.#splitter.feed(text));
    if (this.#splitter.inert || (this.#disabled && this.#betweenTags)) {
      this.close();
      this.plain = true;
    }
  }

  /**
   * Treats tags as plain text from now on, because reasoning arrives in a field of its own. A thought that tags have
   * opened is still ended by its closing tag, and a tag that has begun is still read to its end.
   */
  disableTags(): void {
    this.#disabled = true;
    if (this.#splitter && !this.#betweenTags) return;
    this.close();
    this.plain = true;
  }

  /** Emits the text that was held back. */
  close(): void {
    const pieces = this.#splitter?.close() ?? [];
    this.#splitter = null;
    this.#emit(pieces);
  }

  get #betweenTags(): boolean {
    return !this.#splitter?.inside && !this.#splitter?.undecided;
  }

  #emit(pieces: Piece[]): void {
    for (const piece of pieces) {
      if ("reclassified" in piece) this.#reclassify(piece.reclassified, piece.tail);
      else if ("call" in piece) this.#startCall(piece.call);
      else if (piece.kind === "tool_call") this.#emitter.append(`call ${this.#callCount}`, piece.text);
      else this.#append(piece.kind, piece.text);
    }
  }

  #reclassify(kind: Kind, tail?: number): void {
    const key = kind === "text" ? this.#reasoningKey : this.#textKey;
    // Where there is no text before the marker, an earlier text block stays what it is.
    if (kind === "reasoning" && !this.#emitter.hasOpen(key)) return;
    this.#emitter.reclassify(key, kind, tail);
    this.#emitter.endBlock(key);
  }

  #append(kind: Kind, text: string): void {
    const answer = kind === "text";
    const key = answer ? this.#textKey : this.#reasoningKey;
    if (!answer) this.thoughtSeen ||= !blankText(text);
    if (!this.#emitter.hasOpen(key)) {
      if (this.#textKey === TEXT_KEY) this.#emitter.endAllBlocks(key);
      else this.#emitter.endBlock(answer ? this.#reasoningKey : this.#textKey);
    }
    this.#emitter.appendOrStart(key, kind, text, answer ? "unknown" : "raw");
  }

  #startCall(callName: string): void {
    this.#emitter.endAllBlocks();
    this.#callCount++;
    this.#emitter.startBlock(`call ${this.#callCount}`, "tool_call", { callName });
  }
}

/**
 * The texts of a turn by the keys of their blocks, for a dialect that has reasoning blocks of its own. Servers without
 * support for a model leave its tags in the text; once a reasoning block arrives, tags are plain text.
 */
export class TaggedBlocks {
  #emitter: TurnEmitter;
  #profile: TagProfile | null;
  #texts = new Map<Key, TaggedText>();
  #enabled = true;

  constructor(emitter: TurnEmitter, profile: TagProfile | null) {
    this.#emitter = emitter;
    this.#profile = profile;
  }

  append(key: Key, text: string): void {
    if (!text) return;
    let taggedText = this.#texts.get(key);
    if (!taggedText) {
      taggedText = new TaggedText(this.#emitter, this.#profile, key);
      this.#texts.set(key, taggedText);
      if (!this.#enabled) taggedText.disableTags();
    }
    taggedText.feed(text);
  }

  /** Emits the text of a block that was held back, and ends it. */
  end(key: Key): void {
    this.#texts.get(key)?.close();
    if (this.#texts.delete(key)) this.#emitter.endBlock(`${REASONING_KEY} ${key}`);
    this.#emitter.endBlock(key);
  }

  /** Treats tags as plain text from now on, because reasoning arrives in blocks of its own. */
  disableTags(): void {
    if (!this.#enabled) return;
    this.#enabled = false;
    for (const taggedText of this.#texts.values()) taggedText.disableTags();
  }

  /** Emits all text that was held back. */
  close(): void {
    for (const taggedText of this.#texts.values()) taggedText.close();
  }
}
