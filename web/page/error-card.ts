/** The one card that says what went wrong or was not finished: an icon, a sentence, and the button that helps most. */

import { textNodes } from "../src/element/dom.js";
import type { ApiError } from "./api.js";
import { button, h, icon } from "./dom.js";
import { t } from "./words.js";

/** What a person can do about it. */
export interface Remedy {
  name: string;
  act(): void;
}

/** Codes of refusals and failures that a key or another model helps with, and another try does not. */
const CHOICE_CODES = /key|auth|permission|quota|billing|unknown_model|thinking_not_offered/;

export function needsOtherModel(code: string): boolean {
  return CHOICE_CODES.test(code);
}

/** `mild` is for what is no failure: a person stopped it, or a limit did. */
export function errorCard(text: string, remedies: Remedy[], mild = false): HTMLElement {
  const [first, ...others] = remedies;
  return h(
    "div",
    { class: mild ? "error-card mild" : "error-card" },
    icon(mild ? "info" : "alert"),
    h("p", { dir: "auto" }, ...sentenceNodes(text)),
    first && button(first.name, null, () => first.act(), { class: "plain" }),
    ...others.map(({ name, act }) => button(name, null, act, { class: "link" })),
  );
}

/** A sentence with what it says to type, between backticks, as code; part of it may be a provider's words. */
function sentenceNodes(text: string): (Node | string)[] {
  return text
    .split(/`([^`]+)`/)
    .flatMap((piece, at) => (at % 2 ? h("code", null, ...textNodes(piece)) : textNodes(piece)));
}

/** Why a question was not taken, with what helps: another try, or another model. */
export function refusalCard({ message, code }: ApiError, again: () => void, choose: () => void): HTMLElement {
  const remedy = needsOtherModel(code) ? { name: t("connect.choose"), act: choose } : { name: t("retry"), act: again };
  return errorCard(message, [remedy]);
}
