/** Links to single steps: whoever opens one finds the step open and in sight. */

import { viewContext } from "../src/core/context.js";
import { readPolicy } from "../src/core/open-rule.js";
import { WIDE_LINES } from "../src/core/preview.js";
import { bodyView, type StepView } from "../src/core/steps.js";
import { findLocale, Words } from "../src/core/words.js";
import { copyText } from "./clipboard.js";
import { addDialogWords } from "./dialog-words.js";
import { open } from "./dialogs.js";
import { button, h } from "./dom.js";
import type { Exchange } from "./exchange.js";
import { currentLanguage, t } from "./words.js";

addDialogWords();

/** Opens the dialog that offers a link to each step of an exchange. */
export function openStepLinks(exchange: Exchange): void {
  const words = new Words(findLocale(currentLanguage()));
  const { steps } = bodyView(viewContext(exchange.turn, readPolicy(), words, null, new Map(), WIDE_LINES));
  const { close } = open(t("link"), "", h("p", { class: "muted small" }, t("link.about")), list(steps));
  function list(steps: StepView[]): HTMLElement {
    return h(
      "ul",
      { class: "links" },
      ...steps.map((step) => h("li", null, row(step), step.steps[0] && list(step.steps))),
    );
  }
  function row(step: StepView): HTMLElement {
    const name = [step.thought?.step, step.label].filter(Boolean).join(" ");
    const take = (): void => {
      close();
      void copyText(addressOf(exchange.id, step.block));
    };
    const node = button(name, "link", take, { class: "option" });
    node.prepend(h("span", { class: "sr" }, `${t("link.copy")} `));
    node.append(h("span", { class: "option-about", dir: "auto" }, step.text.trim().split("\n")[0]));
    return node;
  }
}

/** Where a step is to be found. */
export function addressOf(turn: string, step: number): string {
  return `${location.origin}${location.pathname}#think-${turn}-${step}`;
}

/** Open a step and what it lies in, and scroll to it; what lies too deep opens beside the conversation. */
export async function revealStep({ turn, block: element }: Exchange, step: number): Promise<void> {
  const path: number[] = [];
  for (let number: number | null = step; number !== null; number = turn.blocks[number]?.parent ?? null)
    path.unshift(number);
  for (const number of path) element.choose(number, true, "find");
  element.refresh();
  await element.ready; // what is behind the header may still be on its way
  const home = element.shadowRoot?.querySelector(`[part~="step"][data-block="${step}"]`) ?? element;
  home.scrollIntoView({ block: "nearest" });
}
