/**
 * A `<details>` that knows who moved it.
 *
 * The browser's `toggle` event cannot tell a person from a program, so a person's act is taken from the
 * click on the summary (a key makes a click as well), and an opening that nobody here asked for is the
 * browser's own: a find in the page or a link to a text.
 */

import { make, mark } from "./dom.js";
import { icon } from "./icons.js";

export type By = "user" | "find" | "policy";

/** Asks for a change; what comes of it is decided elsewhere. */
export type Ask = (open: boolean, by: By) => void;

export interface Fold {
  details: HTMLDetailsElement;
  summary: HTMLElement;
  /** Open it or close it. */
  turn(open: boolean): void;
}

/** A fold with these nodes in its header and those behind it. */
export function fold(part: string, ask: Ask, header: HTMLElement[], ...behind: HTMLElement[]): Fold {
  const chevron = make("span", "chevron", icon("chevron"));
  const summary = make("summary", part, ...header, chevron);
  const details = make("details", "", summary, ...behind);
  let wanted = false;
  const turn = (open: boolean): void => {
    wanted = open;
    if (details.open !== open) details.open = open;
  };
  mark(chevron, "aria-hidden", "true");
  summary.onclick = (event) => {
    event.preventDefault();
    ask(!wanted, "user");
  };
  details.ontoggle = () => {
    if (details.open !== wanted) ask(details.open, "find");
    turn(wanted);
  };
  return { details, summary, turn };
}
