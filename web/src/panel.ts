/** The whole block as nodes: a header that is always there, a body that is there when somebody looks, a footer. */

import { make, mark, put } from "./dom.js";
import { type Ask, Fold } from "./fold.js";
import { type Icon, icon } from "./icons.js";
import { StepList, type Surroundings } from "./steps.js";
import { PANEL, type Policy } from "./opening.js";
import { holdStill } from "./scrolling.js";
import type { ThinkingView } from "./view.js";

const ICONS: Record<string, Icon> = { done: "thought", error: "warning", interrupted: "stop" };
const SIGNS: Record<string, Icon> = { ...ICONS, done: "check" };
/** So close to its end the reader follows the text. */
const NEAR_PX = 8;

/** What a person can do with the buttons of the footer. */
export type Act = "copy" | "close" | "retry" | "answer-now";

export class Panel {
  readonly root = make("div", "root");
  readonly body = make("div", "body");
  #fold: Fold;
  #icon = slotted("icon");
  #name = make("span", "sr");
  #label = slotted("label");
  #timer = make("span", "timer");
  #meta = make("span", "meta");
  #preview = make("span", "preview");
  #badge = slotted("badge", icon("tool"));
  #status = make("span", "status");
  #waited = make("span", "waited");
  #tokens = make("span", "tokens");
  #marker = make("p", "marker");
  #notice = make("p", "notice");
  #buttons = {} as Record<Act, HTMLButtonElement>;
  #list = new StepList();
  #look = "";
  #follows = true;
  #top = 0;

