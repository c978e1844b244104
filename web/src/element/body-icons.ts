/** The icons that only the body shows; the others are in `icons.ts`. */

import { drawIcon, icon } from "./icons.js";

const PATHS: Record<string, string> = {
  assistant_call: "M8 2v2M3.5 4h9v7.5h-9ZM6 7.2v1M10 7.2v1M5.5 14h5",
  done: "m3.5 8.5 3 3 6-7",
  lock: "M4 7.5h8v6H4ZM5.8 7.5v-2a2.2 2.2 0 0 1 4.4 0v2",
};

/** The icon of a kind or a status. */
export function bodyIcon(name: string): ChildNode {
  const path = PATHS[name];
  return path ? drawIcon(path) : icon(name);
}
