/**
 * The chat page: puts the parts together, and opens the conversation that the address names after `#`. Dialogs are loaded
 * when they are first opened.
 */

import { thinkingShown, toggled } from "../src/core/open-rule.js";
import type { Policy } from "../src/core/policy.js";
import { type ListedSession, requestJson, type Session } from "./api.js";
import { Chat } from "./chat.js";
import { Composer } from "./composer.js";
import { button, h, icon, say, show } from "./dom.js";
import type { PageContext } from "./page-context.js";
import { type Hit, type Place, placeOf } from "./page-context.js";
import { type Choice, currentPreferences, rememberThinkingShown } from "./preferences.js";
import { Sessions } from "./sessions.js";
import { tellOtherTabs } from "./storage.js";
import { notify, placeToasts, showError } from "./toasts.js";
import { t } from "./words.js";

export const NARROW = matchMedia("(max-width: 52rem)");

/** The whole page. Another language makes another one. */
export class Shell implements PageContext {
  readonly chat: Chat;
  readonly composer: Composer;
  readonly sessions = new Sessions((session, anchor) => this.openMenu(session, anchor, false));
  readonly titleNode = h("h1", { class: "title", dir: "auto" });
  private side: HTMLElement;
  private opener: HTMLButtonElement;
  private main: HTMLElement;
  private shade: HTMLElement;
  private bar: HTMLElement;
  private offline = h("p", { class: "offline", role: "status", hidden: true }, icon("alert"), t("offline"));
  private eye: HTMLButtonElement;
  private finder: { node: HTMLElement; close(): void } | null = null;
  /** What is to be marked in the place that is being opened. */
  private hit: Hit | null = null;

  constructor(private rebuild: () => void) {
    this.chat = new Chat({
      changed: () => this.draw(),
      created: (session, open) => this.sessionCreated(session, open),
      gone: () => this.composer.sessionGone(),
      sessionChanged: (session) => this.sessionChanged(session),
      welcome: (node) => void import("./welcome.js").then(({ welcome }) => node.append(welcome(this))).catch(showError),
      retry: () => this.retry(),
      startNew: () => this.go({}),
      pickAnswerer: () => this.pickAnswerer(),
      replace: async (replaces, prompt, attached) => {
        if (this.composer.busy) return false;
        const asked = this.composer.ask({ prompt, replaces, attached });
        return asked.then(
          () => true,
          () => false, // the card says why
        );
      },
      draft: (text) => this.composer.put(text),
      focusComposer: () => this.composer.area.focus(),
      askChosen: (prompt) => void this.composer.askChosen(prompt),
      askAgain: (prompt, attached) => void this.composer.askAgain(prompt, attached),
    });
    this.composer = new Composer({
      page: () => this,
      ask: (question) => this.chat.ask(question),
      stop: () => void this.chat.exchanges.running?.stop(),
      answerNow: () => void this.chat.exchanges.running?.answerNow(),
      pickAnswerer: () => this.pickAnswerer(),
    });
    this.opener = button(t("menu"), "menu", () => this.slide(true), {
      bare: true,
      class: "quiet opener",
      "aria-expanded": "false",
    });
    this.eye = button(t("toggle"), "eye", () => void this.toggleThinking().catch(showError), {
      bare: true,
      class: "quiet wide",
    });
    this.sessions.node.addEventListener("click", ({ target }) => {
      const link = (target as Element).closest("a");
      if (!link) return;
      this.slide(false);
      if (link.hash === location.hash) this.retry();
    });
    this.titleNode.addEventListener("dblclick", () => this.rename());
    this.side = this.sidebar();
    this.bar = this.toolbar();
    this.shade = h("div", { class: "shade", onclick: () => this.slide(false) });
    this.main = h("main", { class: "main" }, this.bar, this.offline, this.chat.node, this.composer.node);
    this.composer.takeDropsOn(this.main);
  }

  /** Put it on the screen. */
  mount(): void {
    const skip = (name: string, act: () => void): HTMLElement => {
      const onclick = (event: Event): void => {
        event.preventDefault();
        act();
      };
      return h("a", { class: "skip", href: "#message", onclick }, name);
    };
    document.body.replaceChildren(
      skip(t("skip"), () => this.composer.area.focus()),
      skip(t("skip.chat"), () => this.chat.focus()),
      this.side,
      this.shade,
      this.main,
    );
    this.slide(false);
    this.showConnection();
    this.draw();
  }

