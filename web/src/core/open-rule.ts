/**
 * The open rule: a person's choice always wins, else the policy decides by whether the block is live.
 *
 * A choice is made only by a person's act, survives the end of the stream, and is given back by removing it.
 */

import { DEFAULT_POLICY, type Open, type Policy, PRESETS } from "./policy.js";

/** What a person opened (true) or closed (false), by block number, or by PANEL for all of it. */
export type Choices = Map<number, boolean>;

/** The key of the whole panel among the choices. */
export const PANEL = -1;

/** A policy from plain settings: those of `preset` if it is named, overridden by the others. */
export function readPolicy(settings: Partial<Policy> = {}): Policy {
  const preset = settings.preset ?? "default";
  const start = Object.hasOwn(PRESETS, preset) ? PRESETS[preset] : null;
  if (!start)
    throw new RangeError(`There is no preset "${preset}". Choose one of: ${Object.keys(PRESETS).join(", ")}.`);
  return { ...DEFAULT_POLICY, ...start, ...settings, preset };
}

/** The policy after the `/thinking` command: hidden at rest becomes visible, visible becomes hidden. */
export function toggled(policy: Policy): Policy {
  const hides = policy.after_complete === "hidden";
  if (policy.show_thinking && !hides) return { ...policy, show_thinking: false };
  return { ...policy, show_thinking: true, after_complete: hides ? "expanded" : policy.after_complete };
}

/** How much of a block is shown. `unfinished`: its turn is over and the thoughts led to no answer. */
export function openState(policy: Policy, live: boolean, choice: boolean | undefined, unfinished: boolean): Open {
  if (choice !== undefined) return choice ? "expanded" : "collapsed";
  if (live) return policy.while_streaming;
  if (!policy.show_thinking) return "hidden";
  if (!policy.auto_close && policy.while_streaming === "expanded") return "expanded";
  // Thoughts without an answer stay in sight by our own rule, so only in our own preset.
  if (unfinished && policy.preset === "default" && policy.after_complete !== "hidden") return "expanded";
  return policy.after_complete;
}

/** What a person chose for a block: the choice for the block itself, else the one for the panel. */
export function blockChoice(choices: Choices, number: number): boolean | undefined {
  return choices.get(number) ?? choices.get(PANEL);
}

/** What a person chose for the panel; a block opened by hand keeps its panel open. */
export function panelChoice(choices: Choices, numbers: number[]): boolean | undefined {
  if (choices.has(PANEL)) return choices.get(PANEL);
  const own = numbers.map((number) => choices.get(number));
  if (own.includes(true)) return true;
  return own[0] !== undefined && !own.includes(undefined) ? false : undefined;
}
