/** The block as nodes, as far as it is always there: the header, the fold, and the lines below it. */

import { hide, make, mark, put, slot, spans } from "./dom.js";
import { type Ask, fold } from "./fold.js";
import { icon } from "./icons.js";
import type { Policy } from "./opening.js";
import type { PanelView } from "./view.js";
import type { Words } from "./words.js";

export interface Panel {
  root: HTMLElement;
  details: HTMLDetailsElement;
  summary: HTMLElement;
  /** The sentence on how the turn ended. */
  notice: HTMLElement;
  /** What is behind the header goes here. */
  home: HTMLElement;
  /** Open it or close it. */
  turn(open: boolean): void;
  draw(seen: PanelView, policy: Policy, words: Words): void;
  tick(duration: string): void;
}

export function panel(ask: Ask): Panel {
  const header = spans("icon sr label timer meta preview badge");
  const [sign, name, label, timer, meta, preview, badge] = header;
  const marker = make("p", "marker");
  const notice = make("p", "notice");
  const home = make("div", "body");
  const { details, summary, turn } = fold("summary", ask, header, home);
  const root = make("div", "root", slot("before"), details, marker, notice);
  let look = "";

  badge.append(icon("tool_call"));
  // Parts that a page may replace.
  const slotIn = (node: Element, name = node.className): Element => {
    const own = slot(name);
    node.append(own);
    return own;
  };
  const dressed = slotIn(sign);
  const labelled = slotIn(label);
  const counted = slotIn(badge);
  const told = slotIn(notice, "error");
  for (const node of [sign, label, timer, meta, badge]) mark(node, "aria-hidden", "true");
  mark(home, "role", "group");
  home.tabIndex = 0;

  function draw(seen: PanelView, { header }: Policy, words: Words): void {
    const { open, status } = seen;
    const live = status === "thinking";
    const text = beside(seen, header);
    const tools = seen.badge.slice(3);
    mark(root, "data-status", status);
    mark(root, "data-open", open);
    mark(root, "data-header", text ? header : "label");
    mark(root, "data-bare", open === "hidden" && !seen.notice ? "" : null);

    if (look !== status) dressed.replaceChildren(icon(status === "done" ? "reasoning" : status));
    look = status;
    put(name, live ? seen.label : [seen.spoken, seen.words_text, tools].filter(Boolean).join(", "));
    put(labelled, seen.label);
    put(meta, seen.words_text);
    put(preview, text);
    mark(preview, "aria-hidden", live ? "true" : null);
    put(counted, tools);
    hide(badge, !tools);
    mark(badge, "title", seen.badge_title || null);
    put(marker, seen.marker);
    put(told, seen.notice);
    hide(notice, !seen.notice);

    hide(details, open === "hidden");
    mark(home, "aria-busy", `${live}`);
    mark(home, "aria-label", words.say("session.thinking"));
  }

  return { root, details, summary, notice, home, turn, draw, tick: (duration) => put(timer, duration) };
}

/** The words beside the label: the newest line while it peeks, a summary, or first words that are not in sight anyway. */
function beside({ open, text, summary_by, status, peek, placeholder }: PanelView, header: Policy["header"]): string {
  const live = status === "thinking";
  if (live && open === "peek") return peek;
  if (header === "label") return "";
  if (header === "summary") return text;
  if (live || (open === "expanded" && !/model|provider/.test(summary_by))) return "";
  return text || placeholder;
}
