/** Starts the page: builds it, listens to keys, to the network and to other windows, and loads the preferences. */

import { ThinkingBlockElement } from "../src/element/element.js";
import { ApiError, setTokenPrompt, switchWorkspace, workspace } from "./api.js";
import { loadModels } from "./catalog.js";
import { currentPreferences, keysOf, loadPreferences, restoreLocalSettings } from "./preferences.js";
import { NARROW, Shell } from "./shell.js";
import { onTabMessage } from "./storage.js";
import { showError } from "./toasts.js";
import { currentLanguage, t } from "./words.js";

/** The page as it is at this moment; another language makes another one. */
let page: Shell;

/** Builds the page in the language of the moment, and opens what the address names. */
async function build(): Promise<void> {
  await page?.composer.settled; // what is on its way arrives where it was asked
  page?.leave();
  page = new Shell(() => void build().catch(showError));
  page.mount();
  await Promise.all([page.route(), page.refresh()]);
}

function handleKeys(event: KeyboardEvent): void {
  const { code, altKey, ctrlKey, metaKey } = event;
  const withAlt = altKey && !ctrlKey && !metaKey;
  const withControl = (ctrlKey || metaKey) && !altKey;
  if (event.defaultPrevented) return;
  if (keysOf(event) === currentPreferences().expand_key) page.chat.toggleAll();
  else if (withAlt && code === "KeyT") void page.toggleThinking().catch(showError);
  else if (withAlt && code === "KeyN") page.go({});
  else if (withControl && code === "KeyK") page.search();
  else if (event.key === "?" && !writing(event)) void openShortcuts().catch(showError);
  else if (code === "Escape" && NARROW.matches && !document.querySelector("dialog[open]")) return page.slide(false);
  else return;
  event.preventDefault();
}

/** Whether a key goes into a field or a dialog. */
function writing({ target }: KeyboardEvent): boolean {
  return !!(target as Element).closest?.("input, textarea, select, dialog");
}

async function openShortcuts(): Promise<void> {
  const { openShortcutSheet } = await import("./shortcuts.js");
  openShortcutSheet();
}

/** Asks the person for a token; without one there is nothing to show. */
async function askForToken(refused: boolean): Promise<string> {
  const { asked } = await import("./dialogs.js");
  const about = t(refused ? "token.refused" : "token.about");
  const token = await asked(t("token.title"), t("token.label"), "", t("token.enter"), about);
  return token || (location.reload() as never);
}

/** How often the list is looked at for what other programs do. */
const WATCH_MS = 5_000;

function listen(): void {
  setInterval(() => !document.hidden && void page.refresh(), WATCH_MS);
  addEventListener("hashchange", () => void page.route().catch(showError));
  addEventListener("keydown", handleKeys);
  addEventListener("storage", () => page.composer.showQueue()); // another window changed what waits
  addEventListener("online", () => {
    page.showConnection();
    page.returned();
  });
  addEventListener("offline", () => page.showConnection());
  addEventListener("pageshow", (event) => event.persisted && page.returned());
  document.addEventListener("visibilitychange", () => !document.hidden && page.returned());
  NARROW.addEventListener("change", () => page.slide(false));
  onTabMessage(({ session, hidden, preferences }) => {
    if (preferences) void reloadPreferences().catch(showError);
    else if (session && hidden !== undefined) page.sessions.hide(session, hidden);
    else void page.refresh(session);
  });
}

/** Starts the page, once. */
async function start(): Promise<void> {
  customElements.define("thinking-block", ThinkingBlockElement);
  restoreLocalSettings();
  setTokenPrompt(askForToken);
  listen();
  await build();
  await reloadPreferences().catch((error: unknown) => {
    // Everybody has preferences: it is the workspace that is not theirs any more.
    if (workspace && error instanceof ApiError && error.status === 404) switchWorkspace("");
    else showError(error);
  });
  await loadModels().then(
    () => {
      page.composer.draw();
      page.chat.exchanges.redrawNames();
    },
    () => undefined, // they are loaded again when somebody chooses one
  );
}

async function reloadPreferences(): Promise<void> {
  const language = currentLanguage();
  const changed = await loadPreferences();
  if (currentLanguage() !== language) await build();
  else if (changed) page.restyle(false);
}

void start().catch(showError);
