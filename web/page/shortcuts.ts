/** The keys of the page, and others for the one that can be changed. */

import { ApiError } from "./api.js";
import { addDialogWords } from "./dialog-words.js";
import { open } from "./dialogs.js";
import { h, say } from "./dom.js";
import { currentPreferences, keysOf } from "./preferences.js";
import type { Keep } from "./settings.js";
import { showError } from "./toasts.js";
import { t } from "./words.js";

export const FIXED: [keys: string, name: string][] = [
  ["Alt+KeyT", "keys.thinking"],
  ["Ctrl+KeyK", "keys.search"],
  ["Alt+KeyN", "keys.new"],
];
const ALONE = /^F\d{1,2}$/;
const MODIFIER = /^(?:Control|Alt|Shift|Meta|OS)/;

export function shortcuts(keep: Keep): HTMLElement {
  const rows = FIXED.flatMap(([keys, name]) => [
    h("dt", null, h("kbd", null, displayKeys(keys))),
    h("dd", null, t(name)),
  ]);
  const hint = h("p", { class: "muted small", id: "keys-hint", hidden: true }, t("keys.hint"));
  return h(
    "section",
    { class: "stack" },
    h("h3", null, t("settings.keys")),
    h(
      "dl",
      { class: "keys" },
      h("dt", { "data-key": "keys" }, changer(keep, hint)),
      h("dd", null, t("keys.expand")),
      ...rows,
    ),
    hint,
  );
}

/** A button that shows the keys, and takes the next ones that are pressed once it was pushed. */
function changer(keep: Keep, hint: HTMLElement): HTMLElement {
  const name = (): string => displayKeys(currentPreferences().expand_key) || t("keys.none");
  const node = h("button", { type: "button", class: "plain key", "aria-describedby": "keys-hint" }, name());
  const label = (): void => node.setAttribute("aria-label", t("keys.change", { name: t("keys.expand"), keys: name() }));
  const listen = (on: boolean): void => {
    hint.hidden = !on;
    node.classList.toggle("listening", on);
    say(node, on ? t("keys.press") : name());
    if (on) node.removeAttribute("aria-label");
    else label();
  };
  node.addEventListener("click", () => listen(true));
  node.addEventListener("blur", () => listen(false));
  node.addEventListener("keydown", (event) => {
    if (!node.classList.contains("listening") || MODIFIER.test(event.key) || event.key === "Tab") return;
    event.preventDefault();
    event.stopPropagation();
    const keys = keysOf(event);
    if (event.key === "Escape") return listen(false);
    if (event.key === "Delete" || event.key === "Backspace") return keep({ expand_key: "" });
    if (!usable(keys))
      return showError(
        new ApiError(0, "keys", t(FIXED.some(([taken]) => taken === keys) ? "keys.taken" : "keys.hint")),
      );
    keep({ expand_key: keys });
  });
  label();
  return node;
}

/** Keys that nobody types by writing, and that nothing here has. */
function usable(keys: string): boolean {
  return (ALONE.test(keys) || /^(?:Ctrl|Alt|Meta)\+/.test(keys)) && !FIXED.some(([taken]) => taken === keys);
}

/** Keys as they are written on a keyboard: Alt+E. */
export function displayKeys(keys: string): string {
  return keys.replace(/Key|Digit/, "");
}

addDialogWords();

const WRITING: [keys: string, name: string][] = [
  ["Enter", "keys.send"],
  ["Shift+Enter", "keys.line"],
  ["/", "keys.commands"],
  ["Escape", "keys.close"],
  ["?", "keys.sheet"],
];

export function openShortcutSheet(): void {
  const { expand_key } = currentPreferences();
  const rows: [string, string][] = [
    ...FIXED,
    ...(expand_key ? [[expand_key, "keys.expand"] as [string, string]] : []),
    ...WRITING,
  ];
  open(
    t("settings.keys"),
    "small",
    h(
      "dl",
      { class: "keys" },
      ...rows.flatMap(([keys, name]) => [h("dt", null, h("kbd", null, displayKeys(keys))), h("dd", null, t(name))]),
    ),
    h("p", { class: "muted small" }, t("keys.change_in")),
  );
}
