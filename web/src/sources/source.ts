/** Where messages come from. An EventSource must be listened to at once, before anything is loaded. */

/** Anything that messages come from: a response of `fetch`, a stream of bytes, text or objects, or an EventSource. */
export type Source = Stream | ResponseLike | EventSourceLike;

export type Stream = AsyncIterable<unknown> | Iterable<unknown> | ReadableStream<unknown>;

/** As much of a response of `fetch` as is needed. */
export interface ResponseLike {
  body: ReadableStream<Uint8Array> | null;
}

/** The name and the data of one event of an EventSource. */
export type SourceEvent = [event: string, data: unknown];

/** As much of an EventSource as is needed. */
export interface EventSourceLike {
  addEventListener(type: string, listener: (event: { data?: unknown }) => void): void;
  readyState?: number;
  close?(): void;
}

const CLOSED = 2;

/** An EventSource tells of a named event only to who listens to its name: these are the names of Anthropic and OpenAI. */
const NAMES = (
  "message message_start message_delta message_stop content_block_start content_block_delta content_block_stop " +
  "created in_progress completed incomplete failed output_item.added output_item.done output_text.delta " +
  "refusal.delta reasoning_text.delta reasoning_summary_text.delta function_call_arguments.delta"
).split(" ");

/** The events of an EventSource as a stream that ends when it closes. */
export function fromEventSource(source: EventSourceLike): ReadableStream<SourceEvent> {
  let ended = false;
  return new ReadableStream({
    start(stream) {
      NAMES.forEach((name, index) => {
        const event = index < 7 ? name : `response.${name}`;
        source.addEventListener(event, ({ data }) => {
          if (!ended) stream.enqueue([event, data]);
        });
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
