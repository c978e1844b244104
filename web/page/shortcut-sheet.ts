/** The sheet of keys, which the key `?` opens. */

import { addDialogWords } from "./dialog-words.js";
import { open } from "./dialogs.js";
import { h } from "./dom.js";
import { currentPreferences } from "./preferences.js";
import { displayKeys, FIXED } from "./shortcuts.js";
import { t } from "./words.js";

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
