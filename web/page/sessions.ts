/**
 * The list of conversations: pinned ones, those of the page by day, and those of other programs by client, with the
 * sub-agents of a conversation below it. The last used stands first.
 */

import { type ListedSession, type Paged, requestJson } from "./api.js";
import { button, h, say, show } from "./dom.js";
import { showError } from "./toasts.js";
import { t } from "./words.js";

const DAY_MS = 24 * 60 * 60 * 1000;
const AGES = ["today", "yesterday", "week", "older"];

/** What is drawn of a conversation. */
interface Row {
  node: HTMLElement;
  link: HTMLAnchorElement;
  running: HTMLElement;
  more: HTMLButtonElement;
  /** The list of its sub-agents. */
  nested: HTMLElement;
  session: ListedSession;
}

export class Sessions {
  readonly node: HTMLElement;
  items: ListedSession[] = [];
  private list = h("div", { class: "session-list" });
  private more = button(t("more"), null, () => void this.extend().catch(showError), {
    class: "plain more",
    hidden: true,
  });
  private next = "";
  private current = "";
  private hints = new Map<string, string>();
  private hidden = new Set<string>();
  private rows = new Map<string, Row>();
  private sections = new Map<string, HTMLElement>();
  private none = h("p", { class: "muted small pad" }, t("no_sessions"));
  /** The conversation that Tab goes to. */
  private tabStop = "";

  /** `actions` opens the menu of a conversation beside a button. */
  constructor(private actions: (session: ListedSession, button: HTMLElement) => void) {
    this.node = h("nav", { "aria-label": t("sessions"), class: "sessions" }, this.list, this.more);
    this.list.addEventListener("keydown", (event) => this.key(event));
    this.list.addEventListener("focusin", ({ target }) => {
      this.tabStop = (target as Element).closest("li")?.dataset.session ?? "";
      this.setTabStop();
    });
  }

  /** The first page anew; what was read beyond it is kept. */
  async refresh(): Promise<void> {
    const [pinned, page] = await Promise.all([
      requestJson<Paged<ListedSession>>("/api/sessions?pinned=true&limit=200"),
      requestJson<Paged<ListedSession>>("/api/sessions?pinned=false&limit=40"),
    ]);
    const fresh = [...pinned.items, ...page.items];
    const rest = this.items.filter(({ id, pinned }) => !pinned && !fresh.some((one) => one.id === id));
    const beyond = page.next
      ? rest.filter(({ updated_ms }) => updated_ms <= (page.items[page.items.length - 1]?.updated_ms ?? 0))
      : [];
    if (!beyond[0]) this.next = page.next;
    this.items = [...fresh, ...beyond];
    this.draw();
  }

