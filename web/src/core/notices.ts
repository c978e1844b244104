/** One sentence on how a turn ended, unless it ended with an answer. */

import { ENDING_WORDS } from "./labels.js";
import { connectionLost } from "./state.js";
import type { Turn } from "./turn.js";
import type { Words } from "./words.js";

/** What to tell a person about how the turn ended; it is said whether or not any thinking is shown. */
export function notice(turn: Turn, words: Words): string {
  if (!turn.outcome) return "";
  const { ending, cause, message } = turn.outcome;
  const key = `notice.${connectionLost(turn) ? "connection_lost" : (ENDING_WORDS[ending] ?? ending)}`;
  const reason = message || cause;
  // A failure without a reason is said by the label alone, and an answer needs no words.
  return words.has(key) && (reason || ending !== "failed") ? words.say(key, { reason }) : "";
}
