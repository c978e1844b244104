/**
 * One question and the reply to it: the question, the thinking above the answer, the answer, and what can be done with
 * it.
 *
 * The turn belongs to the thinking block: it folds the entries, live or stored, and the exchange reads them there.
 */

import type { Entry } from "../src/core/events.js";
import type { Block, Turn } from "../src/core/turn.js";
import type { ThinkingBlockElement } from "../src/element/element.js";
import type { ThinkingEvents } from "../src/index.js"; // and the element's name, for the type checker
import { Answer } from "./answer.js";
import { type ApiError, type Message, requestJson, type State } from "./api.js";
import type { Attached } from "./attachments.js";
import { modelThinks, modelTitle } from "./catalog.js";
import { h, say, show } from "./dom.js";
import { ConnectionLine } from "./error-card.js";
import { blockPolicy, currentPreferences, currentRunningIcon } from "./preferences.js";
import type { ReplyFooter } from "./reply-footer.js";
import { showError, tellScreenReader } from "./toasts.js";
import { followTurn } from "./turn-stream.js";
import { currentLanguage, t } from "./words.js";

/** What an exchange asks of the page around it. */
export interface ExchangeHost {
  askAgain(prompt: string, attached?: Attached): void;
  /** Asks what was suggested. */
  askChosen(prompt: string): void;
  /** Puts a text into the composer. */
  draft(text: string): void;
  focusComposer(): void;
  /** Opens the dialog that chooses who answers. */
  pickAnswerer(): void;
  /** Stops scrolling along with what is new. */
  stopFollowing(): void;
  ended(exchange: Exchange): void;
  /** Asks in the place of a question; what was there is kept as another version. False where it was not asked. */
  replace(turn: string, prompt: string, attached?: Attached): Promise<boolean>;
  /** Goes to another version of an exchange. */
  showVersion(turn: string): void;
  /** The id of the conversation. */
  session(): string;
  /** There is no such turn any more. */
  gone(): void;
}

const PATIENCE_MS = 20_000;
/** A connection that is back within this time leaves the thinking as it is. */
const LOST_AFTER_MS = 1_500;
const FIRST_TOPIC_MS = 2_000;
const TOPIC_MS = 10_000;
/** Assistants of assistants are shown in place up to this depth, and beside the conversation below it. */
const DEEPEST_IN_PLACE = 3;

export class Exchange {
  readonly node = h("article", { class: "exchange" });
  readonly answer = new Answer();
  readonly prompts: string[] = [];
  /** The files that went with the question. */
  readonly attached: Attached = { images: [], files: [] };
  /** The turns that replace each other here, the oldest first. */
  versions: string[] = [];
  readonly reply = h("div", { class: "reply" });
  block: ThinkingBlockElement;
  running = false;
  state: State = "done";
  /** The name of the agent that was asked; empty where a model was. */
  agent = "";
  readonly promptsNode = h("div", { class: "asked" });
  private heading = h("h2", { class: "sr" });
  private connection = new ConnectionLine(() => this.resume());
  /** Whether thinking is to be waited for. */
  expectsThinking = true;
  private approvals = h("div", { class: "approvals", hidden: true });
  private footer: ReplyFooter | null = null;
  private unfollow: (() => void) | null = null;
  private frame = 0;
  private lostTimer = 0;
  private model = "";
  private topic = "";
  private nextTopicAt = 0;
  private answerNowSent = false;
  /** Whether nobody told a screen reader how the turn ended. */
  untold = false;

  constructor(
    readonly id: string,
    readonly host: ExchangeHost,
  ) {
    this.node.id = id;
    this.block = this.createOwnBlock();
    this.reply.append(this.heading, this.block, this.answer.node, this.approvals, this.connection.node);
    this.node.append(this.promptsNode, this.reply);
    this.reply.hidden = true;
    this.answer.node.hidden = true;
  }

  /** The turn so far. */
  get turn(): Turn {
    return this.block.turn;
  }

