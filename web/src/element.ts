/**
 * `<thinking-block>`: the thinking of one turn, live or at rest.
 *
 * It takes canonical entries, the thinking block's JSON, or another dialect's stream, folds them into a
 * turn, and draws what the view says once per frame. Whether it is open is asked of the open rule; a
 * person's choice always wins. What is behind the header is loaded when somebody first looks.
 */

import { announce } from "./announce.js";
import type { Act, Body } from "./body.js";
import { hide, mark, slot } from "./dom.js";
import { type BlockStatus, Feed, setText } from "./feed.js";
import type { By } from "./fold.js";
import { EN_US, type Locale, type Table } from "./locales.js";
import type { Renderer } from "./markdown.js";
import { keep, recall } from "./memory.js";
import { type Choices, type Open, PANEL, type Policy, readPolicy, toggled } from "./opening.js";
import { type Panel, panel } from "./panel.js";
import type { ThinkingBlock, ThinkingStep } from "./records.js";
import type { Standing } from "./standing.js";
import type { Source } from "./sources.js";
import type { BodyView } from "./step-views.js";
import type { Surroundings } from "./steps.js";
import { styles } from "./styles.js";
import type { Sentence } from "./summary.js";
import type { Block, Turn } from "./transcript.js";
import { notice, type PanelView, panelView, type Scene, scene, statusOf, waitingView } from "./view.js";
import { type Formatters, portuguese, readLocale, Words } from "./words.js";

/** What the attributes `live` and `rest` call the states of the open rule. */
const OPEN: Record<string, Open> = { closed: "collapsed", preview: "peek", open: "expanded", hidden: "hidden" };
/** More text than this is not drawn ahead for the browser's own search. */
const DRAW_AHEAD = 200_000;
/** Without a word for so long, the reader is told that nothing came. */
const SILENT_MS = 20_000;
const SPEAK_AFTER_MS = 1000;
/** Where a page wants thinking itself read out, the newest line is, no more often than this. */
const READ_EVERY_MS = 4000;
/** Nobody reads any faster: what only grew is shown no more often than this, and the newest line alone less often. */
const GROW_MS = 60;
const PEEK_MS = 100;

// What is loaded when the first element needs it, for all of them.
let pt: Locale | undefined;
let sentence: Sentence | undefined;
let behind: typeof import("./body.js") | undefined;

/** What is on the screen; what is behind the header is there once that is loaded. */
export type ThinkingView = PanelView & BodyView;

