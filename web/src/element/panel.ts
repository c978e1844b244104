/** The nodes of a block that are always there: the header, the disclosure, and the lines below it. */

import type { Policy } from "../core/policy.js";
import { ELLIPSIS } from "../core/spaces.js";
import { writtenSummary } from "../core/summary.js";
import type { PanelView } from "../core/thinking.js";
import type { Words } from "../core/words.js";
import { disclosure, type RequestToggle } from "./disclosure.js";
import { hide, make, mark, put, slot, spans } from "./dom.js";
import { icon } from "./icons.js";

const SPOKEN_LENGTH = 80;

export interface Panel {
  root: HTMLElement;
  details: HTMLDetailsElement;
  summary: HTMLElement;
  /** The sentence on how the turn ended. */
  notice: HTMLElement;
  /** What is behind the header goes here. */
  content: HTMLElement;
  setOpen(open: boolean): void;
  /** `runningIcon` is the icon while it thinks. */
  draw(view: PanelView, policy: Policy, words: Words, runningIcon: string): void;
  setTimer(view: PanelView, words: Words): void;
}

export function createPanel(requestToggle: RequestToggle): Panel {
  const header = spans("icon sr label timer meta preview badge");
  const [sign, name, label, timer, meta, preview, badge] = header;
  const marker = make("p", "marker");
  const notice = make("p", "notice");
  const content = make("div", "body");
  const { details, summary, setOpen } = disclosure("summary", requestToggle, header, content);
  const root = make("div", "root", slot("before"), details, marker, notice);
  let drawnIcon = "";

  badge.append(icon("tool_call"));
  // The text is a node of its own, so that the style sheet can cut its beginning instead of its end.
  const line = make("span");
  preview.append(line);
  /** Gives a part a slot, so that a page may replace what is in it. */
  const slotIn = (node: Element, name = node.className): Element => {
    const inner = slot(name);
    node.append(inner);
    return inner;
  };
  const signSlot = slotIn(sign);
  const labelSlot = slotIn(label);
  // Where there is little room, the number alone stands beside the icon.
  const [count, unit] = [make("span"), make("span")];
  slotIn(badge).append(count, unit);
  const noticeSlot = slotIn(notice, "error");
  for (const node of [sign, label, timer, meta, preview, badge]) mark(node, "aria-hidden", "true");
  mark(content, "role", "group");
  content.tabIndex = 0;

  function draw(view: PanelView, { header }: Policy, words: Words, runningIcon: string): void {
    const { open, status } = view;
    const live = status === "thinking";
    const text = textBesideLabel(view, header);
    const tools = view.badge.slice(3);
    mark(root, "data-status", status);
    mark(root, "data-open", open);
    mark(root, "data-header", text ? header : "label");
    mark(root, "data-bare", open === "hidden" && !view.notice ? "" : null);

    const shape = live ? runningIcon : status === "done" ? "reasoning" : status;
    if (drawnIcon !== shape) signSlot.replaceChildren(icon(shape));
    drawnIcon = shape;
    const facts = [view.spoken, view.words_text, tools].filter(Boolean).join(", ");
    put(name, live ? view.label : `${facts} ${spokenLine(text)}`.trim());
    put(labelSlot, view.label);
    // The bar of a trace says how it ended, and below the header nobody says it while it is closed.
    mark(label, "data-check", header === "summary" && status === "done" && open !== "expanded" ? "" : null);
    put(meta, view.words_text);
    put(line, text);
    // While it peeks, the room of the newest line is kept where there is none.
    hide(preview, !text && !peeks(view));
    const [number = tools] = /^[\d.,\s]*\d/.exec(tools) ?? [];
    put(count, number);
    put(unit, tools.slice(number.length));
    hide(badge, !tools);
    mark(badge, "title", view.badge_title || null);
    put(marker, view.marker);
    put(noticeSlot, view.notice);
    hide(notice, !view.notice);

    hide(details, open === "hidden");
    mark(content, "aria-busy", `${live}`);
    mark(content, "aria-label", words.say("session.thinking"));
  }

  return {
    root,
    details,
    summary,
    notice,
    content,
    setOpen,
    draw,
    setTimer: (view, words) => put(timer, timerText(view, words)),
  };
}

/** As much of a line as a name that is read out may have. */
function spokenLine(text: string): string {
  return text.length > SPOKEN_LENGTH ? text.slice(0, SPOKEN_LENGTH).replace(/\s+\S*$/, ELLIPSIS) : text;
}

/** The time beside the label: whole seconds while it runs; at rest the label says it. */
function timerText({ status, duration, duration_ms }: PanelView, words: Words): string {
  if (status !== "thinking") return status === "done" ? "" : duration;
  const seconds = Math.floor((duration_ms ?? 0) / 1000);
  return seconds ? words.duration(seconds * 1000) : "";
}

/** Whether the header of a live block changes with its text: by the newest line, or by first words. */
export function showsNewText({ open, status }: PanelView, { header }: Policy): boolean {
  return open === "peek" || (open === "collapsed" && header === "preview" && status === "thinking");
}

function peeks({ open, status }: PanelView): boolean {
  return status === "thinking" && open === "peek";
}

/** The newest line while it peeks, a summary, or first words that are not in sight anyway. */
function textBesideLabel(view: PanelView, header: Policy["header"]): string {
  const { open, text, status } = view;
  const live = status === "thinking";
  if (peeks(view)) return view.peek;
  if (header === "label") return "";
  if (header === "summary" || (header === "preview" && live && open === "collapsed")) return text;
  if (live || (open === "expanded" && !writtenSummary(view.summary_by))) return "";
  return text || view.placeholder;
}
