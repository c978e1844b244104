/** White space, and what every cut of a text needs to know. */

export const ELLIPSIS = "…";

// White space as Python splits at it; a byte order mark is none.
export const SPACE = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const SPACES = new RegExp(`[${SPACE}]+`, "g");
const VISIBLE = new RegExp(`[^${SPACE}]`);

/** Whether there is nothing in a text that a person could read. */
export function blankText(text: string): boolean {
  return !VISIBLE.test(text);
}

/** One space for every run of white space, and none at either end. */
export function collapse(text: string): string {
  return text.replace(SPACES, " ").replace(/^ | $/g, "");
}
