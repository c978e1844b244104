/**
 * The text of an answer on the screen. Plain from the first word; formatted as soon as the code for that is
 * there, which is fetched when the first answer needs it.
 */

import { h } from "./dom.js";
import type { RichText } from "./rich-text.js";

let loading: Promise<typeof import("./rich-text.js")> | null = null;

/** Fetch what formats answers; asked for often, done once, and again if it failed. */
export function formatter(): Promise<typeof import("./rich-text.js")> {
  loading ??= import("./rich-text.js").catch((error: unknown) => {
    loading = null;
    throw error;
  });
  return loading;
}

export class Answer {
  readonly node = h("div", { class: "answer", dir: "auto" });
  /** Resolved when the text is as it stays: formatted, or plain where that failed. */
  ready: Promise<unknown> = Promise.resolve();
  private rich: RichText | null = null;
  private asked = false;
  private text = "";
  private live = true;

  /** Show this text; what only grew is only added to. */
  set(text: string, live: boolean): void {
    if (text === this.text && live === this.live) return;
    this.text = text;
    this.live = live;
    this.node.hidden = !text;
    if (!text) return this.clear();
    if (this.rich) return this.rich.update(text, live);
    this.node.classList.add("unformatted");
    this.node.textContent = text;
    if (this.asked) return;
    this.asked = true;
    this.ready = formatter().then(
      ({ RichText }) => {
        this.node.classList.remove("unformatted");
        this.rich = new RichText(this.node);
        if (this.text) this.rich.update(this.text, this.live);
      },
      () => (this.asked = false), // it stays readable as it is
    );
  }

  private clear(): void {
    this.node.replaceChildren();
    this.rich?.clear();
  }
}
