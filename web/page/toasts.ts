/** What the page says by itself: short messages for everybody, and a word for screen readers. */

import { announce } from "../src/element/announcer.js";
import { ApiError } from "./api.js";
import { button, h, type IconName, icon } from "./dom.js";
import { currentPreferences } from "./preferences.js";
import { t } from "./words.js";

const STAYS_MS = 6000;
const ERROR_STAYS_MS = 15_000;
const shelf = h("div", { class: "toasts" });

/** Tell a screen reader, unless the person wants silence. */
export function tellScreenReader(text: string): void {
  if (currentPreferences().display.live_region !== "off") announce(text);
}

/** Tell that something was done. */
export function notify(text: string): void {
  tellScreenReader(text);
  add(text, "check", "toast", null);
}

/** Tell what went wrong, in words that say what to do. */
export function showError(error: unknown): void {
  if (error instanceof DOMException && error.name === "AbortError") return;
  if (!(error instanceof ApiError)) console.error(error);
  add(error instanceof ApiError ? error.message : t("error.broken"), "alert", "toast bad", "alert");
}

function add(text: string, look: IconName, kind: string, role: string | null): void {
  const toast: HTMLElement = h(
    "div",
    { class: kind, role },
    icon(look),
    h("p", null, text),
    button(t("dismiss"), "close", () => toast.remove(), { bare: true, class: "quiet" }),
  );
  for (const old of shelf.querySelectorAll(".toast")) if (old.textContent === toast.textContent) old.remove();
  // A dialog covers the page, so what is said while one is open is said inside it.
  const open = [...document.querySelectorAll("dialog[open]")].pop();
  const composer = document.querySelector(".composer");
  if (open || !composer) (open ?? document.body).append(shelf);
  else if (shelf.nextSibling !== composer) composer.before(shelf); // it takes room of its own, and covers nothing
  // It goes with its dialog; what it says does not.
  open?.addEventListener("close", () => shelf.isConnected || composer?.before(shelf), { once: true });
  shelf.append(toast);
  setTimeout(() => toast.remove(), role ? ERROR_STAYS_MS : STAYS_MS);
}