  constructor(ask: Ask, act: (name: Act) => void) {
    this.#fold = new Fold("summary", ask);
    const { summary, details, chevron } = this.#fold;
    for (const node of [this.#icon, this.#label, this.#timer, this.#meta, this.#badge]) node.ariaHidden = "true";
    summary.append(this.#icon, this.#name, this.#label, this.#timer, this.#meta, this.#preview, this.#badge, chevron);
    this.body.role = "group";
    this.body.tabIndex = 0;
    this.body.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    details.append(this.body, this.#footer(act));
    this.root.append(slot("before"), details, this.#marker, this.#notice);
  }

  get open(): boolean {
    return this.#fold.open;
  }

  focus(): void {
    this.#fold.summary.focus();
  }

  /** Begin again with nothing drawn. */
  clear(): void {
    this.#list = new StepList();
    this.body.replaceChildren();
    this.#follows = true;
  }

  draw(seen: ThinkingView, policy: Policy, around: Surroundings, waited: string): void {
    const open = seen.open === "expanded";
    mark(this.root, "data-status", seen.status);
    const text = beside(seen, policy.header);
    mark(this.root, "data-header", text ? policy.header : "label");
    this.#header(seen, text, around);
    this.#foot(seen, around, waited);
    put(this.#marker, seen.marker);
    put(this.#notice, seen.notice);
    this.#fold.details.hidden = seen.open === "hidden";
    mark(this.root, "data-bare", seen.open === "hidden" && !seen.notice);
    mark(this.root, "data-open", seen.open);
    this.body.ariaBusy = String(seen.status === "thinking");
    this.body.ariaLabel = around.words.say("session.thinking");
    if (open || around.deep) this.#fill(seen, around);
    this.#fold.open = open;
    if (open && seen.status === "thinking" && this.#follows) this.body.scrollTop = this.body.scrollHeight;
  }

  tick(duration: string): void {
    put(this.#timer, duration);
  }

  /** Get ready to close without moving what the reader looks at; false where that cannot be. */
  holdStill(): (() => void) | false {
    const { details, summary } = this.#fold;
    return holdStill(this.root, details.offsetHeight - summary.offsetHeight);
  }

  /** Where in the body the reader is, by focus or selection: the step, or PANEL outside of any; else null. */
  held(): number | null {
    const tree = this.root.getRootNode() as ShadowRoot & { getSelection?: () => Selection | null };
    const selected = tree.getSelection ? tree.getSelection() : document.getSelection();
    const focused = tree.activeElement === this.#fold.summary ? null : tree.activeElement;
    const at = focused ?? (selected?.isCollapsed ? null : selected?.anchorNode) ?? null;
    if (!at || !this.#fold.details.contains(at)) return null;
    const body = (at instanceof Element ? at : at.parentElement)?.closest(".step-body");
    return body ? Number(body.closest<HTMLElement>(".step")?.dataset.block) : PANEL;
  }

  #header(seen: ThinkingView, text: string, { words }: Surroundings): void {
    const live = seen.status === "thinking";
    const facts = [seen.spoken, seen.words_text, seen.badge && words.say("tools", { n: seen.tool_count })];
    this.#dress(live ? "dot" : (ICONS[seen.status] as Icon));
    put(this.#name, live ? seen.label : facts.filter(Boolean).join(", "));
    this.#slotted(this.#label, seen.label);
    put(this.#meta, seen.words_text);
    put(this.#preview, text);
    mark(this.#preview, "aria-hidden", live ? "true" : null);
    this.#slotted(this.#badge, facts[2] as string);
    mark(this.#badge, "title", seen.badge_title || null);
  }

  #foot(seen: ThinkingView, { words, offers }: Surroundings, waited: string): void {
    const live = seen.status === "thinking";
    const word = seen.status === "interrupted" ? seen.label : words.say(`status.${seen.status}`);
    put(this.#status, word);
    const sign = live ? make("span", "dot") : icon(SIGNS[seen.status] as Icon);
    if (!this.#status.firstElementChild) this.#status.prepend(sign);
    put(this.#waited, waited);
    put(this.#tokens, seen.tokens_text);
    for (const name of ["copy", "close", "retry", "answer-now"] as const)
      put(this.#buttons[name], words.say(name.replace("-", "_")));
    this.#buttons["answer-now"].hidden = !live || !offers.includes("answer-now");
    this.#buttons.retry.hidden = !seen.notice || !offers.includes("retry");
    this.#buttons.copy.hidden = offers.includes("no-copy");
  }

  #fill(seen: ThinkingView, around: Surroundings): void {
    const [first, ...others] = seen.steps;
    if (!first) return;
    const alone = !others[0] && first.kind === "reasoning" && !first.steps[0];
    const home = alone ? this.#list.node(first, around).drawAlone(first, around) : this.#list.list;
    if (!alone) this.#list.draw(seen.steps, around);
    if (home.parentNode !== this.body) this.body.replaceChildren(home);
  }

  #footer(act: (name: Act) => void): HTMLElement {
    const actions = make("span", "actions", slot("actions"));
    for (const name of ["retry", "answer-now", "copy", "close"] as const) {
      const button = (this.#buttons[name] = make("button", name));
      button.type = "button";
      button.onclick = () => act(name);
      actions.append(button);
    }
    return make("div", "footer", this.#status, this.#waited, this.#tokens, actions);
  }

  #dress(look: Icon | "dot"): void {
    if (look === this.#look) return;
    this.#look = look;
    this.#icon.firstElementChild?.replaceChildren(look === "dot" ? make("span", "dot") : icon(look));
  }

  #slotted(node: HTMLElement, text: string): void {
    put(node.lastElementChild as HTMLElement, text);
    node.hidden = !text;
  }

  #scrolled(): void {
    const { scrollTop, scrollHeight, clientHeight } = this.body;
    if (scrollHeight - scrollTop - clientHeight < NEAR_PX) this.#follows = true;
    else if (scrollTop < this.#top) this.#follows = false;
    this.#top = scrollTop;
  }
}

/** The words beside the label: the newest line while it peeks, a summary, or first words that are not in sight anyway. */
function beside(seen: ThinkingView, header: Policy["header"]): string {
  const { open, text, summary_by } = seen;
  if (seen.status === "thinking" && open === "peek") return seen.peek;
  if (header === "label") return "";
  if (header === "summary") return text;
  if (seen.status === "thinking" || (open === "expanded" && !/model|provider/.test(summary_by))) return "";
  return text || (seen.blocks[0]?.placeholder ?? "");
}

function slot(name: string): HTMLSlotElement {
  const node = document.createElement("slot");
  node.name = name;
  return node;
}

/** A part of the header that a page may replace. */
function slotted(part: string, ...before: ChildNode[]): HTMLElement {
  return make("span", part, ...before, slot(part));
}
