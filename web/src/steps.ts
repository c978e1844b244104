/**
 * One step as nodes: a thought, a tool or an assistant, with what hangs below it.
 *
 * A step that nobody can see has a header and nothing else; its text is drawn when it is first opened, and
 * from then on only what is new.
 */

import { make, mark, put } from "./dom.js";
import { type Ask, Fold } from "./fold.js";
import { firstCharacters } from "./graphemes.js";
import { icon } from "./icons.js";
import type { Renderer } from "./markdown.js";
import { preview } from "./preview.js";
import type { Block } from "./transcript.js";
import type { StepView } from "./view.js";
import type { Words } from "./words.js";

/** Characters of what a call was asked that its step shows. */
const MOST_ASKED = 4000;

/** What drawing needs from the element. */
export interface Surroundings {
  words: Words;
  /** Whether to draw what is closed as well. */
  deep: boolean;
  notes: Map<number, string>;
  /** What the footer offers or does not. */
  offers: string[];
  ask(number: number): Ask;
  renderer(root: HTMLElement): Renderer;
}

/** A list of steps, kept in order and kept alive. */
export class StepList {
  readonly list = make("ol", "steps");
  #nodes = new Map<number, StepNode>();

  draw(steps: StepView[], around: Surroundings): void {
    steps.forEach((step, at) => {
      const node = this.node(step, around);
      if (this.list.children[at] !== node.item) this.list.insertBefore(node.item, this.list.children[at] ?? null);
      node.draw(step, around);
    });
    while (this.list.children.length > steps.length) this.list.lastChild?.remove();
  }

  node(step: StepView, around: Surroundings): StepNode {
    const known = this.#nodes.get(step.block);
    if (known) return known;
    const fresh = new StepNode(step.block, around);
    this.#nodes.set(step.block, fresh);
    return fresh;
  }
}

export class StepNode {
  readonly item = make("li", "step");
  readonly content = make("div", "content");
  #fold: Fold;
  #icon = make("span", "icon");
  #index = make("span", "step-index");
  #label = make("span", "label");
  #meta = make("span", "meta");
  #preview = make("span", "preview");
  #state = make("span", "step-state");
  #spoken = make("span", "sr");
  #body = make("div", "step-body");
  #below: StepList | null = null;
  #renderer: Renderer | null = null;
  #drawn = 0;
  #rewritten = -1;
  #look = "";
  #said = "";

  constructor(number: number, around: Surroundings) {
    this.#fold = new Fold("step-summary", around.ask(number));
    this.#icon.ariaHidden = "true";
    const { summary, details, chevron } = this.#fold;
    summary.append(this.#icon, this.#index, this.#label, this.#meta, this.#preview, this.#state, this.#spoken, chevron);
    details.append(this.#body);
    this.item.append(details);
  }

  draw(step: StepView, around: Surroundings): void {
    const { source, thought } = step;
    const expanded = step.open === "expanded";
    mark(this.item, "data-kind", step.kind);
    mark(this.item, "data-status", step.status);
    mark(this.item, "data-open", step.open);
    mark(this.item, "data-block", String(step.block));
    this.#dress(step);
    put(this.#index, thought?.step ?? "");
    put(this.#label, step.label);
    put(this.#meta, thought?.words_text ?? "");
    put(this.#preview, source.call ? step.text : expanded ? "" : firstLine(step));
    put(this.#state, stateOf(step, around.words));
    put(this.#spoken, source.call && step.status === "done" ? around.words.say("status.done") : "");
    if (expanded || around.deep) this.#fill(step, around);
    this.#fold.open = expanded;
  }

  /** Draw the text of a thought where the element shows it alone. */
  drawAlone(step: StepView, around: Surroundings): HTMLElement {
    this.#think(step, around);
    return this.content;
  }

  #dress({ kind, status }: StepView): void {
    const look = status === "thinking" ? "dot" : status === "error" ? "warning" : kind;
    if (look === this.#look) return;
    this.#look = look;
    const name = look === "warning" ? look : kind === "tool_call" ? "tool" : kind === "reasoning" ? "thought" : "assistant";
    this.#icon.replaceChildren(look === "dot" ? make("span", "dot") : icon(name));
  }

  #fill(step: StepView, around: Surroundings): void {
    if (step.source.call) this.#report(step, around);
    else this.#think(step, around);
    if (this.content.parentNode !== this.#body) this.#body.prepend(this.content);
    if (!step.steps[0]) return;
    if (!this.#below) this.#body.append((this.#below = new StepList()).list);
    this.#below.draw(step.steps, around);
  }

  /** Append what is new of a thought; draw all of it where it changed otherwise. */
  #think(step: StepView, around: Surroundings): void {
    const { source, thought } = step;
    if (this.#placeholder(step)) return;
    if (!this.#renderer || source.rewritten !== this.#rewritten) {
      const text = make("div", "text");
      this.content.replaceChildren(text, make("p", "provenance"));
      this.#renderer = around.renderer(text);
      this.#rewritten = source.rewritten;
      this.#drawn = 0;
    }
    const fresh = source.since(this.#drawn);
    if (fresh) this.#renderer.feed(fresh);
    this.#drawn = source.size;
    put(this.content.lastChild as HTMLElement, thought?.provenance ?? "");
  }

  #placeholder(step: StepView): boolean {
    const { source } = step;
    if (!source.blank || !source.seals[0]) return false;
    const row = make("p", "placeholder", icon("lock"), step.text);
    if (this.content.textContent !== step.text) this.content.replaceChildren(row);
    this.#renderer = null;
    return true;
  }

  /** What a call was asked and what it came back with. */
  #report(step: StepView, around: Surroundings): void {
    const { source, result } = step;
    const asked = longer(source, step.text);
    const note = around.notes.get(step.block) ?? "";
    const said = [asked, result, source.error, note].join("\n");
    if (said === this.#said) return;
    this.#said = said;
    const rows: HTMLElement[] = [];
    if (asked) rows.push(shown("pre", "input", asked));
    if (result) {
      rows.push(shown("div", "io", around.words.say(source.error ? "session.error" : "session.result")));
      rows.push(shown("div", "result", result));
    }
    if (note) rows.push(shown("p", "step-notice", note));
    this.content.replaceChildren(...rows);
  }
}

function shown(tag: "div" | "pre" | "p", part: string, text: string): HTMLElement {
  const node = make(tag, part);
  put(node, text);
  return node;
}

/** What was asked, where it says more than the one line in the header. */
function longer(block: Block, line: string): string {
  const all = firstCharacters(block.first(MOST_ASKED + 1), MOST_ASKED);
  return all.trim() === line ? "" : all;
}

function firstLine({ thought, status, open, source }: StepView): string {
  if (thought?.placeholder) return thought.placeholder;
  return status === "thinking" ? (open === "peek" ? (thought?.peek ?? "") : "") : preview(source);
}

function stateOf({ source, status }: StepView, words: Words): string {
  if (source.approval === "asked" || source.approval === "denied") return words.say(`approval.${source.approval}`);
  if (!source.call) return "";
  return status === "error" ? words.say("status.error") : status === "interrupted" ? words.say("interrupted") : "";
}
