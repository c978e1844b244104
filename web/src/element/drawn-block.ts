/**
 * The drawing half of `<thinking-block>`: keeps the turn, the policy, the language and a person's choices, and draws them.
 * The public contract is in `element.ts`. What is behind the header is loaded when somebody first opens it.
 */

import { type ViewContext, viewContext } from "../core/context.js";
import { notice } from "../core/labels.js";
import type { Locale } from "../core/locales.js";
import { type Choices, PANEL, readPolicy, UserChoices } from "../core/open-rule.js";
import type { Policy } from "../core/policy.js";
import { WIDE_LINES } from "../core/preview.js";
import type { BlockStatus } from "../core/state.js";
import type { BodyView } from "../core/steps.js";
import type { FindSentence } from "../core/summary.js";
import { blockStatus, type PanelView, panelView, waitingView } from "../core/thinking.js";
import type { Block } from "../core/turn.js";
import type { Formatters, Words } from "../core/words.js";
import { setText, TurnFeed } from "../sources/turn-feed.js";
import { StatusAnnouncer } from "./announcer.js";
import { applyAttribute, BLOCK_ATTRIBUTES, Language, OwnText, policySettings, startedAt } from "./attributes.js";
import type { Body } from "./body.js";
import type { ToggledBy } from "./disclosure.js";
import { fireEvent, hide, mark, slot } from "./dom.js";
import { headerStyles } from "./header-styles.js";
import { playIcons, stopIcons } from "./icons.js";
import type { Renderer } from "./markdown.js";
import { Panel, showsNewText } from "./panel.js";

/** More text than this is not drawn ahead for the browser's own search. */
const DRAW_AHEAD_LIMIT = 200_000;

/** What only grew is shown no more often than this, and the newest line alone less often. */
const GROW_MS = 60;
const PEEK_MS = 100;

// Chunks that are loaded when the first element needs them, for all of them.
let findSentence: FindSentence | undefined;
let bodyChunk: typeof import("./body.js") | undefined;

/** What was drawn last; nothing is drawn of a block that is new. */
interface Drawing {
  view: PanelView | null;
  status: BlockStatus | "";
  /** `changes` of the feed, the same where texts only grew since; -1 where anything may have changed. */
  changes: number;
  /** Whether the closed steps were drawn as well, for the browser's own search. */
  closedSteps: boolean;
}

/** What is on the screen; what is behind the header is there once that is loaded. */
export type ThinkingView = PanelView & BodyView;

/** A server has no elements: there the class can be imported, and nothing is ever made of it. */
const ElementBase = globalThis.HTMLElement ?? (Object as unknown as typeof HTMLElement);

export abstract class DrawnBlock extends ElementBase {
  /** @readonly Resolved when all that this block asked for has been loaded and drawn: its body, another language, another dialect. */
  ready: Promise<unknown> = Promise.resolve();

  protected turnFeed = new TurnFeed();
  protected currentPolicy = readPolicy();
  protected customRenderer: ((root: HTMLElement) => Renderer) | null = null;
  #userChoices = new UserChoices();
  #language = new Language(this);
  #internals = this.attachInternals();
  #panel: Panel | undefined;
  #body: Body | undefined;
  #emptySlot = slot("empty");
  #childSlot = slot("");
  #settings: Partial<Policy> = {};
  #drawn: Drawing = { view: null, status: "", changes: -1, closedSteps: false };
  /** Who set the `status` attribute last: the page, whose word counts, or this element, now or before. */
  #statusBy: "page" | "element" | "element now" = "element";
  /** Whether the thought is the text inside the element. */
  #adopted = false;
  #ownText = new OwnText(this, (text) => this.#adoptText(text));
  /** Whether thinking was hidden since the last drawing. */
  #hides = false;
  #requested = new Set<string>();
  #schedule = new DrawSchedule(this, () => this.#drawFrame());
  #announcer = new StatusAnnouncer();

  protected get choices(): Choices {
    return this.#userChoices.current(this.currentPolicy);
  }