  get prompt(): string {
    return this.prompts.join("\n\n");
  }

  /** The thoughts of the turn that can be read. */
  get thoughts(): Block[] {
    return this.turn.ownBlocks("reasoning").filter((block) => !block.blank);
  }

  /** Shows what was asked. */
  addPrompt(text: string, { images, files }: Attached = { images: [], files: [] }): void {
    if (text) this.prompts.push(text);
    this.attached.images.push(...images);
    this.attached.files.push(...files);
    const bubble = h("div", { class: "bubble", dir: "auto" }, h("h2", { class: "sr" }, t("you")), h("p", null, text));
    clamp(bubble, text);
    const pictures = images.map(({ media_type, data }) =>
      h("img", { class: "picture", src: `data:${media_type};base64,${data}`, alt: t("picture") }),
    );
    bubble.append(...pictures, ...files.map(({ name, media_type }) => h("p", { class: "muted" }, name || media_type)));
    this.promptsNode.append(bubble);
  }

  /** Shows a stored message. */
  showMessage(message: Message): void {
    this.agent = message.agent_name;
    this.state = message.state;
    if (message.versions[0]) this.versions = message.versions;
    if (message.role === "user") return this.addPrompt(message.content, message);
    if (message.role === "tool") return;
    this.model = message.model;
    for (const entry of message.entries) this.take(entry);
    // A turn of which nobody knows how it ended.
    if (this.turn.live) this.block.feed({ type: "turn.failed", code: message.state });
    this.draw();
  }

  /** Takes one entry. */
  take(entry: Entry): void {
    if (entry.seq <= this.turn.seq || this.turn.outcome) return;
    const { event } = entry;
    // A block at work tells a screen reader of the end itself.
    if (event.type === "turn.ended" || event.type === "turn.failed")
      this.untold = this.running && this.block.getAttribute("status") !== "streaming";
    this.block.feed(entry);
    if (event.type === "block.started") this.connection.stopWaiting();
    if (event.type === "block.started" && this.depth(event.block) > DEEPEST_IN_PLACE) this.closeStep(event.block);
    this.drawSoon();
  }

  /** Follows the turn live until it ends. */
  follow(): void {
    if (this.unfollow || this.turn.outcome) return;
    this.running = true;
    this.state = "running";
    this.reply.hidden = false;
    if (!this.turn.blocks[0]) {
      if (this.expectsThinking) this.block.setAttribute("status", "pending");
      this.connection.startWaiting(!this.expectsThinking);
    }
    this.node.setAttribute("aria-busy", "true");
    this.nextTopicAt = performance.now() + FIRST_TOPIC_MS;
    const listener = {
      entry: (entry: Entry) => this.take(entry),
      reset: () => this.restart(),
      end: (state: State) => this.ended(state),
      connected: (connected: boolean) => this.setConnected(connected),
      saved: (saved: boolean) => this.connection.show({ unsaved: !saved }),
      lost: (error: ApiError) => this.lost(error),
    };
    this.unfollow = followTurn(this.id, listener, this.turn.seq);
  }

  /** Stops following; what runs on the gateway continues. */
  leave(): void {
    this.unfollow?.();
    this.unfollow = null;
    this.connection.stopWaiting();
    clearTimeout(this.lostTimer);
    cancelAnimationFrame(this.frame);
    this.frame = 0;
  }

  /** Shows thinking as the preferences say now. */
  restyle(): void {
    styleBlock(this.block);
  }

  /** Opens every thought and step, but for what is too deep to be read in place. */
  expandAll(): void {
    this.block.expandAll();
    for (const { number } of this.turn.blocks) if (this.depth(number) > DEEPEST_IN_PLACE) this.closeStep(number);
  }

  /** How many assistants deep the work of an assistant is; 0 for anything else. */
  depth(step: number): number {
    const { blocks } = this.turn;
    let depth = 0;
    if (blocks[step]?.kind !== "assistant_call") return depth;
    for (let number: number | null = step; number !== null; number = blocks[number]?.parent ?? null)
      if (blocks[number]?.kind === "assistant_call") depth++;
    return depth;
  }