/**
 * Shows the thinking of a turn: a header that says what is going on, and everything behind it when opened.
 *
 * @tagname thinking-block
 *
 * @attr {string} block-id - A stable name; what a person opened or closed is kept under it over a reload.
 * @attr {"pending"|"streaming"|"done"|"error"|"aborted"|"truncated"|"redacted"|"disconnected"} status - Where it stands; reflected. Set it to drive a block that is fed by `append`.
 * @attr {"koder"|"preview"|"toggle"|"agent"|"trace"|"default"} preset - One of the well-known ways to show thinking.
 * @attr {"closed"|"preview"|"open"|"hidden"} live - How it is shown while it streams; `preview` is a header and the newest line.
 * @attr {"closed"|"open"|"hidden"} rest - How it is shown once it is complete.
 * @attr {"label"|"preview"|"summary"|"auto"} header - What the header says.
 * @attr {boolean} auto-close - `false` leaves open what was open while it streamed.
 * @attr {number} [auto-close-delay=0] - How many milliseconds it stays open after the end before it closes by itself.
 * @attr {number} started-at - When thinking began, in milliseconds since 1970 by the server's clock.
 * @attr {number} duration-ms - How long it took.
 * @attr {number} tokens - How many tokens it took.
 * @attr {number} token-budget - How many it was allowed; shown beside those it took.
 * @attr {string} summary - One line on what it was about.
 * @attr {"raw"|"summary"|"generated"} provenance - Whose words they are.
 * @attr {"markdown"|"plain"} render - How the text is drawn.
 * @attr {number} max-lines - How many lines the body shows before it scrolls.
 * @attr {string} name - Of the elements with the same name in a document, a person has one open at a time.
 * @attr {boolean} headless - Draws nothing of its own: the page shows its children instead, by `state` and the events.
 * @attr {string} actions - Buttons to offer besides copy and close: `retry` beside the sentence on what went wrong, `answer-now` while it thinks.
 * @attr {boolean} no-copy - Offers no copy.
 * @attr {string} lang - The language of the words; en-US and pt-BR are built in.
 *
 * @slot - Text for a page without script; it becomes the thinking when nothing else is given.
 * @slot icon - Instead of the icon.
 * @slot label - Instead of the label.
 * @slot badge - Instead of the count of tools.
 * @slot before - Above the header.
 * @slot error - Instead of the sentence on a turn that did not end with an answer.
 * @slot empty - What is shown where there is no thinking.
 * @slot step-reasoning - A `<template>` whose content is added to the header of every thought.
 * @slot step-tool_call - The same for every call of a tool.
 * @slot step-assistant_call - The same for every call of an assistant.
 * @slot actions - More buttons in the footer.
 *
 * @fires {CustomEvent<{open: boolean, by: "user"|"find"|"policy"}>} thinking-toggle - It is about to open or close, which can be cancelled; what the policy does is told when it is done.
 * @fires {CustomEvent<{open: boolean, by: "user"|"find"|"policy", block: number}>} thinking-step-toggle - A person opens or closes one step; can be cancelled.
 * @fires {CustomEvent<{from: string, to: string}>} thinking-status - The status changed.
 * @fires {CustomEvent<{text: string}>} thinking-copy - The text is about to be copied; can be cancelled.
 * @fires {CustomEvent} thinking-retry - A person wants another try.
 * @fires {CustomEvent} thinking-answer-now - A person has seen enough thinking.
 * @fires {CustomEvent} thinking-first-paint - Thinking is shown for the first time.
 *
 * @csspart root - All of it.
 * @csspart summary - The header, which is also the click target.
 * @csspart icon - The icon at its start.
 * @csspart label - "Thinking...", then "Thought for 4.2s".
 * @csspart timer - The live time.
 * @csspart meta - The number of words.
 * @csspart preview - The newest line while live, first words or summary at rest.
 * @csspart badge - The count of tools.
 * @csspart chevron - The arrow at its end.
 * @csspart body - What is behind the header.
 * @csspart content - The text of a thought, or what a call was asked and came back with.
 * @csspart steps - The list of steps.
 * @csspart step - One step.
 * @csspart step-summary - The header of a step.
 * @csspart step-extra - What the page adds to the header of a step.
 * @csspart step-body - What is behind it.
 * @csspart code - A block of code.
 * @csspart image - What stands for an image that is not loaded.
 * @csspart placeholder - What stands for a thought that cannot be read.
 * @csspart provenance - Whose words they are.
 * @csspart footer - Status, counts and buttons.
 * @csspart status - Where it stands, in a word.
 * @csspart budget - How much of the token budget was used.
 * @csspart copy - The copy button.
 * @csspart reset - The button that gives a person's choice back to the policy.
 * @csspart close - The close button.
 * @csspart retry - The button for another try.
 * @csspart answer-now - The button that ends the thinking.
 * @csspart outside - Where that button stands while the block is closed.
 * @csspart marker - What stays where thinking is hidden.
 * @csspart notice - A sentence on a turn that did not end with an answer.
 *
 * @cssprop --thinking-color - Text.
 * @cssprop --thinking-muted-color - Secondary text.
 * @cssprop --thinking-background - Behind it all.
 * @cssprop --thinking-border - Lines around and between.
 * @cssprop --thinking-rule-color - The line beside quotes and nested steps.
 * @cssprop --thinking-accent - Links, focus and the breathing dot.
 * @cssprop --thinking-error-color - What failed.
 * @cssprop --thinking-radius - Corners.
 * @cssprop --thinking-gap - Between the parts of a header.
 * @cssprop --thinking-font - All of the font.
 * @cssprop --thinking-font-size - Its size alone.
 * @cssprop --thinking-code-font - The family for code.
 * @cssprop --thinking-icon-size - Icons.
 * @cssprop [--thinking-max-block-size=20rem] - How tall the body grows before it scrolls.
 * @cssprop [--thinking-duration=200ms] - How long opening and closing take.
 * @cssprop --thinking-easing - How they move.
 * @cssprop --thinking-focus-ring - The outline of what has the focus.
 *
 * @cssstate streaming - It thinks.
 * @cssstate done - It is complete.
 * @cssstate error - It failed.
 * @cssstate interrupted - It was stopped, cut off or lost.
 * @cssstate open - Its body is shown.
 * @cssstate empty - There is no thinking, so nothing is drawn.
 * @cssstate placeholder - There is none, and what the page put into the slot `empty` is shown.
 */
