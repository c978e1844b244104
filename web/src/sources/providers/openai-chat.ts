/**
 * Reads OpenAI Chat Completions, also of OpenRouter, DeepSeek, Kimi, Qwen, GLM, vLLM, Groq and Mistral.
 *
 * Reasoning arrives in one of several places, in the order of trust of `SOURCES`. The first place with text is used for
 * the rest of the turn, so that text sent in two fields is shown once. A more trusted place that comes later takes over:
 * if it says the same, nothing is shown again, else it gets a block of its own. In a whole message, tags come first if
 * `content` does. Only the first choice is read. A `message` beside or after deltas repeats them, so only the fields that
 * no delta had are read from it.
 */

import type { Finish, Provenance, SealForm } from "../../core/events.js";
import { blankText, SPACE } from "../../core/spaces.js";
import type { Frame } from "../frames.js";
import {
  addCounts,
  count,
  type Fields,
  fieldsOf,
  findError,
  findProfile,
  flag,
  hasError,
  index,
  isObject,
  list,
  looseText,
  name,
  object,
  type ProviderReader,
  parseError,
  REASONING_KEY,
  readUnknownFrame,
  stringOrJson,
  TaggedText,
  type TagProfile,
  TEXT_KEY,
  type TurnEmitter,
  text,
} from "./reader.js";

const FINISHES: Record<string, Finish> = {
  stop: "stop",
  eos: "stop",
  end_turn: "stop",
  length: "length",
  max_tokens: "length",
  model_length: "length",
  tool_calls: "tool_calls",
  tool_use: "tool_calls",
  function_call: "tool_calls",
  content_filter: "refusal",
  refusal: "refusal",
  sensitive: "refusal",
};

/** The form of the `data` seal, by the field of the reasoning list. */
const SEAL_FORMS: Record<string, SealForm> = { reasoning_details: "encrypted", thinking_blocks: "redacted" };

const REASONING_TEXTS = ["reasoning_content", "reasoning", "reasoning_text"];
const MESSAGE_FIELDS = [
  ...REASONING_TEXTS,
  ...Object.keys(SEAL_FORMS),
  ..."content reasoning_opaque reasoning_steps reasoning_items refusal tool_calls function_call".split(" "),
];

/** Steps say what was searched; the model's own thought may still be between tags. */
const STEPS_SOURCE = "reasoning_steps";
/** The places of reasoning, the most trusted first. */
const SOURCES = ["details", ...REASONING_TEXTS, "content", STEPS_SOURCE, "tags"];
/** The key of reasoning that a more trusted place sent later. */
const LATER_KEY = "later reasoning";
const WHITE_SPACE = new RegExp(`[${SPACE}]+`, "g");

/** Text without white space that grows in pieces; what was compared is not looked at again. */
class ComparedText {
  length = 0;
  #pieces: string[] = [];
  #current = 0;
  #offset = 0;

  append(text: string): void {
    const visible = text.replace(WHITE_SPACE, "");
    if (visible) this.#pieces.push(visible);
    this.length += visible.length;
  }

  /** The rest of the first piece that is not compared yet; empty if all is. */
  get next(): string {
    return this.#pieces[this.#current]?.slice(this.#offset) ?? "";
  }

  skip(length: number): void {
    this.#offset += length;
    if (this.#offset < (this.#pieces[this.#current] as string).length) return;
    this.#current++;
    this.#offset = 0;
  }
}

/**
 * Reasoning from a more trusted place, held while it may only repeat what another place has sent before. Both may still
 * grow: the other place adds to the earlier pieces.
 */
class LaterReasoning {
  heldPieces: string[] = [];
  heldSeals: [form: SealForm, payload: string][] = [];
  provenance: Provenance = "unknown";
  #earlierPieces: string[];
  #earlierCount = 0;
  #earlier = new ComparedText();
  #later = new ComparedText();

  constructor(
    readonly source: string,
    earlierPieces: string[],
  ) {
    this.#earlierPieces = earlierPieces;
  }

