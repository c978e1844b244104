/**
 * The messages of a stream, whatever it is made of: objects, or bytes or text of server-sent events or of lines
 * of JSON. A chunk of its own, loaded with the first stream.
 */

import type { Stream } from "./source.js";

/** What the gateway and other servers send in a line: JSON, perhaps after the field name of server-sent events. */
const JSON_LINE = /^(?:data:)?\s*(\{.*\})\s*$/s; // `s`: a line of JSON may hold what ends a line elsewhere

/** Yields one message after the other until the stream ends or the signal stops it. */
export async function* messages(source: Stream, signal?: AbortSignal): AsyncGenerator<unknown> {
  const chunks = chunksOf(source);
  const aborted = new Promise<{ done: true; value?: unknown }>((resolve) => {
    const stop = (): void => resolve({ done: true });
    signal?.addEventListener("abort", stop);
    if (signal?.aborted) stop();
  });
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (let ended: boolean | undefined; !ended; ) {
      const { done, value } = await Promise.race([aborted, chunks.next()]);
      ended = done;
      if (signal?.aborted) return;
      const chunk = done ? "\n" : value instanceof Uint8Array ? decoder.decode(value, { stream: true }) : value;
      if (typeof chunk !== "string") {
        yield chunk;
        continue;
      }
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() as string;
      for (const line of lines) {
        const json = JSON_LINE.exec(line)?.[1];
        if (json) yield JSON.parse(json) as unknown;
      }
    }
  } finally {
    // Nobody reads any more, so the source may stop.
    void chunks.return?.();
  }
}

function chunksOf(source: Stream): AsyncIterator<unknown> | Iterator<unknown> {
  if (!("getReader" in source))
    return Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
  const reader = source.getReader();
  const cancel = (): Promise<never> => reader.cancel().catch(() => undefined) as Promise<never>;
  return { next: () => reader.read() as Promise<IteratorResult<unknown>>, return: cancel };
}
