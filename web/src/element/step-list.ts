/**
 * Steps as nodes: thoughts, tools and assistants, with the steps below them.
 *
 * A closed step has a header and nothing else; its text is drawn when it is first opened, and from then on only what
 * is new.
 */

import type { StepView } from "../core/steps.js";
import type { Block } from "../core/turn.js";
import type { Words } from "../core/words.js";
import { bodyIcon } from "./body-icons.js";
import { disclosure } from "./disclosure.js";
import { hide, make, mark, put, spans, textNodes } from "./dom.js";
import type { DrawOptions } from "./draw-options.js";

import type { Renderer } from "./markdown.js";
import { hasMarkup, resultNodes } from "./readable-call.js";
import { ROOM_LINES } from "./room-lines.js";

/** A list of steps whose nodes are reused from one drawing to the next. */
export interface StepList {
  draw(steps: StepView[], options: DrawOptions): HTMLElement;
  /** Draws the text of the only thought, without a header. */
  drawSingle(step: StepView, options: DrawOptions): HTMLElement;
  /** Shows the new text of every step. */
  grow(): void;
}

export function stepList(): StepList {
  const list = make("ol", "steps");
  const nodes = new Map<number, StepNode>();
  const nodeOf = (step: StepView, options: DrawOptions): StepNode => {
    const node = nodes.get(step.block) ?? stepNode(step.block, options);
    nodes.set(step.block, node);
    return node;
  };
  return {
    draw(steps, options) {
      const { children } = list;
      steps.forEach((step, index) => {
        const { item, draw } = nodeOf(step, options);
        if (children[index] !== item) list.insertBefore(item, children[index] ?? null);
        draw(step, options);
      });
      while (children.length > steps.length) list.lastChild?.remove();
      return list;
    },
    drawSingle: (step, options) => nodeOf(step, options).drawThought(step, options),
    grow() {
      for (const node of nodes.values()) node.grow();
    },
  };
}

interface StepNode {
  item: HTMLElement;
  draw(step: StepView, options: DrawOptions): void;
  drawThought(step: StepView, options: DrawOptions): HTMLElement;
  grow(): void;
}

function stepNode(number: number, options: DrawOptions): StepNode {
  const header = spans("icon step-index label meta preview step-extra step-state step-time sr");
  const [sign, index, label, meta, line, extra, state, time, spoken] = header;
  const content = make("div", "content");
  const outcome = make("div", "content");
  const provenance = make("p", "provenance");
  const noticeLine = make("p", "step-notice");
  const body = make("div", "step-body");
  const { details, setOpen } = disclosure("step-summary", options.requestToggle(number), header, body);
  const item = make("li", "step", details);
  let children: StepList | undefined;
  let renderer: Renderer | null = null;
  let block: Block | undefined;
  let drawnSize = 0;
  let drawnRewrites = 0;
  let visible = false;
  let drawnIcon = "";
  let drawnCall: string;
  mark(sign, "aria-hidden", "true");
  mark(item, "data-block", `${number}`);

  function draw(step: StepView, options: DrawOptions): void {
    const { source, thought, kind, status, open } = step;
    const { words } = options;
    const expanded = open === "expanded";
    const iconName = status === "thinking" || status === "error" ? status : kind;
    mark(item, "data-kind", kind);
    mark(item, "data-status", status);
    mark(item, "data-open", open);
    if (drawnIcon !== iconName) sign.replaceChildren(bodyIcon(iconName));
    drawnIcon = iconName;
    const added = extra.firstChild ? null : options.templates.get(`step-${kind}`)?.content.cloneNode(true);
    if (added) extra.append(added);
    hide(extra, !extra.firstChild);
    put(index, thought?.step ?? "");
    put(label, step.label);
    put(meta, thought?.words_text ?? "");
    put(line, source.call ? callLine(step) : firstLine(step));
    put(state, stateText(step, words));
    put(time, step.duration);
    put(spoken, source.call && status === "done" ? words.say("status.done") : "");
    if (expanded || options.drawClosed) drawBody(step, options);
    visible = expanded;
    setOpen(expanded);
  }

  function drawBody(step: StepView, options: DrawOptions): void {
    if (step.source.call) drawCall(step, options);
    else drawThought(step, options);
    if (content.parentNode !== body) body.append(content, outcome);
    if (!step.steps[0]) return;
    children ??= stepList();
    const list = children.draw(step.steps, options);
    if (list.parentNode !== body) outcome.before(list); // what came of the steps stands after them
  }

  /** Appends what is new of a thought; draws all of it where it changed otherwise. */
  function drawThought(step: StepView, options: DrawOptions): HTMLElement {
    const { source, thought } = step;
    if (source.blank && source.seals[0]) {
      const { text } = step;
      if (content.textContent !== text) content.replaceChildren(make("p", "placeholder", bodyIcon("lock"), text));
      renderer = null;
      return content;
    }
    if (!renderer || source.rewrites !== drawnRewrites) {
      const textRoot = make("div", "text");
      content.replaceChildren(textRoot, provenance, noticeLine);
      renderer = options.renderer(textRoot);
      drawnRewrites = source.rewrites;
      drawnSize = 0;
    }
    block = source;
    visible = true;
    grow();
    put(provenance, thought?.provenance ?? "");
    put(noticeLine, options.notices.get(number) ?? "");
    return content;
  }

  /** A thought that was rewritten waits for the next drawing, and one in a closed step until it is opened. */
  function grow(): void {
    if (!visible) return;
    children?.grow();
    if (!block || !renderer || block.rewrites !== drawnRewrites) return;
    const text = block.since(drawnSize);
    if (text) renderer.feed(text);
    drawnSize = block.size;
  }

  /** A call's arguments, where they are more than the line in its header, and its result. */
  function drawCall(step: StepView, { words, notices, renderer }: DrawOptions): void {
    const { source, result, input, description } = step;
    const title = words.say(source.error ? "session.error" : "session.result");
    const noticed = notices.get(number) ?? "";
    const drawing = [description, input, title, result, noticed].join("\n");
    if (drawing === drawnCall) return;
    drawnCall = drawing;
    content.replaceChildren();
    outcome.replaceChildren();
    if (description) content.append(make("p", "step-notice", ...textNodes(description)));
    if (input) content.append(make("pre", "input", ...textNodes(input)));
    if (result) {
      const node = make("div", "result");
      outcome.append(make("div", "io", title), node);
      if (hasMarkup(result)) {
        node.classList.add("text");
        renderer(node).feed(`${result}\n`);
      } else node.append(...resultNodes(source.error || (source.result ?? ""), result));
    }
    if (noticed) outcome.append(make("p", "step-notice", ...textNodes(noticed)));
  }

  return { item, draw, drawThought, grow };
}

function firstLine({ thought, status, open, source }: StepView): string {
  if (open === "expanded") return ""; // it is said below in full
  if (thought?.placeholder) return thought.placeholder;
  if (status !== "thinking") return ROOM_LINES.preview(source);
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