  append(thought: string, provenance: Provenance): void {
    if (!this.heldPieces[0]) this.provenance = provenance;
    this.heldPieces.push(thought);
    this.#later.append(thought);
  }

  /** Whether this is not the beginning of the earlier text, nor that of this. */
  differs(): boolean {
    while (this.#earlierCount < this.#earlierPieces.length)
      this.#earlier.append(this.#earlierPieces[this.#earlierCount++] as string);
    for (;;) {
      const [one, other] = [this.#earlier.next, this.#later.next];
      const size = Math.min(one.length, other.length);
      if (!size) return false;
      if (one.slice(0, size) !== other.slice(0, size)) return true;
      this.#earlier.skip(size);
      this.#later.skip(size);
    }
  }

  /** How much longer this is than the earlier text; 0 if they say the same. */
  get excess(): number {
    return this.#later.length - this.#earlier.length;
  }
}

export class Reader implements ProviderReader {
  #emitter: TurnEmitter;
  #taggedText: TaggedText;
  #tagsGiven: boolean;
  #tagsDisabled = false;
  #source = "";
  #reasoningKey = REASONING_KEY;
  #reasoningPieces: string[] = [];
  #reasoningSeen = false;
  #later: LaterReasoning | undefined;
  #unread: Fields | undefined;
  #detailsField = "";
  #streamed = false;
  #streamedFields = new Set<string>();
  #calls = new Map<number | null, { serial: number; id: string }>();
  #callCount = 0;
  #finishReason = "";
  #finalUsage = false;
  #wholeMessage = false;
  #refused = false;

  constructor(emitter: TurnEmitter, tags: TagProfile | null) {
    this.#emitter = emitter;
    this.#taggedText = this.#makeTaggedText(tags);
    this.#tagsGiven = tags !== null;
  }

  feed(frame: Frame): void {
    if (frame.data.trim() === "[DONE]") return this.close();
    const chunk = fieldsOf(this.#emitter, frame);
    if (!chunk) return;
    const { choices, usage, error } = chunk;
    const model = name(chunk.model);
    if (choices == null && !(model || usage || chunk.x_groq || chunk.object || "error" in chunk))
      return this.#readUnknown(frame);
    this.#emitter.startTurn(model);
    const reasonBefore = this.#finishReason;
    const all = list(choices).map(object);
    for (const choice of all) if ((index(choice.index) ?? 0) === 0) this.#readChoice(choice);
    const groqUsage = object(chunk.x_groq).usage;
    if (isObject(usage)) {
      this.#finalUsage = !all[0]; // a chunk of its own, which providers send at the end
      this.#reportUsage(usage);
    } else if (isObject(groqUsage)) this.#reportUsage(groqUsage);
    if (hasError(error)) this.#readLateError(error, reasonBefore);
    else if (chunk.object === "error" || ((error === true || error === 1) && !all[0]))
      this.#readLateError(chunk, reasonBefore);
  }

  /** Ends the turn if a finish reason, a whole message or the final usage arrived; else it is cut off. */
  close(): void {
    const whole = this.#wholeMessage || this.#finalUsage || (this.#emitter.wholeBody && !this.#streamed);
    const complete = this.#finishReason ? this.#finishReason !== "error" : whole;
    this.#closeText(!complete);
    if (this.#finishReason === "error")
      this.#emitter.fail("provider_error", "openai_chat ended with the finish reason 'error'.");
    else if (this.#finishReason || (this.#emitter.hasBlocks && whole))
      this.#emitter.finish(this.#refused ? "refusal" : (FINISHES[this.#finishReason] ?? "unknown"), this.#finishReason);
    else this.#emitter.failCutOff("finish_reason");
  }

  #readChoice(choice: Fields): void {
    const { delta, message } = choice;
    const deltaBlank = !isObject(delta) || (message != null && blank(delta));
    if (deltaBlank && isObject(message)) this.#readWholeMessage(message);
    else if (isObject(delta)) {
      this.#streamed ||= !blank(delta);
      this.#readMessage(delta);
    } else if (choice.text) this.#taggedText.feed(text(choice.text));
    this.#finishReason = name(choice.finish_reason) || name(choice.stop_reason) || this.#finishReason;
    if (hasError(choice.error)) this.#readError(choice.error);
  }

  #readWholeMessage(message: Fields): void {
    if (!this.#streamed) this.#wholeMessage ||= !blank(message);
    const repeated = this.#streamed ? this.#streamedFields : new Set<string>();
    const fresh = Object.entries(message).filter(
      ([field]) => !repeated.has(field === "function_call" ? "tool_calls" : field),
    );
    const first = Object.keys(message).find((field) => /^(?:content$|reasoning|thinking)/.test(field));
    this.#readMessage(Object.fromEntries(fresh), first === "content");
  }

  #readMessage(message: Fields, contentFirst = false): void {
    for (const field of MESSAGE_FIELDS) if (filled(message[field])) this.#streamedFields.add(field);
    this.#unread = message;
    const { content } = message;
    // A closing tag alone shows no thought where a field has one.
    if (!contentFirst || Array.isArray(content) || !this.#taggedText.opens(text(content))) this.#readUnread();
    if (Array.isArray(content)) this.#readParts(content);
    else if (text(content)) this.#appendContent(text(content), message.extra_content);
    this.#readUnread();
    if (name(message.refusal)) this.#appendRefusal(name(message.refusal));
    const calls = list(message.tool_calls);
    for (const call of calls) this.#readCall(object(call));
    if (isObject(message.function_call) && !calls[0]) {
      this.#streamedFields.add("tool_calls");
      // The older field has one call, without an index.
      this.#readCall({ index: -1, function: message.function_call });
    }
  }

  /** Reads the reasoning of a message, where it was not read yet. */
  #readUnread(): void {
    const message = this.#unread;
    this.#unread = undefined;
    if (message) this.#readReasoning(message);
  }

  #readReasoning(message: Fields): void {
    for (const field of Object.keys(SEAL_FORMS)) if (message[field] != null) this.#readDetails(field, message[field]);
    for (const field of REASONING_TEXTS) this.#appendReasoning(field, text(message[field]));
    this.#seal("encrypted", name(message.reasoning_opaque));
    for (const step of list(message.reasoning_steps)) {
      this.#appendReasoning(STEPS_SOURCE, looseText(object(step).thought));
      this.#emitter.endBlock(this.#reasoningKey);
    }
    for (const item of list(message.reasoning_items)) this.#sealBy("encrypted", object(item).encrypted_content);
  }

  #readDetails(field: string, details: unknown): void {
    const all = list(details).map(object);
    if (all[0]) this.#detailsField ||= field;
    if (field !== this.#detailsField) return; // a second list repeats the same reasoning in another format
    for (const detail of all) {
      const summary = looseText(detail.summary);
      const thought = looseText(detail.text) || summary || looseText(detail.thinking);
      this.#appendReasoning("details", thought, summary ? "summary" : "unknown");
      this.#sealBy(SEAL_FORMS[field] as SealForm, detail.data);
      this.#sealBy("signature", detail.signature);
    }
  }

  /** Emits reasoning, unless a place that is trusted as much or more has sent some before. */
  #appendReasoning(source: string, thought: string, provenance: Provenance = "unknown"): void {
    if (!thought) return;
    if (!this.#source && this.#taggedText.thoughtBegun) this.#source = "tags";
    const blank = blankText(thought);
    if (!this.#source || !(blank || this.#source === "tags" || this.#reasoningSeen)) this.#source = source;
    if (source === this.#source) this.#emitReasoning(thought, provenance);
    else if (this.#outranks(source)) this.#holdReasoning(source, thought, provenance);
    else return;
    if (this.#tagsDisabled || source === STEPS_SOURCE || blank) return;
    this.#tagsDisabled = true;
    this.#taggedText.disableTags();
  }

  /** Whether a place is trusted more than the one that reasoning is read from. */
  #outranks(source: string): boolean {
    const rank = SOURCES.indexOf(source);
    return rank < SOURCES.indexOf(this.#source) && !(this.#later && rank > SOURCES.indexOf(this.#later.source));
  }

  #emitReasoning(thought: string, provenance: Provenance): void {
    this.#reasoningSeen ||= !blankText(thought);
    if (!this.#emitter.hasOpen(this.#reasoningKey)) this.#emitter.endAllBlocks();
    this.#emitter.appendOrStart(this.#reasoningKey, "reasoning", thought, provenance);
    this.#reasoningPieces.push(thought);
  }

  #holdReasoning(source: string, thought: string, provenance: Provenance): void {
    if (this.#later?.source !== source) {
      this.#compareReasoning(true);
      const earlier = this.#source === "tags" ? this.#taggedText.thoughtPieces : this.#reasoningPieces;
      this.#later = new LaterReasoning(source, earlier);
    }
    this.#later.append(thought, provenance);
    if (this.#later.differs()) this.#emitLater(this.#later);
  }

  /** Emits held reasoning that another place has not sent; before the `final` comparison, shorter text may still grow. */
  #compareReasoning(final = false): void {
    const later = this.#later;
    if (!later) return;
    const differs = later.differs();
    const { excess } = later;
    if (differs || excess > 0 || (final && excess < 0)) this.#emitLater(later);
    else if (excess === 0) this.#sealAll(this.#reasoningKey, later);
  }

  /** Emits held reasoning as a block of its own; from now on reasoning is read from its place. */
  #emitLater(later: LaterReasoning): void {
    this.#later = undefined;
    this.#source = later.source;
    this.#reasoningKey = LATER_KEY;
    this.#reasoningPieces = [];
    this.#emitter.endAllBlocks();
    for (const piece of later.heldPieces) this.#emitReasoning(piece, later.provenance);
    this.#sealAll(LATER_KEY, later);
  }

  #sealAll(key: string, later: LaterReasoning): void {
    for (const [form, payload] of later.heldSeals.splice(0)) this.#emitter.seal(key, form, payload);
  }

  /** Attaches a seal to the latest reasoning block; starts an empty one if there is none. */
  #seal(form: SealForm, payload: string): void {
    if (!payload) return;
    if (this.#later) {
      this.#later.heldSeals.push([form, payload]);
      return;
    }
    if (!this.#emitter.hasBlock(this.#reasoningKey)) {
      this.#emitter.endAllBlocks();
      this.#emitter.startBlock(this.#reasoningKey, "reasoning");
    }
    this.#emitter.seal(this.#reasoningKey, form, payload);
  }

  /**
   * Emits the text and the reasoning that were held back. In a `broken` turn, held reasoning that is the beginning of
   * what was emitted would have repeated the rest too, so only its seals are new.
   */
  #closeText(broken = false): void {
    this.#taggedText.close();
    this.#compareReasoning(!broken);
    if (broken && this.#later) this.#sealAll(this.#reasoningKey, this.#later);
  }

  #makeTaggedText(profile: TagProfile | null): TaggedText {
    return new TaggedText(this.#emitter, profile, TEXT_KEY, false, () => {
      this.#readUnread();
      this.#compareReasoning();
    });
  }