export class ThinkingBlockElement extends HTMLElement {
  static readonly observedAttributes = (
    "block-id status preset live rest header auto-close auto-close-delay started-at duration-ms tokens " +
    "token-budget summary provenance render max-lines headless actions no-copy lang"
  ).split(" ");

  /** Done when all that this block asked for has been loaded and drawn: its body, another language, another dialect. */
  ready: Promise<unknown> = Promise.resolve();

  #feed = new Feed();
  #panel: Panel | undefined;
  #body: Body | undefined;
  #empty = slot("empty");
  #children = slot("");
  #internals = this.attachInternals();
  #choices: Choices = new Map();
  #settings: Partial<Policy> = {};
  #policy = readPolicy();
  #table: Partial<Locale> | null = null;
  #formatters: Formatters = {};
  #renderer: ((root: HTMLElement) => Renderer) | null = null;
  #words: Words | null = null;
  #seen: PanelView | null = null;
  #standing: Standing | "" = "";
  #status: BlockStatus | "" = "";
  #reflecting = false;
  #drawn = -1;
  #frame = 0;
  #timer = 0;
  #later = 0;
  #shown = 0;
  #idle = 0;
  #deep = false;
  #kept = false;
  #closing = 0;
  #spokeUp = 0;
  #read = 0;
  #asked: Record<string, unknown> = {};

