/**
 * The messages of a stream, whatever it is made of: objects, bytes or text of server-sent events or of
 * lines of JSON, or the messages of an EventSource.
 */

/** Anything that messages come from. */
export type Source = AsyncIterable<unknown> | Iterable<unknown> | ReadableStream<unknown> | EventSourceLike;

/** As much of an EventSource as is needed. */
export interface EventSourceLike {
  addEventListener(type: string, listener: (event: { data?: unknown }) => void): void;
  readyState?: number;
  close?(): void;
}

const CLOSED = 2;

/** One message after the other until the stream ends or the signal stops it. */
export async function* messages(source: Source, signal?: AbortSignal): AsyncGenerator<unknown> {
  const stopped = new Promise<{ done: true; value: undefined }>((resolve) => {
    const stop = (): void => resolve({ done: true, value: undefined });
    signal?.addEventListener("abort", stop);
    if (signal?.aborted) stop();
  });
  const chunks = iterate(source, signal);
  const lines = new Lines();
  for (;;) {
    const { done, value } = await Promise.race([stopped, chunks.next()]);
    if (done) break;
    yield* lines.read(value);
  }
  void chunks.return?.(undefined);
  if (!signal?.aborted) yield* lines.read("\n");
}

/** Chunks of bytes or text as parsed lines; objects pass as they are. */
class Lines {
  #decoder = new TextDecoder();
  #rest = "";

  *read(chunk: unknown): Generator<unknown> {
    const bytes = chunk instanceof Uint8Array;
    if (!bytes && typeof chunk !== "string") {
      yield chunk;
      return;
    }
    const lines = (this.#rest + (bytes ? this.#decoder.decode(chunk, { stream: true }) : chunk)).split("\n");
    this.#rest = lines.pop() as string;
    for (const line of lines) {
      const data = /^(?:data:)?\s*(\{.*\})\s*$/.exec(line)?.[1];
      if (data) yield JSON.parse(data) as unknown;
    }
  }
}

function iterate(source: Source, signal?: AbortSignal): AsyncIterator<unknown> {
  if ("getReader" in source) return read(source, signal);
  if ("addEventListener" in source) return listen(source, signal);
  return Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : each(source);
}

async function* each(source: Iterable<unknown>): AsyncGenerator<unknown> {
  yield* source;
}

async function* read(stream: ReadableStream<unknown>, signal?: AbortSignal): AsyncGenerator<unknown> {
  const reader = stream.getReader();
  signal?.addEventListener("abort", () => void reader.cancel().catch(() => undefined));
  for (let step = await reader.read(); !step.done; step = await reader.read()) yield step.value;
}

async function* listen(source: EventSourceLike, signal?: AbortSignal): AsyncGenerator<unknown> {
  const queue: unknown[] = [];
  let wake = (): void => undefined;
  let over = false;
  source.addEventListener("message", ({ data }) => {
    queue.push(typeof data === "string" ? `${data}\n` : data);
    wake();
  });
  source.addEventListener("error", () => {
    over ||= source.readyState === CLOSED;
    wake();
  });
  signal?.addEventListener("abort", () => {
    source.close?.();
    over = true;
    wake();
  });
  while (queue[0] !== undefined || !over) {
    if (queue[0] !== undefined) yield queue.shift();
    else await new Promise<void>((resolve) => (wake = resolve));
  }
}
