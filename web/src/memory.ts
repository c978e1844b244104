/**
 * What a person opened or closed, kept by block id over a reload: the newest choices, up to a cap.
 *
 * Only booleans and ids are stored, never text. Where storage is refused nothing is remembered, and
 * nothing breaks.
 */

import type { Choices, Policy } from "./opening.js";

const KEY = "thinking-block";
const MOST = 500;

type Kept = [id: string, choices: [number, boolean][]][];

/** The choices for a block, as far as the policy lets them be remembered. */
export function recall(id: string | null, remember: Policy["remember"]): Choices {
  return new Map(read(remember).find(([known]) => known === id)?.[1]);
}

/** Keep the choices for a block; none at all forgets it. */
export function keep(id: string, choices: Choices, remember: Policy["remember"]): void {
  const rest = read(remember).filter(([known]) => known !== id);
  if (choices.size) rest.push([id, [...choices]]);
  try {
    shelf(remember)?.setItem(KEY, JSON.stringify(rest.slice(-MOST)));
  } catch {
    // A full or forbidden store is no reason to disturb the reader.
  }
}

function read(remember: Policy["remember"]): Kept {
  try {
    const kept: unknown = JSON.parse(shelf(remember)?.getItem(KEY) ?? "[]");
    return Array.isArray(kept) ? (kept as Kept).filter(([, choices]) => Array.isArray(choices)) : [];
  } catch {
    return [];
  }
}

function shelf(remember: Policy["remember"]): Storage | null {
  return remember === "none" ? null : remember === "session" ? sessionStorage : localStorage;
}