  /** Opens or closes a block, or all of it (null), in the person's name; null gives the choice back. */
  abstract choose(block: number | null, open: boolean | null, by?: ToggledBy): void;

  abstract copy(): Promise<void>;

  /** Builds the shadow tree; false where it is there already. */
  protected createTree(): boolean {
    if (this.#panel) return false;
    const root = this.shadowRoot ?? this.attachShadow({ mode: "open" });
    this.#panel = new Panel((open, by) => this.choose(null, open, by));
    root.replaceChildren(this.#panel.root, this.#emptySlot, this.#childSlot);
    return true;
  }

  protected afterConnect(): void {
    this.#adoptStyles();
    playIcons(this.#panel?.root);
    // Another place in the page may have another language.
    this.#language.forget();
    this.#ownText.observe();
    this.refresh();
  }

  disconnectedCallback(): void {
    this.#schedule.clear();
    this.#announcer.clear();
    this.#body?.autoClose.pauseClosing();
    this.#ownText.disconnect();
    stopIcons(this.#panel?.root);
  }

  attributeChangedCallback(name: string, old: string | null, value: string | null): void {
    if (this.#statusBy === "element now" || old === value) return;
    this.#language.forget();
    if (name === "lang" || name === "render") this.#body?.clear();
    if (name === "status") this.#statusBy = value === null ? "element" : "page";
    applyAttribute(this.turnFeed, this, name, value);
    if (name === "duration-ms") this.#endIfTimed();
    this.markChanged();
    // This may throw, and a preset that does not exist is no reason to ignore the rest.
    this.#readPolicy();
  }

  protected setPolicy(settings: Partial<Policy>): void {
    const wasShown = this.currentPolicy.show_thinking;
    this.#readPolicy(settings);
    // An explicit hide is a later choice than a reader's place inside the block.
    this.#hides ||= wasShown && !this.currentPolicy.show_thinking;
    if (this.#hides) this.#body?.autoClose.allowClosing();
    this.markChanged();
  }

  /** Takes a page's own words or formatters. */
  protected customize(strings?: Partial<Locale>, formatters?: Formatters): void {
    this.#language.customize(strings, formatters);
    this.markChanged();
  }

  /** Draws the body from nothing. */
  protected redraw(): void {
    this.#body?.clear();
    this.markChanged();
  }

  /** Takes one entry, event, message of another dialect, or thinking block. */
  feed(message: unknown): void {
    const loading = this.turnFeed.take(message);
    if (loading) this.#drawAfter(loading);
    this.drawSoon();
  }

  /** Forgets everything, for another turn. */
  reset(): void {
    const { clock } = this.turnFeed;
    this.turnFeed = new TurnFeed();
    this.turnFeed.clock = clock;
    this.#announcer.reset();
    this.#drawn.closedSteps = this.#adopted = false;
    this.#body?.autoClose.allowClosing();
    this.#body?.clear();
    this.refresh();
  }

  /** Forgets a message, but not the status that the page gave: a framework that does not change it does not set it again. */
  protected clearMessage(): void {
    const { givenStatus } = this.turnFeed;
    this.reset();
    if (this.#statusBy !== "page") return;
    this.#markStatus(givenStatus);
    applyAttribute(this.turnFeed, this, "status", givenStatus);
    this.markChanged();
  }

  /** Notes a person's choice, unless the page cancels it, which returns false. */
  protected noteChoice(block: number | null, open: boolean | null, by: ToggledBy): boolean {
    const key = block ?? PANEL;
    if (open === null) this.choices.delete(key);
    else if (fireEvent(this, block === null ? "toggle" : "step-toggle", { open, by, block }))
      this.choices.set(key, open);
    else return false;
    if (block === null) this.#body?.autoClose.allowClosing();
    this.refresh();
    return true;
  }

  /** The one thought of a block that is fed by hand, with what the attributes say of it. */
  protected manualBlock(): Block {
    const first = !this.turnFeed.turn.blocks[0];
    const block = this.turnFeed.manualBlock(startedAt(this));
    if (first) for (const name of BLOCK_ATTRIBUTES) applyAttribute(this.turnFeed, this, name, this.getAttribute(name));
    return block;
  }

  /** Whether the body is shown; null gives the choice back to the policy. */
  get open(): boolean {
    return this.#drawn.view?.open === "expanded";
  }

  set open(open: boolean | null) {
    this.choose(null, open);
  }

  /** What is on the screen, in words and states, and the answer so far. A summary that nobody wrote is there once a header has asked for one. */
  get state(): { view: ThinkingView | null; status: BlockStatus | ""; notice: string; answer: string } {
    const [context, view] = this.computeView();
    const { turn } = context;
    const whole = view && { ...view, ...(bodyChunk?.bodyView(context) ?? { blocks: [], steps: [] }) };
    return { view: whole, status: this.#drawn.status, notice: notice(turn, context.words), answer: turn.answer };
  }

  /** The view of the turn at this moment. */
  protected computeView(): [context: ViewContext, view: PanelView | null] {
    const { currentPolicy: policy, turnFeed: feed } = this;
    const context = viewContext(feed.turn, policy, this.#words(), feed.now(), this.choices, WIDE_LINES);
    const view = panelView(context, findSentence);
    if (view && this.#body?.autoClose.kept && !this.choices.has(PANEL)) view.open = "expanded";
    if (view && !view.summary && !findSentence && policy.header === "summary")
      this.#load("sentence", async () => {
        findSentence = (await import("../core/sentence.js")).findSentence;
      });
    const thinks = feed.turn.blocks.every(({ kind }) => kind === "reasoning");
    const waits = !view && this.getAttribute("status") === "pending" && thinks && feed.turn.live;
    return [context, waits ? waitingView(context) : view];
  }

  /** Something changed that may change any word. */
  protected markChanged(): void {
    this.#drawn.changes = -1;
    this.drawSoon();
  }

  /** Draws with the next frame. Text behind a closed header is no reason to, but for its newest line or first words. */
  protected drawSoon(): void {
    if (!this.isConnected) return;
    const { view, changes } = this.#drawn;
    if (changes !== this.turnFeed.changes) this.#schedule.nextFrame();
    else if (this.open || (view && showsNewText(view, this.currentPolicy))) this.#schedule.nextGrowth(this.open);
  }

  /** All that can be read of the thinking; setting it shows one thought with this text. */
  get text(): string {
    const thoughts = this.turnFeed.turn.ownBlocks("reasoning").filter((block) => !block.blank);
    return thoughts.map((block) => block.text).join("\n\n");
  }

  set text(text: string) {
    setText(this.manualBlock(), text);
    this.#endIfTimed();
    this.markChanged();
  }

  /** Draws now instead of with the next frame. */
  refresh(): void {
    if (this.#panel && this.isConnected) this.#draw(true);
  }

  /** Takes the text that a page wrote inside the element, and again as it grows. */
  #adoptText(text: string): void {
    if (this.turnFeed.turn.blocks[0] && !this.#adopted) return;
    this.#adopted = true;
    this.text = text;
    if (this.#statusBy !== "page") applyAttribute(this.turnFeed, this, "status", "done");
  }

  /** A text that says how long it took is complete, unless the page says otherwise. */
  #endIfTimed(): void {
    if (this.turnFeed.fedByHand && this.#statusBy !== "page" && this.hasAttribute("duration-ms"))
      applyAttribute(this.turnFeed, this, "status", "done");
  }

  /** Puts on the style sheets of the document that the element is in. */
  #adoptStyles(): void {
    const sheets = [headerStyles, ...(this.#body && bodyChunk ? [bodyChunk.bodyStyles] : [])];
    if (this.shadowRoot) this.shadowRoot.adoptedStyleSheets = sheets.map((sheet) => sheet(this.ownerDocument));
  }

  #readPolicy(settings = this.#settings): void {
    this.currentPolicy = readPolicy(policySettings(this, settings));
    this.#settings = settings;
  }

  #words(): Words {
    return this.#language.words((portuguese) =>
      this.#load("portuguese", async () => {
        await portuguese();
        this.#body?.clear();
      }),
    );
  }

  /** Loads a chunk once, then draws. If its server cannot be reached, the next drawing asks again. */
  #load(chunk: string, load: () => Promise<void>): void {
    if (this.#requested.has(chunk)) return;
    this.#requested.add(chunk);
    this.#drawAfter(load(), () => this.#requested.delete(chunk));
  }

  #drawAfter(loading: Promise<unknown>, onFailure?: () => void): void {
    this.ready = Promise.all([this.ready, loading.then(() => this.refresh())]);
    if (onFailure) this.ready.catch(onFailure);
  }

  #drawFrame(): void {
    if (this.#drawn.changes !== this.turnFeed.changes || !this.open || !this.#body) return this.#draw(false);
    this.#schedule.clear();
    this.#body.grow();
  }

  /** `timed` sets the time in the header as well; else it stays, and does not jump with every piece of text. */
  #draw(timed: boolean): void {
    this.#schedule.clear();
    const before = this.#drawn.view;
    const restoreScroll = !this.#hides && this.#beforeClosing();
    this.#hides = false;
    const [context, view] = this.computeView();
    this.#drawn = { ...this.#drawn, view, changes: this.turnFeed.changes };
    this.#showRoots(!!view);
    if (view) {
      if (view.status === "thinking" && this.turnFeed.silent) view.peek = context.words.say("still_waiting");
      if (this.hasAttribute("headless")) this.#createBody();
      else this.#show(context, view);
      if (restoreScroll) restoreScroll();
      if (timed || view.status !== before?.status) this.#panel?.setTimer(view, context.words);
      this.#fireDrawn(before);
    }
    this.#reflect(context, view);
    this.#announcer.announceState(view, this.currentPolicy, !!context.call);
    this.#planNext(view);
  }

  /** Shows one of the roots: the panel, what the page put in its place, or what it put for no thinking. */
  #showRoots(thinking: boolean): void {
    const headless = this.hasAttribute("headless");
    hide((this.#panel as Panel).root, !thinking || headless);
    hide(this.#emptySlot, thinking);
    hide(this.#childSlot, !headless);
  }

  #fireDrawn(before: PanelView | null): void {
    const wasOpen = before?.open === "expanded";
    if (!before) fireEvent(this, "first-paint");
    // A person's act was told before it was done.
    else if (wasOpen !== this.open && !this.choices.has(PANEL))
      fireEvent(this, "toggle", { open: !wasOpen, by: "policy", block: null });
  }

  #show(context: ViewContext, view: PanelView): void {
    const panel = this.#panel as Panel;
    const { content } = panel;
    const { closedSteps } = this.#drawn;
    const expanded = view.open === "expanded";
    panel.draw(view, this.currentPolicy, context.words, this.getAttribute("running-icon") ?? "dot");
    if (expanded || closedSteps || this.hasAttribute("actions")) this.#createBody();
    if (this.#body) this.#body.draw(context, view, closedSteps, this.customRenderer);
    else if (expanded) content.textContent = this.text;
    const lines = this.getAttribute("max-lines");
    content.style.maxBlockSize = lines ? `calc(${Number(lines)}lh + .625rem)` : "";
    panel.setOpen(expanded);
  }

  /** Until the chunk of the body is loaded, the text stands there as it is. */
  #createBody(): void {
    if (this.#body) return;
    if (bodyChunk) {
      this.#body = new bodyChunk.Body(this.#panel as Panel, this);
      this.#adoptStyles();
    } else
      this.#load("body", async () => {
        bodyChunk = await import("./body.js");
      });
  }

  /** Asks the body whether it may close now; the returned function restores the page's scroll position. */
  #beforeClosing(): (() => void) | false {
    const [context, view] = this.computeView();
    if (!this.open || !this.#body || !view) return false;
    return this.#body.autoClose.beforeClosing({
      closes: view.open !== "expanded" && !this.choices.has(PANEL),
      stateChanged: context.state !== this.#drawn.view?.status,
      delay: Number(this.getAttribute("auto-close-delay")),
      choices: this.choices,
      refresh: () => this.refresh(),
    });
  }

  /** Draws every second while it thinks; afterwards draws closed steps when the page is idle. */
  #planNext(view: PanelView | null): void {
    const live = view?.status === "thinking";
    this.#schedule.later(live ? 1000 - ((view.duration_ms ?? 0) % 1000) : -1, () => this.refresh());
    if (view && !live && !this.#drawn.closedSteps) this.#schedule.whenIdle(() => this.#drawAhead());
  }

  #drawAhead(): void {
    const tooLong = this.turnFeed.turn.size > DRAW_AHEAD_LIMIT;
    if (!this.isConnected || this.#drawn.view?.status === "thinking" || tooLong) return;
    this.#drawn.closedSteps = true;
    this.#draw(false);
  }

  /** Sets the `status` attribute and the states for style sheets. */
  #reflect(context: ViewContext, view: PanelView | null): void {
    const from = this.#drawn.status;
    const to = view && !context.top[0] ? "pending" : blockStatus(context);
    const { states } = this.#internals;
    this.#drawn.status = to;
    states.clear();
    const state = view?.status ?? "empty";
    states.add(state === "thinking" ? "streaming" : state);
    if (this.open) states.add("open");
    if (!view && this.querySelector("[slot=empty]")) states.add("placeholder");
    if (from === to) return;
    this.#markStatus(to);
    fireEvent(this, "status", { from, to });
  }

  /** Sets the attribute in this element's own name. */
  #markStatus(status: BlockStatus | ""): void {
    const by = this.#statusBy;
    this.#statusBy = "element now";
    mark(this, "status", status || null);
    this.#statusBy = by;
  }
}

