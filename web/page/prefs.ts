/**
 * How somebody wants to see things: the gateway keeps it for the user and the workspace, and this browser
 * mirrors it so that the first paint is right. What the gateway has no place for is kept here alone.
 */

import { readPolicy } from "../src/opening.js";
import { call, type Preferences } from "./api.js";
import { speak } from "./words.js";

export interface Mirror {
  language?: string;
  theme?: string;
  render?: string;
  preferences?: Preferences;
  /** Who answers new conversations. */
  choice?: Choice;
  /** What agents that were chosen here are called, by their ids. */
  names?: Record<string, string>;
}

/** A model or an agent, by its id; both empty is the gateway's own default. */
export interface Choice {
  model: string;
  agent: string;
  name: string;
  thinking: string;
}

const KEY = "thinkaloud";
export const NOBODY: Choice = { model: "", agent: "", name: "", thinking: "" };

/** What this browser keeps. */
export function mirror(): Mirror {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? "{}") as Mirror;
  } catch {
    return {};
  }
}

/** Keep some more of it. */
export function reflect(more: Mirror): void {
  try {
    localStorage.setItem(KEY, JSON.stringify({ ...mirror(), ...more }));
  } catch {
    // A browser that keeps nothing still shows everything.
  }
}

export let preferences: Preferences = {
  display: readPolicy(),
  language: "en-US",
  context_mode: "provider_default",
};

/** Take what the last visit left, before anything is asked of the gateway. */
export function recall(): void {
  const { preferences: kept, language } = mirror();
  if (kept) preferences = kept;
  speak(language ?? navigator.language);
}

/** Take what the gateway has; on a first visit the browser's language is set there. */
export async function load(): Promise<boolean> {
  const before = JSON.stringify(preferences);
  const first = !mirror().language;
  preferences = await call<Preferences>("/api/preferences");
  const unset = preferences.language === "en-US" && JSON.stringify(preferences.display) === JSON.stringify(readPolicy());
  if (first && unset && /^pt\b/i.test(navigator.language)) {
    await change({ language: "pt-BR" });
    return true;
  }
  taken();
  return JSON.stringify(preferences) !== before;
}

/** Change some of it, here at once and on the gateway. */
export async function change(more: Partial<Preferences>): Promise<void> {
  preferences = { ...preferences, ...more };
  taken();
  preferences = await call<Preferences>("/api/preferences", { method: "PUT", body: preferences });
  taken();
}

function taken(): void {
  reflect({ preferences, language: preferences.language });
  speak(preferences.language);
}

/** Put the chosen colours on. */
export function dress(theme: string): void {
  reflect({ theme });
  document.documentElement.dataset.theme = theme;
}
