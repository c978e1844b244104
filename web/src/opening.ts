/**
 * The open rule and the policy it asks: a person's choice always wins, else the policy decides by whether
 * the block is live.
 *
 * The twin of the Python package's `view.opening` and `view.policy`. A choice is made only by a person's
 * act, survives the end of the stream, and can be given back by removing it.
 */

export type Open = "hidden" | "collapsed" | "peek" | "expanded";
export type Rest = "hidden" | "collapsed" | "expanded";

/** How thinking is shown. A policy holds wishes, never state. */
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

/** What a person opened (true) or closed (false), by block number, or by PANEL for all of it. */
export type Choices = Map<number, boolean>;

/** The key of the whole panel among the choices. */
export const PANEL = -1;

const DEFAULT: Policy = {
  preset: "default",
  while_streaming: "peek",
  after_complete: "collapsed",
  auto_close: true,
  header: "auto",
  show_thinking: true,
  remember: "user_workspace",
  live_region: "status",
};

const PRESETS: Record<string, Partial<Policy>> = {
  koder: { while_streaming: "collapsed", header: "label", live_region: "content" },
  preview: { while_streaming: "expanded", header: "preview" },
  toggle: { while_streaming: "expanded", after_complete: "hidden", remember: "user" },
  agent: { while_streaming: "collapsed", header: "preview", remember: "none" },
  trace: { while_streaming: "expanded", header: "summary" },
  default: {},
};

/** A policy from plain settings: those of `preset` if it is named, with the others laid over them. */
export function readPolicy(settings: Partial<Policy> = {}): Policy {
  const preset = settings.preset ?? "default";
  const start = Object.hasOwn(PRESETS, preset) ? PRESETS[preset] : null;
  if (!start) throw new RangeError(`There is no preset "${preset}". Choose one of: ${Object.keys(PRESETS).join(", ")}.`);
  return { ...DEFAULT, ...start, ...settings, preset };
}

/** What the `/thinking` command makes of a policy: hidden at rest becomes shown, shown becomes hidden. */
export function toggled(policy: Policy): Policy {
  const hides = policy.after_complete === "hidden";
  if (policy.show_thinking && !hides) return { ...policy, show_thinking: false };
  return { ...policy, show_thinking: true, after_complete: hides ? "expanded" : policy.after_complete };
}

/** How much of a block is shown. `unfinished`: its turn is over and the thoughts led to no answer. */
export function openState(policy: Policy, live: boolean, user: boolean | undefined, unfinished: boolean): Open {
  if (user !== undefined) return user ? "expanded" : "collapsed";
  if (live) return policy.while_streaming;
  if (!policy.show_thinking) return "hidden";
  if (!policy.auto_close && policy.while_streaming === "expanded") return "expanded";
  // Thoughts that led nowhere stay in sight by our own rule, so only in our own preset.
  if (unfinished && policy.preset === "default" && policy.after_complete !== "hidden") return "expanded";
  return policy.after_complete;
}

/** What a person chose for a block: the choice for the block itself, else the one for the panel. */
export function chosen(choices: Choices, number: number): boolean | undefined {
  return choices.get(number) ?? choices.get(PANEL);
}

/** What a person chose for the panel; a block opened by hand keeps its panel open. */
export function chosenPanel(choices: Choices, numbers: number[]): boolean | undefined {
  if (choices.has(PANEL)) return choices.get(PANEL);
  const said = numbers.map((number) => choices.get(number));
  if (said.includes(true)) return true;
  return said[0] !== undefined && !said.includes(undefined) ? false : undefined;
}
