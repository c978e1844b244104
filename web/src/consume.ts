/**
 * The messages of a stream, whatever it is made of: objects, or bytes or text of server-sent events or of lines
 * of JSON. A chunk of its own, loaded with the first stream.
 */

import type { Stream } from "./sources.js";

/** One message after the other until the stream ends or the signal stops it. */
export async function* messages(source: Stream, signal?: AbortSignal): AsyncGenerator<unknown> {
  const chunks = iterate(source);
  const stopped = new Promise<{ done: true; value?: unknown }>((resolve) => {
    const stop = (): void => resolve({ done: true });
    signal?.addEventListener("abort", stop);
    if (signal?.aborted) stop();
  });
  const decoder = new TextDecoder();
  let rest = "";
  try {
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
        // A line of JSON may hold what ends a line elsewhere.
        const data = /^(?:data:)?\s*(\{.*\})\s*$/s.exec(line)?.[1];
        if (data) yield JSON.parse(data) as unknown;
      }
    }
  } finally {
    // Nobody listens any more, so nothing more has to come.
    void chunks.return?.();
  }
}

function iterate(source: Stream): AsyncIterator<unknown> | Iterator<unknown> {
  if (!("getReader" in source))
    return Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
  const reader = source.getReader();
  const cancel = (): Promise<never> => reader.cancel().catch(() => undefined) as Promise<never>;
  return { next: () => reader.read() as Promise<IteratorResult<unknown>>, return: cancel };
}
