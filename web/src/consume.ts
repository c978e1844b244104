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
  const chunks = iterate("addEventListener" in source ? heard(source) : source);
  const stopped = new Promise<{ done: true; value?: unknown }>((resolve) => {
    const stop = (): void => {
      void chunks.return?.();
      resolve({ done: true });
    };
    signal?.addEventListener("abort", stop);
    if (signal?.aborted) stop();
  });
  const decoder = new TextDecoder();
  let rest = "";
  for (let over: boolean | undefined; !over; ) {
    const { done, value } = await Promise.race([stopped, chunks.next()]);
    over = done;
    if (signal?.aborted) return;
    const said = done ? "\n" : value instanceof Uint8Array ? decoder.decode(value, { stream: true }) : value;
    if (typeof said !== "string") {
      yield said;
      continue;
    }
    const lines = (rest + said).split("\n");
    rest = lines.pop() as string;
    for (const line of lines) {
      const data = /^(?:data:)?\s*(\{.*\})\s*$/.exec(line)?.[1];
      if (data) yield JSON.parse(data) as unknown;
    }
  }
}

function iterate(source: Exclude<Source, EventSourceLike>): AsyncIterator<unknown> | Iterator<unknown> {
  if (!("getReader" in source))
    return Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
  const reader = source.getReader();
  const cancel = (): Promise<never> => reader.cancel().catch(() => undefined) as Promise<never>;
  return { next: () => reader.read() as Promise<IteratorResult<unknown>>, return: cancel };
}

/** What an EventSource says, as a stream that ends when it closes. */
function heard(source: EventSourceLike): ReadableStream<unknown> {
  let over = false;
  return new ReadableStream({
    start(stream) {
      source.addEventListener("message", ({ data }) => over || stream.enqueue(typeof data === "string" ? `${data}\n` : data));
      source.addEventListener("error", () => {
        if (over || source.readyState !== CLOSED) return;
        over = true;
        stream.close();
      });
    },
    cancel() {
      over = true;
      source.close?.();
    },
  });
}
