/**
 * What is behind the header: the steps, the footer, and where in it the reader is. A chunk of its own, loaded when
 * the first block of a page is opened, or when the page is idle.
 */

import type { ViewContext } from "../core/context.js";
import { type Choices, PANEL } from "../core/open-rule.js";
import { bodyView, type StepView } from "../core/steps.js";
import type { PanelView } from "../core/thinking.js";
import type { Words } from "../core/words.js";
import { AutoClose, anchorScroll } from "./auto-close.js";
import { bodyStyles } from "./body-styles.js";
import type { ToggledBy } from "./disclosure.js";
import { button, fireEvent, hide, make, mark, put, slot, span } from "./dom.js";
import { addIcons, icon } from "./icons.js";
import { markdown, plain, type Renderer } from "./markdown.js";
import type { Panel } from "./panel.js";
import { StepList, type StepOptions } from "./step-list.js";

export { bodyStyles, bodyView };

addIcons({
  assistant_call: "M8 2v2M3.5 4h9v7.5h-9ZM6 7.2v1M10 7.2v1M5.5 14h5",
  done: "m3.5 8.5 3 3 6-7",
  lock: "M4 7.5h8v6H4ZM5.8 7.5v-2a2.2 2.2 0 0 1 4.4 0v2",
});

/** A reader who is this close to the end of the text follows it. */
const NEAR_PX = 8;
/** A wait for the first thought is worth telling from here on. */
const WAIT_MS = 1000;

/** As much of the element as its body needs. */
export interface BlockElement extends HTMLElement {
  choose(block: number | null, open: boolean | null, by?: ToggledBy): void;
  copy(): Promise<void>;
  refresh(): void;
}

export type CreateRenderer = (root: HTMLElement) => Renderer;

/** Fills a panel with the steps of a turn and a footer. */
export class Body {
  readonly autoClose: AutoClose;
  #panel: Panel;
  #element: BlockElement;
  #tree: ShadowRoot & { getSelection?: () => Selection };
  #status = span("status");
  #waited = span("waited");
  #tokens = span("tokens");
  #budget = make("meter", "budget");
  #retry = button("retry", () => fireEvent(this.#element, "retry"));
  #answerNow = button("answer-now", () => fireEvent(this.#element, "answer-now"));
  #copy = button("copy", () => this.#element.copy());
  #reset = button("reset", () => this.#resetChoices());
  #showAll = button("show-all", () => this.#toggleShowAll());
  #timeline = button("timeline", () => this.#toggleTimeline());
  #close = button("close", () => this.#closePanel());
  #actions: HTMLElement;
  #outside = make("div", "outside");
  #list = new StepList();
  #choices: Choices | undefined;
  #words: Words | undefined;
  #live = false;
  /** Whether the reader is at the end of the text, which then stays in sight as it grows. */
  #follows = true;
  #lastScrollTop = 0;
  #timelineShown = false;
  #timelineNode: HTMLElement | undefined;

