/**
 * What is behind the header: the steps, the footer, and a reader who is in there. A chunk of its own, loaded when
 * the first block of a page is opened, or when the page has nothing better to do.
 */

import { button } from "./button.js";
import { hide, make, mark, put, slot, spans } from "./dom.js";
import { icon } from "./icons.js";
import { PANEL } from "./opening.js";
import type { Panel } from "./panel.js";
import { holdStill } from "./scrolling.js";
import { type StepList, stepList, type Surroundings } from "./steps.js";
import { bodyStyles } from "./body-styles.js";
import { type BodyView, bodyView } from "./step-views.js";
import type { PanelView, Scene } from "./view.js";

export { markdown, plain } from "./markdown.js";
export { bodyView };

/** So close to its end the reader follows the text. */
const NEAR_PX = 8;

/** What a person can do by a button. */
export type Act = "copy" | "close" | "retry" | "answer-now" | "reset";

export interface Body {
  draw(scene: Scene, seen: PanelView, around: Surroundings): void;
  /** Show what came since, where nothing but text did. */
  grow(): void;
  /** Begin again with nothing drawn. */
  clear(): void;
  /** Get ready to close without moving what the reader looks at; false where that cannot be. */
  holdStill(): (() => void) | false;
  /** Where in the body the reader is, by focus or selection: the step, or PANEL outside of any; else null. */
  held(): number | null;
}

/** Furnish a panel. */
export function body({ root, details, summary, notice, home }: Panel, act: (name: Act) => unknown): Body {
  const facts = spans("status waited tokens");
  const [status, waits, tokens] = facts;
  const budget = make("meter", "budget");
  const made = (name: Act): HTMLElement => button(name, () => act(name));
  const [retry, hurry, copy, reset, close] = [made("retry"), made("answer-now"), made("copy"), made("reset"), made("close")];
  const actions = make("span", "actions", slot("actions"), copy, reset, close);
  const outside = make("div", "outside");
  const tree = root.getRootNode() as ShadowRoot & { getSelection?: () => Selection };
  let list: StepList;
  let follows: boolean;
  let live = false;
  let top = 0;

  details.append(make("div", "footer", ...facts, budget, actions));
  details.after(outside);
  tree.adoptedStyleSheets.push(bodyStyles());
  home.onscroll = () => {
    const { scrollTop, scrollHeight, clientHeight } = home;
    if (scrollHeight - scrollTop - clientHeight < NEAR_PX) follows = true;
    else if (scrollTop < top) follows = false;
    top = scrollTop;
  };
  clear();

  function clear(): void {
    list = stepList();
    home.replaceChildren();
    follows = true;
  }

  function draw(scene: Scene, seen: PanelView, around: Surroundings): void {
    footer(seen, around);
    live = seen.status === "thinking";
    if (seen.open !== "expanded" && !around.deep) return;
    fill(bodyView(scene), around);
    follow();
  }

  function footer(seen: PanelView, around: Surroundings): void {
    const { status: standing, label, tokens: used, tokens_text } = seen;
    const { words, offers } = around;
    put(status, standing === "interrupted" ? label : words.say(`status.${standing}`));
    if (!status.firstElementChild) status.prepend(icon(standing));
    put(waits, around.waited);
    put(tokens, used && around.budget ? words.say("tokens_of", { n: used, of: words.count(around.budget) }) : tokens_text);
    Object.assign(budget, { max: around.budget, high: around.budget * 0.9, value: used ?? 0, title: tokens.textContent });
    mark(budget, "aria-hidden", "true");
    hide(budget, !used || !around.budget);
    const offer = (node: HTMLElement, offered: boolean): void => {
      put(node, words.say(node.className.replace("-", "_")));
      hide(node, !offered);
    };
    offer(retry, true);
    if (!offers.includes("retry")) retry.remove();
    else if (!retry.isConnected) notice.append(retry);
    offer(hurry, standing === "thinking" && offers.includes("answer-now"));
    offer(copy, !offers.includes("no-copy"));
    offer(reset, offers.includes("reset"));
    offer(close, true);
    // To hurry it, nobody has to open it first.
    const place = seen.open === "expanded" ? actions : outside;
    if (hurry.parentNode !== place) place.prepend(hurry);
    hide(outside, place === actions || hurry.hidden);
  }

  function fill({ steps }: BodyView, around: Surroundings): void {
    const [first, second] = steps;
    if (!first) return;
    const alone = !second && first.kind === "reasoning" && !first.steps[0];
    const nodes = alone ? list.alone(first, around) : list.draw(steps, around);
    if (nodes.parentNode !== home) home.replaceChildren(nodes);
  }

  function follow(): void {
    if (live && follows && details.open) home.scrollTop = home.scrollHeight;
  }

  return {
    clear,
    draw,
    grow() {
      list.grow();
      follow();
    },
    holdStill: () => holdStill(root, details.offsetHeight - summary.offsetHeight),
    held() {
      // Chromium tells the tree what is selected in it, others tell whoever names the tree.
      const own = tree.getSelection?.();
      const range = own?.anchorNode ? own.getRangeAt(0) : document.getSelection()?.getComposedRanges?.(tree as never)[0];
      const focused = tree.activeElement === summary ? null : tree.activeElement;
      const at = focused ?? (!range?.collapsed && range?.startContainer);
      if (!at || !details.contains(at)) return null;
      const within = (at instanceof Element ? at : at.parentElement)?.closest(".step-body");
      return within ? Number(within.closest<HTMLElement>(".step")?.dataset.block) : PANEL;
    },
  };
}
