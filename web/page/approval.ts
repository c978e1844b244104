/** What few exchanges need: asking whether a call that waits may run. */

import type { Block } from "../src/transcript.js";
import { call } from "./api.js";
import { button, h, icon } from "./dom.js";
import { complain } from "./saying.js";
import { page } from "./shell.js";
import { t } from "./words.js";

/** A call that waits, with what it would be given, and the two answers to it. */
export function approval(turn: string, block: Block): HTMLElement {
  const settle = (granted: boolean) => () => {
    for (const one of card.querySelectorAll("button")) one.disabled = true;
    call(`/api/turns/${turn}/approvals`, { body: { block: block.number, granted } })
      .then(() => page.composer.area.focus())
      .catch((error: unknown) => {
        for (const one of card.querySelectorAll("button")) one.disabled = false;
        complain(error);
      });
  };
  const card = h(
    "section",
    { class: "approval" },
    h("h3", null, icon("shield"), t("approval.title", { name: block.name })),
    h("pre", { tabindex: 0 }, pretty(block.text)),
    h(
      "div",
      { class: "row" },
      button(t("approval.allow"), "check", settle(true), { class: "primary" }),
      button(t("approval.decline"), null, settle(false), { class: "plain" }),
    ),
  );
  return card;
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
