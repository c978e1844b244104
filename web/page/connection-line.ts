/** The line below a reply that runs: how long it is waited for, and what is wrong with the connection. */

import { findLocale, Words } from "../src/core/words.js";
import { h, show } from "./dom.js";
import { errorCard } from "./error-card.js";
import { tellScreenReader } from "./toasts.js";
import { currentLanguage, t } from "./words.js";

/** Without a first word for so long, a person is told that it is still waited for. */
const PATIENCE_MS = 20_000;

interface Problems {
  /** What is wrong with the connection. */
  problem: string;
  /** Whether the gateway cannot store what comes. */
  unsaved: boolean;
}

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
