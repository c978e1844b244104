/**
 * The chat page: puts the parts together, says which conversation is open by the address after `#`, and keeps
 * windows of the same browser in step. Dialogs are fetched when they are first opened.
 */

import { ThinkingBlockElement } from "../src/element.js";
import { toggled } from "../src/opening.js";
import { call, moveTo, onTokenWanted, Problem, type Session, type TurnBrief, workspace } from "./api.js";
import { Chat, type Place } from "./chat.js";
import { Composer, loadModels } from "./composer.js";
import { button, h, icon, say, show } from "./dom.js";
import { change, type Choice, load, preferences, recall } from "./prefs.js";
import { complain, note } from "./saying.js";
import { Sessions } from "./sessions.js";
import { welcome } from "./welcome.js";
import { currentLanguage, t } from "./words.js";

const NARROW = matchMedia("(max-width: 52rem)");
export const tabs = new BroadcastChannel("thinkaloud");
/** The page as it is at this moment; another language makes another one. */
export let page: Shell;

class Shell {
  readonly chat: Chat;
  readonly composer: Composer;
  readonly sessions = new Sessions();
  private title = h("h1", { class: "title", dir: "auto" });
  private side: HTMLElement;
  private opener: HTMLButtonElement;
  private main: HTMLElement;
  private shade: HTMLElement;
  private bar: HTMLElement;
  private offline = h("p", { class: "offline", role: "status", hidden: true }, icon("alert"), t("offline"));
  private eye: HTMLButtonElement;
  private finder: { node: HTMLElement; close(): void } | null = null;

  constructor() {
    this.chat = new Chat({
      changed: () => this.draw(),
      made: (session) => this.made(session),
      stirred: (session) => this.stirred(session),
      welcome: () => welcome(),
      again: (prompt) => void this.composer.ask(prompt).catch(complain),
    });
    this.composer = new Composer({
      ask: (prompt, choice) => this.chat.ask(prompt, choice),
      stop: () => void this.chat.running?.stop(),
      answerNow: () => void this.chat.running?.answerNow(),
      toggleThinking: () => void this.toggleThinking().catch(complain),
      pick: () => void import("./picker.js").then(({ pick }) => pick()).catch(complain),
    });
    this.opener = button(t("menu"), "menu", () => this.slide(true), { bare: true, class: "quiet opener", "aria-expanded": "false" });
    this.eye = button(t("toggle"), "eye", () => void this.toggleThinking().catch(complain), { bare: true, class: "quiet wide" });
    this.sessions.node.addEventListener("click", ({ target }) => {
      const link = (target as Element).closest("a");
      if (!link) return;
      this.slide(false);
      if (link.hash === location.hash) this.retry();
    });
    this.side = this.sidebar();
    this.bar = this.toolbar();
    this.shade = h("div", { class: "shade", onclick: () => this.slide(false) });
    this.main = h("main", { class: "main" }, this.bar, this.offline, this.chat.node, this.composer.node);
  }

