/**
 * A person's preferences. The gateway keeps them by user and workspace, and this browser keeps a copy, for each workspace
 * apart, so that the first paint is right. Colours are this browser's alone.
 */

import { readPolicy } from "../src/core/open-rule.js";
import type { Policy } from "../src/core/policy.js";
import { namesPortuguese } from "../src/core/words.js";
import { type Preferences, requestJson, workspace } from "./api.js";
import { readStored, writeStored } from "./storage.js";
import { setLanguage } from "./words.js";

export interface LocalSettings {
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
const SHOWN_HERE = `${KEY}:shown`;
export const DEFAULT_CHOICE: Choice = { model: "", agent: "", name: "", thinking: "" };

/** The settings that this browser keeps. */
export function localSettings(key = KEY): LocalSettings {
  try {
    return JSON.parse(readStored(key) ?? "{}") as LocalSettings;
  } catch {
    return {};
  }
}

/** Keeps more of them. */
export function saveLocalSettings(more: LocalSettings, key = KEY): void {
  writeStored(key, JSON.stringify({ ...localSettings(key), ...more }));
}

let preferences: Preferences = {
  display: readPolicy(),
  language: "en-US",
  context_mode: "provider_default",
  render: "markdown",
  expand_key: "Alt+KeyE",
};

type ThinkingShown = Pick<Policy, "show_thinking" | "after_complete">;

/** Whether thinking is shown in this window, where `remember` says that the gateway must not keep it. */
let shownHere: ThinkingShown | null = readShownHere();

export function currentPreferences(): Preferences {
  return shownHere ? { ...preferences, display: { ...preferences.display, ...shownHere } } : preferences;
}

/** Remembers whether thinking is shown: at the gateway, until this window is closed, or until it is loaded again. */
export async function rememberThinkingShown(display: Policy): Promise<void> {
  const { remember, show_thinking, after_complete } = display;
  if (remember !== "none" && remember !== "session") return changePreferences({ display });
  shownHere = { show_thinking, after_complete };
  if (remember === "session") writeStored(SHOWN_HERE, JSON.stringify(shownHere), "sessionStorage");
}

function readShownHere(): ThinkingShown | null {
  try {
    return JSON.parse(readStored(SHOWN_HERE, "sessionStorage") ?? "null") as ThinkingShown | null;
  } catch {
    return null;
  }
}

/** Takes what the last visit left, before anything is asked of the gateway. */
export function restoreLocalSettings(): void {
  const { preferences: stored, language } = localSettings();
  preferences = { ...preferences, ...stored };
  setLanguage(language ?? navigator.language);
}

/** Takes what the gateway has; on a first visit the browser's language is set there. True where anything changed. */
export async function loadPreferences(): Promise<boolean> {
  const before = JSON.stringify(preferences);
  const firstVisit = !localSettings().language;
  preferences = await requestJson<Preferences>("/api/preferences");
  const unset =
    preferences.language === "en-US" && JSON.stringify(preferences.display) === JSON.stringify(readPolicy());
  if (firstVisit && unset && namesPortuguese(navigator.language)) {
    await changePreferences({ language: "pt-BR" });
    return true;
  }
  applyPreferences();
  return JSON.stringify(preferences) !== before;
}

/** Changes some of them, here at once and on the gateway; what is changed again meanwhile stays as it is here. */
export async function changePreferences(changes: Partial<Preferences>): Promise<void> {
  const wanted = { ...preferences, ...changes };
  if (changes.display) {
    shownHere = null;
    writeStored(SHOWN_HERE, "", "sessionStorage");
  }
  preferences = wanted;
  applyPreferences();
  const saved = await requestJson<Preferences>("/api/preferences", { method: "PUT", body: wanted });
  if (preferences !== wanted) return;
  preferences = saved;
  applyPreferences();
}

function applyPreferences(): void {
  saveLocalSettings({ preferences, language: preferences.language });
  setLanguage(preferences.language);
}

/** How a block shows thinking. The page tells a screen reader what it is about, because it knows when it last spoke. */
export function blockPolicy(): Policy {
  const { display } = currentPreferences();
  return display.live_region === "content" ? { ...display, live_region: "status" } : display;
}

/** The colours of this browser. */
export function currentTheme(): string {
  return localSettings(COLOURS).theme ?? "system";
}

/** Puts the chosen colours on. */
export function applyTheme(theme: string): void {
  saveLocalSettings({ theme }, COLOURS);
  document.documentElement.dataset.theme = theme;
}