  constructor(panel: Panel, element: BlockElement) {
    const { root, details, summary, content } = panel;
    this.#panel = panel;
    this.#element = element;
    this.#tree = root.getRootNode() as ShadowRoot;
    const buttons = [this.#showAll, this.#timeline, this.#copy, this.#reset, this.#close];
    this.#actions = make("span", "actions", slot("actions"), ...buttons);
    this.autoClose = new AutoClose(
      () => this.#readerPlace(),
      () => anchorScroll(root, details.offsetHeight - summary.offsetHeight),
    );
    hide(this.#showAll, true);
    mark(this.#budget, "aria-hidden", "true"); // the words beside it say the same
    details.append(make("div", "footer", this.#status, this.#waited, this.#tokens, this.#budget, this.#actions));
    details.after(this.#outside);
    content.replaceChildren();
    content.onscroll = () => this.#noteScroll();
  }

  /** Removes everything that was drawn. */
  clear(): void {
    this.#list = new StepList();
    this.#panel.content.replaceChildren();
    this.#follows = true;
  }

  /** `drawClosed` draws closed steps as well; `renderer` is a page's own. */
  draw(context: ViewContext, view: PanelView, drawClosed: boolean, renderer: CreateRenderer | null): void {
    this.#choices = context.choices;
    this.#words = context.words;
    this.#live = view.status === "thinking";
    this.#drawFacts(context, view);
    this.#drawButtons(view, context.words);
    const drawsClosed = drawClosed && !this.#live;
    if (view.open !== "expanded" && !drawsClosed) return;
    const { steps } = bodyView(context);
    this.#drawSteps(steps, this.#stepOptions(context, drawsClosed, renderer));
    put(this.#timeline, context.words.say(this.#timelineShown ? "steps" : "timeline"));
    hide(this.#timeline, !steps[1] && !steps[0]?.steps[0]);
    this.#drawTimeline(context);
    this.#scrollToEnd();
    if (!this.#live) this.#drawShowAll();
  }

  /** Shows new text, where nothing but text was added. */
  grow(): void {
    this.#list.grow();
    this.#scrollToEnd();
  }

  #attribute(name: string): string {
    return this.#element.getAttribute(name) ?? "";
  }

  #stepOptions({ turn, words }: ViewContext, drawClosed: boolean, renderer: CreateRenderer | null): StepOptions {
    const element = this.#element;
    const ownRenderer = (root: HTMLElement): Renderer =>
      this.#attribute("render") === "plain" ? plain(root) : markdown(root, (key) => words.say(key));
    const notices = new Map<number, string>();
    for (const { block, text, code } of turn.notices)
      notices.set(block ?? PANEL, code === "repeating" ? words.say("notice.repeating") : text || code);
    return {
      words,
      drawClosed,
      notices,
      requestToggle: (number) => (open, by) => element.choose(number, open, by),
      renderer: renderer ?? ownRenderer,
      templates: new Map(Array.from(element.querySelectorAll("template"), (template) => [template.slot, template])),
    };
  }

  #drawSteps(steps: StepView[], options: StepOptions): void {
    const { content } = this.#panel;
    const [first, second] = steps;
    if (!first) return;
    const single = !second && first.kind === "reasoning" && !first.steps[0];
    const nodes = single ? this.#list.drawSingle(first, options) : this.#list.draw(steps, options);
    if (nodes.parentNode !== content) content.replaceChildren(nodes);
  }

  /** Bars in the place of the steps, where a person wants to see the times. */
  #drawTimeline(context: ViewContext): void {
    const { content } = this.#panel;
    this.#timelineNode?.remove();
    for (const node of content.children) hide(node, this.#timelineShown);
    if (!this.#timelineShown) return;
    void import("./timeline.js").then(({ drawTimeline }) => {
      this.#timelineNode?.remove();
      this.#timelineNode = drawTimeline(context);
      if (this.#timelineShown) content.prepend(this.#timelineNode);
      this.#drawShowAll();
    });
  }

  /** Where it stands, how long it took until the first thought, and the tokens. */
  #drawFacts({ turn, words }: ViewContext, view: PanelView): void {
    const { status, tokens } = view;
    const waitedMs = (turn.blocks[0]?.startedMs ?? 0) - (turn.startedMs ?? Infinity);
    const max = Number(this.#attribute("token-budget")) || 0;
    const ofBudget = tokens && max ? words.say("tokens_of", { n: tokens, of: words.count(max) }) : "";
    put(this.#status, status === "interrupted" ? view.label : words.say(`status.${status}`));
    if (!this.#status.firstElementChild) this.#status.prepend(icon(status));
    put(this.#waited, waitedMs < WAIT_MS ? "" : words.say("waited", { duration: words.duration(waitedMs) }));
    put(this.#tokens, ofBudget || view.tokens_text);
    Object.assign(this.#budget, { max, high: max * 0.9, value: tokens ?? 0, title: this.#tokens.textContent });
    hide(this.#budget, !ofBudget);
  }

  #drawButtons({ status, open }: PanelView, words: Words): void {
    const { notice } = this.#panel;
    const actions = this.#attribute("actions").split(" ");
    const offer = (node: HTMLElement, offered: boolean): void => {
      put(node, words.say(node.className.replace("-", "_")));
      hide(node, !offered);
    };
    offer(this.#retry, true);
    if (!actions.includes("retry")) this.#retry.remove();
    else if (!this.#retry.isConnected) notice.append(this.#retry);
    offer(this.#answerNow, status === "thinking" && actions.includes("answer-now"));
    offer(this.#copy, !this.#element.hasAttribute("no-copy"));
    offer(this.#reset, !!this.#choices?.size);
    offer(this.#close, true);
    // Nobody has to open the block to press this one.
    const place = open === "expanded" ? this.#actions : this.#outside;
    if (this.#answerNow.parentNode !== place) place.prepend(this.#answerNow);
    hide(this.#outside, place === this.#actions || this.#answerNow.hidden);
  }

  /** Offers to show all of a text that scrolls. */
  #drawShowAll(): void {
    const { content } = this.#panel;
    const all = content.classList.contains("all");
    put(this.#showAll, this.#words?.say(all ? "show_less" : "show_all") ?? "");
    hide(this.#showAll, !all && content.scrollHeight <= content.clientHeight + NEAR_PX);
  }

  #toggleShowAll(): void {
    this.#panel.content.classList.toggle("all");
    this.#drawShowAll();
  }

  #toggleTimeline(): void {
    this.#timelineShown = !this.#timelineShown;
    this.#element.refresh();
  }

  #resetChoices(): void {
    this.#panel.summary.focus();
    this.#choices?.clear();
    this.#element.choose(null, null);
  }

  #closePanel(): void {
    this.#element.choose(null, false);
    this.#panel.summary.focus();
  }

  #noteScroll(): void {
    const { scrollTop, scrollHeight, clientHeight } = this.#panel.content;
    if (scrollHeight - scrollTop - clientHeight < NEAR_PX) this.#follows = true;
    else if (scrollTop < this.#lastScrollTop) this.#follows = false;
    this.#lastScrollTop = scrollTop;
    this.#drawShowAll();
  }

  #scrollToEnd(): void {
    const { content, details } = this.#panel;
    if (this.#live && this.#follows && details.open) content.scrollTop = content.scrollHeight;
  }

  /** Where in the body the reader is, by focus or selection. */
  #readerPlace(): number | null {
    const { summary, details } = this.#panel;
    // Chromium tells the shadow root what is selected in it, others tell whoever names the shadow root.
    const own = this.#tree.getSelection?.();
    const range = own?.anchorNode
      ? own.getRangeAt(0)
      : this.#element.ownerDocument.getSelection()?.getComposedRanges?.(this.#tree as never)[0];
    const { activeElement } = this.#tree;
    const focused = activeElement === summary ? null : activeElement;
    const place = focused ?? (!range?.collapsed && range?.startContainer);
    if (!place || !details.contains(place)) return null;
    const step = (place instanceof Element ? place : place.parentElement)?.closest(".step-body");
    return step ? Number(step.closest<HTMLElement>(".step")?.dataset.block) : PANEL;
  }
}
