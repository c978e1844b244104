/**
 * Reads OpenAI Chat Completions, also of OpenRouter, DeepSeek, Kimi, Qwen, GLM, vLLM, Groq and Mistral.
 *
 * Reasoning arrives in one of several places: `reasoning_details`, `reasoning_content`, `reasoning`, `reasoning_text`,
 * `reasoning_steps`, parts of `content`, and tags inside `content`. The first place with text is used for the rest of the
 * turn, so that text sent in two fields is shown once. Only the first choice is read. A `message` beside or after deltas
 * repeats them, so only the fields that no delta had are read from it.
 */

import type { Finish, Provenance, SealForm } from "../../core/events.js";
import { blankText } from "../../core/spaces.js";
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

export class Reader implements ProviderReader {
  #emitter: TurnEmitter;
  #taggedText: TaggedText;
  #tagsGiven: boolean;
  #tagsDisabled = false;
  #source = "";
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
    this.#taggedText = new TaggedText(emitter, tags);
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
    this.#taggedText.close();
    const whole = this.#wholeMessage || this.#finalUsage || (this.#emitter.wholeBody && !this.#streamed);
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
    this.#readMessage(Object.fromEntries(fresh));
  }

  #readMessage(message: Fields): void {
    for (const field of MESSAGE_FIELDS) if (filled(message[field])) this.#streamedFields.add(field);
    this.#readReasoning(message);
    const { content } = message;
    if (Array.isArray(content)) this.#readParts(content);
    else if (text(content)) this.#appendContent(text(content), message.extra_content);
    if (name(message.refusal)) this.#appendRefusal(name(message.refusal));
    for (const call of list(message.tool_calls)) this.#readCall(object(call));
    if (isObject(message.function_call)) {
      this.#streamedFields.add("tool_calls");
      this.#readCall({ index: 0, function: message.function_call });
    }
  }

  #readReasoning(message: Fields): void {
    for (const field of Object.keys(SEAL_FORMS)) if (message[field] != null) this.#readDetails(field, message[field]);
    for (const field of REASONING_TEXTS) this.#appendReasoning(field, text(message[field]));
    this.#seal("encrypted", name(message.reasoning_opaque));
    for (const step of list(message.reasoning_steps)) {
      this.#appendReasoning(STEPS_SOURCE, looseText(object(step).thought));
      this.#emitter.endBlock(REASONING_KEY);
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

  /** Emits reasoning if it is from the place that this turn's reasoning is read from. */
  #appendReasoning(source: string, thought: string, provenance: Provenance = "unknown"): void {
    if (this.#taggedText.thoughtSeen) this.#source ||= "tags";
    if (!thought || (this.#source && this.#source !== source)) return;
    this.#source = source;
    if (!this.#tagsDisabled && source !== STEPS_SOURCE && !blankText(thought)) {
      this.#tagsDisabled = true;
      this.#taggedText.disableTags();
    }
    if (!this.#emitter.hasOpen(REASONING_KEY)) this.#emitter.endAllBlocks();
    this.#emitter.appendOrStart(REASONING_KEY, "reasoning", thought, provenance);
  }

  /** Attaches a seal to the latest reasoning block; starts an empty one if there is none. */
  #seal(form: SealForm, payload: string): void {
    if (!payload) return;
    if (!this.#emitter.hasBlock(REASONING_KEY)) {
      this.#emitter.endAllBlocks();
      this.#emitter.startBlock(REASONING_KEY, "reasoning");
    }
    this.#emitter.seal(REASONING_KEY, form, payload);
  }

  #sealBy(form: SealForm, payload: unknown): void {
    if (typeof payload === "string") this.#seal(form, payload);
  }

  #appendContent(content: string, extra: unknown): void {
    const { google, vertex } = object(extra);
    if (!this.#tagsGiven && flag(object(google ?? vertex).thought)) {
      this.#tagsGiven = true;
      this.#taggedText.close();
      this.#taggedText = new TaggedText(this.#emitter, findProfile("thought"));
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
    // An empty placeholder, which some servers send with every message.
    if (!(id || callName || passed.replace(/^[{}]+|[{}]+$/g, "") || this.#callCount)) return;
    const key = `tool ${this.#callSerial(index(call.index), id, callName)}`;
    if (!this.#emitter.hasOpen(key)) {
      this.#taggedText.close();
      this.#emitter.endBlock(REASONING_KEY);
      this.#emitter.endBlock(TEXT_KEY);
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
    else readUnknownFrame(this.#emitter, frame, () => this.#taggedText.close());
  }

  #readError(error: unknown): void {
    this.#taggedText.close();
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
