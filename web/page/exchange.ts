/**
 * One question and what came of it: the question, the thinking above the answer, the answer, and what can be
 * done with it. Fed with entries, live or kept; drawn once per frame.
 */

import type { Entry } from "../src/events.js";
import type { ThinkingBlockElement } from "../src/element.js";
import type {} from "../src/index.js"; // the element's name, for the type checker
import { apply, type Block, Turn } from "../src/transcript.js";
import { notice } from "../src/view.js";
import { findLocale, Words } from "../src/words.js";
import { Answer } from "./answer.js";
import { call, type Message, type Problem, type State, type TurnBody } from "./api.js";
import { button, h, say, show } from "./dom.js";
import { mirror, preferences } from "./prefs.js";
import { complain, copy, tell } from "./saying.js";
import { entriesOf } from "./stored.js";
import { follow } from "./stream.js";
import { currentLanguage, t } from "./words.js";

/** What an exchange asks of the page around it. */
export interface Around {
  again(prompt: string): void;
  ended(exchange: Exchange): void;
  /** The log is not what it was taken for. */
  gone(problem: Problem): void;
}

const PATIENCE_MS = 20_000;

export class Exchange {
  readonly node = h("article", { class: "exchange" });
  readonly answer = new Answer();
  readonly prompts: string[] = [];
  turn = new Turn();
  block: ThinkingBlockElement;
  running = false;
  state: State = "done";
  private ask = h("div", { class: "asked" });
  private reply = h("div", { class: "reply" });
  private who = h("h2", { class: "sr" });
  private link = h("p", { class: "link-state", hidden: true });
  private notice = h("p", { class: "notice", hidden: true });
  private approvals = h("div", { class: "approvals", hidden: true });
  private foot = h("footer", { class: "reply-foot" });
  private facts = h("span", { class: "facts" });
  private tools = h("span", { class: "reply-tools" });
  private unfollow: (() => void) | null = null;
  private frame = 0;
  private patience = 0;
  private broken = 0;
  private cost = "";
  private model = "";

  constructor(
    readonly id: string,
    private around: Around,
  ) {
    this.node.id = id;
    this.block = this.fresh();
    this.foot.append(this.facts, this.tools);
    this.reply.append(this.who, this.block, this.answer.node, this.notice, this.approvals, this.link, this.foot);
    this.node.append(this.ask, this.reply);
    this.reply.hidden = true;
    this.answer.node.hidden = true;
    this.foot.hidden = true;
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
    if (entry.event.type === "approval.asked") {
      const name = this.turn.blocks[entry.event.block]?.name ?? "";
      if (this.running) tell(t("approval.asked", { name }));
    }
    this.soon();
  }

