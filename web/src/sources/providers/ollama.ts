/**
 * Reads responses of Ollama's own API, chat and generate: JSON lines, or a single one.
 *
 * Reasoning is in `thinking`; for a model whose template Ollama does not know, it stays between tags in the text. Tool
 * calls are complete.
 */

import type { Finish } from "../../core/events.js";
import type { Frame } from "../frames.js";
import {
  count,
  type Fields,
  fieldsOf,
  flag,
  hasError,
  isObject,
  json,
  list,
  name,
  object,
  type ProviderReader,
  parseError,
  REASONING_KEY,
  readUnknownFrame,
  TaggedText,
  type TagProfile,
  type TurnEmitter,
  text,
} from "./reader.js";

const FINISHES: Record<string, Finish> = { stop: "stop", length: "length" };

export class Reader implements ProviderReader {
  #emitter: TurnEmitter;
  #taggedText: TaggedText;
  #callCount = 0;

  constructor(emitter: TurnEmitter, tags: TagProfile | null) {
    this.#emitter = emitter;
    this.#taggedText = new TaggedText(emitter, tags);
  }

  feed(frame: Frame): void {
    const line = fieldsOf(this.#emitter, frame);
    if (!line) return;
    this.#emitter.startTurn(name(line.model));
    if (hasError(line.error)) {
      this.#taggedText.close();
      return this.#emitter.fail(...parseError(line.error));
    }
    const done = flag(line.done);
    if (!isObject(line.message) && line.response == null && line.thinking == null && !done)
      readUnknownFrame(this.#emitter, frame, () => this.#taggedText.close());
    // The generate endpoint has `response` and `thinking` instead of a message.
    this.#readMessage(isObject(line.message) ? line.message : { content: line.response, thinking: line.thinking });
    if (done) this.#finish(line);
  }

  close(): void {
    this.#taggedText.close();
    this.#emitter.failCutOff("done");
  }

  #readMessage(message: Fields): void {
    const thought = text(message.thinking);
    if (thought) {
      this.#taggedText.disableTags();
      if (!this.#emitter.hasOpen(REASONING_KEY)) this.#emitter.endAllBlocks();
      this.#emitter.appendOrStart(REASONING_KEY, "reasoning", thought, "raw");
    }
    if (text(message.content)) this.#taggedText.feed(text(message.content));
    for (const call of list(message.tool_calls)) this.#addCall(object(call));
  }

  #addCall({ id, function: fn }: Fields): void {
    if (!isObject(fn)) return;
    this.#taggedText.close();
    this.#emitter.endAllBlocks();
    const key = `tool ${++this.#callCount}`;
    this.#emitter.startBlock(key, "tool_call", { callName: name(fn.name), callId: name(id) });
    this.#emitter.append(key, json(fn.arguments) || "{}");
    this.#emitter.endBlock(key);
  }

  #finish(line: Fields): void {
    this.#taggedText.close();
    this.#emitter.reportUsage({ input: count(line.prompt_eval_count), output: count(line.eval_count) });
    const reason = name(line.done_reason);
    const finish = FINISHES[reason] ?? "unknown";
    this.#emitter.finish(this.#callCount && finish === "stop" ? "tool_calls" : finish, reason);
  }
}
