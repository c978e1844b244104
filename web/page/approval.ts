/** Asks whether a call that waits for approval may run. Few exchanges need it, so it is loaded with the first. */

import type { Block } from "../src/core/turn.js";
import { textNodes } from "../src/element/dom.js";
import { requestJson } from "./api.js";
import { addDialogWords } from "./dialog-words.js";
import { button, h, icon } from "./dom.js";
import { showError, tellScreenReader } from "./toasts.js";
import { t } from "./words.js";

addDialogWords();

/** A call that waits, with its arguments, in which nothing can turn the direction of the text unseen, and the two answers to it; `afterwards` runs when one was given. */
export function approvalCard(turn: string, block: Block, afterwards: () => void): HTMLElement {
  tellScreenReader(t("approval.asked", { name: block.name }));
  const decide = (granted: boolean) => () => {
    for (const one of card.querySelectorAll("button")) one.disabled = true;
    requestJson(`/api/turns/${turn}/approvals`, { body: { block: block.number, granted } })
      .then(afterwards)
      .catch((error: unknown) => {
        for (const one of card.querySelectorAll("button")) one.disabled = false;
        showError(error);
      });
  };
  const card = h(
    "section",
    { class: "approval" },
    h("h3", null, icon("shield"), h("span", null, ...textNodes(t("approval.title", { name: block.name })))),
    argumentsOf(block.text),
    h(
      "div",
      { class: "row" },
      button(t("approval.allow"), "check", decide(true), { class: "primary" }),
      button(t("approval.decline"), null, decide(false), { class: "plain" }),
    ),
  );
  return card;
}

/** The arguments of the call, each by its name; what is no JSON object, as it is. */
function argumentsOf(text: string): HTMLElement {
  const shown = (value: unknown): HTMLElement =>
    h(
      "pre",
      { tabindex: 0, dir: "auto" },
      ...textNodes(typeof value === "string" ? value : JSON.stringify(value, null, 2)),
    );
  try {
    const values = Object.entries(JSON.parse(text) as Record<string, unknown>);
    if (values[0])
      return h(
        "dl",
        null,
        ...values.flatMap(([name, value]) => [h("dt", null, ...textNodes(name)), h("dd", null, shown(value))]),
      );
  } catch {
    // Not every model writes JSON.
  }
  return shown(text);
}