  /** Follow it live until it ends. */
  follow(): void {
    if (this.unfollow || this.turn.outcome) return;
    this.running = true;
    this.state = "running";
    this.reply.hidden = false;
    this.block.setAttribute("actions", "answer-now");
    if (!this.turn.blocks[0]) this.block.setAttribute("status", "pending");
    this.node.setAttribute("aria-busy", "true");
    this.wait();
    this.unfollow = follow(
      this.id,
      {
        entry: (entry) => this.take(entry),
        reset: () => this.restart(),
        end: (state) => this.ended(state),
        connected: (stands) => this.connected(stands),
        saved: (saved) => this.told(saved ? "" : t("unsaved")),
        lost: (problem) => (this.leave(), this.around.gone(problem)),
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
    this.block.policy = preferences.display;
    this.block.setAttribute("render", mirror().render ?? "markdown");
  }

  /** Another thinking block, as this page wants one. */
  fresh(): ThinkingBlockElement {
    const block = document.createElement("thinking-block");
    block.setAttribute("block-id", this.id);
    block.setAttribute("lang", currentLanguage()); // it is spoken to before it stands in the document
    block.setAttribute("render", mirror().render ?? "markdown");
    block.policy = preferences.display;
    block.addEventListener("thinking-answer-now", () => void this.answerNow());
    block.addEventListener("thinking-retry", () => this.around.again(this.prompt));
    return block;
  }

  async stop(): Promise<void> {
    await call(`/api/turns/${this.id}/cancel`, { method: "POST" }).catch(complain);
  }

  async answerNow(): Promise<void> {
    await call(`/api/turns/${this.id}/answer-now`, { method: "POST" }).catch(complain);
  }

  /** Put a replay in the place of the reply; the function that comes back ends it. */
  replace(...nodes: Node[]): () => void {
    const stand = h("div", { class: "reply" }, ...nodes);
    this.reply.replaceWith(stand);
    return () => stand.replaceWith(this.reply);
  }

  private restart(): void {
    this.turn = new Turn();
    const fresh = this.fresh();
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

  /** A line on how the connection stands. */
  private told(text: string, broken = false): void {
    if (this.link.textContent === text) return;
    const again = broken && button(t("try_now"), null, () => dispatchEvent(new Event("online")), { class: "link" });
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
    show(this.foot, !live);
    if (!live) this.finish();
  }

  private name(): string {
    const name = this.model || this.turn.model;
    return !name || name === "solver" ? t("who.default") : name;
  }

  private askApprovals(): void {
    const waiting = this.turn.live ? this.turn.blocks.filter((block) => block.approval === "asked") : [];
    show(this.approvals, !!waiting[0]);
    if (this.approvals.dataset.blocks === waiting.map(({ number }) => number).join()) return;
    this.approvals.dataset.blocks = waiting.map(({ number }) => number).join();
    void import("./approval.js").then(({ approval }) => this.approvals.replaceChildren(...waiting.map((block) => approval(this.id, block)))).catch(complain);
  }

  /** What can be done with an answer once it is there. */
  private finish(): void {
    this.block.setAttribute("actions", "retry");
    this.facts.replaceChildren(...this.line());
    if (this.tools.firstChild) return;
    const plain = { class: "quiet", bare: true };
    if (this.turn.answer)
      this.tools.append(button(t("copy.label"), "copy", () => void copy(this.turn.answer), plain));
    if (this.turn.answer && this.thoughts[0])
      this.tools.append(button(t("copy.with"), "thought", () => void copy(this.withThinking()), plain));
    this.tools.append(
      button(t("replay"), "replay", () => void this.replay(), plain),
      button(t("again"), "retry", () => this.around.again(this.prompt), plain),
    );
    if (Object.keys(this.turn.usage).length) this.priceWhenSeen();
  }

  private line(): string[] {
    const { usage } = this.turn;
    const facts = [this.name()];
    if (usage.input != null) facts.push(t("tokens.in", { n: usage.input }));
    if (usage.output != null) facts.push(t("tokens.out", { n: usage.output }));
    if (usage.reasoning != null) facts.push(t("tokens.thinking", { n: usage.reasoning }));
    if (this.cost) facts.push(this.cost);
    return [facts.join(" · ")];
  }

  /** What it cost is asked for when somebody sees the answer, and once. */
  private priceWhenSeen(): void {
    const eye = new IntersectionObserver((seen) => {
      if (!seen.some((one) => one.isIntersecting)) return;
      eye.disconnect();
      call<TurnBody>(`/api/turns/${this.id}`).then(({ cost }) => {
        const usd = cost?.turn?.usd;
        if (usd == null) return;
        this.cost = t("cost", { n: Number(usd).toLocaleString(currentLanguage(), { maximumSignificantDigits: 3 }) });
        this.facts.replaceChildren(...this.line());
        if (cost?.priced_by) this.facts.title = cost.priced_by;
      }, complain);
    });
    eye.observe(this.foot);
  }

  /** The answer with its thinking before it, folded, in a fence that no fence of the thought can end. */
  private withThinking(): string {
    const { view } = this.block.state;
    const thought = this.thoughts.map(({ text }) => text).join("\n\n");
    const fence = "`".repeat(Math.max(2, ...(thought.match(/`+/g) ?? []).map((run) => run.length)) + 1);
    const summary = [t("think"), view?.duration, view?.words_text].filter(Boolean).join(" · ");
    return `<details><summary>${summary}</summary>\n\n${fence}\n${thought}\n${fence}\n\n</details>\n\n${this.turn.answer}`;
  }

  private async replay(): Promise<void> {
    const { replay } = await import("./replay.js");
    await replay(this).catch(complain);
  }
}
