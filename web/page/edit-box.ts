/** A field in which a question is written again, in the place where it stands: Enter is done, Escape leaves it. */

import { type Attached, Attachments } from "./attachments.js";
import { pastedParts } from "./composer.js";
import { addDialogWords } from "./dialog-words.js";
import { button, composing, h } from "./dom.js";
import { t } from "./words.js";

addDialogWords();

/** What is done with a question that was edited. */
interface EditHost {
  /** What the button that ends it says. */
  name: string;
  /** Takes the text, and the files that were pasted. */
  done(text: string, attached: Attached): void;
  /** It stays as it was. */
  left(): void;
}

/** The field with its buttons. */
export function editBox(text: string, { name, done, left }: EditHost): HTMLElement {
  const area = h("textarea", { class: "input", rows: 3, "aria-label": t("edit") });
  area.value = text;
  const files = new Attachments(() => files.draw("", true));
  const form = h(
    "form",
    { class: "edit stack" },
    files.node,
    area,
    h(
      "div",
      { class: "dialog-foot" },
      button(t("cancel"), null, left, { class: "plain" }),
      h("button", { class: "primary" }, name),
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
  area.addEventListener("paste", (event) => {
    const pasted = pastedParts(event).files;
    if (!pasted[0]) return;
    event.preventDefault();
    void files.add(pasted);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!area.value.trim() && files.empty) return left();
    const { prompt, attached } = files.take(area.value);
    done(prompt, attached);
  });
  return form;
}
