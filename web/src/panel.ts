/** The whole block as nodes: a header that is always there, a body that is there when somebody looks, a footer. */

import { button, hide, make, mark, put, spans } from "./dom.js";
import { type Ask, fold } from "./fold.js";
import { icon } from "./icons.js";
import { PANEL, type Policy } from "./opening.js";
import { holdStill } from "./scrolling.js";
import { type StepList, stepList, type Surroundings } from "./steps.js";
import type { ThinkingView } from "./view.js";

/** So close to its end the reader follows the text. */
const NEAR_PX = 8;

/** What a person can do with the buttons of the footer. */
export type Act = "copy" | "close" | "retry" | "answer-now";

export interface Panel {
  root: HTMLElement;
  summary: HTMLElement;
  open(): boolean;
  /** Begin again with nothing drawn. */
  clear(): void;
  draw(seen: ThinkingView, policy: Policy, around: Surroundings, waited: string): void;
  tick(duration: string): void;
  /** Get ready to close without moving what the reader looks at; false where that cannot be. */
  holdStill(): (() => void) | false;
  /** Where in the body the reader is, by focus or selection: the step, or PANEL outside of any; else null. */
  held(): number | null;
}

export function panel(ask: Ask, act: (name: Act) => void): Panel {
  const header = spans("icon sr label timer meta preview badge");
  const [sign, name, label, timer, meta, preview, badge] = header;
  const facts = spans("status waited tokens");
  const [status, waits, tokens] = facts;
  const offer = (name: Act): HTMLElement => button(name, () => act(name));
  const retry = offer("retry");
  const now = offer("answer-now");
  const copy = offer("copy");
  const close = offer("close");
  const marker = make("p", "marker");
  const notice = make("p", "notice");
  const body = make("div", "body");
  const actions = make("span", "actions", slot("actions"), retry, now, copy, close);
  const { details, summary, turn } = fold("summary", ask, header, body, make("div", "footer", ...facts, actions));
  const root = make("div", "root", slot("before"), details, marker, notice);
  let list: StepList;
  let follows: boolean;
  let opened = false;
  let top = 0;
  let look = "";

  badge.append(icon("tool_call"));
  // Parts of the header that a page may replace.
  const dressed = slotIn(sign);
  const labelled = slotIn(label);
  const counted = slotIn(badge);
  for (const node of [sign, label, timer, meta, badge]) mark(node, "aria-hidden", "true");
  mark(body, "role", "group");
  body.tabIndex = 0;
  body.onscroll = () => {
    const { scrollTop, scrollHeight, clientHeight } = body;
    if (scrollHeight - scrollTop - clientHeight < NEAR_PX) follows = true;
    else if (scrollTop < top) follows = false;
    top = scrollTop;
  };
  clear();

  function clear(): void {
    list = stepList();
    body.replaceChildren();
    follows = true;
  }

  function draw(seen: ThinkingView, policy: Policy, around: Surroundings, waited: string): void {
    const { words, offers } = around;
    const { open, status: standing } = seen;
    const live = standing === "thinking";
    const text = beside(seen, policy.header);
    const tools = seen.badge && words.say("tools", { n: seen.tool_count });
    opened = open === "expanded";
    mark(root, "data-status", standing);
    mark(root, "data-open", open);
    mark(root, "data-header", text ? policy.header : "label");
    mark(root, "data-bare", open === "hidden" && !seen.notice ? "" : null);

    if (look !== standing) dressed.replaceChildren(icon(standing === "done" ? "reasoning" : standing));
    look = standing;
    put(name, live ? seen.label : [seen.spoken, seen.words_text, tools].filter(Boolean).join(", "));
    put(labelled, seen.label);
    put(meta, seen.words_text);
    put(preview, text);
    mark(preview, "aria-hidden", live ? "true" : null);
    put(counted, tools);
    hide(badge, !tools);
    mark(badge, "title", seen.badge_title || null);

    put(status, standing === "interrupted" ? seen.label : words.say(`status.${standing}`));
    if (!status.firstElementChild) status.prepend(icon(standing));
    put(waits, waited);
    put(tokens, seen.tokens_text);
    for (const node of [copy, close, retry, now]) put(node, words.say(node.className.replace("-", "_")));
    hide(now, !live || !offers.includes("answer-now"));
    hide(retry, !seen.notice || !offers.includes("retry"));
    hide(copy, offers.includes("no-copy"));
    put(marker, seen.marker);
    put(notice, seen.notice);

    hide(details, open === "hidden");
    mark(body, "aria-busy", `${live}`);
    mark(body, "aria-label", words.say("session.thinking"));
    if (opened || around.deep) fill(seen, around);
    turn(opened);
    if (opened && live && follows) body.scrollTop = body.scrollHeight;
  }

  function fill({ steps }: ThinkingView, around: Surroundings): void {
    const [first, second] = steps;
    if (!first) return;
    const alone = !second && first.kind === "reasoning" && !first.steps[0];
    const home = alone ? list.alone(first, around) : list.draw(steps, around);
    if (home.parentNode !== body) body.replaceChildren(home);
  }

  return {
    root,
    summary,
    open: () => opened,
    clear,
    draw,
    tick: (duration) => put(timer, duration),
    holdStill: () => holdStill(root, details.offsetHeight - summary.offsetHeight),
    held() {
      const tree = root.getRootNode() as ShadowRoot & { getSelection?: () => Selection | null };
      const selected = tree.getSelection ? tree.getSelection() : document.getSelection();
      const focused = tree.activeElement === summary ? null : tree.activeElement;
      const at = focused ?? (selected?.isCollapsed ? null : selected?.anchorNode) ?? null;
      if (!at || !details.contains(at)) return null;
      const within = (at instanceof Element ? at : at.parentElement)?.closest(".step-body");
      return within ? Number(within.closest<HTMLElement>(".step")?.dataset.block) : PANEL;
    },
  };
}

/** The words beside the label: the newest line while it peeks, a summary, or first words that are not in sight anyway. */
function beside(seen: ThinkingView, header: Policy["header"]): string {
  const { open, text, summary_by, status } = seen;
  const live = status === "thinking";
  if (live && open === "peek") return seen.peek;
  if (header === "label") return "";
  if (header === "summary") return text;
  if (live || (open === "expanded" && !/model|provider/.test(summary_by))) return "";
  return text || (seen.blocks[0]?.placeholder ?? "");
}

function slotIn(node: Element): Element {
  const own = slot(node.className);
  node.append(own);
  return own;
}

function slot(name: string): HTMLSlotElement {
  const node = make("slot");
  node.name = name;
  return node;
}
