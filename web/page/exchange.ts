/**
 * One question and what came of it: the question, the thinking above the answer, the answer, and what can be
 * done with it. Fed with entries, live or kept; drawn once per frame.
 */

import type { Entry } from "../src/events.js";
import type { ThinkingBlockElement } from "../src/element.js";
import type { ThinkingEvents } from "../src/index.js"; // and the element's name, for the type checker
import { apply, type Block, Turn } from "../src/transcript.js";
import { notice } from "../src/view.js";
import { findLocale, Words } from "../src/words.js";
import { Answer } from "./answer.js";
import { call, type Message, type Problem, type State } from "./api.js";
import { button, h, say, show } from "./dom.js";
import type { Foot } from "./foot.js";
import { policy, preferences } from "./prefs.js";
import { complain, tell } from "./saying.js";
import { entriesOf } from "./stored.js";
import { follow } from "./stream.js";
import { currentLanguage, t } from "./words.js";

/** What an exchange asks of the page around it. */
export interface Around {
  again(prompt: string): void;
  ended(exchange: Exchange): void;
  /** There is no such turn any more. */
  gone(): void;
}

const PATIENCE_MS = 20_000;
const FIRST_TOPIC_MS = 2_000;
const TOPIC_MS = 10_000;
/** Assistants of assistants are shown in their place so deep, and no deeper. */
const DEEPEST = 3;

export class Exchange {
  readonly node = h("article", { class: "exchange" });
  readonly answer = new Answer();
  readonly prompts: string[] = [];
  turn = new Turn();
  block: ThinkingBlockElement;
  running = false;
  state: State = "done";
  /** What the agent is called that was asked; empty where a model was. */
  agent = "";
  private ask = h("div", { class: "asked" });
  readonly reply = h("div", { class: "reply" });
  private who = h("h2", { class: "sr" });
  private link = h("p", { class: "link-state", hidden: true });
  private notice = h("p", { class: "notice", hidden: true });
  private approvals = h("div", { class: "approvals", hidden: true });
  private foot: Foot | null = null;
  private unfollow: (() => void) | null = null;
  private frame = 0;
  private patience = 0;
  private broken = 0;
  private model = "";
  private topic = "";
  private topicAfter = 0;
  private hurried = false;

  constructor(
    readonly id: string,
    readonly around: Around,
  ) {
    this.node.id = id;
    this.block = this.own();
    this.reply.append(this.who, this.block, this.answer.node, this.notice, this.approvals, this.link);
    this.node.append(this.ask, this.reply);
    this.reply.hidden = true;
    this.answer.node.hidden = true;
  }

  get prompt(): string {
    return this.prompts.join("\n\n");
  }

  /** Whether there is anything to read about how it came to the answer. */
  get thoughts(): Block[] {
    return this.turn.top("reasoning").filter((block) => !block.blank);
  }

  /** Show what was asked. */
  prompted(text: string, pictures = 0): void {
    if (text) this.prompts.push(text);
    const bubble = h("div", { class: "bubble", dir: "auto" }, h("h2", { class: "sr" }, t("you")), h("p", null, text));
    if (pictures) bubble.append(h("p", { class: "muted" }, "🖼 ".repeat(pictures).trim()));
    this.ask.append(bubble);
  }

  /** Show a message that was kept. */
  kept(message: Message): void {
    this.agent = message.agent_name;
    if (message.role === "user") return this.prompted(message.content, message.images.length);
    if (message.role === "tool") return;
    this.model = message.model;
    this.state = message.state;
    for (const entry of entriesOf(message)) this.take(entry);
    this.draw();
  }

  /** Take one entry. */
  take(entry: Entry): void {
    if (entry.seq <= this.turn.seq || this.turn.outcome) return;
    apply(this.turn, entry);
    this.block.feed(entry);
    clearTimeout(this.patience);
    if (this.link.textContent === t("still")) this.told("");
    if (entry.event.type === "block.started" && this.depth(entry.event.block) > DEEPEST) this.shut(entry.event.block);
    this.soon();
  }

