/** The nodes of a block that are always there: the header, the disclosure, and the lines below it. */

import type { Policy } from "../core/policy.js";
import { ELLIPSIS } from "../core/spaces.js";
import { writtenSummary } from "../core/summary.js";
import type { PanelView } from "../core/thinking.js";
import type { Words } from "../core/words.js";
import { disclosure, type RequestToggle } from "./disclosure.js";
import { hide, make, mark, put, slot, span } from "./dom.js";
import { icon } from "./icons.js";

const SPOKEN_LENGTH = 80;

export class Panel {
  readonly content = make("div", "body");
  /** The sentence on how the turn ended. */
  readonly notice = make("p", "notice");
  readonly root: HTMLElement;
  readonly details: HTMLDetailsElement;
  readonly summary: HTMLElement;
  readonly setOpen: (open: boolean) => void;
  #icon = span("icon");
  #spoken = span("sr");
  #label = span("label");
  #timer = span("timer");
  #meta = span("meta");
  #preview = span("preview");
  #badge = span("badge");
  #marker = make("p", "marker");
  // What a page may replace stands in slots.
  #iconSlot = slot("icon");
  #labelSlot = slot("label");
  #noticeSlot = slot("error");
  /** The newest line: a node of its own, so that the style sheet can cut its beginning instead of its end. */
  #line = make("span");
  /** The count of tools, with the words before and after it: where there is little room, it stands alone beside the icon. */
  #badgeWords = [make("span"), make("span"), make("span")] as const;
  #drawnIcon = "";

  constructor(requestToggle: RequestToggle) {
    const badgeSlot = slot("badge");
    badgeSlot.append(...this.#badgeWords);
    this.#icon.append(this.#iconSlot);
    this.#label.append(this.#labelSlot);
    this.#preview.append(this.#line);
    this.#badge.append(icon("tool_call"), badgeSlot);
    this.notice.append(this.#noticeSlot);
    const header = [this.#icon, this.#spoken, this.#label, this.#timer, this.#meta, this.#preview, this.#badge];
    // A screen reader hears one sentence instead, which is hidden from the eye.
    for (const node of header) if (node !== this.#spoken) mark(node, "aria-hidden", "true");
    mark(this.content, "role", "group");
    this.content.tabIndex = 0;
    const { details, summary, setOpen } = disclosure("summary", requestToggle, header, this.content);
    this.details = details;
    this.summary = summary;
    this.setOpen = setOpen;
    this.root = make("div", "root", slot("before"), details, this.#marker, this.notice);
  }

  /** `runningIcon` is the icon while it thinks. */
  draw(view: PanelView, { header }: Policy, words: Words, runningIcon: string): void {
    const { open, status } = view;
    const live = status === "thinking";
    const text = textBesideLabel(view, header);
    mark(this.root, "data-status", status);
    mark(this.root, "data-open", open);
    mark(this.root, "data-header", text ? header : "label");
    mark(this.root, "data-bare", open === "hidden" && !view.notice ? "" : null);
    this.#drawIcon(live ? runningIcon : status);
    this.#drawLabels(view, header, text, words);
    this.#drawBadge(view, words);
    put(this.#marker, view.marker);
    put(this.#noticeSlot, view.notice);
    hide(this.notice, !view.notice);
    hide(this.details, open === "hidden");
    mark(this.content, "aria-busy", `${live}`);
    mark(this.content, "aria-label", words.say("session.thinking"));
  }

  setTimer(view: PanelView, words: Words): void {
    put(this.#timer, timerText(view, words));
  }

  #drawIcon(status: string): void {
    const shape = status === "done" ? "reasoning" : status;
    if (this.#drawnIcon !== shape) this.#iconSlot.replaceChildren(icon(shape));
    this.#drawnIcon = shape;
  }

  #drawLabels(view: PanelView, header: Policy["header"], text: string, words: Words): void {
    const { open, status } = view;
    const tools = view.tool_count && words.say("tools", { n: view.tool_count });
    const facts = [view.spoken, view.words_text, tools].filter(Boolean).join(", ");
    put(this.#spoken, status === "thinking" ? view.label : `${facts} ${spokenLine(text)}`.trim());
    put(this.#labelSlot, view.label);
    // The bar of a trace says how it ended, and below the header nobody says it while it is closed.
    mark(this.#label, "data-check", header === "summary" && status === "done" && open !== "expanded" ? "" : null);
    put(this.#meta, view.words_text);
    put(this.#line, text);
    // While it peeks, the room of the newest line is kept where there is none.
    hide(this.#preview, !text && !peeks(view));
  }

  #drawBadge(view: PanelView, words: Words): void {
    const n = view.tool_count;
    const texts = words.aroundCount("tools", n);
    // A page's own text may have no place for the count: then all of it stands where the count would.
    const hasPlace = texts.length > 1;
    texts.splice(-1, 0, hasPlace ? words.count(n) : "");
    this.#badgeWords.forEach((node, at) => {
      put(node, texts[at] ?? "");
    });
    hide(this.#badge, !n);
    mark(this.#badge, "title", view.badge_title || null);
  }
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
