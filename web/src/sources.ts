/** Where messages come from. What an EventSource says must be listened to at once, before anything is loaded. */

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

/** What an EventSource says, as a stream that ends when it closes. */
export function listened(source: EventSourceLike): ReadableStream<unknown> {
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
