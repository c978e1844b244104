/**
 * Reads OpenAI Responses, also from Azure, xAI, OpenRouter, vLLM and LM Studio.
 *
 * A turn is a list of items. A reasoning item starts a block at once, though its text may arrive much later or never. Each
 * summary part is a block of its own. Text that a server does not stream is read from the finished item or from the final
 * response. Not every server sends the index of an item, and not every server keeps its id, so an item is found by either.
 */

import type { Finish, Kind, Provenance } from "../../core/events.js";
import { blankText } from "../../core/spaces.js";
import type { Frame } from "../frames.js";
import {
  count,
  type Fields,
  fieldsOf,
  hasError,
  index,
  isObject,
  json,
  list,
  name,
  object,
  type ProviderReader,
  parseError,
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
  max_output_tokens: "length",
  max_messages: "length",
  content_filter: "refusal",
};
/** Items that are no call and have nothing to show. */
const SILENT_TYPES = ["mcp_list_tools", "compaction"];
const CLIENT_CALLS = ["function_call", "custom_tool_call"];

type Source = "content" | "summary";

/** The events with text: the kind of the text, and the list of the item that it belongs to. */
const TEXT_EVENT =
  /^(output_text|refusal|reasoning|reasoning_text|reasoning_summary|reasoning_summary_text)\.(delta|done)$/;
const DELTA_TYPES: Record<string, string> = {
  reasoning: "reasoning_text.delta",
  text: "output_text.delta",
  tool_call: "function_call_arguments.delta",
};
const PROVENANCES: Record<Source, Provenance> = { summary: "summary", content: "raw" };

/** Finds the items of a response. Keys are numbers in order of arrival. */
class ItemKeys {
  #byId = new Map<string, number>();
  #byIndex = new Map<number, number>();
  #finished = new Set<number>();
  #matched = new Set<number>();
  #ids: string[] = [];

  /** A new key for an item that starts now, or its key if it has started. */
  start(id: string, position: number | null): number {
    const key = this.#byId.get(id);
    return key === undefined || this.#finished.has(key) ? this.#add(id, position) : key;
  }