/**
 * When the element draws: with the next frame, and no more often than a person can read.
 *
 * The frames are those of the window that shows the element: it may be a picture-in-picture window, while the one that
 * the script runs in is hidden and has none.
 */
class DrawSchedule {
  #frame = 0;
  #timer = 0;
  #laterTimer = 0;
  #idle = false;
  #lastDrawn = 0;
  #host: Node;
  #view: Window = window;
  #draw: () => void;

  constructor(host: Node, draw: () => void) {
    this.#host = host;
    this.#draw = draw;
  }

  /** Draws with the next frame. */
  nextFrame(): void {
    if (this.#frame) return;
    this.#view = this.#host.ownerDocument?.defaultView ?? window;
    this.#frame = this.#view.requestAnimationFrame(this.#draw);
  }

  /** Draws text that only grew, a little later if it was drawn just now. */
  nextGrowth(open: boolean): void {
    if (this.#frame) return;
    const wait = this.#lastDrawn + (open ? GROW_MS : PEEK_MS) - performance.now();
    this.#timer ||= setTimeout(() => this.nextFrame(), wait);
  }

  /** Draws after so many milliseconds; -1 forgets the last such plan. */
  later(ms: number, draw: () => void): void {
    clearTimeout(this.#laterTimer);
    if (ms >= 0) this.#laterTimer = setTimeout(draw, ms);
  }

  /** Draws when the page is idle; Safari cannot tell when that is. */
  whenIdle(draw: () => void): void {
    if (this.#idle) return;
    this.#idle = true;
    (window.requestIdleCallback ?? setTimeout)(() => {
      this.#idle = false;
      draw();
    });
  }

  /** Forgets what was planned, because it is drawn now or not at all. */
  clear(): void {
    this.#view.cancelAnimationFrame(this.#frame);
    clearTimeout(this.#timer);
    this.#frame = this.#timer = 0;
    this.#lastDrawn = performance.now();
  }
}
