/**
 * Keeps what a person opened or closed, by block id over a reload: the newest choices, up to a limit.
 *
 * Only booleans and ids are stored, never text. Where storage is refused nothing is remembered, and nothing breaks.
 */

import type { Choices, UserChoices } from "../core/open-rule.js";
import type { Policy } from "../core/policy.js";

const KEY = "thinking-block";
const MOST_BLOCKS = 500;

type Stored = [id: string, choices: [number, boolean][]][];

/** Takes the choices for a block that were stored, as far as the policy lets them be remembered. */
export function loadChoices(id: string | null, choices: UserChoices, remember: Policy["remember"]): void {
  const stored = new Map(read(remember).find(([known]) => known === id)?.[1]);
  if (stored.size) choices.whileShown = stored;
}

/** Stores the choices for a block that has an id; an empty map forgets it. */
export function saveChoices(id: string | null, choices: Choices, remember: Policy["remember"]): void {
  if (!id) return;
  const stored = read(remember).filter(([known]) => known !== id);
  if (choices.size) stored.push([id, [...choices]]);
  try {
    storage(remember)?.setItem(KEY, JSON.stringify(stored.slice(-MOST_BLOCKS)));
  } catch {
    // A full or forbidden storage is no reason to disturb the reader.
  }
}

function read(remember: Policy["remember"]): Stored {
  try {
    const stored: unknown = JSON.parse(storage(remember)?.getItem(KEY) ?? "[]");
    return Array.isArray(stored) ? (stored as Stored).filter(([, choices]) => Array.isArray(choices)) : [];
  } catch {
    return [];
  }
}

function storage(remember: Policy["remember"]): Storage | null {
  if (remember === "none") return null;
  return remember === "session" ? sessionStorage : localStorage;
}