  /** Put it on the screen. */
  mount(): void {
    const skip = h("a", { class: "skip", href: "#message", onclick: (event: Event) => (event.preventDefault(), this.composer.area.focus()) }, t("skip"));
    document.body.replaceChildren(skip, this.side, this.shade, this.main);
    this.slide(false);
    this.connection();
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

  /** Open what the address names. */
  async route(): Promise<void> {
    const { hash } = location;
    const place = await placeOf(hash.slice(1));
    if (hash !== location.hash) return;
    if (!place) return this.chat.missing();
    if (place.session !== this.chat.id && this.finder?.node.isConnected) this.finder.close();
    this.sessions.mark(place.session);
    await this.chat.open(place);
    if (!place.turn && !NARROW.matches) this.composer.area.focus({ preventScroll: true });
  }

  /** Open what the address names once more, where it did not come. */
  retry(): void {
    if (this.chat.failed) void this.route().catch(complain);
  }

  /** Look for what an absence brought. */
  back(): void {
    this.retry();
    void this.refresh(this.chat.id);
  }

  choose(choice: Choice): void {
    this.composer.choose(choice);
    const { session } = this.chat;
    if (!session) return;
    void call<Session>(`/api/sessions/${session.id}`, { method: "PATCH", body: { agent: choice.agent, model: choice.agent ? "" : choice.model } })
      .then((changed) => this.keep(changed))
      .catch(complain);
  }

  restyle(anew: boolean): void {
    if (anew) return void start();
    this.chat.restyle();
    this.draw();
  }

  stirred(session: string): void {
    tabs.postMessage({ session });
    void this.refresh();
  }

  /** What changed elsewhere, in lists and in the open conversation. */
  async refresh(session = ""): Promise<void> {
    try {
      await this.sessions.refresh();
      const title = this.sessions.items.find(({ id }) => id === this.chat.session?.id)?.title;
      if (this.chat.session && title !== undefined) this.chat.session = { ...this.chat.session, title };
      if (session && session === this.chat.session?.id) await this.chat.refresh();
    } catch {
      // It was not asked for by the person, and comes again by itself.
    }
    this.draw();
  }

  connection(): void {
    show(this.offline, !navigator.onLine);
  }

  async toggleThinking(): Promise<void> {
    const display = toggled(preferences.display);
    const changed = change({ display });
    this.restyle(false);
    note(t(display.show_thinking ? "shown" : "hidden"));
    await changed;
    tabs.postMessage({ preferences: true });
  }

  search(): void {
    void import("./search.js").then(({ search }) => search()).catch(complain);
  }

  slide(open: boolean): void {
    const inside = this.side.contains(document.activeElement);
    this.side.classList.toggle("open", open);
    this.shade.classList.toggle("open", open);
    this.side.inert = NARROW.matches && !open;
    this.main.inert = NARROW.matches && open;
    this.opener.setAttribute("aria-expanded", String(open));
    if (open) this.side.querySelector<HTMLElement>("button, a")?.focus();
    else if (inside && NARROW.matches) this.opener.focus();
  }

  private made(session: string): void {
    this.composer.became(session);
    history.pushState(null, "", `#${session}`);
    this.sessions.mark(session);
  }

  /** A session that was changed; the reader may be in another one by now. */
  private keep(changed: Session): void {
    if (this.chat.session?.id === changed.id) this.chat.session = changed;
  }

  private draw(): void {
    const { id, running } = this.chat;
    const session = this.chat.session ?? this.sessions.items.find((one) => one.id === id) ?? null; // the list knows before it is there
    const title = session?.title || (session ? this.chat.firstPrompt || t("untitled") : "");
    if (session && !session.title && title) this.sessions.hint(session.id, title);
    say(this.title, title || t(id && !this.chat.failed ? "loading" : "new"));
    document.title = title ? `${title} — Thinkaloud` : "Thinkaloud";
    for (const node of this.bar.querySelectorAll<HTMLElement>("[data-needs=session]")) show(node, !!this.chat.session);
    this.composer.at(id, session, !id || !!this.chat.session, [...this.chat.exchanges.values()].pop()?.agent);
    this.composer.running(!!running);
    const hidden = !preferences.display.show_thinking || preferences.display.after_complete === "hidden";
    this.eye.replaceChildren(icon(hidden ? "eyeOff" : "eye"));
    this.eye.setAttribute("aria-pressed", String(!hidden));
  }

  private sidebar(): HTMLElement {
    const item = { class: "side-item" };
    const lazily = (work: () => Promise<unknown>) => () => {
      if (NARROW.matches) this.slide(false);
      work().catch(complain);
    };
    const file = h("input", { type: "file", accept: ".md,.json,.markdown,text/markdown,application/json", hidden: true });
    file.addEventListener("change", () => {
      const [chosen] = file.files ?? [];
      file.value = "";
      if (chosen) void import("./transfer.js").then(({ take }) => take(chosen)).catch(complain);
    });
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
        button(t("agents"), "agents", lazily(() => import("./agents.js").then(({ agents }) => agents())), item),
        button(t("import"), "upload", () => file.click(), item),
        button(t("settings"), "settings", lazily(() => import("./settings.js").then(({ settings }) => settings())), item),
        file,
      ),
    );
  }

  private toolbar(): HTMLElement {
    const quiet = { bare: true, class: "quiet wide", "data-needs": "session" };
    const menu = h("div", { popover: "auto", id: "actions", class: "popover", role: "group", "aria-label": t("actions") });
    const item = (name: string, look: Parameters<typeof icon>[0], work: () => unknown, more = {}): HTMLElement =>
      button(name, look, () => (menu.hidePopover(), void work()), { class: "menu-item", ...more });
    const narrow = { class: "menu-item narrow" };
    menu.append(
      item(t("find"), "search", () => this.find(), narrow),
      item(t("expand"), "expand", () => this.chat.expandAll(), narrow),
      item(t("collapse"), "collapse", () => this.chat.collapseAll(), narrow),
      item(t("toggle"), "eye", () => void this.toggleThinking().catch(complain), narrow),
      item(t("rename"), "pencil", () => void this.rename().catch(complain)),
      item(t("export"), "download", () => void import("./transfer.js").then(({ give }) => give()).catch(complain)),
      item(t("delete"), "trash", () => void this.remove().catch(complain), { class: "menu-item bad" }),
    );
    return h(
      "header",
      { class: "bar" },
      this.opener,
      this.title,
      h(
        "div",
        { class: "tools", role: "group", "aria-label": t("think") },
        button(t("find"), "search", () => this.find(), quiet),
        button(t("expand"), "expand", () => this.chat.expandAll(), quiet),
        button(t("collapse"), "collapse", () => this.chat.collapseAll(), quiet),
        this.eye,
        h("button", { type: "button", class: "quiet", "data-needs": "session", popovertarget: "actions", "aria-label": t("actions"), title: t("actions") }, icon("more")),
      ),
      menu,
    );
  }

  private find(): void {
    void import("./find.js")
      .then(({ finder }) => {
        this.finder?.close();
        this.finder = finder();
        this.bar.after(this.finder.node);
        this.finder.node.querySelector("input")?.focus();
      })
      .catch(complain);
  }

  private async rename(): Promise<void> {
    const { session } = this.chat;
    if (!session) return;
    const { asked } = await import("./dialogs.js");
    const title = await asked(t("rename"), t("title"), session.title, t("save"));
    if (title === null) return;
    this.keep(await call<Session>(`/api/sessions/${session.id}`, { method: "PATCH", body: { title } }));
    this.draw();
    this.stirred(session.id);
  }

  private async remove(): Promise<void> {
    const { session } = this.chat;
    if (!session) return;
    const { confirmed } = await import("./dialogs.js");
    if (!(await confirmed(t("delete.sure"), t("delete")))) return;
    if (this.chat.session?.id === session.id) await this.chat.running?.stop(); // what runs would be refused to go
    await call(`/api/sessions/${session.id}`, { method: "DELETE" });
    note(t("deleted"));
    if (!this.chat.id || this.chat.id === session.id) this.go({}); // else the reader has gone elsewhere
    this.stirred(session.id);
  }
}

