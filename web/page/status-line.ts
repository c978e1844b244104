/** The line above a conversation that says that it loads, or why it is not there. */

import { h, show } from "./dom.js";
import { errorCard, type Remedy } from "./error-card.js";
import { tellScreenReader } from "./toasts.js";

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
