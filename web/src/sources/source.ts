/** Where messages come from. An EventSource must be listened to at once, before anything is loaded. */

/** Anything that messages come from. */
export type Source = Stream | EventSourceLike;

export type Stream = AsyncIterable<unknown> | Iterable<unknown> | ReadableStream<unknown>;

/** As much of an EventSource as is needed. */
export interface EventSourceLike {
  addEventListener(type: string, listener: (event: { data?: unknown }) => void): void;
  readyState?: number;
  close?(): void;
}

const CLOSED = 2;

/** The messages of an EventSource as a stream that ends when it closes. */
export function fromEventSource(source: EventSourceLike): ReadableStream<unknown> {
  let ended = false;
  return new ReadableStream({
    start(stream) {
      source.addEventListener("message", ({ data }) => {
        if (!ended) stream.enqueue(typeof data === "string" ? `${data}\n` : data);
      });
      source.addEventListener("error", () => {
        if (ended || source.readyState !== CLOSED) return;
        ended = true;
        stream.close();
      });
    },
    cancel() {
      ended = true;
      source.close?.();
    },
  });
}
