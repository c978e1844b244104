// Generated from Python by `make core`; do not edit.
/** How thinking is shown: the settings of a display policy, and the presets to start from. */

export type Open = "hidden" | "collapsed" | "peek" | "expanded";
export type Rest = "hidden" | "collapsed" | "expanded";

/** How thinking is shown. A policy holds settings, never state. */
export interface Policy {
  preset: string;
  while_streaming: Open;
  after_complete: Rest;
  auto_close: boolean;
  header: "label" | "preview" | "summary" | "auto";
  show_thinking: boolean;
  remember: "none" | "session" | "user" | "user_workspace";
  live_region: "status" | "content" | "off";
}

/** What holds where nothing else is set: the preset `default`. */
export const DEFAULT_POLICY: Policy = {
  preset: "default",
  while_streaming: "peek",
  after_complete: "collapsed",
  auto_close: true,
  header: "auto",
  show_thinking: true,
  remember: "user_workspace",
  live_region: "status",
};

/** What each preset sets differently. */
export const PRESETS: Record<string, Partial<Policy>> = {
  koder: { while_streaming: "collapsed", header: "label", live_region: "content" },
  preview: { while_streaming: "expanded", header: "preview" },
  toggle: { while_streaming: "expanded", after_complete: "hidden", remember: "user" },
  agent: { while_streaming: "collapsed", header: "preview", remember: "none" },
  trace: { while_streaming: "expanded", header: "summary" },
  default: {},
};
