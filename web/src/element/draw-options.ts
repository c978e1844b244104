/** What drawing the body needs to know of the element: its attributes, its templates and its renderer. */

import type { ViewContext } from "../core/context.js";
import { PANEL } from "../core/open-rule.js";
import type { Words } from "../core/words.js";
import type { RequestToggle, ToggledBy } from "./disclosure.js";
import { markdown, plain, type Renderer } from "./markdown.js";

/** As much of the element as its body needs. */
export interface BlockElement extends HTMLElement {
  choose(block: number | null, open: boolean | null, by?: ToggledBy): void;
  copy(): Promise<void>;
  refresh(): void;
}

export type CreateRenderer = (root: HTMLElement) => Renderer;

export interface DrawOptions {
  words: Words;
  /** Whether to draw closed steps as well. */
  drawClosed: boolean;
  /** What was noticed about a step, by its number. */
  notices: Map<number, string>;
  /** What the footer offers, or `no-copy`. */
  actions: string[];
  /** How long it took until the first thought, in words. */
  waitText: string;
  /** How many tokens it may take; 0 where nobody says. */
  tokenBudget: number;
  requestToggle(number: number): RequestToggle;
  renderer(root: HTMLElement): Renderer;
  /** What a page adds to every step of a kind. */
  templates: Map<string, HTMLTemplateElement>;
}

export function drawOptions(
  { turn, state, words, choices }: ViewContext,
  element: BlockElement,
  drawClosed: boolean,
  renderer: CreateRenderer | null,
): DrawOptions {
  const attribute = (name: string): string => element.getAttribute(name) ?? "";
  const waitedMs = (turn.blocks[0]?.startedMs ?? 0) - (turn.startedMs ?? Infinity);
  const ownRenderer = (root: HTMLElement): Renderer =>
    attribute("render") === "plain" ? plain(root) : markdown(root, (key) => words.say(key));
  const actions = attribute("actions").split(" ");
  if (element.hasAttribute("no-copy")) actions.push("no-copy");
  if (choices.size) actions.push("reset");
  return {
    words,
    drawClosed: drawClosed && state !== "thinking",
    actions,
    notices: new Map(
      turn.notices.map(({ block, text, code }) => [
        block ?? PANEL,
        code === "repeating" ? words.say("notice.repeating") : text || code,
      ]),
    ),
    waitText: waitedMs < 1000 ? "" : words.say("waited", { duration: words.duration(waitedMs) }),
    tokenBudget: Number(attribute("token-budget")) || 0,
    requestToggle: (number) => (open, by) => element.choose(number, open, by),
    renderer: renderer ?? ownRenderer,
    templates: new Map(Array.from(element.querySelectorAll("template"), (template) => [template.slot, template])),
  };
}