  connectedCallback(): void {
    if (!this.#panel) {
      const root = this.shadowRoot ?? this.attachShadow({ mode: "open" });
      root.adoptedStyleSheets = [styles()];
      this.#panel = panel((open, by) => this.choose(null, open, by));
      root.replaceChildren(this.#panel.root, this.#empty, this.#children);
      // What a page set on the element before it was known hides what takes it.
      const own = { ...this };
      for (const name in own)
        if (name in ThinkingBlockElement.prototype) {
          delete this[name];
          this[name] = own[name];
        }
    }
    // Another place may speak another language.
    this.#words = null;
    this.#recall();
    if (document.readyState === "loading") addEventListener("DOMContentLoaded", () => this.#adopt(), { once: true });
    else this.#adopt();
    this.refresh();
  }

  disconnectedCallback(): void {
    this.#unplan();
    clearTimeout(this.#spokeUp);
    // What waited to close begins its wait anew where it comes back.
    if (this.#closing > 0) this.#release();
  }

  attributeChangedCallback(name: string, old: string | null, value: string | null): void {
    if (this.#reflecting || old === value) return;
    this.#words = null;
    if (/lang|render/.test(name)) this.#body?.clear();
    this.#driven(name, value);
    this.#changed();
    // This may throw, and a preset that does not exist is no reason to be deaf to the rest.
    this.#readPolicy();
    if (name !== "block-id") return;
    this.#choices.clear();
    this.#recall();
  }

  /** All that can be read of the thinking; setting it shows one thought with this text. */
  get text(): string {
    const thoughts = this.#turn.top("reasoning").filter((block) => !block.blank);
    return thoughts.map((block) => block.text).join("\n\n");
  }

  set text(text: string) {
    setText(this.#own(), text);
    this.#changed();
  }

  /** The thinking block's JSON; setting it again appends what grew. */
  set block(block: ThinkingBlock) {
    this.feed(block);
  }

  /** The steps of it alone. */
  set steps(steps: ThinkingStep[]) {
    for (const step of steps) this.upsertStep(step);
  }

  /** How thinking is shown: settings laid over the preset they name. */
  get policy(): Partial<Policy> {
    return this.#policy;
  }

  set policy(settings: Partial<Policy>) {
    this.#readPolicy(settings);
    this.#recall();
    this.#changed();
  }

  /** Another language, or other words for the same: a table of them, by key. */
  set strings(table: Partial<Locale> | Table) {
    this.#table = table as Partial<Locale>;
    this.#words = null;
    this.#changed();
  }

  /** Other ways to write a number or a time: `count`, `duration`, `spoken`. */
  set formatters(formatters: Formatters) {
    this.#formatters = formatters;
    this.#words = null;
    this.#changed();
  }

  /** Makes what shows a thought's text; without it, markdown or plain as `render` says. */
  get renderer(): ((root: HTMLElement) => Renderer) | null {
    return this.#renderer;
  }

  set renderer(renderer: ((root: HTMLElement) => Renderer) | null) {
    this.#renderer = renderer;
    this.#body?.clear();
    this.#changed();
  }

  /** Whether the body is shown; null gives the choice back to the policy. */
  get open(): boolean {
    return this.#seen?.open === "expanded";
  }

  set open(open: boolean | null) {
    this.choose(null, open);
  }

  /** What is on the screen, in words and states, and the answer so far. A summary that nobody wrote is there once a header has asked for one. */
  get state(): { view: ThinkingView | null; status: BlockStatus | ""; notice: string; answer: string } {
    const [scene, seen] = this.#look();
    const view = seen && { ...seen, ...(behind?.bodyView(scene) ?? { blocks: [], steps: [] }) };
    return { view, status: this.#status, notice: notice(this.#turn, this.#speech()), answer: this.#turn.answer };
  }

  /** The server's time in milliseconds; without it the time goes on from the newest stamp. */
  get clock(): (() => number | null) | null {
    return this.#feed.clock;
  }

  set clock(clock: (() => number | null) | null) {
    this.#feed.clock = clock;
  }

  /** Take one entry, event, message of another dialect, or thinking block. */
  feed(message: unknown): void {
    const loading = this.#feed.take(message);
    if (loading) this.#wait(loading);
    this.#soon();
  }

  /** Take everything that a stream brings; one that just stops has lost its connection. */
  consume(source: Source, { signal }: { signal?: AbortSignal } = {}): Promise<void> {
    return this.#feed.consume(source, signal, () => this.#soon());
  }

  /** More text of a block that is fed by hand. Nodes become children, as in any element. */
  override append(...more: (Node | string)[]): void {
    for (const delta of more) {
      if (typeof delta === "string") this.#feed.grow(this.#own(), delta);
      else super.append(delta);
    }
    this.#soon();
  }

  /** Add a step, or bring it up to date. */
  upsertStep(step: ThinkingStep): void {
    this.feed({ step });
  }

  /** More text of a step. */
  appendStep(id: string, delta: string): void {
    this.feed({ id, delta });
  }

  /** Forget everything, for another turn. */
  reset(): void {
    const { clock } = this;
    this.#feed = new Feed();
    this.clock = clock;
    this.#standing = "";
    this.#deep = false;
    this.#release();
    this.#body?.clear();
    this.refresh();
  }

  /** Open or close a block, or all of it (null), in the person's name; null gives the choice back. */
  choose(block: number | null, open: boolean | null, by: By = "user"): void {
    const key = block ?? PANEL;
    if (open === null) this.#choices.delete(key);
    else if (this.#fire(block === null ? "toggle" : "step-toggle", { open, by, block })) this.#choices.set(key, open);
    else return;
    if (block === null) this.#release();
    const id = this.getAttribute("block-id");
    if (id) keep(id, this.#choices, this.#policy.remember);
    this.refresh();
    const name = this.getAttribute("name");
    if (open && block === null && name)
      for (const other of (this.getRootNode() as Document).querySelectorAll(this.localName))
        if (other !== this && other.getAttribute("name") === name && (other as this).open) (other as this).open = false;
  }

  /** Open every thought and every step. */
  expandAll(): void {
    this.#choices.clear();
    this.choose(null, true);
  }

  /** Close every thought and every step. */
  collapseAll(): void {
    this.#choices.clear();
    this.choose(null, false);
  }

  /** Open everything, or close everything when all of it is open. */
  toggleAll(): void {
    const [{ thoughts, openOf }, seen] = this.#look();
    if (!seen) return;
    const all = [seen.open, ...thoughts.map(openOf)].every((open) => open === "expanded");
    if (all) this.collapseAll();
    else this.expandAll();
  }

  /** What the `/thinking` command does: hidden at rest becomes shown, shown becomes hidden. */
  toggleThinking(): void {
    this.policy = toggled(this.#policy);
    this.refresh();
  }

  /** Where a text stands in the thoughts; the thoughts that have it are opened. */
  find(query: string): { block: number; at: number }[] {
    const found = this.#turn.top("reasoning").flatMap(({ number, text }) => {
      const at = query ? text.toLowerCase().indexOf(query.toLowerCase()) : -1;
      return at < 0 ? [] : { block: number, at };
    });
    for (const { block } of found) this.choose(block, true, "find");
    return found;
  }

  /** Copy the thoughts as they were written. */
  async copy(): Promise<void> {
    const { text } = this;
    if (this.#fire("copy", { text })) await navigator.clipboard.writeText(text);
  }

  /** The answer as markdown; with its thinking before it, folded, where that is wished for. */
  toMarkdown({ thinking = false } = {}): string {
    const { text } = this;
    const { answer } = this.#turn;
    if (!thinking || !text) return answer;
    const { duration, words_text } = this.#look()[1] as PanelView;
    const title = [this.#speech().say("session.thinking"), duration, words_text].filter(Boolean).join(" · ");
    // A fence that none of the thought can end: of runs of one sign, the longest sorts last.
    const fence = `${["``", ...(text.match(/`+/g) ?? [])].sort().pop()}\``;
    return `<details><summary>${title}</summary>\n\n${fence}\n${text}\n${fence}\n\n</details>\n\n${answer}`;
  }

  /** Draw now instead of with the next frame. */
  refresh(): void {
    if (this.#panel && this.isConnected) this.#draw(true);
  }

  /** Take the text that a page wrote inside the element for readers without script. */
  #adopt(): void {
    const text = Array.from(this.childNodes, (node) => (node instanceof Text ? node.data : "")).join("").trim();
    if (!text || this.#turn.blocks[0]) return;
    this.text = text;
    if (!this.hasAttribute("status")) this.#driven("status", "done");
  }

  /** The one thought of a block that is fed by hand, with what the attributes say of it. */
  #own(): Block {
    const began = !this.#turn.blocks[0];
    const block = this.#feed.own(this.#startedAt);
    if (began) for (const name of ["status", "tokens", "summary", "provenance"]) this.#driven(name, this.getAttribute(name));
    return block;
  }

  get #turn(): Turn {
    return this.#feed.turn;
  }

  get #startedAt(): number | null {
    return Number(this.getAttribute("started-at")) || null;
  }

  /** An attribute that says something about a block that is fed by hand. */
  #driven(name: string, value: string | null): void {
    const turn = this.#turn;
    const block = turn.blocks[0];
    if (name === "tokens") turn.usage.reasoning = Number(value) || null;
    if (name === "summary") Object.assign(turn, { summary: value ?? "", summaryBy: "model" });
    if (name === "status" && value) this.#feed.settle(value as BlockStatus, this.#startedAt);
    if (!block) return;
    if (name === "provenance") block.provenance = (value ?? "unknown") as typeof block.provenance;
    if (name === "started-at") block.startedMs = this.#startedAt;
    const took = this.getAttribute("duration-ms");
    if (took && block.startedMs !== null && block.status !== "running") block.endedMs = block.startedMs + Number(took);
  }

  #readPolicy(settings = this.#settings): void {
    const own: Record<string, unknown> = {
      preset: this.getAttribute("preset"),
      while_streaming: OPEN[this.getAttribute("live") ?? ""],
      after_complete: OPEN[this.getAttribute("rest") ?? ""],
      header: this.getAttribute("header"),
      auto_close: this.getAttribute("auto-close") === "false" ? false : null,
      ...settings,
    };
    for (const name in own) if (own[name] == null) delete own[name];
    this.#policy = readPolicy(own);
    this.#settings = settings;
  }

  #speech(): Words {
    if (this.#words) return this.#words;
    const tag = this.#table?.name ?? (this.closest<HTMLElement>("[lang]") ?? document.documentElement).lang;
    const own = portuguese(tag);
    if (own && !pt)
      this.#load("pt", async () => {
        pt = (await import("./portuguese.js")).PT_BR;
        this.#words = null;
        this.#body?.clear();
      });
    const base = (own && pt) || EN_US;
    const words = new Words(this.#table ? readLocale(this.#table, base) : base);
    return (this.#words = Object.assign(words, this.#formatters));
  }

  /** Load something once, then draw. */
  #load(what: string, load: () => Promise<void>): void {
    if (!this.#asked[what]) this.#wait((this.#asked[what] = load()) as Promise<void>);
  }

  /** Draw once something has come that is only loaded where it is needed. */
  #wait(loading: Promise<unknown>): void {
    this.ready = Promise.all([this.ready, loading.then(() => this.refresh())]);
  }

  #look(): [scene: Scene, seen: PanelView | null] {
    const now = this.#feed.now();
    const at = scene(this.#turn, this.#policy, this.#speech(), now, this.#choices);
    const seen = panelView(at, sentence);
    if (seen && this.#kept && !this.#choices.has(PANEL)) seen.open = "expanded";
    if (seen && !seen.summary && !sentence && this.#policy.header === "summary")
      this.#load("sentence", async () => {
        sentence = (await import("./sentence.js")).firstSentence;
      });
    const waits = !seen && this.getAttribute("status") === "pending" && !this.#turn.blocks[0] && this.#turn.live;
    return [at, waits ? waitingView(at, now) : seen];
  }

  /** Something changed that may change any word. */
  #changed(): void {
    this.#drawn = -1;
    this.#soon();
  }

