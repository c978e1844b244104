/**
 * How long a turn thought, from its stamps alone: nothing is estimated without saying so, nothing is invented.
 *
 * The thinking time is the sum of the thoughts' own intervals, so time spent in tools does not count. A provider that
 * thinks in silence and then sends everything in one burst leaves no interval worth the name: then the time from the
 * request to the first thing that is not a thought is used, and marked approximate.
 */

import { BURST_MS } from "./limits.js";
import type { Turn } from "./turn.js";

/** How long, and whether that is measured or the best that can be said. */
export interface ThinkingTime {
  ms: number;
  approximate: boolean;
}

/** The turn's own thinking time; null where the stamps do not say. `now` lets a live thought count. */
export function thinkingTime(turn: Turn, now: number | null): ThinkingTime | null {
  const thoughts = turn.ownBlocks("reasoning");
  let ms = 0;
  for (const { startedMs, endedMs } of thoughts) {
    const until = endedMs ?? now;
    if (startedMs === null || until === null) return null;
    ms += Math.max(0, until - startedMs);
  }
  if (!thoughts[0]) return null;
  return ms >= BURST_MS || turn.live ? { ms, approximate: false } : timeBeforeAnswer(turn);
}

/** How long it took until the first thing that is not a thought. */
function timeBeforeAnswer(turn: Turn): ThinkingTime | null {
  const starts: number[] = [];
  for (const { kind, startedMs } of turn.ownBlocks())
    if (kind !== "reasoning" && startedMs !== null) starts.push(startedMs);
  const firstMs = starts[0] === undefined ? turn.endedMs : Math.min(...starts);
  if (turn.startedMs === null || firstMs === null || firstMs <= turn.startedMs) return null;
  return { ms: firstMs - turn.startedMs, approximate: true };
}
