/** What says that something went wrong or was not finished: a card with the button that helps most, and lines that hold one. */

import { findLocale, Words } from "../src/core/words.js";
import { textNodes } from "../src/element/dom.js";
import type { ApiError } from "./api.js";
import { button, h, icon, show } from "./dom.js";
import { tellScreenReader } from "./toasts.js";
import { currentLanguage, t } from "./words.js";

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

/** The line above a conversation that says that it loads, or why it is not there. */
export class StatusLine {
  readonly node = h("div", { class: "status-line", hidden: true });
  private timer = 0;

  /** Shows what went wrong, and what to do about it. */
  showProblem(text: string, remedy: Remedy): void {
    clearTimeout(this.timer);
    this.node.replaceChildren(errorCard(text, [remedy]));
    show(this.node, true);
    tellScreenReader(text);
  }

  /** Shows a text, perhaps only after some time; an empty text hides the line. */
  show(text: string, afterMs = 0): void {
    clearTimeout(this.timer);
    if (afterMs && text) {
      this.timer = window.setTimeout(() => this.show(text), afterMs);
      return;
    }
    this.node.replaceChildren(text);
    show(this.node, !!text);
  }
}

/** Without a first word for so long, a person is told that it is still waited for. */
const PATIENCE_MS = 20_000;

interface Problems {
  /** What is wrong with the connection. */
  problem: string;
  /** Whether the gateway cannot store what comes. */
  unsaved: boolean;
}

/** The line below an exchange that says what is wrong with its connection, and how long its first word takes. */
export class ConnectionLine {
  readonly node = h("div", { class: "link-state", hidden: true });
  private problems: Problems = { problem: "", unsaved: false };
  private startedAt = 0;
  private counts = false;
  private timer = 0;

  constructor(private resume: () => void) {}

  /** Shows what changed of the problems. */
  show(problems: Partial<Problems>): void {
    this.problems = { ...this.problems, ...problems };
    this.draw();
  }

  /** Waits for the first word; `counts` shows the seconds here, where no thinking block shows them. */
  startWaiting(counts: boolean): void {
    this.startedAt ||= performance.now();
    this.counts = counts;
    clearInterval(this.timer);
    this.timer = window.setInterval(() => this.draw(), 1000);
    this.draw();
  }

  stopWaiting(): void {
    clearInterval(this.timer);
    this.startedAt = 0;
    this.draw();
  }

  private draw(): void {
    const { problem, unsaved } = this.problems;
    const text = problem || (unsaved ? t("unsaved") : this.waitText());
    if (this.node.dataset.text === text) return;
    this.node.dataset.text = text;
    show(this.node, !!text);
    if (!problem) return this.node.replaceChildren(h("p", null, text));
    this.node.replaceChildren(errorCard(text, [{ name: t("resume"), act: this.resume }]));
    tellScreenReader(text);
  }

  private waitText(): string {
    if (!this.startedAt) return "";
    const waitedMs = performance.now() - this.startedAt;
    if (waitedMs > PATIENCE_MS) return t("still");
    const seconds = Math.floor(waitedMs / 1000) * 1000;
    const duration = seconds ? new Words(findLocale(currentLanguage())).duration(seconds) : "";
    return this.counts ? `${t("waiting")} ${duration}`.trim() : "";
  }
}
