/**
 * Reads Gemini generateContent responses: JSON, server-sent events or a JSON array. Every chunk is a small whole response.
 *
 * Reasoning parts are marked `thought`; their signature is on the next part, which may be an empty text at the end. The
 * candidates' token count excludes reasoning. Only the first candidate is read. Some Google endpoints wrap the whole
 * response in `response`.
 */

import type { Finish, Kind } from "../../core/events.js";
import { blankText } from "../../core/spaces.js";
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
  type Key,
  list,
  name,
  object,
  type ProviderReader,
  parseError,
  readUnknownFrame,
  TaggedText,
  type TagProfile,
  type TurnEmitter,
  text,
  textObject,
} from "./reader.js";

/** Some clients record the enum number of the reason instead of its name. */
const FINISHES: Record<string, Finish> = {
  STOP: "stop",
  MAX_TOKENS: "length",
  SAFETY: "refusal",
  RECITATION: "refusal",
  BLOCKLIST: "refusal",
  PROHIBITED_CONTENT: "refusal",
  SPII: "refusal",
  IMAGE_SAFETY: "refusal",
  1: "stop",
  2: "length",
  3: "refusal",
  4: "refusal",
};
const TEXT = "answer";
const THOUGHT = "thought";

const PATH_STEP = /\.([^.[\]]+)|\[(\d+)\]|\[(['"])(.*?)\3\]/g;
/** The most steps of a path: no tool has deeper arguments. */
const MAX_DEPTH = 64;

type Step = string | number;
type Container = Fields | unknown[];

/**
 * Assembles the arguments of a call that is streamed as values at JSON paths (`partialArgs`). Every value has a path such
 * as `$.city` or `$.days[0].high`; a string may arrive in several pieces.
 */
class PartialCall {
  #name: string;
  #id: string;
  #arguments: Fields;

  constructor(callName: string, id: string, passed: Fields) {
    this.#name = callName;
    this.#id = id;
    this.#arguments = { ...passed };
  }

  /** Whether a part with this name and id, which most parts leave out, continues the call. */
  continuedBy(callName: string, id: string): boolean {
    return (!callName || callName === this.#name) && (!id || id === this.#id);
  }

  /** Sets a value at its path, or appends to the string there; false if the path is too deep. */
  add({ jsonPath, stringValue, numberValue, boolValue }: Fields): boolean {
    const steps: Step[] = Array.from(name(jsonPath).matchAll(PATH_STEP), ([, plain, position, , quoted]) =>
      position === undefined ? ((plain ?? quoted) as string) : Number(position),
    );
    const last = steps.pop();
    if (steps.length >= MAX_DEPTH) return false;
    if (last === undefined) return true;
    let container: Container = this.#arguments;
    steps.forEach((step, position) => {
      container = child(container, step, typeof (steps[position + 1] ?? last) === "number" ? [] : {});
    });
    const value = stringValue ?? numberValue ?? boolValue ?? null;
    const current = get(container, last);
    const grows = typeof current === "string" && typeof value === "string";
    set(container, last, grows ? current + value : value);
    return true;
  }

  /** The arguments so far as JSON. */
  get arguments(): string {
    return JSON.stringify(this.#arguments);
  }
}

function get(container: Container, step: Step): unknown {
  if (Array.isArray(container)) return typeof step === "number" ? container[step] : undefined;
  return Object.hasOwn(container, step) ? container[step] : undefined;
}

/** Values arrive in order, so an index beyond the end of a list is the next one. */
function set(container: Container, step: Step, value: unknown): void {
  if (!Array.isArray(container))
    Object.defineProperty(container, step, { value, writable: true, enumerable: true, configurable: true });
  else if (typeof step === "number" && step < container.length) container[step] = value;
  else container.push(value);
}

/** The object or list at a step of a path; an empty one is added if there is none. */
function child(container: Container, step: Step, empty: Container): Container {
  const known = get(container, step);
  if (isObject(known) || Array.isArray(known)) return known;
  set(container, step, empty);
  return empty;
}

export class Reader implements ProviderReader {
  #emitter: TurnEmitter;
  #text: TaggedText;
  #hasParts = false;
  #lastKey: Key = "";
  #callCount = 0;
  #clientCallCount = 0;
  #partialCall: PartialCall | null = null;
  #finish: Finish | null = null;
  #finishReason = "";

  constructor(emitter: TurnEmitter, tags: TagProfile | null) {
    this.#emitter = emitter;
    this.#text = new TaggedText(emitter, tags, TEXT);
  }

  feed(frame: Frame): void {
    if (frame.data.trim() === "[DONE]") return;
    let chunk = fieldsOf(this.#emitter, frame);
    if (!chunk) return;
    if (chunk.candidates == null && isObject(chunk.response)) chunk = chunk.response;
    const { usageMetadata, promptFeedback, error } = chunk;
    const model = name(chunk.modelVersion);
    this.#emitter.startTurn(model);
    if (chunk.candidates == null && !(usageMetadata || promptFeedback || model || hasError(error)))
      readUnknownFrame(this.#emitter, frame, () => this.#text.close());
    for (const candidate of list(chunk.candidates).map(object))
      if ((index(candidate.index) ?? 0) === 0) this.#readCandidate(candidate);
    if (isObject(usageMetadata)) this.#reportUsage(usageMetadata);
    const blocked = name(object(promptFeedback).blockReason);
    if (blocked) [this.#finish, this.#finishReason] = ["refusal", blocked];
    if (!hasError(error)) return;
    this.#text.close();
    this.#emitter.fail(...parseError(error));
  }

  /** Ends the turn if a finish reason arrived; else it is cut off. */
  close(): void {
    this.#finishPartialCall();
    this.#text.close();
    if (this.#emitter.wholeBody && this.#hasParts) this.#finish ??= "unknown";
    if (!this.#finish) return this.#emitter.failCutOff("finishReason");
    const calls = this.#clientCallCount && this.#finish === "stop";
    this.#emitter.finish(calls ? "tool_calls" : this.#finish, this.#finishReason);
  }

  #readCandidate(candidate: Fields): void {
    for (const item of list(object(candidate.content).parts)) {
      const part = textObject(item);
      const call = part.functionCall;
      if (isObject(call) && this.#streamsArguments(call)) this.#readPartialCall(part, call);
      else {
        this.#finishPartialCall();
        this.#hasParts = true;
        this.#readPart(part);
      }
    }
    const reason = name(candidate.finishReason);
    if (!reason) return;
    this.#finish = FINISHES[reason] ?? "unknown";
    this.#finishReason = reason;
  }

  /** Whether a part starts or continues a call whose arguments arrive as values at paths. */
  #streamsArguments(call: Fields): boolean {
    if (flag(call.willContinue) || call.partialArgs != null) return true;
    return !!this.#partialCall?.continuedBy(name(call.name), name(call.id)) && call.args == null;
  }

  /** Starts or continues a call whose arguments are streamed; its last part does not continue. */
  #readPartialCall(part: Fields, call: Fields): void {
    const [callName, callId] = [name(call.name), name(call.id)];
    if (!this.#partialCall?.continuedBy(callName, callId)) {
      this.#finishPartialCall();
      this.#clientCallCount++;
      this.#startCall(callName, callId);
      this.#partialCall = new PartialCall(callName, callId, object(call.args));
    }
    for (const argument of list(call.partialArgs))
      if (!this.#partialCall?.add(object(argument)))
        this.#emitter.addFault(`gemini sent an argument that is nested too deep: ${json(argument).slice(0, 60)}`);
    this.#seal(part);
    if (!flag(call.willContinue)) this.#finishPartialCall();
  }

  #finishPartialCall(): void {
    if (!this.#partialCall) return;
    this.#emitter.append(this.#lastKey, this.#partialCall.arguments);
    this.#emitter.endBlock(this.#lastKey);
    this.#hasParts = true;
    this.#partialCall = null;
  }

  #readPart(part: Fields): void {
    const { functionCall: call, executableCode: code, codeExecutionResult: result } = part;
    if (isObject(call)) {
      this.#clientCallCount++;
      this.#addCall(name(call.name), name(call.id), json(call.args) || "{}");
    } else if (isObject(code)) this.#addCall("code_execution", "", text(code.code));
    else if (isObject(result)) {
      const outcome = name(result.outcome);
      const error = outcome === "OUTCOME_OK" ? "" : outcome;
      this.#emitter.finishTool(`call ${this.#callCount}`, text(result.output), error);
    } else if (text(part.text)) this.#append(flag(part.thought) ? "reasoning" : "text", text(part.text));
    this.#seal(part);
  }

  #append(kind: Kind, delta: string): void {
    const key = kind === "text" ? TEXT : THOUGHT;
    const continues = this.#lastKey === key;
    if (key === THOUGHT && !continues && !blankText(delta)) this.#text.disableTags();
    if (!continues) this.#emitter.endAllBlocks();
    this.#lastKey = key;
    if (key === TEXT) this.#text.feed(delta);
    else this.#emitter.appendOrStart(THOUGHT, "reasoning", delta, "summary");
  }

  #startCall(callName: string, callId: string): void {
    this.#text.close();
    this.#emitter.endAllBlocks();
    this.#lastKey = `call ${++this.#callCount}`;
    this.#emitter.startBlock(this.#lastKey, "tool_call", { callName, callId });
  }

  #addCall(callName: string, callId: string, passed: string): void {
    this.#startCall(callName, callId);
    this.#emitter.append(this.#lastKey, passed);
    this.#emitter.endBlock(this.#lastKey);
  }

  /** Attaches a signature to the block of its part; on an empty first part, starts the answer's block. */
  #seal(part: Fields): void {
    const signature = name(part.thoughtSignature);
    if (!signature) return;
    if ((!this.#lastKey || this.#lastKey === TEXT) && !this.#emitter.hasBlock(TEXT)) {
      this.#lastKey = TEXT;
      this.#text.close();
      if (!this.#emitter.hasBlock(TEXT)) this.#emitter.startBlock(TEXT, "text");
    }
    this.#emitter.seal(this.#lastKey, "signature", signature);
  }

  #reportUsage(counts: Fields): void {
    const candidates = count(counts.candidatesTokenCount);
    const thoughts = count(counts.thoughtsTokenCount);
    this.#emitter.reportUsage({
      input: addCounts(count(counts.promptTokenCount), count(counts.toolUsePromptTokenCount)),
      output: candidates === null ? thoughts : addCounts(candidates, thoughts),
      reasoning: thoughts,
      cache_read: count(counts.cachedContentTokenCount),
    });
  }
}
