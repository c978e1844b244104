/** A field in which a question is written again, in the place where it stands: Enter is done, Escape leaves it. */

import { addDialogWords } from "./dialog-words.js";
import { button, composing, h } from "./dom.js";
import { t } from "./words.js";

addDialogWords();

/** The field with its buttons; `done` gets the text, `left` is told where it stays as it was. */
export function editBox(text: string, doneName: string, done: (text: string) => void, left: () => void): HTMLElement {
  const area = h("textarea", { class: "input", rows: 3, "aria-label": t("edit") });
  area.value = text;
  const form = h(
    "form",
    { class: "edit stack" },
    area,
    h(
      "div",
      { class: "dialog-foot" },
      button(t("cancel"), null, left, { class: "plain" }),
      h("button", { class: "primary" }, doneName),
    ),
  );
  area.addEventListener("keydown", (event) => {
    if (composing(event)) return;
    if (event.key === "Escape") left();
    else if (event.key === "Enter" && !event.shiftKey) form.requestSubmit();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (area.value.trim()) done(area.value);
    else left();
  });
  return form;
}