  /** Whether nothing but the length of a text changed since the last look. */
  get #onlyGrew(): boolean {
    return this.#drawn === this.#feed.changes;
  }

  /** Draw with the next frame. Text behind a header that is closed is no reason to, but for its newest line. */
  #soon(): void {
    if (!this.isConnected || this.#frame) return;
    if (!this.#onlyGrew) this.#nextFrame();
    else if (this.open || this.#seen?.open === "peek")
      this.#later ||= setTimeout(() => this.#nextFrame(), this.#shown + (this.open ? GROW_MS : PEEK_MS) - performance.now());
  }

  #nextFrame(): void {
    this.#frame ||= requestAnimationFrame(() => {
      if (!this.#onlyGrew || !this.open || !this.#body) return this.#draw(false);
      this.#unplan();
      this.#body.grow();
    });
  }

  /** What was to be drawn is drawn now. */
  #unplan(): void {
    cancelAnimationFrame(this.#frame);
    clearTimeout(this.#later);
    this.#frame = this.#later = 0;
    this.#shown = performance.now();
  }

  #draw(timed: boolean): void {
    const panel = this.#panel as Panel;
    this.#unplan();
    this.#drawn = this.#feed.changes;
    const still = this.#beforeClosing();
    const [at, seen] = this.#look();
    const first = !this.#seen;
    const was = this.open;
    const bare = this.hasAttribute("headless");
    this.#seen = seen;
    hide(panel.root, !seen || bare);
    hide(this.#empty, !!seen);
    hide(this.#children, !bare);
    if (seen) {
      if (this.#silent(seen)) seen.peek = this.#speech().say("still_waiting");
      if (bare) this.#furnish();
      else this.#show(at, seen);
      if (still) still();
      if (timed || seen.status !== this.#standing) panel.tick(this.#time(seen));
      if (first) this.#fire("first-paint");
      // A person's act was told before it was done.
      else if (was !== this.open && !this.#choices.has(PANEL)) this.#fire("toggle", { open: !was, by: "policy", block: null });
    }
    this.#reflect(at, seen);
    this.#speak(seen);
    this.#schedule(seen);
  }

  #show(at: Scene, seen: PanelView): void {
    const { home, turn, draw } = this.#panel as Panel;
    const expanded = seen.open === "expanded";
    draw(seen, this.#policy, this.#speech());
    if (expanded || this.#deep || this.hasAttribute("actions")) this.#furnish();
    if (this.#body) this.#body.draw(at, seen, this.#around(at));
    else if (expanded) home.textContent = this.text;
    const lines = this.getAttribute("max-lines");
    home.style.maxBlockSize = lines ? `calc(${Number(lines)}lh + .875rem)` : "";
    turn(expanded);
  }

  /** Without what is behind the header, the text stands there as it is. */
  #furnish(): void {
    const act = (name: Act): unknown => this.#act(name);
    if (behind) this.#body ??= behind.body(this.#panel as Panel, act);
    else
      this.#load("body", async () => {
        behind = await import("./body.js");
      });
  }

  /**
   * What is about to close by itself stays open while a reader is inside, and for as long as the page wants; what
   * the focus or a selection is in counts as chosen. What comes back puts the page where it was.
   */
  #beforeClosing(): (() => void) | false {
    if (!this.open || !this.#body) return false;
    const [{ standing }, seen] = this.#look();
    if (!seen) return false;
    const closes = seen.open !== "expanded" && !this.#choices.has(PANEL);
    const held = closes || standing !== this.#standing ? this.#body.held() : null;
    const delay = Number(this.getAttribute("auto-close-delay"));
    const waits = closes && delay > 0 && this.#closing >= 0;
    const still = closes && held === null && !waits && this.#body.holdStill();
    if (held !== null && held !== PANEL && !this.#choices.has(held)) this.#choices.set(held, true);
    if (held !== null || (closes && !still)) this.#kept = true;
    if (waits && held === null)
      this.#closing ||= setTimeout(() => {
        this.#release();
        this.#closing = -1;
        this.refresh();
      }, delay);
    return still;
  }

  /** What was kept open closes when the policy says so. */
  #release(): void {
    clearTimeout(this.#closing);
    this.#closing = 0;
    this.#kept = false;
  }

  #around({ turn, standing, words }: Scene): Surroundings {
    const own = (name: string): string => this.getAttribute(name) ?? "";
    const waited = (turn.blocks[0]?.startedMs ?? 0) - (turn.startedMs ?? Infinity);
    const { markdown, plain } = behind as NonNullable<typeof behind>;
    return {
      words,
      deep: this.#deep && standing !== "thinking",
      offers: [...own("actions").split(" "), this.hasAttribute("no-copy") ? "no-copy" : "", this.#choices.size ? "reset" : ""],
      notes: new Map(turn.notices.map(({ block, text, code }) => [block ?? PANEL, text || code])),
      waited: waited < 1000 ? "" : words.say("waited", { duration: words.duration(waited) }),
      budget: Number(own("token-budget")) || 0,
      ask: (number) => (open, by) => this.choose(number, open, by),
      renderer: this.#renderer ?? ((root) => (own("render") === "plain" ? plain(root) : markdown(root, (key) => words.say(key)))),
      extras: new Map(Array.from(this.querySelectorAll("template"), (own) => [own.slot, own])),
    };
  }

  /** The time beside the label: whole seconds while it runs; at rest the label says it. */
  #time({ status, duration, duration_ms }: PanelView): string {
    if (status !== "thinking") return status === "done" ? "" : duration;
    const seconds = Math.floor((duration_ms ?? 0) / 1000);
    return seconds ? this.#speech().duration(seconds * 1000) : "";
  }

  #silent(seen: PanelView): boolean {
    return seen.status === "thinking" && this.#feed.heard > 0 && performance.now() - this.#feed.heard > SILENT_MS;
  }

  /** Tick once a second while it thinks; draw the rest ahead once it does not. */
  #schedule(seen: PanelView | null): void {
    clearTimeout(this.#timer);
    if (!seen) return;
    if (seen.status === "thinking") {
      if (this.#policy.live_region === "content" && performance.now() - this.#read > READ_EVERY_MS) {
        this.#read = performance.now();
        announce(seen.peek);
      }
      this.#timer = setTimeout(() => this.refresh(), 1000 - ((seen.duration_ms ?? 0) % 1000));
    } else if (!this.#deep) this.#idle ||= whenIdle(() => this.#drawAhead());
  }

  #drawAhead(): void {
    this.#idle = 0;
    const size = this.#turn.blocks.reduce((sum, block) => sum + block.size, 0);
    if (!this.isConnected || this.#standing === "thinking" || size > DRAW_AHEAD) return;
    this.#deep = true;
    this.#draw(false);
  }

  #reflect(at: Scene, seen: PanelView | null): void {
    const from = this.#status;
    const to = (this.#status = seen && !at.top[0] ? "pending" : statusOf(at));
    const { states } = this.#internals;
    states.clear();
    states.add(seen ? (seen.status === "thinking" ? "streaming" : seen.status) : "empty");
    if (this.open) states.add("open");
    if (!seen && this.querySelector("[slot=empty]")) states.add("placeholder");
    if (from === to) return;
    this.#reflecting = true;
    mark(this, "status", to || null);
    this.#reflecting = false;
    this.#fire("status", { from, to });
  }

  /** Tell a screen reader of the beginning, if it lasts, and of the end. */
  #speak(seen: PanelView | null): void {
    const from = this.#standing;
    const to = (this.#standing = seen?.status ?? "");
    if (from === to || this.#policy.live_region === "off") return;
    clearTimeout(this.#spokeUp);
    if (to === "thinking") this.#spokeUp = setTimeout(() => announce(this.#seen?.label ?? ""), SPEAK_AFTER_MS);
    else if (from === "thinking" && seen) announce([seen.spoken, seen.notice].filter(Boolean).join(". "));
  }

  #act(act: Act): unknown {
    const { summary } = this.#panel as Panel;
    if (act === "copy") return this.copy();
    if (act === "close") {
      this.choose(null, false);
      summary.focus();
    } else if (act === "reset") {
      summary.focus();
      this.#choices.clear();
      this.choose(null, null);
    } else this.#fire(act);
    return;
  }

  #recall(): void {
    const kept = recall(this.getAttribute("block-id"), this.#policy.remember);
    if (this.isConnected && kept.size) this.#choices = kept;
  }

  #fire(name: string, detail: unknown = null): boolean {
    const type = `thinking-${name}`;
    return this.dispatchEvent(new CustomEvent(type, { detail, bubbles: true, composed: true, cancelable: true }));
  }
}

// Safari has no idle time to give.
const whenIdle = (work: () => void): number => (window.requestIdleCallback ?? setTimeout)(work);