  #sealBy(form: SealForm, payload: unknown): void {
    if (typeof payload === "string") this.#seal(form, payload);
  }

  #appendContent(content: string, extra: unknown): void {
    const { google, vertex } = object(extra);
    if (!this.#tagsGiven && flag(object(google ?? vertex).thought)) {
      this.#tagsGiven = true;
      this.#taggedText.close();
      this.#taggedText = this.#makeTaggedText(findProfile("thought"));
    }
    this.#taggedText.feed(content);
  }

  #appendRefusal(refusal: string): void {
    this.#refused = true;
    this.#taggedText.disableTags();
    this.#taggedText.feed(refusal);
  }

  /** Reads Mistral's and Databricks' list of parts, in which the text of a thinking part is itself a list of parts. */
  #readParts(items: unknown[]): void {
    for (const item of items) {
      const part = isObject(item) ? item : { type: "text", text: item };
      const type = typeof part.type === "string" ? part.type : null;
      if (type === "thinking" || (type === null && "thinking" in part)) {
        this.#appendReasoning("content", looseText(part.thinking));
        this.#sealBy("signature", part.signature);
      } else if (type === "reasoning" || (type === null && "summary" in part)) {
        for (const summary of Array.isArray(part.summary) ? part.summary : [part.summary]) {
          this.#appendReasoning("content", looseText(summary), "summary");
          this.#sealBy("signature", object(summary).signature);
        }
        this.#appendReasoning("content", looseText(part.text));
      } else if (looseText(part.text)) this.#taggedText.feed(looseText(part.text));
      else if (looseText(part.refusal)) this.#appendRefusal(looseText(part.refusal));
    }
  }

  #readCall(call: Fields): void {
    const fn = object(call.function);
    const [id, callName, passed] = [name(call.id), name(fn.name), stringOrJson(fn.arguments)];
    // An empty placeholder, which Snowflake and others send with every message.
    const continues = this.#calls.has(index(call.index));
    if (!(id || callName || passed.replace(/^[{}]+|[{}]+$/g, "") || continues)) return;
    const key = `tool ${this.#callSerial(index(call.index), id, callName)}`;
    if (!this.#emitter.hasOpen(key)) {
      this.#taggedText.close();
      this.#compareReasoning();
      for (const blockKey of [REASONING_KEY, LATER_KEY, TEXT_KEY]) this.#emitter.endBlock(blockKey);
      this.#emitter.startBlock(key, "tool_call", { callName, callId: id });
    }
    this.#emitter.append(key, passed);
    const { google, vertex } = object(call.extra_content);
    for (const extra of [google, vertex]) this.#emitter.seal(key, "signature", name(object(extra).thought_signature));
  }

  /**
   * The serial number of the call that this continues, or of a new one. The index identifies a call; another id, or a name
   * without an index, starts a new one, because some servers repeat or omit the index.
   */
  #callSerial(position: number | null, id: string, callName: string): number {
    const known = this.#calls.get(position);
    const isNew = id || (position === null && callName);
    if (known && !(isNew && id !== known.id)) return known.serial;
    this.#calls.set(position, { serial: ++this.#callCount, id });
    return this.#callCount;
  }

  #reportUsage(counts: Fields): void {
    const { completion_tokens_details: details, prompt_tokens_details: promptDetails } = counts;
    const input = count(counts.prompt_tokens);
    const completion = count(counts.completion_tokens);
    const reasoning = count(isObject(details) ? details.reasoning_tokens : counts.reasoning_tokens);
    // xAI leaves reasoning out of the completion tokens, which only the total shows.
    const separate = !!reasoning && count(counts.total_tokens) === addCounts(input, completion, reasoning);
    const cached = isObject(promptDetails) ? promptDetails.cached_tokens : counts.prompt_cache_hit_tokens;
    this.#emitter.reportUsage({
      input,
      output: separate ? addCounts(completion, reasoning) : completion,
      reasoning,
      cache_read: count(cached),
      cache_write: count(object(promptDetails).cache_write_tokens),
    });
  }

  /** An error counts less if the provider sent the end of the turn before it. */
  #readLateError(error: unknown, reasonBefore: string): void {
    if (reasonBefore && reasonBefore !== "error") this.#emitter.addNotice(...parseError(error));
    else this.#readError(error);
  }

  #readUnknown(frame: Frame): void {
    const error = findError(frame);
    if (error && this.#finishReason && this.#finishReason !== "error") this.#emitter.addNotice(...error);
    else readUnknownFrame(this.#emitter, frame, () => this.#closeText(true));
  }

  #readError(error: unknown): void {
    this.#closeText(true);
    this.#emitter.fail(...parseError(error));
  }
}

/** Whether a message has no content: no text, no reasoning and no call. */
function blank(message: Fields): boolean {
  return !MESSAGE_FIELDS.some((field) => filled(message[field])) && !message.extra_content;
}

function filled(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : !!value;
}
