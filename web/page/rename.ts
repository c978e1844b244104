/** Gives a conversation another title, in the place where the title stands. */

import { composing, h } from "./dom.js";
import { t } from "./words.js";

/** Puts a field in the place of the title; null where the person changed their mind. */
export function editTitle(title: HTMLElement, value: string): Promise<string | null> {
  return new Promise((resolve) => {
    const field = h("input", {
      class: "input title-field",
      maxlength: 200,
      "aria-label": t("title"),
      autocomplete: "off",
      spellcheck: "false",
    });
    const finish = (result: string | null): void => {
      field.onblur = null;
      field.replaceWith(title);
      resolve(result);
    };
    field.value = value;
    field.onblur = () => finish(field.value.trim() || null);
    field.onkeydown = (event) => {
      if (composing(event) || (event.key !== "Enter" && event.key !== "Escape")) return;
      event.preventDefault();
      event.stopPropagation();
      finish((event.key === "Enter" && field.value.trim()) || null);
    };
    title.replaceWith(field);
    field.focus();
    field.select();
  });
}