/** The place that an address names: a session, a turn and a block in it, or a step alone; null if it is gone. */
async function placeOf(hash: string): Promise<Place | null> {
  const [, step, at] = /^think-(trn_[\w-]+)-(\d+)$/.exec(hash) ?? [];
  if (step) {
    const found = await call<TurnBrief>(`/api/turns/${step}`).catch((error: unknown) => {
      if (error instanceof Problem && error.status === 404) return null;
      throw error;
    });
    return found && { session: found.session, turn: step, block: Number(at) };
  }
  const [, session = "", turn = "", block] = /^(ses_[\w-]+)(?:\/(trn_[\w-]+)(?:\/(\d+))?)?/.exec(hash) ?? [];
  return { session, turn, block: block === undefined ? null : Number(block) };
}

/** Build the page in the language of the moment, and open what the address names. */
async function start(): Promise<void> {
  page?.leave();
  page = new Shell();
  page.mount();
  await Promise.all([page.route(), page.refresh()]);
}

/** The keys of an event as they are kept: Alt+KeyE. */
export function keysOf({ code, altKey, ctrlKey, metaKey, shiftKey }: KeyboardEvent): string {
  return [ctrlKey && "Ctrl", altKey && "Alt", shiftKey && "Shift", metaKey && "Meta", code].filter(Boolean).join("+");
}

function keys(event: KeyboardEvent): void {
  const { code, altKey, ctrlKey, metaKey } = event;
  if (event.defaultPrevented) return;
  if (keysOf(event) === preferences.expand_key) page.chat.toggleAll();
  else if (altKey && !ctrlKey && !metaKey && code === "KeyT") void page.toggleThinking().catch(complain);
  else if (altKey && !ctrlKey && !metaKey && code === "KeyN") page.go({});
  else if ((ctrlKey || metaKey) && !altKey && code === "KeyK") page.search();
  else if (code === "Escape" && NARROW.matches && !document.querySelector("dialog[open]")) return page.slide(false);
  else return;
  event.preventDefault();
}

/** Begin, once. */
export async function begin(): Promise<void> {
  customElements.define("thinking-block", ThinkingBlockElement);
  recall();
  onTokenWanted(async (refused) => {
    const { asked } = await import("./dialogs.js");
    const token = await asked(t("token.title"), t("token.label"), "", t("token.enter"), t(refused ? "token.refused" : "token.about"));
    return token || location.reload() as never;
  });
  addEventListener("hashchange", () => void page.route().catch(complain));
  addEventListener("keydown", keys);
  addEventListener("online", () => (page.connection(), page.back()));
  addEventListener("offline", () => page.connection());
  addEventListener("pageshow", (event) => event.persisted && page.back());
  document.addEventListener("visibilitychange", () => !document.hidden && page.back());
  NARROW.addEventListener("change", () => page.slide(false));
  tabs.addEventListener("message", ({ data }: MessageEvent<{ session?: string; preferences?: boolean }>) => {
    if (data.preferences) void reload().catch(complain);
    else void page.refresh(data.session);
  });
  const language = currentLanguage();
  await start();
  await load()
    .then((changed) => {
      if (currentLanguage() !== language) return start();
      if (changed) page.restyle(false);
    })
    .catch((error: unknown) => {
      // Everybody has preferences: it is the workspace that is not theirs any more.
      if (workspace && error instanceof Problem && error.status === 404) moveTo("");
      else complain(error);
    });
  await loadModels().then(() => page.composer.refresh(), () => undefined);
}

async function reload(): Promise<void> {
  const language = currentLanguage();
  await load();
  page.restyle(currentLanguage() !== language);
}

