/** What few exchanges need: asking whether a call that waits may run. */

import type { Block } from "../src/transcript.js";
import { call } from "./api.js";
import { button, h, icon } from "./dom.js";
import { learnMore } from "./more-words.js";
import { complain, tell } from "./saying.js";
import { page } from "./shell.js";
import { t } from "./words.js";

learnMore();

/** A call that waits, with what it would be given, and the two answers to it. */
export function approval(turn: string, block: Block): HTMLElement {
  tell(t("approval.asked", { name: block.name }));
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
    given(block.text),
    h(
      "div",
      { class: "row" },
      button(t("approval.allow"), "check", settle(true), { class: "primary" }),
      button(t("approval.decline"), null, settle(false), { class: "plain" }),
    ),
  );
  return card;
}

/** What the call would be given, each argument by its name; what is no object, as it is. */
function given(text: string): HTMLElement {
  const shown = (value: unknown): HTMLElement => h("pre", { tabindex: 0, dir: "auto" }, typeof value === "string" ? value : JSON.stringify(value, null, 2));
  try {
    const values = Object.entries(JSON.parse(text) as Record<string, unknown>);
    if (values[0]) return h("dl", null, ...values.flatMap(([name, value]) => [h("dt", null, name), h("dd", null, shown(value))]));
  } catch {
    // Not every model writes JSON.
  }
  return shown(text);
}
