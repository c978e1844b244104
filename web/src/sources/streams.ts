/**
 * Reads a stream to its end, whatever it is made of (bytes, text or parsed objects) and whatever it says: entries, messages
 * of the AI SDK or of AG-UI, records, or a provider's own response. A chunk of its own, loaded with the first stream.
 *
 * What a provider sends is told by its first frames; a stream of which nothing is recognised is an error.
 */

import type { TurnEnded, TurnFailed } from "../core/events.js";
import { type Frame, FrameDecoder, makeFrame, PLAIN_TEXT } from "./frames.js";
import type { ResponseOptions, ResponseReader } from "./providers/reader.js";
import type { SourceEvent, Stream } from "./source.js";
import type { TurnFeed } from "./turn-feed.js";

export { PLAIN_TEXT };

export interface StreamOptions extends ResponseOptions {
  signal?: AbortSignal;
}

/** What was fed is nothing that the element reads. */
class Unreadable extends TypeError {}

/** The source of a stream failed; `cause` is its own error. */
class BrokenSource extends Error {}

/** The number of frames of no known format after which nothing more is expected. */
const MAX_UNRECOGNISED = 64;
/** How much of a plain text is needed to see that no thought opens it. */
const TEXT_START = 256;

/** Entries, canonical events and records; and messages of the AI SDK or of AG-UI by their type. */
const OWN_FIELDS = ["seq", "step", "steps", "reasoning_content", "reasoning_meta"];
/** Fields of providers whose responses have some of these fields as well. */
const FOREIGN_FIELDS = ["object", "event_type", "choices", "stop_reason"];
const OWN_TYPE =
  /^(?:turn|block|summary|usage|notice|approval|reply|tool)\.|^(?:start|finish)(?:-step)?$|^(?:text|reasoning|tool|source|data)-|^(?:abort|file|message-metadata)$|^[A-Z][A-Z_]+$/;

/** Feeds a turn from a stream, and ends it with the stream; rejects where the stream is nothing that can be read. */
export async function consumeStream(
  source: Stream | null,
  feed: TurnFeed,
  options: StreamOptions,
  afterEach: () => void,
): Promise<void> {
  let end: TurnEnded | TurnFailed = { type: "turn.failed", code: "cut_off" };
  let fault: unknown;
  try {
    await readStream(source, feed, options, afterEach);
  } catch (error) {
    const broken = error instanceof BrokenSource;
    if (!broken) fault = error;
    end = {
      type: "turn.failed",
      code: broken ? "cut_off" : "bad_frame",
      message: String(broken ? error.cause : error),
    };
  }
  if (options.signal?.aborted) end = { type: "turn.ended", finish: "cancelled" };
  feed.end(end);
  afterEach();
  if (fault) throw fault;
}

/** `afterEach` is called when something changed. */
async function readStream(
  source: Stream | null,
  feed: TurnFeed,
  options: StreamOptions,
  afterEach: () => void,
): Promise<void> {
  const reader = new StreamReader(feed, options);
  const decoder = new FrameDecoder();
  for await (const chunk of chunks(source, options.signal)) {
    for (const frame of typeof chunk === "string" ? decoder.feed(chunk) : [objectFrame(chunk)])
      await reader.read(frame);
    reader.flush();
    afterEach();
    // A source that reconnects by itself must be told that this was all.
    if (feed.turn.outcome) return;
  }
  if (options.signal?.aborted) return;
  for (const frame of decoder.close()) await reader.read(frame);
  await reader.close(decoder);
}

class StreamReader {
  #feed: TurnFeed;
  #options: StreamOptions;
  #response: ResponseReader | undefined;
  #unrecognised: Frame[] = [];
  #own = false;
  #count = 0;
  #objects = false;

  constructor(feed: TurnFeed, options: StreamOptions) {
    this.#feed = feed;
    this.#options = options;
  }

