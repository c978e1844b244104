/**
 * The open rule: a person's choice always wins, else the policy decides by whether the block is live.
 *
 * A choice is made only by a person's act, survives the end of the stream, and is given back by removing it. Hiding all
 * thinking is a choice too, and a later one: it sets the earlier choices aside until thinking is shown again.
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

/** Whether completed thoughts are shown, open or closed. */
export function thinkingShown(policy: Policy): boolean {
  return policy.show_thinking && policy.after_complete !== "hidden";
}

/** The policy after `/thinking show` or `/thinking hide`. */
export function showThinking(policy: Policy, shown: boolean): Policy {
  if (!shown) return { ...policy, show_thinking: false };
  const { after_complete } = policy;
  return { ...policy, show_thinking: true, after_complete: after_complete === "hidden" ? "expanded" : after_complete };
}

/** The policy after the `/thinking` command: hidden at rest becomes visible, visible becomes hidden. */
export function toggled(policy: Policy): Policy {
  return showThinking(policy, !thinkingShown(policy));
}

/**
 * What a person opened and closed. Choices made while thinking was shown are set aside while it is hidden, so that a hide
 * reaches every block, and hold again when it is shown. Choices made while it is hidden last until it is shown.
 */
export class UserChoices {
  #whileShown: Choices = new Map();
  #whileHidden: Choices = new Map();

  /** The choices that hold under the policy; new ones are put there too. */
  current(policy: Policy): Choices {
    if (!policy.show_thinking) return this.#whileHidden;
    this.#whileHidden.clear();
    return this.#whileShown;
  }
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

/** What a person chose for the panel; a block opened by hand keeps its panel open. */
export function panelChoice(choices: Choices, numbers: number[]): boolean | undefined {
  if (choices.has(PANEL)) return choices.get(PANEL);
  const own = numbers.map((number) => choices.get(number));
  if (own.includes(true)) return true;
  return own[0] !== undefined && !own.includes(undefined) ? false : undefined;
}