  /**
   * The key of an item: by its id, its index, or else the latest. Some servers name the id of an item only in its deltas: an
   * unknown id is that of the latest item, if that is not finished and has none.
   */
  find(id: string, position: number | null): number {
    const last = this.#ids.length - 1;
    let key = this.#byId.get(id);
    if (key === undefined && position !== null) {
      key = this.#byIndex.get(position);
      if (id && key !== undefined && this.#finished.has(key)) key = undefined; // another item with the same index
    } else if (key === undefined && last >= 0 && (!id || (!this.#ids[last] && !this.#finished.has(last)))) key = last;
    if (key === undefined) return this.#add(id, position);
    if (id) {
      this.#byId.set(id, key);
      this.#ids[key] ||= id;
    }
    return key;
  }

  finish(key: number): void {
    this.#finished.add(key);
  }

  /** The key of an item of the final response, by its position and id; each key matches once. */
  match(id: string, position: number): number {
    const atPosition = this.#byIndex.get(position);
    const byId = this.#byId.get(id);
    const sameId = atPosition !== undefined && this.#ids[atPosition] === id;
    const candidates = sameId ? [atPosition, byId] : [byId, atPosition];
    const key = candidates.find((one) => one !== undefined && !this.#matched.has(one)) ?? this.#add(id, position);
    this.#matched.add(key);
    return key;
  }

  #add(id: string, position: number | null): number {
    const key = this.#ids.push(id) - 1;
    this.#byIndex.set(position ?? key, key);
    if (id) this.#byId.set(id, key);
    return key;
  }
}

export class Reader implements ProviderReader {
  #emitter: TurnEmitter;
  #texts: TaggedBlocks;
  #keys = new ItemKeys();
  #latestId = "";
  #latestKey = 0;
  #latestKeys = new Map<string, number>();
  #openParts = new Map<number, string>();
  #streamed = new Map<string, Set<number>>();
  #finished = new Set<number>();
  #hasClientCalls = false;
  #refused = false;

  constructor(emitter: TurnEmitter, tags: TagProfile | null) {
    this.#emitter = emitter;
    this.#texts = new TaggedBlocks(emitter, tags);
  }

  feed(frame: Frame): void {
    if (frame.data.trim() === "[DONE]") return;
    const update = fieldsOf(this.#emitter, frame);
    if (!update) return;
    const type =
      typeName(update.type).replace(/^response\./, "") ||
      typeName(frame.event).replace(/^response\./, "") ||
      this.#inferType(update);
    const [, subject] = TEXT_EVENT.exec(type) ?? [];
    if (subject && type !== "refusal.done") this.#readText(subject, update);
    else if (update.object === "response" || list(update.output)[0]) this.#finish(update);
    else if (/_call_(?:arguments|input|code)\.delta$/.test(type)) {
      const key = this.#keys.find(name(update.item_id), index(update.output_index));
      this.#noteStreamed(key, "call", 0);
      this.#emitter.append(key, deltaText(update.delta));
    } else this.#readItemEvent(type, update, frame);
  }

  close(): void {
    this.#texts.close();
    this.#emitter.failCutOff("response.completed");
  }

  /** The type of an event that does not name it, from its fields and the block it belongs to. */
  #inferType({ response, item, delta, item_id, output_index }: Fields): string {
    if (isObject(response)) return name(response.status) || "created";
    if (item != null) return "output_item.done";
    if (delta == null) return "";
    const kind = this.#emitter.openKind(this.#keys.find(name(item_id), index(output_index)));
    return DELTA_TYPES[kind ?? "text"] as string;
  }

  #readItemEvent(type: string, update: Fields, frame: Frame): void {
    const { response } = update;
    const item = object(update.item);
    const id = name(item.id) || name(update.item_id);
    const position = index(update.output_index);
    if (type === "output_item.added" && update.item != null) this.#startItem(this.#keys.start(id, position), item);
    else if (type === "output_item.done" && update.item != null) this.#finishItem(this.#keys.find(id, position), item);
    else if (["completed", "incomplete", "failed"].includes(type) && isObject(response)) this.#finish(response);
    else if (type === "error" || type === "failed") {
      this.#texts.close();
      this.#emitter.fail(...parseError(hasError(update.error) ? update.error : update));
    } else if (!type) readUnknownFrame(this.#emitter, frame, () => this.#texts.close());
    else if (isObject(response)) this.#emitter.startTurn(name(response.model));
  }

  #startItem(key: number, item: Fields): void {
    const type = itemType(item);
    if (type === "reasoning") {
      const source: Source | "" = list(item.summary)[0] ? "summary" : list(item.content)[0] ? "content" : "";
      this.#emitter.startBlock(key, "reasoning", { provenance: source ? PROVENANCES[source] : "unknown" });
    } else if (type && type !== "message" && !SILENT_TYPES.includes(type)) {
      this.#hasClientCalls ||= CLIENT_CALLS.includes(type);
      this.#emitter.startBlock(key, "tool_call", { callName: name(item.name) || type, callId: name(item.call_id) });
    }
  }

  /** Emits the text of a part: its delta, or the whole text if the server did not stream it. */
  #readText(subject: string, update: Fields): void {
    const kind: Kind = subject.startsWith("reasoning") ? "reasoning" : "text";
    const source: Source = subject.includes("summary") ? "summary" : "content";
    const id = name(update.item_id);
    if (id !== this.#latestId || !id) {
      this.#latestKey = this.#textKey(`${kind} ${source}`, update);
      this.#latestId = id;
    }
    const key = this.#latestKey;
    this.#refused ||= subject === "refusal";
    const position = index(source === "summary" ? update.summary_index : update.content_index);
    const parts = this.#streamed.get(`${key} ${source}`);
    if (update.delta != null) this.#appendPart(key, source, position ?? 0, kind, deltaText(update.delta));
    // The end of a part whose index is missing ends whatever was streamed.
    else if (position === null ? !parts : !parts?.has(position))
      this.#appendPart(key, source, position ?? 0, kind, text(update.text));
  }

  /** The key of the item of a text; the end of a text without id or index ends the latest one. */
  #textKey(textEvent: string, { item_id, output_index, delta }: Fields): number {
    const id = name(item_id);
    const position = index(output_index);
    const latest = this.#latestKeys.get(textEvent);
    if (!id && position === null && delta == null && latest !== undefined) return latest;
    const key = this.#keys.find(id, position);
    this.#latestKeys.set(textEvent, key);
    return key;
  }

  #noteStreamed(key: number, source: string, position: number): void {
    const parts = this.#streamed.get(`${key} ${source}`) ?? new Set();
    this.#streamed.set(`${key} ${source}`, parts.add(position));
  }

