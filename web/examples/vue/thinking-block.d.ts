/** Lets templates know the element: its properties, its attributes and its events. */

import type { HTMLAttributes, PublicProps } from "vue";
import type { BlockAttributes, Toggle } from "../attributes.js";

declare module "vue" {
  interface GlobalComponents {
    "thinking-block": new () => {
      $props: HTMLAttributes & PublicProps & BlockAttributes & { onThinkingToggle?: (event: Toggle) => void };
    };
  }
}
