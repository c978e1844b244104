/**
 * What is behind the header: the steps, the footer, and where in it the reader is. A chunk of its own, loaded when
 * the first block of a page is opened, or when the page is idle.
 */

import type { ViewContext } from "../core/context.js";
import { type Choices, PANEL } from "../core/open-rule.js";
import { bodyView, type StepView } from "../core/steps.js";
import type { PanelView } from "../core/thinking.js";
import type { Words } from "../core/words.js";
import { AutoClose } from "./auto-close.js";
import { bodyIcon } from "./body-icons.js";
import { bodyStyles } from "./body-styles.js";
import { button } from "./button.js";
import { fireEvent, hide, make, mark, put, slot, spans } from "./dom.js";
import { type BlockElement, type CreateRenderer, type DrawOptions, drawOptions } from "./draw-options.js";

import type { Panel } from "./panel.js";
import { anchorScroll } from "./scroll-anchor.js";
import { type StepList, stepList } from "./step-list.js";

export { bodyStyles, bodyView };

/** A reader who is this close to the end of the text follows it. */
const NEAR_PX = 8;

export interface Body {
  /** `drawClosed` draws closed steps as well; `renderer` is a page's own. */
  draw(context: ViewContext, view: PanelView, drawClosed: boolean, renderer: CreateRenderer | null): void;
  /** Shows new text, where nothing but text was added. */
  grow(): void;
  /** Removes everything that was drawn. */
  clear(): void;
  autoClose: AutoClose;
}

/** Fills a panel with a body. */
export function createBody({ root, details, summary, notice, content }: Panel, element: BlockElement): Body {
  const facts = spans("status waited tokens");
  const [status, waited, tokens] = facts;
  const budget = make("meter", "budget");
  const retry = button("retry", () => fireEvent(element, "retry"));
  const answerNow = button("answer-now", () => fireEvent(element, "answer-now"));
  const copy = button("copy", () => element.copy());
  const reset = button("reset", () => {
    summary.focus();
    choices.clear();
    element.choose(null, null);
  });
  const showAll = button("show-all", () => {
    content.classList.toggle("all");
    drawOffers();
  });
  const timeline = button("timeline", () => {
    timelineShown = !timelineShown;
    element.refresh();
  });
  const close = button("close", () => {
    element.choose(null, false);
    summary.focus();
  });
  const actionsNode = make("span", "actions", slot("actions"), showAll, timeline, copy, reset, close);
  const outside = make("div", "outside");
  const tree = root.getRootNode() as ShadowRoot & { getSelection?: () => Selection };
  let choices: Choices;
  let list: StepList;
  let follows: boolean;
  let live = false;
  let lastScrollTop = 0;
  let words: Words;
  let timelineShown = false;
  let timelineNode: HTMLElement | undefined;

  hide(showAll, true);
  details.append(make("div", "footer", ...facts, budget, actionsNode));
  details.after(outside);
  content.onscroll = () => {
    const { scrollTop, scrollHeight, clientHeight } = content;
    if (scrollHeight - scrollTop - clientHeight < NEAR_PX) follows = true;
    else if (scrollTop < lastScrollTop) follows = false;
    lastScrollTop = scrollTop;
    drawOffers();
  };
  clear();

  function clear(): void {
    list = stepList();
    content.replaceChildren();
    follows = true;
  }

  function draw(context: ViewContext, view: PanelView, drawClosed: boolean, renderer: CreateRenderer | null): void {
    const options = drawOptions(context, element, drawClosed, renderer);
    choices = context.choices;
    drawFooter(view, options);
    live = view.status === "thinking";
    if (view.open !== "expanded" && !options.drawClosed) return;
    words = context.words;
    const { steps } = bodyView(context);
    drawSteps(steps, options);
    put(timeline, words.say(timelineShown ? "steps" : "timeline"));
    hide(timeline, !steps[1] && !steps[0]?.steps[0]);
    drawTimelineOf(context);
    scrollToEnd();
    if (!live) drawOffers();
  }

  /** Bars in the place of the steps, where a person wants to see the times. */
  function drawTimelineOf(context: ViewContext): void {
    timelineNode?.remove();
    for (const node of content.children) hide(node, timelineShown);
    if (timelineShown)
      void import("./timeline.js").then(({ drawTimeline }) => {
        timelineNode?.remove();
        timelineNode = drawTimeline(context);
        if (timelineShown) content.prepend(timelineNode);
        drawOffers();
      });
  }

  /** Offers to show all of a text that scrolls. */
  function drawOffers(): void {
    const all = content.classList.contains("all");
    put(showAll, words?.say(all ? "show_less" : "show_all") ?? "");
    hide(showAll, !all && content.scrollHeight <= content.clientHeight + NEAR_PX);
  }

  function drawFooter(view: PanelView, { words, actions: offered, waitText, tokenBudget }: DrawOptions): void {
    const { status: state, tokens: used } = view;
    put(status, state === "interrupted" ? view.label : words.say(`status.${state}`));
    if (!status.firstElementChild) status.prepend(bodyIcon(state));
    put(waited, waitText);
    const ofBudget = used && tokenBudget ? words.say("tokens_of", { n: used, of: words.count(tokenBudget) }) : "";
    put(tokens, ofBudget || view.tokens_text);
    Object.assign(budget, { max: tokenBudget, high: tokenBudget * 0.9, value: used ?? 0, title: tokens.textContent });
    mark(budget, "aria-hidden", "true");
    hide(budget, !ofBudget);
    const offer = (node: HTMLElement, shown: boolean): void => {
      put(node, words.say(node.className.replace("-", "_")));
      hide(node, !shown);
    };
    offer(retry, true);
    if (!offered.includes("retry")) retry.remove();
    else if (!retry.isConnected) notice.append(retry);
    offer(answerNow, state === "thinking" && offered.includes("answer-now"));
    offer(copy, !offered.includes("no-copy"));
    offer(reset, offered.includes("reset"));
    offer(close, true);
    // Nobody has to open the block to press this one.
    const place = view.open === "expanded" ? actionsNode : outside;
    if (answerNow.parentNode !== place) place.prepend(answerNow);
    hide(outside, place === actionsNode || answerNow.hidden);
  }

  function drawSteps(steps: StepView[], options: DrawOptions): void {
    const [first, second] = steps;
    if (!first) return;
    const single = !second && first.kind === "reasoning" && !first.steps[0];
    const nodes = single ? list.drawSingle(first, options) : list.draw(steps, options);
    if (nodes.parentNode !== content) content.replaceChildren(nodes);
  }

  function scrollToEnd(): void {
    if (live && follows && details.open) content.scrollTop = content.scrollHeight;
  }

  /** Where in the body the reader is, by focus or selection. */
  function readerPlace(): number | null {
    // Chromium tells the shadow root what is selected in it, others tell whoever names the shadow root.
    const own = tree.getSelection?.();
    const range = own?.anchorNode
      ? own.getRangeAt(0)
      : element.ownerDocument.getSelection()?.getComposedRanges?.(tree as never)[0];
    const focused = tree.activeElement === summary ? null : tree.activeElement;
    const place = focused ?? (!range?.collapsed && range?.startContainer);
    if (!place || !details.contains(place)) return null;
    const step = (place instanceof Element ? place : place.parentElement)?.closest(".step-body");
    return step ? Number(step.closest<HTMLElement>(".step")?.dataset.block) : PANEL;
  }

  return {
    clear,
    draw,
    grow() {
      list.grow();
      scrollToEnd();
    },
    autoClose: new AutoClose(readerPlace, () => anchorScroll(root, details.offsetHeight - summary.offsetHeight)),
  };
}
