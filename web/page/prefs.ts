/**
 * How somebody wants to see things: the gateway keeps it for the user and the workspace, and this browser
 * mirrors it, for each workspace apart, so that the first paint is right. Colours are this browser's alone.
 */

import { type Policy, readPolicy } from "../src/opening.js";
import { call, type Preferences, workspace } from "./api.js";
import { keep, kept } from "./kept.js";
import { speak } from "./words.js";

export interface Mirror {
  language?: string;
  theme?: string;
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

const COLOURS = "thinkaloud";
const KEY = workspace ? `${COLOURS}:${workspace}` : COLOURS;
export const NOBODY: Choice = { model: "", agent: "", name: "", thinking: "" };

/** What this browser keeps. */
export function mirror(key = KEY): Mirror {
  try {
    return JSON.parse(kept(key) ?? "{}") as Mirror;
  } catch {
    return {};
  }
}

/** Keep some more of it. */
export function reflect(more: Mirror, key = KEY): void {
  keep(key, JSON.stringify({ ...mirror(key), ...more }));
}

export let preferences: Preferences = {
  display: readPolicy(),
  language: "en-US",
  context_mode: "provider_default",
  render: "markdown",
  expand_key: "Alt+KeyE",
};

/** Take what the last visit left, before anything is asked of the gateway. */
export function recall(): void {
  const { preferences: kept, language } = mirror();
  preferences = { ...preferences, ...kept };
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

/** Change some of it, here at once and on the gateway; what is changed again meanwhile stays as it is here. */
export async function change(more: Partial<Preferences>): Promise<void> {
  const mine = (preferences = { ...preferences, ...more });
  taken();
  const answered = await call<Preferences>("/api/preferences", { method: "PUT", body: mine });
  if (preferences !== mine) return;
  preferences = answered;
  taken();
}

function taken(): void {
  reflect({ preferences, language: preferences.language });
  speak(preferences.language);
}

/** How a block shows thinking. What it is about is told by the page, which knows when it last spoke. */
export function policy(): Policy {
  const { display } = preferences;
  return display.live_region === "content" ? { ...display, live_region: "status" } : display;
}

/** The colours of this browser. */
export function theme(): string {
  return mirror(COLOURS).theme ?? "system";
}

/** Put the chosen colours on. */
export function dress(theme: string): void {
  reflect({ theme }, COLOURS);
  document.documentElement.dataset.theme = theme;
}
