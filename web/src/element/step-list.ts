/**
 * Steps as nodes: thoughts, tools and assistants, with the steps below them.
 *
 * A closed step has a header and nothing else; its text is drawn when it is first opened, and from then on only what
 * is new.
 */

import { jsonFields, parsedJson } from "../core/excerpts.js";
import { WIDE_LINES } from "../core/preview.js";
import type { StepView } from "../core/steps.js";
import type { Block } from "../core/turn.js";
import type { Words } from "../core/words.js";
import { disclosure, type RequestToggle } from "./disclosure.js";
import { hide, make, mark, put, span, textNodes } from "./dom.js";
import { icon } from "./icons.js";
import type { Renderer } from "./markdown.js";

/** Longer results are not taken apart: nobody reads them as fields. */
const RESULT_LIMIT = 20_000;
const ROW_LIMIT = 50;

/** What drawing a step needs to know of the element. */
export interface StepOptions {
  words: Words;
  /** Whether to draw closed steps as well. */
  drawClosed: boolean;
  /** What was noticed about a step, by its number. */
  notices: Map<number, string>;
  requestToggle(number: number): RequestToggle;
  renderer(root: HTMLElement): Renderer;
  /** What a page adds to every step of a kind. */
  templates: Map<string, HTMLTemplateElement>;
}

/** A list of steps whose nodes are reused from one drawing to the next. */
export class StepList {
  #list = make("ol", "steps");
  #nodes = new Map<number, StepNode>();

  draw(steps: StepView[], options: StepOptions): HTMLElement {
    const { children } = this.#list;
    steps.forEach((step, index) => {
      const node = this.#nodeOf(step, options);
      if (children[index] !== node.item) this.#list.insertBefore(node.item, children[index] ?? null);
      node.draw(step, options);
    });
    while (children.length > steps.length) this.#list.lastChild?.remove();
    return this.#list;
  }

  /** Draws the text of the only thought, without a header. */
  drawSingle(step: StepView, options: StepOptions): HTMLElement {
    return this.#nodeOf(step, options).drawThought(step, options);
  }

  /** Shows the new text of every step. */
  grow(): void {
    for (const node of this.#nodes.values()) node.grow();
  }

  #nodeOf({ block }: StepView, options: StepOptions): StepNode {
    const node = this.#nodes.get(block) ?? new StepNode(block, options.requestToggle(block));
    this.#nodes.set(block, node);
    return node;
  }
}

class StepNode {
  readonly item: HTMLElement;
  #number: number;
  #icon = span("icon");
  #index = span("step-index");
  #label = span("label");
  #meta = span("meta");
  #line = span("preview");
  #extra = span("step-extra");
  #state = span("step-state");
  #time = span("step-time");
  #spoken = span("sr");
  #body = make("div", "step-body");
  #content = make("div", "content");
  #outcome = make("div", "content");
  #provenance = make("p", "provenance");
  #notice = make("p", "step-notice");
  #setOpen: (open: boolean) => void;
  #children: StepList | undefined;
  #renderer: Renderer | null = null;
  #block: Block | undefined;
  #visible = false;
  // What was drawn last, to draw only what changed.
  #drawnSize = 0;
  #drawnRewrites = 0;
  #drawnIcon = "";
  #drawnCall: string | undefined;

