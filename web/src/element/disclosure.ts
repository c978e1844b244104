/**
 * A `<details>` that knows who opened or closed it.
 *
 * The browser's `toggle` event cannot tell a person from a program. So a person's act is taken from the click on the
 * summary (a key makes a click as well), and an opening that nobody here asked for is the browser's own: a find in
 * the page or a link to a text.
 */

import { make, mark } from "./dom.js";
import { icon } from "./icons.js";

export type ToggledBy = "user" | "find" | "policy";

/** Asks for a change; whether it happens is decided elsewhere. */
export type RequestToggle = (open: boolean, by: ToggledBy) => void;

export interface Disclosure {
  details: HTMLDetailsElement;
  summary: HTMLElement;
  setOpen(open: boolean): void;
}

/** A disclosure with these nodes in its header and those behind it. */
export function disclosure(
  part: string,
  requestToggle: RequestToggle,
  header: HTMLElement[],
  ...content: HTMLElement[]
): Disclosure {
  const chevron = make("span", "chevron", icon("chevron"));
  const summary = make("summary", part, ...header, chevron);
  const details = make("details", "", summary, ...content);
  let wanted = false;
  const setOpen = (open: boolean): void => {
    wanted = open;
    if (details.open !== open) details.open = open;
  };
  mark(chevron, "aria-hidden", "true");
  summary.onclick = (event) => {
    event.preventDefault();
    requestToggle(!wanted, "user");
  };
  details.ontoggle = () => {
    if (details.open !== wanted) requestToggle(details.open, "find");
    setOpen(wanted);
  };
  return { details, summary, setOpen };
}
