/** The line below an answer: who gave it, what it used, and what can be done with it; above it, how it broke off. */

import { notice, type Translate } from "../src/core/labels.js";
import { findLocale, Words } from "../src/core/words.js";
import { loadTranslate, requestJson, type TurnBody } from "./api.js";
import { builtIn, findModel, loadModels } from "./catalog.js";
import { copyText } from "./clipboard.js";
import { addDialogWords } from "./dialog-words.js";
import { button, h } from "./dom.js";
import { errorCard, needsOtherModel, type Remedy } from "./error-card.js";
import type { Exchange } from "./exchange.js";
import { showError, tellScreenReader } from "./toasts.js";
import { addQuestionTools } from "./versions.js";
import { currentLanguage, t } from "./words.js";

addDialogWords();

export class ReplyFooter {
  readonly node: HTMLElement;
  private facts = h("span", { class: "facts" });
  private tools = h("span", { class: "reply-tools" });
  private cost = "";

  constructor(private exchange: Exchange) {
    this.node = h("footer", { class: "reply-foot" }, this.facts, this.tools);
  }

  draw(): void {
    const { exchange } = this;
    this.facts.replaceChildren(this.line());
    if (this.tools.firstChild) return;
    this.tools.append(...this.actions());
    addQuestionTools(exchange);
    void this.addOutcome();
    void this.offerSuggestions();
    if (Object.keys(exchange.turn.usage).length) this.priceWhenSeen();
  }

  private async addOutcome(): Promise<void> {
    const { exchange } = this;
    const { untold } = exchange;
    const text = outcomeText(exchange, await loadTranslate());
    if (!text) return;
    exchange.answer.node.after(outcomeCard(exchange, text));
    if (untold) tellScreenReader(text);
  }

  /** What the built-in model suggests at the end of an answer can be asked with a click. */
  private async offerSuggestions(): Promise<void> {
    const { turn, answer, host } = this.exchange;
    await loadModels().catch(() => undefined); // without them, the suggestions are read and not clicked
    if (!builtIn(findModel(turn.model))) return;
    await answer.ready;
    const list = answer.node.lastElementChild;
    if (list?.localName !== "ul") return;
    list.classList.add("suggestions");
    for (const item of list.querySelectorAll("li")) {
      const text = item.textContent?.trim() ?? "";
      const ask = ({ detail }: MouseEvent): void => {
        if (detail < 2) host.askChosen(text); // a double click asks once
      };
      item.replaceChildren(button(text, null, ask, { class: "plain", dir: "auto" }));
    }
  }

  private actions(): HTMLElement[] {
    const { exchange } = this;
    const { turn, thoughts, prompt, host } = exchange;
    const plain = { class: "quiet", bare: true };
    const actions = [
      button(
        t("replay"),
        "replay",
        () => void import("./replay.js").then(({ openReplay }) => openReplay(exchange)).catch(showError),
        plain,
      ),
      button(t("again"), "retry", () => void host.replace(exchange.id, prompt, exchange.attached), plain),
    ];
    if (exchange.block.state.view)
      actions.push(
        button(
          t("link"),
          "link",
          () => void import("./step-links.js").then(({ openStepLinks }) => openStepLinks(exchange)).catch(showError),
          plain,
        ),
      );
    if (turn.answer && thoughts[0])
      actions.unshift(
        button(
          t("copy.with"),
          "copyThought",
          () => void copyText(exchange.block.toMarkdown({ thinking: true })),
          plain,
        ),
      );
    if (turn.answer) actions.unshift(button(t("copy.label"), "copy", () => void copyText(turn.answer), plain));
    return actions;
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
    const eye = new IntersectionObserver((changes) => {
      if (!changes.some((change) => change.isIntersecting)) return;
      eye.disconnect();
      requestJson<TurnBody>(`/api/turns/${this.exchange.id}`).then(({ cost }) => {
        const usd = cost?.turn?.usd;
        if (usd == null) return;
        this.cost = t("cost", { n: Number(usd).toLocaleString(currentLanguage(), { maximumSignificantDigits: 3 }) });
        this.facts.replaceChildren(this.line());
        if (cost?.priced_by) this.facts.title = cost.priced_by;
      }, showError);
    });
    eye.observe(this.node);
  }
}

/** The sentence on how the turn ended; empty where it ended with an answer. */
export function outcomeText({ turn }: Exchange, translate: Translate): string {
  const text = notice(turn, new Words(findLocale(currentLanguage())), translate);
  return text || (turn.outcome?.ending === "failed" ? t("failed") : "");
}

/** The card that says it. */
export function outcomeCard(exchange: Exchange, text: string): HTMLElement {
  const { ending } = exchange.turn.outcome ?? {};
  const failed = ending === "failed" || exchange.state === "interrupted" || exchange.turn.outcome?.cause === "cut_off";
  return errorCard(text, remedies(exchange), !failed);
}

function remedies({ turn, thoughts, prompt, attached, host, state }: Exchange): Remedy[] {
  const { ending = "", cause = "" } = turn.outcome ?? {};
  const again = { name: t("retry"), act: () => host.askAgain(prompt, attached) };
  if (ending === "reasoning_only") {
    const draft = lastParagraph(thoughts.map(({ text }) => text));
    return [again, { name: t("as_draft"), act: () => host.draft(draft) }];
  }
  if (needsOtherModel(cause)) return [{ name: t("connect.choose"), act: () => host.pickAnswerer() }];
  // Where something of an answer is there the model can go on with it; a thought alone it does not get back.
  if (ending === "cut_off" || state === "interrupted")
    return [
      {
        name: t("resume"),
        act: () => (turn.answer ? host.askAgain(t("resume.prompt")) : host.askAgain(prompt, attached)),
      },
    ];
  return [again];
}

/** Where the thinking had got to: its last paragraph, or all of it where there is but one. */
function lastParagraph(thoughts: string[]): string {
  const paragraphs = thoughts.join("\n\n").split(/\n\s*\n/);
  return (
    paragraphs
      .map((one) => one.trim())
      .filter(Boolean)
      .pop() ?? ""
  );
}
