/** Emits the blocks of text that may contain thinking tags, for the dialects whose text can. */

import type { Kind } from "../../core/events.js";
import { blankText } from "../../core/spaces.js";
import type { Key, TurnEmitter } from "./emitter.js";
import { makeSplitter, type Piece, profileForModel, type Splitter, type TagProfile } from "./tags.js";

export const REASONING_KEY = "reasoning";
export const TEXT_KEY = "text";

/** Emits text as reasoning, answer and tool call blocks, one open block at a time. */
export class TaggedText {
  /** The text of all thoughts so far. */
  thoughtPieces: string[] = [];
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
  /** The text of the open answer block, which a closing tag may still make a thought. */
  #answerPieces: string[] = [];
  #emitting = false;
  /** The profile while a closing tag that nothing opened may still come, and the end of the text so far. */
  #watched: TagProfile | null = null;
  #tail = "";
  #beforeAnswer: (() => void) | undefined;

  /**
   * Without a profile the model's name selects one. `key` is that of the answer, where a turn has several texts.
   * `beforeAnswer` is called before each text of an answer, unless it is blank.
   */
  constructor(
    emitter: TurnEmitter,
    profile: TagProfile | null,
    key: Key = TEXT_KEY,
    raw = false,
    beforeAnswer?: () => void,
  ) {
    this.#emitter = emitter;
    this.#profile = profile;
    this.#raw = raw;
    this.#beforeAnswer = beforeAnswer;
    this.#textKey = key;
    this.#reasoningKey = key === TEXT_KEY ? REASONING_KEY : `${REASONING_KEY} ${key}`;
  }

  feed(text: string): void {
    if (this.plain) return this.#append("text", text);
    if (!this.#splitter) {
      const profile = this.#chosenProfile;
      this.#splitter = makeSplitter(profile);
      this.#watched = profile.either ? profile : null;
    }
    this.#emitting = true;
    this.#emit(this.#splitter.feed(text));
    this.#emitting = false;
    if (this.#splitter.inert || (this.#disabled && this.#betweenTags)) {
      this.close();
      this.plain = true;
    }
  }

  /** Tells whether a text begins with an opening tag. A thought that a template has opened is none. */
  opens(text: string): boolean {
    return this.#chosenProfile.pairs.some(([open]) => text.trimStart().startsWith(open));
  }

  get #chosenProfile(): TagProfile {
    return this.#profile ?? profileForModel(this.#emitter.model, this.#raw);
  }

  /**
   * Treats tags as plain text from now on, because reasoning arrives in a field of its own. A thought that tags have
   * opened is still ended by its closing tag, and a tag that has begun is still read to its end.
   */
  disableTags(): void {
    this.#disabled = true;
    this.#watched = null;
    // `feed` still has text to emit, and then looks whether a tag is open.
    if (this.#emitting || (this.#splitter && !this.#betweenTags)) return;
    this.close();
    this.plain = true;
  }

  /** Emits the text that was held back. */
  close(): void {
    const pieces = this.#splitter?.close() ?? [];
    this.#splitter = null;
    this.#emit(pieces);
  }

  /** Whether a thought was read, or a tag has opened one. */
  get thoughtBegun(): boolean {
    return !!this.#splitter?.inside || this.thoughtPieces.some((piece) => !blankText(piece));
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
    if (kind === "text") this.#emitter.reclassify(this.#reasoningKey, kind, tail);
    // Where there is no text before the marker, an earlier text block stays what it is.
    else if (this.#emitter.hasOpen(this.#textKey)) {
      for (const piece of this.#answerPieces.splice(0)) this.thoughtPieces.push(piece);
      this.#emitter.reclassify(this.#textKey, kind, tail, this.#reasoningKey);
    }
  }

  #append(kind: Kind, text: string): void {
    const answer = kind === "text";
    const key = answer ? this.#textKey : this.#reasoningKey;
    if (!answer) this.thoughtPieces.push(text);
    if (answer && this.#watched) this.#lookForLoneClose(this.#watched, text);
    if (answer && this.#beforeAnswer && !blankText(text)) this.#beforeAnswer();
    if (!this.#emitter.hasOpen(key)) {
      if (answer) this.#answerPieces = [];
      if (this.#textKey === TEXT_KEY) this.#emitter.endAllBlocks(key);
      else this.#emitter.endBlock(answer ? this.#reasoningKey : this.#textKey);
    }
    if (answer && !this.plain) this.#answerPieces.push(text);
    this.#emitter.appendOrStart(key, kind, text, answer ? "unknown" : "raw");
  }

  /** Tells how to read a closing tag that nothing opened, which stays in the answer. */
  #lookForLoneClose({ pairs, either }: TagProfile, text: string): void {
    const window = this.#tail + text;
    const places = pairs.flat().map((marker) => ({ marker, at: window.indexOf(marker) }));
    const [first] = places.filter(({ at }) => at >= 0).sort((one, other) => one.at - other.at);
    this.#tail = window.slice(-Math.max(...places.map(({ marker }) => marker.length - 1)));
    const thought = this.thoughtPieces[0];
    if (first || thought) this.#watched = null;
    if (!first || thought || !pairs.some(([, close]) => close === first.marker)) return;
    const model = this.#emitter.model || "this model";
    this.#emitter.addNotice(
      "lone_closing_tag",
      `The answer has ${first.marker} without an opening tag, and it stays there: the chat template of ${model} is not known to open a thought. If it does, set \`tags\` to "${either}".`,
    );
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