  /** Follow it live until it ends. */
  follow(): void {
    if (this.unfollow || this.turn.outcome) return;
    this.running = true;
    this.state = "running";
    this.reply.hidden = false;
    if (!this.turn.blocks[0]) this.block.setAttribute("status", "pending");
    this.node.setAttribute("aria-busy", "true");
    this.topicAfter = performance.now() + FIRST_TOPIC_MS;
    this.wait();
    this.unfollow = follow(
      this.id,
      {
        entry: (entry) => this.take(entry),
        reset: () => this.restart(),
        end: (state) => this.ended(state),
        connected: (stands) => this.connected(stands),
        saved: (saved) => this.told(saved ? "" : t("unsaved")),
        lost: (problem) => this.lost(problem),
      },
      this.turn.seq,
    );
  }

  /** Stop following; what runs on the gateway runs on. */
  leave(): void {
    this.unfollow?.();
    this.unfollow = null;
    clearTimeout(this.patience);
    clearTimeout(this.broken);
    cancelAnimationFrame(this.frame);
    this.frame = 0;
  }

  /** Show thinking as the preferences say now. */
  restyle(): void {
    this.block.policy = policy();
    this.block.setAttribute("render", preferences.render);
  }

  /** Open every thought and step, but for what is too deep to be read in its place. */
  expandAll(): void {
    this.block.expandAll();
    for (const { number } of this.turn.blocks) if (this.depth(number) > DEEPEST) this.shut(number);
  }

  /** How many assistants deep the work of an assistant is; 0 for anything else. */
  depth(number: number): number {
    let depth = 0;
    if (this.turn.blocks[number]?.kind !== "assistant_call") return depth;
    for (let at: number | null = number; at !== null; at = this.turn.blocks[at]?.parent ?? null)
      if (this.turn.blocks[at]?.kind === "assistant_call") depth++;
    return depth;
  }

  /** Another thinking block, as this page wants one. */
  fresh(): ThinkingBlockElement {
    const block = document.createElement("thinking-block");
    block.setAttribute("block-id", this.id);
    block.setAttribute("lang", currentLanguage()); // it is spoken to before it stands in the document
    block.setAttribute("render", preferences.render);
    block.policy = policy();
    block.addEventListener("thinking-retry", () => this.around.again(this.prompt));
    return block;
  }

  /** The one that shows this exchange. */
  private own(): ThinkingBlockElement {
    const block = this.fresh();
    block.addEventListener("thinking-step-toggle", (event) => this.aside(event));
    return block;
  }

  /** What lies too deep to be read in its place opens beside the conversation. */
  private aside(event: ThinkingEvents["thinking-step-toggle"]): void {
    const { block, open } = event.detail;
    if (!open || this.depth(block) <= DEEPEST) return;
    event.preventDefault();
    void import("./aside.js").then(({ aside }) => aside(this, block)).catch(complain);
  }

  private shut(number: number): void {
    this.block.choose(number, false);
  }

  async stop(): Promise<void> {
    await call(`/api/turns/${this.id}/cancel`, { method: "POST" }).catch(complain);
  }

  async answerNow(): Promise<void> {
    if (this.hurried) return; // it was told so, and hurries
    this.hurried = true;
    await call(`/api/turns/${this.id}/answer-now`, { method: "POST" }).catch((error: unknown) => ((this.hurried = false), complain(error)));
  }

  /** Put a replay in the place of the reply; the function that comes back ends it. */
  replace(...nodes: Node[]): () => void {
    const stand = h("div", { class: "reply" }, ...nodes);
    this.reply.replaceWith(stand);
    return () => stand.replaceWith(this.reply);
  }

  private restart(): void {
    this.turn = new Turn();
    const fresh = this.own();
    this.block.replaceWith(fresh);
    this.block = fresh;
    this.answer.set("", true);
    this.soon();
  }