  mark(id: string): void {
    this.current = id;
    for (const link of this.list.querySelectorAll("a")) {
      if (link.hash === `#${id}`) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    this.setTabStop();
  }

  /** What to call a conversation until it has a title. */
  hint(id: string, name: string): void {
    if (this.hints.get(id) === name) return;
    this.hints.set(id, name);
    this.draw();
  }

  /** The name of a conversation in the list. */
  name({ id, title }: { id: string; title: string }): string {
    return title || this.hints.get(id) || t("new");
  }

  /** Takes a conversation off the list, or puts it back. */
  hide(id: string, hidden: boolean): void {
    if (hidden) this.hidden.add(id);
    else this.hidden.delete(id);
    this.draw();
  }

  private async extend(): Promise<void> {
    const page = await requestJson<Paged<ListedSession>>(`/api/sessions?pinned=false&limit=40&after=${this.next}`);
    this.next = page.next;
    this.items.push(...page.items.filter(({ id }) => !this.items.some((one) => one.id === id)));
    this.draw();
  }

  /** Draws what changed, and nothing else: whoever is in the list stays where they are. */
  private draw(): void {
    if (this.list.querySelector("input")) return; // a title is being written; the next time will do
    const shown = this.items.filter(({ id }) => !this.hidden.has(id));
    const ids = new Set(shown.map(({ id }) => id));
    const children = Map.groupBy(shown, ({ parent }) => (ids.has(parent) ? parent : ""));
    const groups = Map.groupBy(children.get("") ?? [], groupOf);
    const clients = [...groups.keys()].filter((key) => key !== "pinned" && !AGES.includes(key));
    const focused = document.activeElement as HTMLElement | null;
    for (const id of this.rows.keys()) if (!ids.has(id)) this.rows.delete(id);
    const sections = ["pinned", ...AGES, ...clients]
      .filter((key) => groups.has(key))
      .map((key) => this.section(key, clients.includes(key) ? key : t(key), groups.get(key) ?? [], children));
    arrange(this.list, shown[0] ? sections : [this.none]);
    show(this.more, !!this.next);
    this.mark(this.current);
    // What moved to another place has lost the focus on the way.
    if (focused !== document.activeElement && this.list.contains(focused)) focused?.focus();
  }

  private section(
    key: string,
    name: string,
    items: ListedSession[],
    children: Map<string, ListedSession[]>,
  ): HTMLElement {
    const section = this.sections.get(key) ?? h("section", null, h("h2", null, name), h("ul"));
    this.sections.set(key, section);
    this.drawRows(section.lastElementChild as HTMLElement, items, children);
    return section;
  }

  private drawRows(list: HTMLElement, items: ListedSession[], children: Map<string, ListedSession[]>): void {
    const nodes = items.map((one) => {
      const row = this.rows.get(one.id) ?? this.createRow(one.id);
      const name = this.name(one);
      const nested = children.get(one.id);
      row.session = one;
      say(row.link, name);
      row.link.title = name;
      row.link.classList.toggle("running", one.running);
      show(row.running, one.running);
      row.more.title = row.more.ariaLabel = t("actions_of", { name });
      this.drawRows(row.nested, nested ?? [], children);
      show(row.nested, !!nested);
      return row.node;
    });
    arrange(list, nodes);
  }

  private createRow(id: string): Row {
    const link = h("a", { href: `#${id}`, dir: "auto" });
    const running = h("span", { class: "sr", hidden: true }, t("running"));
    const more = button("", "more", () => this.actions(row.session, more), {
      bare: true,
      class: "quiet",
      "aria-haspopup": "true",
      tabindex: -1,
    });
    const nested = h("ul");
    const node = h("li", { "data-session": id }, link, running, more, nested);
    const row: Row = { node, link, running, more, nested, session: {} as ListedSession };
    this.rows.set(id, row);
    return row;
  }

  /** One conversation is reached with Tab: the one that was, else the open one, else the first. */
  private setTabStop(): void {
    const first = this.list.querySelector("li")?.dataset.session ?? "";
    const stop = this.rows.get(this.tabStop) ?? this.rows.get(this.current) ?? this.rows.get(first);
    for (const row of this.rows.values()) row.link.tabIndex = row === stop ? 0 : -1;
  }

  /** Up, Down, Home and End go through the list; Right goes to the actions of a conversation, Left back. */
  private key(event: KeyboardEvent): void {
    const row = this.rows.get((event.target as Element).closest("li")?.dataset.session ?? "");
    if (!row || event.target instanceof HTMLInputElement) return;
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return; // those keys are the browser's
    const links = [...this.list.querySelectorAll("a")];
    const at = links.indexOf(row.link);
    const targets: Record<string, HTMLElement | undefined> = {
      ArrowDown: links[at + 1],
      ArrowUp: links[at - 1],
      Home: links[0],
      End: links[links.length - 1],
      ArrowRight: row.more,
      ArrowLeft: row.link,
    };
    if (!targets[event.key]) return;
    event.preventDefault();
    targets[event.key]?.focus();
  }
}

/** Puts these nodes into a parent, in this order, and touches none that stands right. */
function arrange(parent: HTMLElement, nodes: HTMLElement[]): void {
  for (const child of [...parent.children]) if (!nodes.includes(child as HTMLElement)) child.remove();
  for (const [index, node] of nodes.entries())
    if (parent.children[index] !== node) parent.insertBefore(node, parent.children[index] ?? null);
}

/** Under which heading a conversation stands. */
function groupOf({ pinned, client, updated_ms }: ListedSession): string {
  return pinned ? "pinned" : client || ageOf(updated_ms);
}

function ageOf(ms: number): string {
  const midnight = new Date().setHours(0, 0, 0, 0);
  if (ms >= midnight) return "today";
  if (ms >= midnight - DAY_MS) return "yesterday";
  return ms >= midnight - 6 * DAY_MS ? "week" : "older";
}
