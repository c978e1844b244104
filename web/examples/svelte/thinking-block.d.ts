/** Lets templates know the element: its properties, its attributes and its events. */

import type { HTMLAttributes } from "svelte/elements";
import type { ThinkingBlockElement } from "thinking-block";
import type { BlockAttributes, Toggle } from "../attributes.js";

declare module "svelte/elements" {
  interface SvelteHTMLElements {
    "thinking-block": HTMLAttributes<ThinkingBlockElement> & BlockAttributes & { "onthinking-toggle"?: (event: Toggle) => void };
  }
}
