/** Tries a request again while the gateway is away for a moment: it starts, or the network changes. */

import { ApiError } from "./api.js";

const TRIES = 5;
const FIRST_PAUSE_MS = 500;

export async function retryTemporary<Result>(work: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ApiError) || !error.temporary || attempt === TRIES) throw error;
      const pause = error.retryAfterMs || FIRST_PAUSE_MS * 2 ** (attempt - 1);
      await new Promise((resolve) => setTimeout(resolve, pause));
      signal?.throwIfAborted(); // nobody waits for it any more
    }
  }
}
