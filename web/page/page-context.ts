/** The page as a whole: what its parts may ask of it, and the places in it that an address can name. */

import type { Policy } from "../src/core/policy.js";
import type { Session } from "./api.js";
import { ApiError, requestJson, type TurnSummary } from "./api.js";
import type { Chat } from "./chat.js";
import type { Composer } from "./composer.js";
import type { Choice } from "./preferences.js";
import type { Sessions } from "./sessions.js";

export interface PageContext {
  readonly chat: Chat;
  readonly composer: Composer;
  readonly sessions: Sessions;
  /** Where the title of the open conversation stands. */
  readonly titleNode: HTMLElement;
  /** Sets who answers from now on, here and in the open conversation. */
  choose(choice: Choice): void;
  /** Goes to a place; without one, to a new conversation. */
  go(place: Partial<Place>): void;
  /** Goes to a place and marks what was sought there, with the way to the other places that have it. */
  showHit(hit: Hit): void;
  /** Draws with the preferences of the moment; another language needs the page to be built again. */
  restyle(rebuild: boolean): void;
  /** A session changed: the list and other windows should know. */
  sessionChanged(session: string): void;
  /** Takes what the gateway says of a session that was changed. */
  keep(changed: Session): void;
  /** Loads the lists again, and an open conversation. */
  refresh(session?: string): Promise<void>;
  /** Opens the search bar of the open conversation. */
  find(): void;
  /** Opens the search over all conversations. */
  search(): void;
  toggleThinking(): Promise<void>;
  /** Shows or hides thinking everywhere, and remembers it where `remember` says so. */
  showThinking(display: Policy): Promise<void>;
  pickAnswerer(): void;
  openFigures(): Promise<void>;
}

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
