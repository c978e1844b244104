/** The line above a conversation that says that it loads, or why it is not there. */

import { h, icon, show } from "./dom.js";
import { tellScreenReader } from "./toasts.js";
import { t } from "./words.js";

export class StatusLine {
  readonly node = h("p", { class: "status-line", hidden: true });
  private timer = 0;

  /** Shows a text, perhaps only after some time; an empty text hides the line. */
  show(text: string, afterMs = 0): void {
    clearTimeout(this.timer);
    if (afterMs && text) {
      this.timer = window.setTimeout(() => this.show(text), afterMs);
      return;
    }
    const problem = text && text !== t("loading");
    this.node.replaceChildren(problem ? icon("alert") : "", text);
    show(this.node, !!text);
    if (problem) tellScreenReader(text);
  }
}
