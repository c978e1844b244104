/**
 * A person's preferences. The gateway keeps them by user and workspace, and this browser keeps a copy, for each workspace
 * apart, so that the first paint is right. Colours are this browser's alone.
 */

import { readPolicy } from "../src/core/open-rule.js";
import type { Policy } from "../src/core/policy.js";
import { type Preferences, requestJson, workspace } from "./api.js";
import { readStored, writeStored } from "./storage.js";
import { setLanguage } from "./words.js";

export interface LocalSettings {
  language?: string;
  theme?: string;
  /** What turns or breathes while a model thinks. */
  runningIcon?: string;
  preferences?: Preferences;
  /** What is sent with every question. */
  request?: Record<string, unknown>;
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

/** What is sent with every question from this browser: sampling, bounds and the shape of answers. */
export function requestSettings(): Record<string, unknown> {
  return localSettings().request ?? {};
}

const DEFAULT_LANGUAGE = "en-US";

let preferences: Preferences = {
  display: readPolicy(),
  language: DEFAULT_LANGUAGE,
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

/**
 * The language of the page: the one chosen in this browser, else the one that the gateway was set to, else the
 * browser's own. What the gateway has by default was chosen by nobody.
 */
export function chosenLanguage(): string {
  const { language } = localSettings();
  return language ?? (preferences.language === DEFAULT_LANGUAGE ? navigator.language : preferences.language);
}

/** Takes what the last visit left, before anything is asked of the gateway. */
export function restoreLocalSettings(): void {
  const { preferences: stored } = localSettings();
  preferences = { ...preferences, ...stored };
  setLanguage(chosenLanguage());
}

/** Takes what the gateway has, unless something was changed here meanwhile. True where anything is different then. */
export async function loadPreferences(): Promise<boolean> {
  const before = preferences;
  const loaded = await requestJson<Preferences>("/api/preferences");
  if (preferences !== before) return false; // what was asked for earlier is older than the change
  preferences = loaded;
  applyPreferences();
  return JSON.stringify(preferences) !== JSON.stringify(before);
}

/** Changes some of them, here at once and on the gateway; what is changed again meanwhile stays as it is here. */
export async function changePreferences(changes: Partial<Preferences>): Promise<void> {
  const wanted = { ...preferences, ...changes };
  if (changes.language) saveLocalSettings({ language: changes.language });
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
  saveLocalSettings({ preferences });
  setLanguage(chosenLanguage());
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

/** What is in motion while a model thinks: a dot that breathes, or a gear that turns. */
export function currentRunningIcon(): string {
  return localSettings(COLOURS).runningIcon ?? "dot";
}

export function keepRunningIcon(runningIcon: string): void {
  saveLocalSettings({ runningIcon }, COLOURS);
}

/** Puts the chosen colours on. */
export function applyTheme(theme: string): void {
  saveLocalSettings({ theme }, COLOURS);
  document.documentElement.dataset.theme = theme;
}

/** The keys of a keyboard event as they are stored: Alt+KeyE. */
export function keysOf({ code, altKey, ctrlKey, metaKey, shiftKey }: KeyboardEvent): string {
  return [ctrlKey && "Ctrl", altKey && "Alt", shiftKey && "Shift", metaKey && "Meta", code].filter(Boolean).join("+");
}
