/**
 * A `<details>` that knows who moved it.
 *
 * The browser's `toggle` event cannot tell a person from a program, so a person's act is taken from the
 * click on the summary (a key makes a click as well), and an opening that nobody here asked for is the
 * browser's own: a find in the page or a link to a text.
 */

import { icon } from "./icons.js";
import { make } from "./dom.js";

export type By = "user" | "find" | "policy";

/** Asks for a change; what comes of it is decided elsewhere. */
export type Ask = (open: boolean, by: By) => void;

export class Fold {
  readonly details = make("details");
  readonly summary: HTMLElement;
  readonly chevron = make("span", "chevron", icon("chevron"));
  #wanted = false;

  constructor(part: string, ask: Ask) {
    this.summary = make("summary", part);
    this.chevron.ariaHidden = "true";
    this.details.append(this.summary);
    this.summary.addEventListener("click", (event) => {
      event.preventDefault();
      ask(!this.#wanted, "user");
    });
    this.details.addEventListener("toggle", () => {
      const { open } = this.details;
      if (open !== this.#wanted) ask(open, "find");
      this.open = this.#wanted;
    });
  }

  get open(): boolean {
    return this.#wanted;
  }

  set open(open: boolean) {
    this.#wanted = open;
    if (this.details.open !== open) this.details.open = open;
  }
}