  /** Emits text of a part; each part of an item is a block of its own. */
  #appendPart(key: number, source: Source, position: number, kind: Kind, delta: string): void {
    if (!delta) return;
    const part = `${source} ${position}`;
    if ((this.#openParts.get(key) ?? part) !== part) this.#texts.end(key);
    this.#openParts.set(key, part);
    this.#noteStreamed(key, source, position);
    if (kind === "text") return this.#texts.append(key, delta);
    if (!blankText(delta)) this.#texts.disableTags();
    this.#emitter.appendOrStart(key, kind, delta, PROVENANCES[source]);
  }

  #finishItem(key: number, item: Fields): void {
    const type = itemType(item);
    this.#finished.add(key);
    this.#keys.finish(key);
    this.#latestId = "";
    if (!this.#emitter.hasBlock(key)) this.#startItem(key, item);
    if (type === "reasoning") {
      this.#appendUnstreamed(key, "summary", "reasoning", item.summary);
      this.#appendUnstreamed(key, "content", "reasoning", item.content);
      this.#emitter.seal(key, name(item.encrypted_content) ? "encrypted" : "item", json(item));
    } else if (type === "message") this.#appendUnstreamed(key, "content", "text", item.content);
    else if (!SILENT_TYPES.includes(type)) this.#finishCall(key, item);
    else if (hasError(item.error)) this.#emitter.addNotice(type, parseError(item.error)[1]);
    this.#texts.end(key);
  }

  /** Emits the parts of an item, unless they were streamed. */
  #appendUnstreamed(key: number, source: Source, kind: Kind, parts: unknown): void {
    if (this.#streamed.has(`${key} ${source}`)) return;
    list(parts).forEach((item, position) => {
      const part = textObject(item);
      const refusal = name(part.refusal);
      this.#refused ||= !!refusal;
      this.#appendPart(key, source, position, kind, text(part.text) || refusal);
    });
  }

  #finishCall(key: number, item: Fields): void {
    const { input, code, action, output, outputs, results, error } = item;
    if (!this.#streamed.has(`${key} call`))
      this.#emitter.append(key, stringOrJson(item.arguments) || stringOrJson(input) || text(code) || json(action));
    if (CLIENT_CALLS.includes(name(item.type))) return;
    const result = stringOrJson(output) || json(outputs) || json(results);
    this.#emitter.finishTool(key, result, hasError(error) ? parseError(error)[1] : "");
  }

  #finish(response: Fields): void {
    this.#emitter.startTurn(name(response.model));
    list(response.output).forEach((item, position) => {
      const key = this.#keys.match(name(object(item).id), position);
      if (!this.#finished.has(key)) this.#finishItem(key, object(item));
    });
    this.#texts.close();
    this.#reportUsage(object(response.usage));
    const { error } = response;
    if (hasError(error) || response.status === "failed")
      this.#emitter.fail(...parseError(hasError(error) ? error : "the response failed"));
    else this.#emitter.finish(...this.#finishOf(response));
  }

  #finishOf(response: Fields): [Finish, string] {
    const status = name(response.status);
    if (status === "incomplete") {
      const reason = name(object(response.incomplete_details).reason) || status;
      return [FINISHES[reason] ?? "unknown", reason];
    }
    if (status === "cancelled") return ["cancelled", status];
    return [this.#refused ? "refusal" : this.#hasClientCalls ? "tool_calls" : "stop", status];
  }

  #reportUsage({ input_tokens, output_tokens, input_tokens_details, output_tokens_details }: Fields): void {
    const { cached_tokens, cache_write_tokens } = object(input_tokens_details);
    this.#emitter.reportUsage({
      input: count(input_tokens),
      output: count(output_tokens),
      reasoning: count(object(output_tokens_details).reasoning_tokens),
      cache_read: count(cached_tokens),
      cache_write: count(cache_write_tokens),
    });
  }
}

/** The text of a delta, which some servers send as an object with a text. */
function deltaText(delta: unknown): string {
  return isObject(delta) && "text" in delta ? name(delta.text) : text(delta);
}

/** The type of an item, from its other fields if it is not named. */
function itemType({ type, summary, content, name: callName }: Fields): string {
  if (typeName(type)) return typeName(type);
  return summary != null ? "reasoning" : content != null ? "message" : callName != null ? "tool_call" : "";
}
