/**
 * `<thinking-block>`: the thinking of one turn, live or at rest. This file is its public contract: attributes,
 * properties, methods and events.
 *
 * It takes canonical entries, the thinking block's JSON, or another dialect's stream, folds them into a turn, and
 * draws the view of it once per frame. The drawing is in `drawn-block.ts`.
 */

import type { Locale, Table } from "../core/locales.js";
import { showThinking, thinkingShown } from "../core/open-rule.js";
import type { Policy } from "../core/policy.js";
import type { PanelView } from "../core/thinking.js";
import type { Turn } from "../core/turn.js";
import type { Formatters, Words } from "../core/words.js";
import type { ThinkingBlock, ThinkingStep, TurnRecord } from "../sources/records.js";
import type { Source } from "../sources/source.js";
import type { StreamOptions } from "../sources/streams.js";
import type { UIMessage } from "../sources/ui-message.js";
import type { ToggledBy } from "./disclosure.js";
import { fireEvent } from "./dom.js";
import { DrawnBlock } from "./drawn-block.js";
import type { Renderer } from "./markdown.js";

/**
 * Shows the thinking of a turn: a header that says what is going on, and everything behind it when opened.
 *
 * @tagname thinking-block
 *
 * @attr {"pending"|"streaming"|"done"|"error"|"aborted"|"truncated"|"redacted"|"disconnected"} status - The status; reflected. Set it for a block that is fed by `append`.
 * @attr {"koder"|"preview"|"toggle"|"agent"|"trace"|"default"} preset - A named set of display settings.
 * @attr {"closed"|"preview"|"open"|"hidden"} live - How it is shown while it streams; `preview` is a header and the newest line.
 * @attr {"closed"|"open"|"hidden"} rest - How it is shown once it is complete.
 * @attr {"label"|"preview"|"summary"|"auto"} header - What the header says.
 * @attr {"true"|"false"} auto-close - `false` leaves open what was open while it streamed.
 * @attr {number} [auto-close-delay=0] - How many milliseconds it stays open after the end before it closes by itself.
 * @attr {number} started-at - When thinking began, in milliseconds since 1970 by the server's clock.
 * @attr {number} duration-ms - How long it took.
 * @attr {number} tokens - How many tokens it took.
 * @attr {number} token-budget - How many it was allowed; shown beside those it took.
 * @attr {string} summary - One line on what it was about.
 * @attr {"raw"|"summary"|"generated"} provenance - Source of the text: raw, a summary by the provider, or generated.
 * @attr {"markdown"|"plain"} render - How the text is drawn.
 * @attr {number} max-lines - How many lines the body shows before it scrolls.
 * @attr {string} name - At most one element with this name is open at a time.
 * @attr {boolean} headless - Draws nothing of its own: the page shows its children instead, by `state` and the events.
 * @attr {string} actions - Buttons to offer besides copy and close: `retry` beside the sentence on what went wrong, `answer-now` while it thinks.
 * @attr {boolean} no-copy - Offers no copy.
 * @attr {"dot"|"gear"} [running-icon=dot] - What moves while it thinks: a dot that breathes, or a gear that turns.
 * @attr {string} message - A message of the AI SDK as JSON, for a page that a server renders.
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
 * @fires {CustomEvent<{open: boolean, by: "user"|"find"|"policy"}>} thinking-toggle - It is about to open or close; can be cancelled. Changes by the policy fire afterwards and cannot.
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
 * @csspart provenance - Source of the text: raw, a summary by the provider, or generated.
 * @csspart footer - Status, counts and buttons.
 * @csspart status - Where it stands, in a word.
 * @csspart budget - How much of the token budget was used.
 * @csspart step-time - How long a call took.
 * @csspart show-all - The button that shows all of a text that scrolls.
 * @csspart timeline - The button for the times of the steps, and the list of them.
 * @csspart bar-row - One step of that list.
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
export class ThinkingBlockElement extends DrawnBlock {
  static readonly observedAttributes = (
    "status preset live rest header auto-close auto-close-delay started-at duration-ms tokens " +
    "token-budget summary provenance render max-lines headless actions no-copy running-icon message lang"
  ).split(" ");

  connectedCallback(): void {
    if (this.createTree()) {
      // What a page set on the element before it was defined hides the accessors of the class.
      const own = { ...this };
      for (const name in own)
        if (name in ThinkingBlockElement.prototype) {
          delete this[name];
          this[name] = own[name];
        }
    }
    this.afterConnect();
  }

  /** @internal The turn so far, for the chat page, which is built together with the element. */
  get turn(): Turn {
    return this.turnFeed.turn;
  }

  /** @internal Whether the connection stands, for the chat page; without one nothing is shown as running. */
  set connected(connected: boolean) {
    this.turnFeed.setConnected(connected);
    this.drawSoon();
  }

  /** The JSON of a thinking block or of a turn; setting it again appends what grew. Without any, nothing is shown. */
  set block(block: ThinkingBlock | TurnRecord | null) {
    if (block) this.feed(block);
    else this.reset();
  }

  /**
   * A message of the AI SDK, as `useChat` gives it, or its JSON; setting it again appends what grew. Without any, nothing is
   * shown; a `status` that the page gave holds for the next one as well.
   */
  set message(message: UIMessage | string | null) {
    if (message) this.feed(typeof message === "string" ? JSON.parse(message) : message);
    else this.clearMessage();
  }

  override attributeChangedCallback(name: string, old: string | null, value: string | null): void {
    if (name === "message") this.message = value;
    else super.attributeChangedCallback(name, old, value);
  }

  /** The steps of it alone. */
  set steps(steps: ThinkingStep[]) {
    for (const step of steps) this.upsertStep(step);
  }

  /** How thinking is shown: settings that override the preset they name. */
  get policy(): Partial<Policy> {
    return this.currentPolicy;
  }

  set policy(settings: Partial<Policy>) {
    this.setPolicy(settings);
  }

  /** Another language, or other words for the same: a table of them, by key. */
  set strings(table: Partial<Locale> | Table) {
    this.customize(table as Partial<Locale>);
  }

  /** Other ways to write a number or a time: `count`, `duration`, `spoken`. */
  set formatters(formatters: Formatters) {
    this.customize(undefined, formatters);
  }

  /** Makes what shows a thought's text; without it, markdown or plain as `render` says. */
  get renderer(): ((root: HTMLElement) => Renderer) | null {
    return this.customRenderer;
  }

  set renderer(renderer: ((root: HTMLElement) => Renderer) | null) {
    this.customRenderer = renderer;
    this.redraw();
  }

  /** The server's time in milliseconds; without it the time continues from the newest stamp. */
  get clock(): (() => number | null) | null {
    return this.turnFeed.clock;
  }

  set clock(clock: (() => number | null) | null) {
    this.turnFeed.clock = clock;
  }

  /**
   * Reads a stream: entries, messages of the AI SDK or of AG-UI, or a provider's own response. If it stops without an end,
   * the status becomes disconnected; it rejects where the stream is none of these.
   */
  consume(source: Source, options: StreamOptions = {}): Promise<void> {
    return this.turnFeed.consume(source, options, () => this.drawSoon());
  }

  /** Appends text to a block that is fed by hand. Nodes become children, as in any element. */
  override append(...nodes: (Node | string)[]): void {
    for (const node of nodes) {
      if (typeof node === "string") this.turnFeed.append(this.manualBlock(), node);
      else super.append(node);
    }
    this.drawSoon();
  }

  /** Adds a step, or brings it up to date. */
  upsertStep(step: ThinkingStep): void {
    this.feed({ step });
  }

  /** Appends text to a step. */
  appendStep(id: string, delta: string): void {
    this.feed({ id, delta });
  }

  /** Opens or closes a block, or all of it (null), in the person's name; null gives the choice back. */
  choose(block: number | null, open: boolean | null, by: ToggledBy = "user"): void {
    if (!this.noteChoice(block, open, by)) return;
    const name = this.getAttribute("name");
    if (!open || block !== null || !name) return;
    // Of the elements with the same name, only one is open at a time.
    for (const other of (this.getRootNode() as Document).querySelectorAll(this.localName))
      if (other !== this && other.getAttribute("name") === name && (other as this).open) (other as this).open = false;
  }

  /** Opens every thought and every step. */
  expandAll(): void {
    this.#chooseAll(true);
  }

  /** Closes every thought and every step. */
  collapseAll(): void {
    this.#chooseAll(false);
  }

  /** Opens everything, or closes everything when all of it is open. */
  toggleAll(): void {
    const [context, view] = this.computeView();
    if (!view) return;
    const states = [view.open, ...context.thoughts.map((block) => context.openOf(block))];
    this.#chooseAll(!states.every((open) => open === "expanded"));
  }

  /** What the `/thinking` command does: hidden at rest becomes shown, shown becomes hidden. */
  toggleThinking(): void {
    this.showThinking(!thinkingShown(this.currentPolicy));
  }

  /** What `/thinking show` and `/thinking hide` do: hiding reaches every block, and showing gives each its state back. */
  showThinking(shown: boolean): void {
    this.policy = showThinking(this.currentPolicy, shown);
    this.refresh();
  }

  /** Finds a text in the thoughts and opens those that have it. */
  find(query: string): { block: number; at: number }[] {
    const matches = this.turn.ownBlocks("reasoning").flatMap(({ number, text }) => {
      const at = query ? text.toLowerCase().indexOf(query.toLowerCase()) : -1;
      return at < 0 ? [] : { block: number, at };
    });
    for (const { block } of matches) this.choose(block, true, "find");
    return matches;
  }

  /** Copies the thoughts as they were written. */
  async copy(): Promise<void> {
    const { text } = this;
    if (fireEvent(this, "copy", { text })) await navigator.clipboard.writeText(text);
  }

  /** The answer as markdown; with its thinking before it, folded, if `thinking` is set. */
  toMarkdown({ thinking = false } = {}): string {
    const [context, view] = this.computeView();
    return turnMarkdown(this.turn.answer, thinking ? this.text : "", view, context.words);
  }

  #chooseAll(open: boolean): void {
    this.choices.clear();
    for (const { number } of this.turn.blocks) this.choices.set(number, open);
    this.choose(null, open);
  }
}

/** A turn as markdown: the answer; before it the thoughts, folded, where there are any. */
function turnMarkdown(answer: string, thoughts: string, view: PanelView | null, words: Words): string {
  if (!thoughts) return answer;
  const title = [words.say("session.thinking"), view?.duration, view?.words_text].filter(Boolean).join(" · ");
  // The fence is longer than any in the thoughts, so that none of them ends it. Of runs of one sign, the longest sorts last.
  const fence = `${["``", ...(thoughts.match(/`+/g) ?? [])].sort().pop()}\``;
  return `<details><summary>${title}</summary>\n\n${fence}\n${thoughts}\n${fence}\n\n</details>\n\n${answer}`;
}
