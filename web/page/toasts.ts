/** What the page says by itself: short messages for everybody, and a word for screen readers. */

import { announce } from "../src/element/announcer.js";
import { ApiError } from "./api.js";
import { button, h, type IconName, icon } from "./dom.js";
import { currentPreferences } from "./preferences.js";
import { t } from "./words.js";

const STAYS_MS = 6000;
const ERROR_STAYS_MS = 15_000;
const shelf = h("div", { class: "toasts" });

/** Puts the messages where they can be seen and used: inside of what covers the page, a dialog or the list of a narrow window. */
export function placeToasts(): void {
  const dialog = [...document.querySelectorAll("dialog[open]")].pop();
  const cover = dialog ?? (document.querySelector(".main[inert]") && document.querySelector(".side"));
  const composer = document.querySelector(".composer");
  if (cover || !composer) (cover ?? document.body).append(shelf);
  else if (shelf.nextSibling !== composer) composer.before(shelf); // it takes room of its own, and covers nothing
}

/** Tell a screen reader, unless the person wants silence. */
export function tellScreenReader(text: string): void {
  if (currentPreferences().display.live_region !== "off") announce(text);
}

/** What can be done about what a message says. */
export interface ToastAction {
  name: string;
  act(): void;
}

/** Tell that something was done, and perhaps how to undo it; the returned function takes the message away. */
export function notify(text: string, action: ToastAction | null = null, staysMs = STAYS_MS): () => void {
  tellScreenReader(text);
  return add(text, "check", "toast", null, staysMs, action);
}

/** Tell what went wrong, in words that say what to do. */
export function showError(error: unknown): void {
  if (error instanceof DOMException && error.name === "AbortError") return;
  if (!(error instanceof ApiError)) console.error(error);
  add(error instanceof ApiError ? error.message : t("error.broken"), "alert", "toast bad", "alert", ERROR_STAYS_MS);
}

function add(
  text: string,
  iconName: IconName,
  kind: string,
  role: string | null,
  staysMs: number,
  action: ToastAction | null = null,
): () => void {
  const toast: HTMLElement = h(
    "div",
    { class: kind, role },
    icon(iconName),
    h("p", null, text),
    action && button(action.name, null, () => action.act(), { class: "link" }),
    button(t("dismiss"), "close", () => toast.remove(), { bare: true, class: "quiet" }),
  );
  for (const old of shelf.querySelectorAll(".toast")) if (old.textContent === toast.textContent) old.remove();
  placeToasts();
  // It goes with its dialog; what it says does not.
  shelf.closest("dialog")?.addEventListener("close", () => shelf.isConnected || placeToasts(), { once: true });
  shelf.append(toast);
  setTimeout(() => toast.remove(), staysMs);
  return () => toast.remove();
}