  /** Take it off again; what runs on the gateway runs on. */
  leave(): void {
    this.chat.clear();
    document.body.replaceChildren();
  }

  go({ session = "", turn = "", block = null }: Partial<Place>): void {
    const hash = [session, turn, block].filter((part) => part !== "" && part !== null).join("/");
    if (location.hash.slice(1) === hash) void this.route();
    else location.hash = hash;
    this.slide(false);
  }

  showHit(hit: Hit): void {
    this.hit = hit;
    this.go(hit.place);
  }

  /** Open what the address names. */
  async route(): Promise<void> {
    const { hash } = location;
    const place = await placeOf(hash.slice(1));
    if (hash !== location.hash) return;
    if (!place) return this.chat.missing();
    if (place.session !== this.chat.id && this.finder?.node.isConnected) this.finder.close();
    this.sessions.mark(place.session);
    await this.chat.open(place);
    if (hash === "#figures") return this.openFigures();
    const hit = this.hit;
    this.hit = null;
    if (hit?.place.turn === place.turn) return this.find(hit);
    if (!place.turn && !NARROW.matches) this.composer.area.focus({ preventScroll: true });
  }

  /** Open what the address names once more, where it did not come. */
  retry(): void {
    if (this.chat.failed) void this.route().catch(showError);
  }

  /** Looks for what changed while the person was away. */
  returned(): void {
    this.retry();
    void this.refresh(this.chat.id);
  }

  choose(choice: Choice): void {
    this.composer.choose(choice);
    const { session } = this.chat;
    if (!session) return;
    void requestJson<Session>(`/api/sessions/${session.id}`, {
      method: "PATCH",
      body: { agent: choice.agent, model: choice.agent ? "" : choice.model },
    })
      .then((changed) => this.keep(changed))
      .catch(showError);
  }

  restyle(rebuild: boolean): void {
    if (rebuild) return this.rebuild();
    this.chat.exchanges.restyle();
    this.draw();
  }

  sessionChanged(session: string): void {
    tellOtherTabs({ session });
    void this.refresh();
  }

  /** What changed elsewhere, in lists and in the open conversation. */
  async refresh(session = ""): Promise<void> {
    const openInList = () => this.sessions.items.find(({ id }) => id === this.chat.session?.id);
    try {
      const wasListed = openInList();
      await this.sessions.refresh();
      const listed = openInList();
      const gone = wasListed?.id === this.chat.session?.id && !listed; // somebody deleted it, perhaps by the API
      const other = !!listed?.client && listed.updated_ms !== this.chat.session?.updated_ms; // its client went on
      if (this.chat.session && listed) this.chat.session = { ...this.chat.session, title: listed.title };
      if (this.chat.session && (other || gone || session === this.chat.session.id)) await this.chat.refresh();
    } catch {
      // It was not asked for by the person, and comes again by itself.
    }
    this.draw();
  }

  /** Says so while the browser is offline. */
  showConnection(): void {
    show(this.offline, !navigator.onLine);
  }

  toggleThinking(): Promise<void> {
    return this.showThinking(toggled(currentPreferences().display));
  }

  /** Shows or hides thinking everywhere, and remembers it where `remember` says so. */
  async showThinking(display: Policy): Promise<void> {
    const changed = rememberThinkingShown(display);
    this.restyle(false);
    notify(t(display.show_thinking ? "shown" : "hidden"));
    await changed;
    tellOtherTabs({ preferences: true });
  }

  async openFigures(): Promise<void> {
    const { openFigures } = await import("./figures.js");
    await openFigures(this);
  }

  pickAnswerer(): void {
    void import("./picker.js").then(({ pickAnswerer }) => pickAnswerer(this)).catch(showError);
  }

  search(): void {
    void import("./search.js").then(({ openSearch }) => openSearch(this)).catch(showError);
  }

  slide(open: boolean): void {
    const inside = this.side.contains(document.activeElement);
    this.side.classList.toggle("open", open);
    this.shade.classList.toggle("open", open);
    this.side.inert = NARROW.matches && !open;
    this.main.inert = NARROW.matches && open;
    this.opener.setAttribute("aria-expanded", String(open));
    placeToasts();
    if (open) this.side.querySelector<HTMLElement>("button, a")?.focus();
    else if (inside && NARROW.matches) this.opener.focus();
  }

