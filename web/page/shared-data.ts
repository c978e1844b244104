/** What a shared file holds of a conversation. */

import type { Entry } from "../src/core/events.js";

export interface SharedExchange {
  prompts: { text: string; images: { media_type: string; data: string }[]; files: string[] }[];
  /** Who answered. */
  name: string;
  answer: string;
  /** The entries of the turn with its thoughts and tools; empty without them. */
  entries: Entry[];
}

export interface SharedData {
  title: string;
  language: string;
  saved_ms: number;
  exchanges: SharedExchange[];
}
