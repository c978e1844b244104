/** Lets JSX know the element: its properties, its attributes and its events. React 19 sets and hears them itself. */

import type { HTMLAttributes, RefAttributes } from "react";
import type { ThinkingBlockElement } from "thinking-block";
import type { BlockAttributes, Toggle } from "../attributes.js";

declare module "react" {
  namespace JSX {
    interface IntrinsicElements {
      "thinking-block": HTMLAttributes<ThinkingBlockElement> &
        RefAttributes<ThinkingBlockElement> &
        BlockAttributes & { "onthinking-toggle"?: (event: Toggle) => void };
    }
  }
}
