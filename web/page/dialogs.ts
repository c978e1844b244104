/** Dialogs: the browser's own, so that focus, Escape and the background are what people know. */

import { addDialogWords } from "./dialog-words.js";
import { button, type Child, composing, h } from "./dom.js";
import { t } from "./words.js";

addDialogWords();

export interface Open {
  dialog: HTMLDialogElement;
  body: HTMLElement;
  close(): void;
}

let count = 0;

/** Open a dialog with a heading, a body and a close button. */
export function open(title: string, kind: string, ...children: Child[]): Open {
  const id = `dialog-${++count}`;
  const body = h("div", { class: "dialog-body" });
  const close = (): void => dialog.close();
  const dialog: HTMLDialogElement = h(
    "dialog",
    { class: `dialog ${kind}`, "aria-labelledby": id },
    h(
      "header",
      { class: "dialog-head" },
      h("h2", { id }, title),
      button(t("close"), "close", close, { bare: true, class: "quiet" }),
    ),
    body,
  );
  body.append(...children.filter((child): child is Node | string => !!child));
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("mousedown", (event) => {
    const { left, right, top, bottom } = dialog.getBoundingClientRect();
    const outside = event.clientX < left || event.clientX > right || event.clientY < top || event.clientY > bottom;
    if (event.target === dialog && outside) close();
  });
  dialog.addEventListener("keydown", (event) => {
    // A search field that is empty has no use for Escape, but in Safari the dialog would never hear of it.
    const { type, value } = event.target as HTMLInputElement;
    if (event.key !== "Escape" || type !== "search" || value) return;
    event.preventDefault();
    close();
  });
  // Whoever clicks again while it is on its way wants one.
  for (const other of document.querySelectorAll<HTMLDialogElement>("dialog[open]"))
    if (other.querySelector("h2")?.textContent === title) other.close();
  document.body.append(dialog);
  dialog.showModal();
  return { dialog, body, close };
}

/** Ask yes or no; what is not answered is no. */
export function confirmed(text: string, yes: string): Promise<boolean> {
  return new Promise((resolve) => {
    let confirmation = false;
    const { dialog, close } = open(yes, "small", h("p", null, text));
    const answer = (value: boolean) => () => {
      confirmation = value;
      close();
    };
    const no = button(t("cancel"), null, answer(false), { class: "plain" });
    dialog.append(h("footer", { class: "dialog-foot" }, no, button(yes, null, answer(true), { class: "danger" })));
    no.focus();
    dialog.addEventListener("close", () => resolve(confirmation));
  });
}

/** Ask for one line; null when the person changed their mind. */
export function asked(title: string, label: string, value: string, yes: string, about = ""): Promise<string | null> {
  return new Promise((resolve) => {
    let answer: string | null = null;
    const input = h("input", { class: "input", maxlength: 200, autocomplete: "off", spellcheck: "false" });
    input.value = value;
    const form = h(
      "form",
      { method: "dialog", class: "stack" },
      about && h("p", { class: "muted" }, about),
      h("label", { class: "field" }, h("span", null, label), input),
      h("footer", { class: "dialog-foot" }, h("button", { class: "primary" }, yes)),
    );
    form.addEventListener("submit", () => {
      answer = input.value.trim();
    });
    const { dialog } = open(title, "small", form);
    input.select();
    dialog.addEventListener("close", () => resolve(answer));
  });
}

/**
 * Up and down go through the buttons of a list, and from its ends back to the field above it. In the field, Enter presses
 * the first button, and down goes to it.
 */
export function arrows(list: HTMLElement, field: HTMLElement): void {
  field.addEventListener("keydown", (event) => {
    if (composing(event)) return;
    const first = list.querySelector("button");
    if (event.key === "ArrowDown") first?.focus();
    else if (event.key === "Enter") first?.click();
    else return;
    event.preventDefault();
  });
  list.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    const buttons = [...list.querySelectorAll("button")];
    (buttons[buttons.indexOf(event.target as HTMLButtonElement) + step] ?? field).focus();
    event.preventDefault();
  });
}

/** A labelled choice. */
export function select(
  label: string,
  options: [value: string, text: string][],
  value: string,
  change: (value: string) => void,
): HTMLLabelElement {
  const node = h("select", { class: "input" });
  for (const [at, text] of options) node.append(h("option", { value: at, selected: at === value }, text));
  node.addEventListener("change", () => change(node.value));
  return h("label", { class: "field row" }, h("span", null, label), node);
}