  async read(frame: Frame): Promise<void> {
    const message = frame.value;
    this.#count++;
    this.#objects ||= !frame.data;
    if (this.#response) return this.#response.feed(frame);
    this.#own ||= ownMessage(message);
    if (this.#own) {
      // The end of an event stream, and lines that only keep it open, are no message.
      if (message !== undefined) await this.#feed.take(message);
      return;
    }
    this.#unrecognised.push(frame);
    await this.#detect(frame, false);
    if (this.#unrecognised.length > MAX_UNRECOGNISED) throw this.#unreadable();
  }

  flush(): void {
    this.#response?.flush();
  }

  async close(decoder: FrameDecoder): Promise<void> {
    const [first] = this.#unrecognised;
    if (first?.event === PLAIN_TEXT) await this.#detect(first, true);
    const wholeBody = decoder.wholeBody || (this.#objects && this.#count === 1);
    if (this.#response) this.#response.close(wholeBody, decoder.unfinished);
    else if (first || decoder.unfinished) throw this.#unreadable(decoder.unfinished);
  }

  /** Starts the reader of a provider's response if a frame shows which one it is, and reads what came before. */
  async #detect(frame: Frame, final: boolean): Promise<void> {
    const { ResponseReader, keepAlive, opensThought } = await import("./providers/reader.js");
    if (frame.event === PLAIN_TEXT) {
      const text = this.#unrecognised.map(({ data }) => data).join("");
      const opens = opensThought(text);
      if (opens === "no" && (final || text.length > TEXT_START || text.trimStart().includes("\n")))
        throw this.#unreadable();
      if (opens !== "yes") return;
    }
    const { turn } = this.#feed;
    const response = new ResponseReader((event) => this.#feed.emit(event), turn.blocks.length, this.#options);
    // Errors look alike: what came before one would have shown whose it is.
    if (!(await response.start(frame, !this.#unrecognised[1]))) {
      if (keepAlive(frame)) this.#unrecognised.pop();
      return;
    }
    this.#feed.startReply();
    this.#response = response;
    for (const earlier of this.#unrecognised.splice(0)) response.feed(earlier);
  }

  #unreadable(unfinished = ""): Unreadable {
    const [{ data = "", value = undefined } = {}] = this.#unrecognised;
    const start = (data || (value === undefined ? unfinished : JSON.stringify(value))).trim().slice(0, 80);
    return new Unreadable(
      `thinking-block cannot read this stream: it starts with ${JSON.stringify(start)}. It reads responses of OpenAI (Chat Completions, Responses), Anthropic, Gemini and Ollama, raw text that opens with a thinking tag, entries of Thinkaloud, its turns and thinking blocks, and messages of the AI SDK and of AG-UI.`,
    );
  }
}

function ownMessage(message: unknown): boolean {
  if (typeof message !== "object" || message === null) return false;
  const { type, errorText, id, delta, content } = message as Record<string, unknown>;
  if (typeof type === "string") return OWN_TYPE.test(type) || (type === "error" && typeof errorText === "string");
  if (FOREIGN_FIELDS.some((field) => field in message)) return false;
  const own = Array.isArray(content) || OWN_FIELDS.some((field) => field in message);
  return own || (!!id && typeof delta === "string");
}

function objectFrame(chunk: object): Frame {
  if (!Array.isArray(chunk)) return { data: "", event: "", value: chunk };
  const [event, data] = chunk as SourceEvent;
  if (typeof data !== "string") return { data: "", event, value: data };
  return makeFrame(data, event === "message" ? "" : event);
}

/** Text, objects and events one after the other, until the source ends or the signal stops it. */
async function* chunks(source: Stream | null, signal?: AbortSignal): AsyncGenerator<string | object> {
  const iterator = iteratorOf(source);
  const aborted = new Promise<{ done: true; value?: unknown }>((resolve) => {
    const stop = (): void => resolve({ done: true });
    signal?.addEventListener("abort", stop);
    if (signal?.aborted) stop();
  });
  const decoder = new TextDecoder();
  try {
    for (;;) {
      const { done, value } = await Promise.race([aborted, next(iterator)]);
      if (signal?.aborted) return;
      const bytes = value instanceof ArrayBuffer ? new Uint8Array(value) : value;
      if (done || bytes instanceof Uint8Array) {
        const text = decoder.decode(bytes as Uint8Array | undefined, { stream: !done });
        if (text) yield text;
        if (done) return;
      } else if (typeof value === "string" || (typeof value === "object" && value)) yield value;
    }
  } finally {
    // Nobody reads any more, so the source may stop.
    void iterator.return?.();
  }
}

async function next(iterator: AsyncIterator<unknown> | Iterator<unknown>): Promise<IteratorResult<unknown>> {
  try {
    return await iterator.next();
  } catch (cause) {
    throw new BrokenSource("", { cause });
  }
}

function iteratorOf(source: Stream | null): AsyncIterator<unknown> | Iterator<unknown> {
  if (!source) throw new Unreadable("thinking-block cannot read a response without a body.");
  if (typeof source === "string") return [source][Symbol.iterator]();
  const given = Object(source) as Stream;
  if ("getReader" in given) {
    const reader = given.getReader();
    const cancel = (): Promise<never> => reader.cancel().catch(() => undefined) as Promise<never>;
    return { next: () => reader.read() as Promise<IteratorResult<unknown>>, return: cancel };
  }
  if (Symbol.asyncIterator in given) return given[Symbol.asyncIterator]();
  if (Symbol.iterator in given) return given[Symbol.iterator]();
  throw new Unreadable(
    `thinking-block cannot read ${Object.prototype.toString.call(source)}. Pass a Response of fetch, a ReadableStream, an iterable of bytes, text or objects, or an EventSource.`,
  );
}