  private ended(state: State): void {
    this.leave();
    this.running = false;
    this.state = state;
    this.node.removeAttribute("aria-busy");
    if (this.block.getAttribute("status") === "pending") this.block.removeAttribute("status");
    this.told("");
    this.draw();
    const words = this.turn.answer.split(/\s+/).filter(Boolean).length;
    if (words) tell(t("ready", { words: t("words", { n: words }) }));
    this.around.ended(this);
  }

  /** Say so when nothing comes for long, instead of turning a wheel for ever. */
  private wait(): void {
    clearTimeout(this.patience);
    this.patience = window.setTimeout(() => this.told(t("still")), PATIENCE_MS);
  }

  private connected(stands: boolean): void {
    clearTimeout(this.broken);
    if (stands) return this.told("");
    this.told(t("reconnecting"), true);
    this.broken = window.setTimeout(() => this.told(t("lost"), true), PATIENCE_MS);
  }

  /** The gateway has nothing to follow, or will not say: what came stays, and can be gone on with. */
  private lost(problem: Problem): void {
    this.leave();
    if (problem.status !== 404) return this.told(problem.message, true);
    this.running = false;
    this.around.gone();
  }

  /** Go on where the connection broke. */
  private resume(): void {
    if (this.unfollow) dispatchEvent(new Event("online"));
    else this.follow();
  }

  /** A line on how the connection stands. */
  private told(text: string, broken = false): void {
    if (this.link.textContent === text) return;
    const again = broken && button(t("resume"), null, () => this.resume(), { class: "link" });
    this.link.replaceChildren(text, again || "");
    show(this.link, !!text);
    if (broken) tell(text);
  }

  private soon(): void {
    this.frame ||= requestAnimationFrame(() => ((this.frame = 0), this.draw()));
  }

  private draw(): void {
    const { turn } = this;
    const live = turn.live;
    this.reply.hidden = !this.running && !turn.outcome;
    if (this.running && turn.blocks[0]?.kind === "text") this.block.removeAttribute("status");
    say(this.who, t("answer_by", { name: this.name() }));
    this.answer.set(turn.answer, live);
    const words = new Words(findLocale(currentLanguage()));
    const drawnThere = !live && this.block.state.view !== null;
    const text = live || drawnThere ? "" : notice(turn, words);
    say(this.notice, text);
    show(this.notice, !!text);
    this.askApprovals();
    if (live) this.tellTopic();
    else if (!this.running) this.finish();
  }

  /** Who answered: the agent that was asked, else the model. */
  name(): string {
    const name = this.agent || this.model || this.turn.model;
    return !name || name === "solver" ? t("who.default") : name;
  }

  /** For those who want to hear more: what it thinks about now, where that is something else, and not often. */
  private tellTopic(): void {
    if (preferences.display.live_region !== "content" || performance.now() < this.topicAfter) return;
    const { view } = this.block.state;
    const topic = (view?.summary_by === "extract" ? "" : view?.summary) || view?.peek || "";
    if (!topic || topic === this.topic) return;
    this.topic = topic;
    this.topicAfter = performance.now() + TOPIC_MS;
    tell(topic);
  }

  private askApprovals(): void {
    const waiting = this.turn.live ? this.turn.blocks.filter((block) => block.approval === "asked") : [];
    const asked = waiting.map(({ number }) => number).join();
    show(this.approvals, !!asked);
    if ((this.approvals.dataset.blocks ?? "") === asked) return;
    this.approvals.dataset.blocks = asked;
    void import("./approval.js").then(({ approval }) => this.approvals.replaceChildren(...waiting.map((block) => approval(this.id, block)))).catch(complain);
  }

  /** What can be done with an answer once it is there; fetched with the first one. */
  private finish(): void {
    void import("./foot.js")
      .then(({ Foot }) => {
        this.foot ??= new Foot(this);
        this.foot.draw();
        if (!this.foot.node.isConnected) this.reply.append(this.foot.node);
      })
      .catch(complain);
  }
}