  private sessionCreated(session: string, open: boolean): void {
    this.composer.sessionCreated(session, open);
    if (!open) return;
    history.pushState(null, "", `#${session}`);
    this.sessions.mark(session);
  }

  /** A session that was changed; the reader may be in another one by now. */
  keep(changed: Session): void {
    if (this.chat.session?.id === changed.id) this.chat.session = changed;
    this.draw();
  }

  private draw(): void {
    const { id } = this.chat;
    const { running, firstPrompt } = this.chat.exchanges;
    const session = this.chat.session ?? this.sessions.items.find((one) => one.id === id) ?? null; // the list knows before it is there
    const title = session?.title || (session ? firstPrompt || t("new") : "");
    if (session && !session.title && title) this.sessions.hint(session.id, title);
    say(this.titleNode, title || t(id && !this.chat.failed ? "loading" : "new"));
    document.title = title ? `${title} — Thinkaloud` : "Thinkaloud";
    for (const node of this.bar.querySelectorAll<HTMLElement>("[data-needs=session]")) show(node, !!this.chat.session);
    this.composer.showSession(id, session, !id || !!this.chat.session, [...this.chat.exchanges.values()].pop()?.agent);
    this.composer.running(!!running, !!running?.expectsThinking);
    const hidden = !thinkingShown(currentPreferences().display);
    this.eye.replaceChildren(icon(hidden ? "eyeOff" : "eye"));
    this.eye.setAttribute("aria-pressed", String(!hidden));
  }

  private sidebar(): HTMLElement {
    const item = { class: "side-item" };
    const lazily = (work: () => Promise<unknown>) => () => {
      if (NARROW.matches) this.slide(false);
      work().catch(showError);
    };
    return h(
      "aside",
      { class: "side", "aria-label": t("menu") },
      h(
        "div",
        { class: "brand" },
        h("span", { class: "logo" }, icon("thought")),
        h("span", { class: "wordmark" }, "Thinkaloud"),
        button(t("close"), "close", () => this.slide(false), { bare: true, class: "quiet narrow" }),
      ),
      button(t("new"), "plus", () => this.go({}), { class: "side-item new" }),
      button(t("search"), "search", () => this.search(), item),
      this.sessions.node,
      h(
        "div",
        { class: "side-foot" },
        button(
          t("agents"),
          "agents",
          lazily(() => import("./agents.js").then(({ openAgents }) => openAgents(this))),
          item,
        ),
        button(
          t("figures"),
          "chart",
          lazily(() => this.openFigures()),
          item,
        ),
        button(
          t("import"),
          "upload",
          lazily(() => import("./export-import.js").then(({ chooseImport }) => chooseImport(this))),
          item,
        ),
        button(
          t("settings"),
          "settings",
          lazily(() => import("./settings.js").then(({ openSettings }) => openSettings(this))),
          item,
        ),
      ),
    );
  }

  private toolbar(): HTMLElement {
    const quiet = { bare: true, class: "quiet wide", "data-needs": "session" };
    const more: HTMLButtonElement = button(
      t("actions"),
      "more",
      () => this.chat.session && this.openMenu(this.chat.session, more, true),
      { ...quiet, class: "quiet", "aria-haspopup": "true" },
    );
    return h(
      "header",
      { class: "bar" },
      this.opener,
      this.titleNode,
      h(
        "div",
        { class: "tools", role: "group", "aria-label": t("think") },
        button(t("find"), "search", () => this.find(), quiet),
        button(t("expand"), "expand", () => this.chat.expandAll(), quiet),
        button(t("collapse"), "collapse", () => this.chat.exchanges.collapseAll(), quiet),
        this.eye,
        more,
      ),
    );
  }

  /** Opens the search bar, perhaps at a hit. */
  find(hit: Hit | null = null): void {
    void import("./find-in-thinking.js")
      .then(({ Finder }) => {
        this.finder?.close();
        this.finder = new Finder(this, hit);
        this.bar.after(this.finder.node);
        if (!hit) this.finder.node.querySelector("input")?.focus();
      })
      .catch(showError);
  }

  private openMenu(session: Session | ListedSession, anchor: HTMLElement, open: boolean): void {
    void import("./session-menu.js")
      .then(({ openSessionMenu }) => openSessionMenu(this, session, anchor, open))
      .catch(showError);
  }

  private rename(): void {
    const { session } = this.chat;
    if (!session) return;
    void import("./session-menu.js").then(({ rename }) => rename(this, session, this.titleNode)).catch(showError);
  }
}
