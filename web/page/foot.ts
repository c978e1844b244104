/** What stands below an answer: who gave it and what it took, what can be done with it, and what to do when there is none. */

import { call, type TurnBody } from "./api.js";
import { copy } from "./copying.js";
import { button, h } from "./dom.js";
import type { Exchange } from "./exchange.js";
import { learnMore } from "./more-words.js";
import { complain } from "./saying.js";
import { page } from "./shell.js";
import { currentLanguage, t } from "./words.js";

learnMore();

export class Foot {
  readonly node: HTMLElement;
  private facts = h("span", { class: "facts" });
  private tools = h("span", { class: "reply-tools" });
  private ways = h("div", { class: "row ways" });
  private cost = "";

  constructor(private exchange: Exchange) {
    this.node = h("footer", { class: "reply-foot" }, this.facts, this.tools);
  }

  draw(): void {
    const { exchange } = this;
    this.facts.replaceChildren(this.line());
    if (this.tools.firstChild) return;
    this.tools.append(...this.acts());
    const ways = this.waysOn();
    if (ways[0]) {
      this.ways.replaceChildren(...ways);
      exchange.reply.append(this.ways);
    } else exchange.block.setAttribute("actions", "retry");
    if (Object.keys(exchange.turn.usage).length) this.priceWhenSeen();
  }

  private acts(): HTMLElement[] {
    const { exchange } = this;
    const { turn, thoughts, prompt, around } = exchange;
    const plain = { class: "quiet", bare: true };
    const acts = [
      button(t("replay"), "replay", () => void import("./replay.js").then(({ replay }) => replay(exchange)).catch(complain), plain),
      button(t("again"), "retry", () => around.again(prompt), plain),
    ];
    if (exchange.block.state.view)
      acts.push(button(t("link"), "link", () => void import("./links.js").then(({ links }) => links(exchange)).catch(complain), plain));
    if (turn.answer && thoughts[0]) acts.unshift(button(t("copy.with"), "thought", () => void copy(exchange.block.toMarkdown({ thinking: true })), plain));
    if (turn.answer) acts.unshift(button(t("copy.label"), "copy", () => void copy(turn.answer), plain));
    return acts;
  }

  /** How to go on from a turn that thought and did not answer, or that broke off. */
  private waysOn(): HTMLElement[] {
    const { turn, thoughts, prompt, around, state } = this.exchange;
    const way = (name: string, act: () => void, kind = "plain"): HTMLElement => button(name, null, act, { class: kind });
    if (turn.outcome?.ending === "reasoning_only")
      return [
        way(t("retry"), () => around.again(prompt), "primary"),
        way(t("as_draft"), () => page.composer.put(lastParagraph(thoughts.map(({ text }) => text)))),
      ];
    const lost = turn.outcome?.ending === "cut_off" && turn.outcome.cause === "cut_off";
    // Where something of an answer is there the model can go on with it; a thought alone it does not get back.
    const on = turn.answer ? t("resume.prompt") : prompt;
    return lost || state === "interrupted" ? [way(t("resume"), () => around.again(on), "primary")] : [];
  }

  private line(): string {
    const { usage } = this.exchange.turn;
    const facts = [this.exchange.name()];
    if (usage.input != null) facts.push(t("tokens.in", { n: usage.input }));
    if (usage.output != null) facts.push(t("tokens.out", { n: usage.output }));
    if (usage.reasoning != null) facts.push(t("tokens.thinking", { n: usage.reasoning }));
    if (this.cost) facts.push(this.cost);
    return facts.join(" · ");
  }

  /** What it cost is asked for when somebody sees the answer, and once. */
  private priceWhenSeen(): void {
    const eye = new IntersectionObserver((seen) => {
      if (!seen.some((one) => one.isIntersecting)) return;
      eye.disconnect();
      call<TurnBody>(`/api/turns/${this.exchange.id}`).then(({ cost }) => {
        const usd = cost?.turn?.usd;
        if (usd == null) return;
        this.cost = t("cost", { n: Number(usd).toLocaleString(currentLanguage(), { maximumSignificantDigits: 3 }) });
        this.facts.replaceChildren(this.line());
        if (cost?.priced_by) this.facts.title = cost.priced_by;
      }, complain);
    });
    eye.observe(this.node);
  }
}

/** Where the thinking had got to: its last paragraph, or all of it where there is but one. */
function lastParagraph(thoughts: string[]): string {
  const paragraphs = thoughts.join("\n\n").split(/\n\s*\n/);
  return paragraphs.map((one) => one.trim()).filter(Boolean).pop() ?? "";
}
