/** The list of conversations, the last used first, by day. */

import { type Paged, requestJson, type Session } from "./api.js";
import { button, h, show } from "./dom.js";
import { showError } from "./toasts.js";
import { t } from "./words.js";

const DAY_MS = 24 * 60 * 60 * 1000;

export class Sessions {
  readonly node: HTMLElement;
  items: Session[] = [];
  private list = h("div", { class: "session-list" });
  private more = button(t("more"), null, () => void this.extend().catch(showError), {
    class: "plain more",
    hidden: true,
  });
  private next = "";
  private current = "";
  private hints = new Map<string, string>();

  constructor() {
    this.node = h("nav", { "aria-label": t("sessions"), class: "sessions" }, this.list, this.more);
  }

  /** The first page anew; what was read beyond it is kept. */
  async refresh(): Promise<void> {
    const page = await requestJson<Paged<Session>>("/api/sessions?limit=40");
    const rest = this.items.filter(({ id }) => !page.items.some((one) => one.id === id));
    const beyond = page.next
      ? rest.filter(({ updated_ms }) => updated_ms <= (page.items[page.items.length - 1]?.updated_ms ?? 0))
      : [];
    if (!beyond[0]) this.next = page.next;
    this.items = [...page.items, ...beyond];
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

  private async extend(): Promise<void> {
    const page = await requestJson<Paged<Session>>(`/api/sessions?limit=40&after=${this.next}`);
    this.next = page.next;
    this.items.push(...page.items.filter(({ id }) => !this.items.some((one) => one.id === id)));
    this.draw();
  }

  private draw(): void {
    const groups = new Map<string, Session[]>();
    for (const session of this.items) {
      const key = ageOf(session.updated_ms);
      groups.set(key, [...(groups.get(key) ?? []), session]);
    }
    const focused = this.list.contains(document.activeElement)
      ? (document.activeElement as HTMLAnchorElement).hash
      : "";
    this.list.replaceChildren(
      ...[...groups].map(([key, items]) =>
        h(
          "section",
          null,
          h("h2", null, t(key)),
          h(
            "ul",
            null,
            ...items.map((one) =>
              h(
                "li",
                null,
                h("a", { href: `#${one.id}`, dir: "auto" }, one.title || this.hints.get(one.id) || t("untitled")),
              ),
            ),
          ),
        ),
      ),
    );
    if (!this.items[0]) this.list.append(h("p", { class: "muted small pad" }, t("no_sessions")));
    show(this.more, !!this.next);
    this.mark(this.current);
    if (focused) this.list.querySelector<HTMLElement>(`a[href="${CSS.escape(focused).replace("\\#", "#")}"]`)?.focus();
  }
}

function ageOf(ms: number): string {
  const midnight = new Date().setHours(0, 0, 0, 0);
  if (ms >= midnight) return "today";
  if (ms >= midnight - DAY_MS) return "yesterday";
  return ms >= midnight - 6 * DAY_MS ? "week" : "older";
}