  constructor(number: number, requestToggle: RequestToggle) {
    const texts = [this.#index, this.#label, this.#meta, this.#line, this.#extra, this.#state, this.#time];
    const header = [this.#icon, ...texts, this.#spoken];
    const { details, setOpen } = disclosure("step-summary", requestToggle, header, this.#body);
    this.#number = number;
    this.#setOpen = setOpen;
    this.item = make("li", "step", details);
    mark(this.#icon, "aria-hidden", "true");
    mark(this.item, "data-block", `${number}`);
  }

  draw(step: StepView, options: StepOptions): void {
    const { source, thought, kind, status, open } = step;
    const { words } = options;
    const expanded = open === "expanded";
    mark(this.item, "data-kind", kind);
    mark(this.item, "data-status", status);
    mark(this.item, "data-open", open);
    this.#drawIcon(status === "thinking" || status === "error" ? status : kind);
    this.#addTemplate(options.templates.get(`step-${kind}`));
    put(this.#index, thought?.step ?? "");
    put(this.#label, step.label);
    put(this.#meta, thought?.words_text ?? "");
    put(this.#line, source.call ? callLine(step) : firstLine(step));
    put(this.#state, stateText(step, words));
    put(this.#time, step.duration);
    put(this.#spoken, source.call && status === "done" ? words.say("status.done") : "");
    if (expanded || options.drawClosed) this.#drawBody(step, options);
    this.#visible = expanded;
    this.#setOpen(expanded);
  }

  /** Appends what is new of a thought; draws all of it where it changed otherwise. */
  drawThought(step: StepView, options: StepOptions): HTMLElement {
    const { source, thought } = step;
    const content = this.#content;
    if (source.blank && source.seals[0]) {
      const { text } = step; // only here: of a long thought, it is put together at each reading
      if (content.textContent !== text) content.replaceChildren(make("p", "placeholder", icon("lock"), text));
      this.#renderer = null;
      return content;
    }
    if (!this.#renderer || source.rewrites !== this.#drawnRewrites) {
      const textRoot = make("div", "text");
      content.replaceChildren(textRoot, this.#provenance, this.#notice);
      this.#renderer = options.renderer(textRoot);
      this.#drawnRewrites = source.rewrites;
      this.#drawnSize = 0;
    }
    this.#block = source;
    this.#visible = true;
    this.grow();
    put(this.#provenance, thought?.provenance ?? "");
    put(this.#notice, options.notices.get(this.#number) ?? "");
    return content;
  }

  /** A thought that was rewritten waits for the next drawing, and one in a closed step until it is opened. */
  grow(): void {
    if (!this.#visible) return;
    this.#children?.grow();
    const block = this.#block;
    if (!block || !this.#renderer || block.rewrites !== this.#drawnRewrites) return;
    const text = block.since(this.#drawnSize);
    if (text) this.#renderer.feed(text);
    this.#drawnSize = block.size;
  }

  #drawIcon(name: string): void {
    if (this.#drawnIcon !== name) this.#icon.replaceChildren(icon(name));
    this.#drawnIcon = name;
  }

  #addTemplate(template: HTMLTemplateElement | undefined): void {
    if (template && !this.#extra.firstChild) this.#extra.append(template.content.cloneNode(true));
    hide(this.#extra, !this.#extra.firstChild);
  }

  #drawBody(step: StepView, options: StepOptions): void {
    if (step.source.call) this.#drawCall(step, options);
    else this.drawThought(step, options);
    if (this.#content.parentNode !== this.#body) this.#body.append(this.#content, this.#outcome);
    if (!step.steps[0]) return;
    this.#children ??= new StepList();
    const list = this.#children.draw(step.steps, options);
    if (list.parentNode !== this.#body) this.#outcome.before(list); // what came of the steps stands after them
  }

  /** A call's arguments, where they are more than the line in its header, and its result. */
  #drawCall(step: StepView, { words, notices, renderer }: StepOptions): void {
    const { source, result, input, description } = step;
    const title = words.say(source.error ? "session.error" : "session.result");
    const notice = notices.get(this.#number) ?? "";
    const drawing = [description, input, title, result, notice].join("\n");
    if (drawing === this.#drawnCall) return;
    this.#drawnCall = drawing;
    this.#content.replaceChildren();
    this.#outcome.replaceChildren();
    if (description) this.#content.append(make("p", "step-notice", ...textNodes(description)));
    if (input) this.#content.append(make("pre", "input", ...textNodes(input)));
    if (result) {
      const node = make("div", "result");
      this.#outcome.append(make("div", "io", title), node);
      if (hasMarkup(result)) {
        node.classList.add("text");
        renderer(node).feed(`${result}\n`);
      } else node.append(...resultNodes(source.error || (source.result ?? ""), result));
    }
    if (notice) this.#outcome.append(make("p", "step-notice", ...textNodes(notice)));
  }
}

function firstLine({ thought, status, open, source }: StepView): string {
  if (open === "expanded") return ""; // it is said below in full
  if (thought?.placeholder) return thought.placeholder;
  if (status !== "thinking") return WIDE_LINES.preview(source);
  return open === "peek" ? (thought?.peek ?? "") : "";
}

/** What a call was given; what is said below in full is not said in its header as well. */
function callLine({ open, text, input, description }: StepView): string {
  if (open !== "expanded") return text || description;
  return input ? "" : text;
}

/** What a call came to, where its label and its result do not say it. */
function stateText({ source, status }: StepView, words: Words): string {
  if (!source.call) return "";
  if (source.approval === "denied") return words.say("approval.denied");
  if (status === "error") return words.say("status.error");
  return status === "interrupted" ? words.say(status) : "";
}

type Fields = Record<string, unknown>;

/** The result of a call as a person reads it: a table of JSON rows, fields, JSON with line breaks, or the text itself. */
function resultNodes(result: string, shortened: string): (ChildNode | string)[] {
  const value = result.length > RESULT_LIMIT ? null : parsedJson(result);
  if (Array.isArray(value) && value[0] && value.length <= ROW_LIMIT && value.every(flat)) return [table(value)];
  if (flat(value)) return textNodes((jsonFields(result) ?? []).join("\n") || result);
  if (value && typeof value === "object") return [make("pre", "code", JSON.stringify(value, null, 2))];
  return textNodes(shortened);
}

/** Whether a text has code between fences or a table in it; other marks may mean something else in what a tool returns. */
function hasMarkup(text: string): boolean {
  return /^ *```|^ *\|(?: *:?-+:? *\|)+ *$/m.test(text);
}

function table(rows: Fields[]): HTMLElement {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const rowNode = (tag: "th" | "td", values: unknown[]): HTMLElement =>
    make("tr", "", ...values.map((value) => make(tag, "", ...textNodes(fieldText(value)))));
  const body = rows.map((row) => {
    const values = names.map((name) => row[name] ?? "");
    return rowNode("td", values);
  });
  return make("table", "", make("thead", "", rowNode("th", names)), make("tbody", "", ...body));
}

/** An object without objects in it. */
function flat(value: unknown): value is Fields {
  const object = value && typeof value === "object" && !Array.isArray(value);
  return !!object && Object.values(value).every((field) => field === null || typeof field !== "object");
}

function fieldText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
