/**
 * The work of an assistant that lies too deep to be read in its place: its own thinking block, beside the
 * conversation. It follows the turn's log and takes from it what is below the assistant's call.
 */

import type { Entry, Event } from "../src/core/events.js";
import { Answer } from "./answer.js";
import { addDialogWords } from "./dialog-words.js";
import { button, h, icon } from "./dom.js";
import type { Exchange } from "./exchange.js";
import { showError } from "./toasts.js";
import { followTurn } from "./turn-stream.js";
import { t } from "./words.js";

addDialogWords();

let closeCurrent: (() => void) | null = null;

/** Shows the work of an assistant; what was shown there before is closed. */
export function openSidePanel(exchange: Exchange, root: number): void {
  closeCurrent?.();
  const call = exchange.turn.blocks[root];
  const name = call?.name ?? "";
  const back = focused();
  const block = exchange.createBlock();
  const answer = new Answer();
  const branch = new Branch(root, (entry) => block.feed(entry));
  const leave = followTurn(exchange.id, {
    entry: (entry) => {
      branch.take(entry);
      if (branch.result) answer.set(branch.result, false);
    },
    reset: () => {
      branch.reset();
      block.reset();
    },
    end: () => undefined,
    connected: () => undefined,
    lost: showError,
    saved: () => undefined,
  });
  const close = (): void => {
    closeCurrent = null;
    leave();
    node.remove();
    removeEventListener("hashchange", close);
    back?.focus();
  };
  const node = h(
    "aside",
    { class: "aside", "aria-label": t("aside", { name }) },
    h(
      "header",
      { class: "dialog-head" },
      h("h2", { tabindex: -1 }, icon("agents"), name),
      button(t("close"), "close", close, { bare: true, class: "quiet" }),
    ),
    h(
      "div",
      { class: "aside-body" },
      h("p", { class: "muted small" }, pathOf(exchange, root)),
      call?.text ? h("pre", { class: "given", tabindex: 0 }, call.text) : null,
      block,
      answer.node,
    ),
  );
  node.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    close();
  });
  addEventListener("hashchange", close);
  closeCurrent = close;
  document.body.append(node);
  block.open = true;
  node.querySelector("h2")?.focus();
}

/** What has the focus, also inside of elements. */
function focused(): HTMLElement | null {
  let at = document.activeElement;
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  return at as HTMLElement | null;
}

/** Whose assistants led there: Planner › Reader › Checker. */
function pathOf({ turn }: Exchange, root: number): string {
  const names: string[] = [];
  for (let at: number | null = root; at !== null; at = turn.blocks[at]?.parent ?? null) {
    const one = turn.blocks[at];
    if (one?.kind === "assistant_call") names.unshift(one.name || t("assistant"));
  }
  return names.join(" › ");
}

/** Entries of a turn into those of a turn of its own: what is below one call, numbered anew. */
class Branch {
  result = "";
  private numbers = new Map<number, number>();
  private seq = 0;
  private ended = false;

  constructor(
    private root: number,
    private emit: (entry: Entry) => void,
  ) {}

  reset(): void {
    this.numbers.clear();
    this.seq = 0;
    this.ended = false;
    this.result = "";
  }

  take({ event, at_ms }: Entry): void {
    if (this.ended) return;
    const events =
      event.type === "tool.finished" && event.block === this.root ? this.finished(event) : [this.within(event)];
    for (const one of events) if (one) this.emit({ seq: this.seq++, event: one, at_ms: at_ms ?? null });
  }

  /** The call came back: what it came back with is the answer here. */
  private finished({ result, error }: { result?: string; error?: string }): Event[] {
    this.ended = true;
    this.result = error || result || "";
    if (error) return [{ type: "turn.failed", code: "", message: error }];
    const block = this.number(-1);
    return [
      { type: "block.started", block, kind: "text" },
      { type: "block.grew", block, text: this.result },
      { type: "block.ended", block },
      { type: "turn.ended", finish: "stop" },
    ];
  }

  private within(event: Event): Event | null {
    if (event.type === "turn.ended" || event.type === "turn.failed") return this.end(event);
    if (event.type === "block.started")
      return event.block === this.root ? { type: "turn.started" } : this.started(event);
    if (!("block" in event)) return null;
    const block = this.numbers.get(event.block ?? -1);
    if (block === undefined) return null;
    if (event.type !== "block.reclassified" || event.into == null) return { ...event, block };
    return { ...event, block, into: this.number(event.into) };
  }

  private started(event: Event & { type: "block.started" }): Event | null {
    const parent = event.parent ?? null;
    if (parent === null || (parent !== this.root && !this.numbers.has(parent))) return null;
    return { ...event, block: this.number(event.block), parent: this.numbers.get(parent) ?? null };
  }

  /** A new block here, in the order they come. */
  private number(block: number): number {
    this.numbers.set(block, this.numbers.size);
    return this.numbers.size - 1;
  }

  private end(event: Event): Event {
    this.ended = true;
    return event;
  }
}
