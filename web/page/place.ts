/** A place in the conversations, and the addresses that name one. */

import { ApiError, requestJson, type TurnSummary } from "./api.js";

/** A session, a turn in it and a step of that; empty is a new conversation. */
export interface Place {
  session: string;
  turn: string;
  block: number | null;
}

/** A place that a search found: the query, and which words of it were found, as they are written there. */
export interface Hit {
  place: Place;
  query: string;
  words: string[];
}

/** The place that an address names: a session, a turn and a block in it, or a step alone; null if it is gone. */
export async function placeOf(hash: string): Promise<Place | null> {
  const [, step, at] = /^think-(trn_[\w-]+)-(\d+)$/.exec(hash) ?? [];
  if (step) {
    const found = await requestJson<TurnSummary>(`/api/turns/${step}`).catch((error: unknown) => {
      if (error instanceof ApiError && error.status === 404) return null;
      throw error;
    });
    return found && { session: found.session, turn: step, block: Number(at) };
  }
  const [, session = "", turn = "", block] = /^(ses_[\w-]+)(?:\/(trn_[\w-]+)(?:\/(\d+))?)?/.exec(hash) ?? [];
  return { session, turn, block: block === undefined ? null : Number(block) };
}