  /** Another thinking block with the settings of this page. */
  createBlock(): ThinkingBlockElement {
    const block = document.createElement("thinking-block");
    block.setAttribute("lang", currentLanguage()); // it is used before it stands in the document
    styleBlock(block);
    block.addEventListener("thinking-retry", () => this.host.askAgain(this.prompt, this.attached));
    return block;
  }

  async stop(): Promise<void> {
    await requestJson(`/api/turns/${this.id}/cancel`, { method: "POST" }).catch(showError);
  }

  async answerNow(): Promise<void> {
    if (this.answerNowSent) return;
    this.answerNowSent = true;
    try {
      await requestJson(`/api/turns/${this.id}/answer-now`, { method: "POST" });
    } catch (error) {
      this.answerNowSent = false;
      showError(error);
    }
  }

  /** Puts a replay in the place of the reply; the returned function ends it. */
  replaceReply(...nodes: Node[]): () => void {
    const replacement = h("div", { class: "reply" }, ...nodes);
    this.reply.replaceWith(replacement);
    return () => replacement.replaceWith(this.reply);
  }

  /** Who answered: the agent that was asked, else the model. */
  name(): string {
    return this.agent || modelTitle(this.model || this.turn.model);
  }

  draw(): void {
    const { turn } = this;
    const live = this.running || turn.live; // without a connection the thinking is over, and the turn is not
    this.reply.hidden = !this.running && !turn.outcome;
    const waits = this.block.getAttribute("status") === "pending";
    if (waits && turn.model && !modelThinks(turn.model)) {
      this.block.removeAttribute("status");
      this.connection.startWaiting(true);
    } else if (this.running && turn.blocks[0]?.kind === "text") this.block.removeAttribute("status");
    say(this.heading, t("answer_by", { name: this.name() }));
    this.answer.set(turn.answer, live);
    this.drawApprovals();
    if (live) this.tellTopic();
    else if (!this.running) this.drawFooter();
  }

  /** The block that shows this exchange. */
  private createOwnBlock(): ThinkingBlockElement {
    const block = this.createBlock();
    block.addEventListener("thinking-step-toggle", (event) => this.openBeside(event));
    return block;
  }

  /** Opens beside the conversation what is too deep to be read in place. */
  private openBeside(event: ThinkingEvents["thinking-step-toggle"]): void {
    const { block, open } = event.detail;
    if (!open || this.depth(block) <= DEEPEST_IN_PLACE) return;
    event.preventDefault();
    void import("./side-panel.js").then(({ openSidePanel }) => openSidePanel(this, block)).catch(showError);
  }

  private closeStep(number: number): void {
    this.block.choose(number, false);
  }

  private restart(): void {
    const block = this.createOwnBlock();
    this.block.replaceWith(block);
    this.block = block;
    this.answer.set("", true);
    this.drawSoon();
  }

  private ended(state: State): void {
    this.leave();
    this.running = false;
    this.state = state;
    this.node.removeAttribute("aria-busy");
    if (this.block.getAttribute("status") === "pending") this.block.removeAttribute("status");
    this.connection.show({ problem: "", unsaved: false });
    this.draw();
    const count = this.turn.answer.split(/\s+/).filter(Boolean).length;
    if (count && this.turn.outcome?.ending === "answered")
      tellScreenReader(t("ready", { words: t("words", { n: count }) }));
    this.host.ended(this);
  }

  private setConnected(connected: boolean): void {
    clearTimeout(this.lostTimer);
    this.connection.show({ problem: connected ? "" : t("reconnecting") });
    if (connected) this.block.connected = true;
    else this.lostTimer = window.setTimeout(() => this.showLost(), LOST_AFTER_MS);
  }

