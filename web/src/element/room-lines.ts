/**
 * Lines that use the room there is: they are longer than any header is wide, and the style sheet cuts them. Where a cut
 * goes through a character, it is far outside of what is seen.
 */

import { makeLines } from "../core/preview.js";
import { ELLIPSIS } from "../core/spaces.js";

/** More than a screen shows in one line. */
const LONGEST = 400;

export const ROOM_LINES = /* @__PURE__ */ makeLines({
  head: (text, size) => text.slice(0, size),
  foot: (text, size) => text.slice(-size),
  firstColumns: (line, _, more) => (more || line.length > LONGEST ? line.slice(0, LONGEST) + ELLIPSIS : line),
  lastColumns: (line, _, more) => (more || line.length > LONGEST ? ELLIPSIS + line.slice(-LONGEST) : line),
});
