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
  /** Takes the text, and the files that were pasted; false where it did not. */
  done(text: string, attached: Attached): Promise<boolean> | boolean;
  /** It stays as it was. */
  left(): void;
}

/** The field with its buttons. */
export class EditBox {
  readonly node: HTMLFormElement;
  private area = h("textarea", { class: "input", rows: 3, "aria-label": t("edit") });
  private files: Attachments;

  /** `draft` is a box that left the page unfinished: this one goes on with its text and its files. */
  constructor(
    private text: string,
    { name, done, left }: EditHost,
    draft?: EditBox,
  ) {
    this.area.value = draft?.area.value ?? text;
    if (draft) this.area.setSelectionRange(draft.area.selectionStart, draft.area.selectionEnd);
    this.files = new Attachments(() => this.files.draw("", true), draft?.files);
    this.files.draw("", true);
    this.node = h(
      "form",
      { class: "edit stack" },
      this.files.node,
      this.area,
      h(
        "div",
        { class: "dialog-foot" },
        button(t("cancel"), null, left, { class: "plain" }),
        h("button", { class: "primary" }, name),
      ),
    );
    this.area.addEventListener("keydown", (event) => {
      if (composing(event)) return;
      if (event.key === "Escape") left();
      else if (event.key === "Enter" && !event.shiftKey) this.node.requestSubmit();
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    this.area.addEventListener("paste", (event) => {
      const pasted = pastedParts(event).files;
      if (!pasted[0]) return;
      event.preventDefault();
      void this.files.add(pasted);
    });
    this.node.addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.empty) return left();
      void this.submit(done);
    });
  }

  private async submit(done: EditHost["done"]): Promise<void> {
    const { prompt, attached, giveBack } = this.files.take(this.area.value);
    if (!(await done(prompt, attached))) giveBack("");
  }

  /** Whether there is nothing to ask. */
  get empty(): boolean {
    return !this.area.value.trim() && this.files.empty;
  }

  /** Whether it was neither changed nor given a file. */
  get unchanged(): boolean {
    return this.area.value === this.text && this.files.empty;
  }

  /** The text and the files as they are now; the files are no longer here. */
  take(): { prompt: string; attached: Attached } {
    return this.files.take(this.area.value);
  }

  focus(): void {
    this.area.focus();
  }
}