  /** Without a connection nothing is shown as going on. */
  private showLost(): void {
    this.block.connected = false;
    this.lostTimer = window.setTimeout(() => this.connection.show({ problem: t("lost") }), PATIENCE_MS);
  }

  /** The gateway has nothing to follow, or refuses: what came stays, and can be continued. */
  private lost(error: ApiError): void {
    this.leave();
    if (error.status !== 404) {
      this.block.connected = false;
      return this.connection.show({ problem: error.message });
    }
    this.running = false;
    this.host.gone();
  }

  /** Continues where the connection broke. */
  private resume(): void {
    if (this.unfollow) return void dispatchEvent(new Event("online"));
    this.connection.show({ problem: "" });
    this.block.connected = true;
    this.follow();
  }

  private drawSoon(): void {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  /** For those who want to hear more: what it thinks about now, where that changed, and not often. */
  private tellTopic(): void {
    if (currentPreferences().display.live_region !== "content" || performance.now() < this.nextTopicAt) return;
    const { view } = this.block.state;
    const topic = (view?.summary_by === "extract" ? "" : view?.summary) || view?.peek || "";
    if (!topic || topic === this.topic) return;
    this.topic = topic;
    this.nextTopicAt = performance.now() + TOPIC_MS;
    tellScreenReader(topic);
  }

  private drawApprovals(): void {
    const waiting = this.turn.live ? this.turn.blocks.filter((block) => block.approval === "asked") : [];
    const numbers = waiting.map(({ number }) => number).join();
    show(this.approvals, !!numbers);
    if ((this.approvals.dataset.blocks ?? "") === numbers) return;
    this.approvals.dataset.blocks = numbers;
    void import("./approval.js")
      .then(({ approvalCard }) => {
        const cards = waiting.map((block) => approvalCard(this.id, block, () => this.host.focusComposer()));
        this.approvals.replaceChildren(...cards);
      })
      .catch(showError);
  }

  /** What can be done with an answer once it is there; loaded with the first one. */
  private drawFooter(): void {
    void import("./reply-footer.js")
      .then(({ ReplyFooter }) => {
        this.footer ??= new ReplyFooter(this);
        this.footer.draw();
        if (!this.footer.node.isConnected) this.reply.append(this.footer.node);
      })
      .catch(showError);
  }
}

/** Shows thinking as the preferences say now. */
function styleBlock(block: ThinkingBlockElement): void {
  const policy = blockPolicy();
  block.policy = policy;
  block.setAttribute("render", currentPreferences().render);
  block.setAttribute("running-icon", currentRunningIcon());
  // The page's own style says it without brackets; the others are those of their documents.
  block.strings = policy.preset === "default" ? { step: t("step", { n: "{n}" }) } : {};
}

/** A question of more lines or characters than this is shown in part. */
const MOST_LINES = 16;
const MOST_CHARACTERS = 1_200;

/** Shows the beginning of a long question, with a button for the rest. */
function clamp(bubble: HTMLElement, text: string): void {
  if (text.length <= MOST_CHARACTERS && text.split("\n", MOST_LINES + 1).length <= MOST_LINES) return;
  const label = h("span");
  const draw = (clamped: boolean): void => {
    bubble.classList.toggle("clamped", clamped);
    more.setAttribute("aria-expanded", String(!clamped));
    say(label, t(clamped ? "show_more" : "show_less"));
  };
  const toggle = (): void => draw(!bubble.classList.contains("clamped"));
  const more = h("button", { type: "button", class: "show-more", onclick: toggle }, label);
  bubble.append(more);
  draw(true);
}

/** What is shown for a question on its way. */
export function sendingNode(prompt: string): HTMLElement {
  const bubble = h("div", { class: "bubble", dir: "auto" }, h("p", null, prompt));
  clamp(bubble, prompt);
  return h(
    "article",
    { class: "exchange sending" },
    h("div", { class: "asked" }, bubble),
    h("p", { class: "link-state" }, t("sending")),
  );
}
