/** What a template may write on `<thinking-block>`, and what it may hear: the part that is the same in every framework. */

import type { Policy } from "thinking-block";

export interface BlockAttributes {
  policy?: Partial<Policy>;
  preset?: "koder" | "preview" | "toggle" | "agent" | "trace" | "default";
  live?: "closed" | "preview" | "open" | "hidden";
  rest?: "closed" | "open" | "hidden";
  header?: "label" | "preview" | "summary" | "auto";
  render?: "markdown" | "plain";
  actions?: string;
  "no-copy"?: boolean;
}

export type Toggle = CustomEvent<{ open: boolean; by: "user" | "find" | "policy"; block: number | null }>;
