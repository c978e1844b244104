/**
 * The list of conversations: pinned ones, those of the page by day, and those of other programs by client, with the
 * sub-agents of a conversation below it. The last used stands first.
 */

import { type ListedSession, type Paged, requestJson } from "./api.js";
import { button, h, show } from "./dom.js";
import { showError } from "./toasts.js";
import { t } from "./words.js";

const DAY_MS = 24 * 60 * 60 * 1000;
const AGES = ["today", "yesterday", "week", "older"];

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

  /** `actions` opens the menu of a conversation beside a button. */
  constructor(private actions: (session: ListedSession, button: HTMLElement) => void) {
    this.node = h("nav", { "aria-label": t("sessions"), class: "sessions" }, this.list, this.more);
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
  }

  /** What to call a conversation until it has a title. */
  hint(id: string, name: string): void {
    if (this.hints.get(id) === name) return;
    this.hints.set(id, name);
    this.draw();
  }

  /** The name of a conversation in the list. */
  name({ id, title }: { id: string; title: string }): string {
    return title || this.hints.get(id) || t("untitled");
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

  private draw(): void {
    if (this.list.querySelector("input")) return; // a title is being written; the next time will do
    const shown = this.items.filter(({ id }) => !this.hidden.has(id));
    const ids = new Set(shown.map(({ id }) => id));
    const children = Map.groupBy(shown, ({ parent }) => (ids.has(parent) ? parent : ""));
    const groups = Map.groupBy(children.get("") ?? [], groupOf);
    const clients = [...groups.keys()].filter((key) => key !== "pinned" && !AGES.includes(key));
    const focused = this.list.contains(document.activeElement)
      ? (document.activeElement as HTMLAnchorElement).hash
      : "";
    this.list.replaceChildren(
      ...["pinned", ...AGES, ...clients]
        .filter((key) => groups.has(key))
        .map((key) =>
          h(
            "section",
            null,
            h("h2", null, clients.includes(key) ? key : t(key)),
            this.rows(groups.get(key) ?? [], children),
          ),
        ),
    );
    if (!shown[0]) this.list.append(h("p", { class: "muted small pad" }, t("no_sessions")));
    show(this.more, !!this.next);
    this.mark(this.current);
    if (focused) this.list.querySelector<HTMLElement>(`a[href="${CSS.escape(focused).replace("\\#", "#")}"]`)?.focus();
  }

  private rows(items: ListedSession[], children: Map<string, ListedSession[]>): HTMLElement {
    return h(
      "ul",
      null,
      ...items.map((one) => {
        const name = this.name(one);
        const nested = children.get(one.id);
        const more = button(t("actions_of", { name }), "more", () => this.actions(one, more), {
          bare: true,
          class: "quiet",
          "aria-haspopup": "true",
        });
        return h(
          "li",
          null,
          h("a", { href: `#${one.id}`, dir: "auto", title: name, class: one.running && "running" }, name),
          one.running && h("span", { class: "sr" }, t("running")),
          more,
          nested && this.rows(nested, children),
        );
      }),
    );
  }
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
