/**
 * Reads Anthropic Messages, also from Azure, Vertex, DeepSeek, llama.cpp and Ollama.
 *
 * Reasoning may be empty and still have a signature; redacted reasoning has only data. The results of tools that the
 * provider runs itself are blocks of their own, matched to the call by its id. An event without an index belongs to the
 * latest block; one without a type is told by its fields.
 */

import type { Finish } from "../../core/events.js";
import type { Frame } from "../frames.js";
import {
  addCounts,
  count,
  type Fields,
  fieldsOf,
  flag,
  hasError,
  index,
  isObject,
  json,
  list,
  name,
  object,
  type ProviderReader,
  readUnknownFrame,
  stringOrJson,
  TaggedBlocks,
  type TagProfile,
  type TurnEmitter,
  text,
  textObject,
  typeName,
} from "./reader.js";

const FINISHES: Record<string, Finish> = {
  end_turn: "stop",
  stop_sequence: "stop",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  tool_use: "tool_calls",
  refusal: "refusal",
};

/** What a stream told of one content block. */
interface StreamedBlock {
  call: boolean;
  hasInput: boolean;
  signature: string;
}

export class Reader implements ProviderReader {
  #emitter: TurnEmitter;
  #texts: TaggedBlocks;
  #latestIndex = 0;
  #blocks = new Map<number, StreamedBlock>();
  #indexes = new Map<string, number>();
  #counts: Fields = {};
  #stopReason = "";

  constructor(emitter: TurnEmitter, tags: TagProfile | null) {
    this.#emitter = emitter;
    this.#texts = new TaggedBlocks(emitter, tags);
  }

  feed(frame: Frame): void {
    const update = fieldsOf(this.#emitter, frame);
    if (!update) return;
    const type = eventType(update, frame);
    const { delta, message, content_block: block, usage } = update;
    const position = index(update.index) ?? this.#latestIndex;
    if (type === "content_block_delta" && isObject(delta)) this.#applyDelta(position, delta);
    else if (type === "content_block_start" && block != null)
      this.#startStreamed(index(update.index) ?? this.#latestIndex + (this.#blocks.size ? 1 : 0), textObject(block));
    else if (type === "content_block_stop") this.#endBlock(position);
    else if (type === "message_start" && isObject(message)) {
      this.#emitter.startTurn(name(message.model));
      this.#reportUsage(message.usage);
    } else if (type === "message_delta") {
      this.#stopReason = name(object(delta).stop_reason) || this.#stopReason;
      this.#reportUsage(usage);
    } else if (type === "message_stop") this.#finish();
    else if (type === "message") this.#readWhole(update);
    else if (!type || type === "error" || hasError(update.error))
      readUnknownFrame(this.#emitter, frame, () => this.#texts.close());
  }

  close(): void {
    this.#texts.close();
    this.#emitter.failCutOff("message_stop");
  }

  #readWhole(message: Fields): void {
    this.#emitter.startTurn(name(message.model));
    list(message.content).forEach((item, position) => {
      const content = textObject(item);
      this.#startBlock(position, content);
      this.#emitter.seal(position, "signature", name(content.signature));
      this.#texts.end(position);
    });
    this.#stopReason = name(message.stop_reason);
    this.#reportUsage(message.usage);
    this.#finish();
  }

  #startStreamed(position: number, content: Fields): void {
    this.#latestIndex = position;
    this.#blocks.set(position, {
      call: contentType(content).endsWith("tool_use"),
      hasInput: Object.keys(object(content.input)).length > 0,
      signature: name(content.signature),
    });
    this.#startBlock(position, content);
  }

  #startBlock(position: number, content: Fields): void {
    const type = contentType(content);
    const call = this.#indexes.get(name(content.tool_use_id));
    if (type === "text") this.#texts.append(position, text(content.text));
    else if (type === "thinking") {
      this.#texts.disableTags();
      this.#emitter.startBlock(position, "reasoning", { provenance: "summary" });
      this.#emitter.append(position, text(content.thinking));
    } else if (type === "redacted_thinking") {
      this.#texts.disableTags();
      this.#emitter.startBlock(position, "reasoning");
      this.#emitter.seal(position, "redacted", name(content.data));
    } else if (["tool_use", "server_tool_use", "mcp_tool_use"].includes(type)) this.#startCall(position, content);
    else if (content.tool_use_id && call !== undefined) {
      const result = stringOrJson(content.content);
      const error = flag(content.is_error) ? result || "failed" : name(object(content.content).error_code);
      this.#emitter.finishTool(call, result, error);
    }
  }

  #startCall(position: number, content: Fields): void {
    const callId = name(content.id);
    this.#indexes.set(callId, position);
    this.#emitter.startBlock(position, "tool_call", { callName: name(content.name), callId });
    const input = json(content.input);
    // A stream starts every call with the placeholder {}; only in a whole message it is the real input.
    if (input !== "{}" || !this.#blocks.has(position)) this.#emitter.append(position, input);
  }

  #applyDelta(position: number, delta: Fields): void {
    const block = this.#blocks.get(position) ?? { call: false, hasInput: false, signature: "" };
    this.#blocks.set(position, block);
    const [thought, answer, input] = [text(delta.thinking), text(delta.text), text(delta.partial_json)];
    if (thought) {
      this.#texts.disableTags();
      this.#emitter.appendOrStart(position, "reasoning", thought, "summary");
    } else if (answer) this.#texts.append(position, answer);
    else if (input) {
      block.hasInput = true;
      this.#emitter.append(position, input);
    } else block.signature += name(delta.signature);
  }

  #endBlock(position: number): void {
    const block = this.#blocks.get(position);
    // A call without arguments streams no input at all.
    if (block?.call && !block.hasInput) this.#emitter.append(position, "{}");
    this.#emitter.seal(position, "signature", block?.signature ?? "");
    this.#texts.end(position);
  }

  #reportUsage(usage: unknown): void {
    if (!isObject(usage)) return;
    // Merged before the sum: a later event may repeat only some of the counts that make up the input.
    const reported = Object.entries(usage).filter(([, value]) => value != null);
    this.#counts = { ...this.#counts, ...Object.fromEntries(reported) };
    const counts = this.#counts;
    const cacheRead = count(counts.cache_read_input_tokens);
    const cacheWrite = count(counts.cache_creation_input_tokens);
    this.#emitter.reportUsage({
      input: addCounts(count(counts.input_tokens), cacheRead, cacheWrite),
      output: count(counts.output_tokens),
      reasoning: count(object(counts.output_tokens_details).thinking_tokens),
      cache_read: cacheRead,
      cache_write: cacheWrite,
    });
  }

  #finish(): void {
    this.#texts.close();
    this.#emitter.finish(FINISHES[this.#stopReason] ?? "unknown", this.#stopReason);
  }
}

/** The type of an event, from its other fields if it is not named. */
function eventType({ type, content_block, delta, content, message }: Fields, frame: Frame): string {
  if (typeName(type)) return typeName(type);
  if (content_block != null) return "content_block_start";
  if (isObject(delta)) return delta.stop_reason ? "message_delta" : "content_block_delta";
  if (content != null) return "message";
  return isObject(message) ? "message_start" : frame.event;
}

/** The type of a content block, from its other fields if it is not named. */
function contentType({ type, thinking, text: answer, name: callName }: Fields): string {
  if (typeName(type)) return typeName(type);
  return thinking != null ? "thinking" : answer != null ? "text" : callName != null ? "tool_use" : "";
}
