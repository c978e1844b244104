/** The element's words in English: those it shares with the Python package, and its own. */

import { EN_US_WORDS } from "./words-en.js";

/** Texts by key; `|` separates the singular from the plural. */
export type Table = Record<string, string>;

/** One language: how it writes numbers, which counts are singular, and its words. */
export interface Locale {
  name: string;
  decimal: string;
  thousands: string;
  ones: number[];
  words: Table;
}

export const EN_US: Locale = {
  name: "en-US",
  decimal: ".",
  thousands: ",",
  ones: [1],
  words: {
    ...EN_US_WORDS,
    copy: "Copy",
    copied: "Copied",
    close: "Close",
    show_all: "Show all",
    show_less: "Show less",
    timeline: "Timeline",
    steps: "Steps",
    reset: "Reset to default",
    retry: "Try again",
    answer_now: "Answer now",
    waited: "Waited {duration}",
    tokens_of: "{n} of {of} tokens",
    image: "Image not loaded",
    "approval.denied": "Declined",
  },
};
