/**
 * One step as nodes: a thought, a tool or an assistant, with what hangs below it.
 *
 * A step that nobody can see has a header and nothing else; its text is drawn when it is first opened, and
 * from then on only what is new.
 */

import { hide, make, mark, put, spans, textNodes } from "./dom.js";
import { type Ask, fold } from "./fold.js";
import { firstCharacters } from "./excerpts.js";
import { icon } from "./icons.js";
import type { Renderer } from "./markdown.js";
import { preview } from "./preview.js";
import type { StepView } from "./step-views.js";
import type { Block } from "./transcript.js";
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
  /** How long it took until the first thought, in words. */
  waited: string;
  /** How many tokens it may take; 0 where nobody says. */
  budget: number;
  ask(number: number): Ask;
  renderer(root: HTMLElement): Renderer;
  /** What a page adds to every step of a kind. */
  extras: Map<string, HTMLTemplateElement>;
}

/** A list of steps, kept in order and kept alive. */
export interface StepList {
  draw(steps: StepView[], around: Surroundings): HTMLElement;
  /** The text of a thought where the element shows it alone. */
  alone(step: StepView, around: Surroundings): HTMLElement;
  /** Show what came since of the text of every step. */
  grow(): void;
}

export function stepList(): StepList {
  const list = make("ol", "steps");
  const known = new Map<number, StepNode>();
  const nodeOf = (step: StepView, around: Surroundings): StepNode => {
    const node = known.get(step.block) ?? stepNode(step.block, around);
    known.set(step.block, node);
    return node;
  };
  return {
    draw(steps, around) {
      const { children } = list;
      steps.forEach((step, at) => {
        const { item, draw } = nodeOf(step, around);
        if (children[at] !== item) list.insertBefore(item, children[at] ?? null);
        draw(step, around);
      });
      while (children.length > steps.length) list.lastChild?.remove();
      return list;
    },
    alone: (step, around) => nodeOf(step, around).think(step, around),
    grow: () => known.forEach((node) => node.grow()),
  };
}

interface StepNode {
  item: HTMLElement;
  draw(step: StepView, around: Surroundings): void;
  think(step: StepView, around: Surroundings): HTMLElement;
  grow(): void;
}

function stepNode(number: number, around: Surroundings): StepNode {
  const header = spans("icon step-index label meta preview step-extra step-state sr");
  const [sign, index, label, meta, line, extra, state, spoken] = header;
  const content = make("div", "content");
  const body = make("div", "step-body");
  const { details, turn } = fold("step-summary", around.ask(number), header, body);
  const item = make("li", "step", details);
  let below: StepList | undefined;
  let renderer: Renderer | null = null;
  let of: Block | undefined;
  let drawn = 0;
  let rewritten = 0;
  let seen = false;
  let look = "";
  let said: string;
  mark(sign, "aria-hidden", "true");
  mark(item, "data-block", `${number}`);

  function draw(step: StepView, around: Surroundings): void {
    const { source, thought, kind, status, open } = step;
    const { words } = around;
    const expanded = open === "expanded";
    const sees = /thi|err/.test(status) ? status : kind;
    mark(item, "data-kind", kind);
    mark(item, "data-status", status);
    mark(item, "data-open", open);
    if (look !== sees) sign.replaceChildren(icon(sees));
    look = sees;
    const added = extra.firstChild ? null : around.extras.get(`step-${kind}`)?.content.cloneNode(true);
    if (added) extra.append(added);
    hide(extra, !extra.firstChild);
    put(index, thought?.step ?? "");
    put(label, step.label);
    put(meta, thought?.words_text ?? "");
    put(line, source.call ? step.text : expanded ? "" : firstLine(step));
    put(state, stateOf(step, words));
    put(spoken, source.call && status === "done" ? words.say("status.done") : "");
    if (expanded || around.deep) fill(step, around);
    seen = expanded;
    turn(expanded);
  }

  function fill(step: StepView, around: Surroundings): void {
    if (step.source.call) report(step, around);
    else think(step, around);
    if (content.parentNode !== body) body.prepend(content);
    if (!step.steps[0]) return;
    const list = (below ??= stepList()).draw(step.steps, around);
    if (list.parentNode !== body) body.append(list);
  }

  /** Append what is new of a thought; draw all of it where it changed otherwise. */
  function think(step: StepView, around: Surroundings): HTMLElement {
    const { source, thought } = step;
    if (source.blank && source.seals[0]) {
      const { text } = step;
      if (content.textContent !== text) content.replaceChildren(make("p", "placeholder", icon("lock"), text));
      renderer = null;
      return content;
    }
    if (!renderer || source.rewritten !== rewritten) {
      const home = make("div", "text");
      content.replaceChildren(home, make("p", "provenance"));
      renderer = around.renderer(home);
      rewritten = source.rewritten;
      drawn = 0;
    }
    of = source;
    seen = true;
    grow();
    put(content.lastElementChild as Element, thought?.provenance ?? "");
    return content;
  }

  /** A thought that was rewritten waits for the next drawing, and one behind a closed fold until it is opened. */
  function grow(): void {
    if (!seen) return;
    below?.grow();
    if (!of || !renderer || of.rewritten !== rewritten) return;
    const fresh = of.since(drawn);
    if (fresh) renderer.feed(fresh);
    drawn = of.size;
  }

  /** What a call was asked, where that is more than the line in its header, and what it came back with. */
  function report({ source, result, text }: StepView, { words, notes }: Surroundings): void {
    const all = firstCharacters(source.first(MOST_ASKED + 1), MOST_ASKED);
    const rows = (
      [
        ["pre", "input", all.trim() === text ? "" : all],
        ["div", "io", result && words.say(source.error ? "session.error" : "session.result")],
        ["div", "result", result],
        ["p", "step-notice", notes.get(number) ?? ""],
      ] as const
    ).filter(([, , said]) => said);
    const says = rows.join("\n");
    if (says === said) return;
    said = says;
    content.replaceChildren(
      ...rows.map(([tag, part, said]) => make(tag, part, ...textNodes(said))),
    );
  }

  return { item, draw, think, grow };
}

function firstLine({ thought, status, open, source }: StepView): string {
  if (thought?.placeholder) return thought.placeholder;
  return status === "thinking" ? (open === "peek" ? (thought?.peek ?? "") : "") : preview(source);
}

function stateOf({ source, status }: StepView, words: Words): string {
  const { approval, call } = source;
  if (/as|de/.test(approval)) return words.say(`approval.${approval}`);
  return call && status === "error" ? words.say("status.error") : call && status === "interrupted" ? words.say(status) : "";
}
