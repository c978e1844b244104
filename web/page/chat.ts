/**
 * The conversation that is open: a window on its exchanges that grows in both directions, follows what runs,
 * and stays with the reader: it scrolls along only for one who is at the end.
 */

import { call, type Message, type Paged, Problem, type Session, type TurnBrief } from "./api.js";
import { button, h, icon, show } from "./dom.js";
import { Exchange } from "./exchange.js";
import { type Choice } from "./prefs.js";
import { complain, tell } from "./saying.js";
import { t } from "./words.js";

export interface Place {
  session: string;
  turn: string;
  block: number | null;
}

/** What the conversation tells the page around it. */
export interface Listener {
  /** The session, or how it stands, is another one. */
  changed(): void;
  /** The new conversation has become this one. */
  made(session: string): void;
  /** Something was begun or ended that lists and other windows should know of. */
  stirred(session: string): void;
  welcome(): HTMLElement;
  again(prompt: string): void;
}

const PAGE = 20;
const NEAR_PX = 120;
const TRIES = 5;

export class Chat {
  readonly node: HTMLElement;
  /** The conversation that is open or on its way; empty is a new one. */
  id = "";
  session: Session | null = null;
  /** Whether it did not come, and may do so if it is opened again. */
  failed = false;
  exchanges = new Map<string, Exchange>();
  private list = h("div", { class: "exchanges" });
  private scroller: HTMLElement;
  private before = button(t("earlier"), "up", () => void this.showEarlier().catch(complain), { class: "plain more", hidden: true });
  private after = button(t("later"), "down", () => void this.showLater().catch(complain), { class: "plain more", hidden: true });
  private latest = button(t("to_latest"), "down", () => void this.toLatest(), { class: "latest", hidden: true });
  private status = h("p", { class: "status-line", hidden: true });
  private opening = new AbortController();
  private arriving: Promise<void> = Promise.resolve();
  private earlier = "";
  private later = "";
  private extending = false;
  private stick = true;
  private top = 0;

  constructor(private listener: Listener) {
    this.scroller = h(
      "div",
      { class: "scroll", tabindex: -1 },
      h("section", { class: "column", "aria-label": t("transcript") }, this.before, this.status, this.list, this.after),
    );
    this.node = h("div", { class: "chat" }, this.scroller, this.latest);
    this.scroller.addEventListener("scroll", () => this.scrolled(), { passive: true });
    // Whoever opens something wants to read it.
    const opened = ({ detail }: CustomEvent<{ open: boolean; by: string }>): void => {
      if (detail.open && detail.by !== "policy") this.stick = false;
    };
    this.list.addEventListener("thinking-toggle", opened);
    this.list.addEventListener("thinking-step-toggle", opened);
    new ResizeObserver(() => this.follow()).observe(this.list);
    new IntersectionObserver((seen) => {
      if (seen.some((one) => one.isIntersecting) && this.earlier) void this.showEarlier().catch(complain);
    }, { root: this.scroller, rootMargin: "400px" }).observe(this.before);
  }

  /** The exchange that runs, if one does. */
  get running(): Exchange | null {
    return [...this.exchanges.values()].reverse().find((one) => one.running) ?? null;
  }

  /** What the window begins with: it stands for a title until there is one. */
  get firstPrompt(): string {
    const [first] = this.exchanges.values();
    return first?.prompt.split("\n")[0]?.slice(0, 80) ?? "";
  }

  /** Open a conversation, at its end or at a place in it; an empty name is a new one. */
  async open({ session, turn, block }: Place): Promise<void> {
    if (session && session === this.session?.id) {
      if (turn && !this.exchanges.has(turn)) await this.load(turn);
      if (turn) this.goTo(turn, block);
      return;
    }
    this.clear();
    this.id = session;
    if (!session) {
      this.list.replaceChildren(this.listener.welcome());
      this.list.classList.add("empty");
    }
    this.listener.changed();
    if (session) await (this.arriving = this.arrive({ session, turn, block }));
  }

  private async arrive({ session, turn, block }: Place): Promise<void> {
    const { opening } = this;
    const { signal } = opening;
    this.note(t("loading"), 300);
    try {
      const [opened] = await this.patiently(
        () => Promise.all([call<Session>(`/api/sessions/${session}?limit=1`, { signal }), this.load(turn, session, opening)]),
        signal,
      );
      if (signal.aborted) return;
      this.note("");
      this.session = opened;
      this.listener.changed();
      if (turn) this.goTo(turn, block);
      else this.toEnd();
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Problem && error.status === 404) return this.missing();
      this.note(error instanceof Problem ? error.message : t("error.broken"));
      if (!(error instanceof Problem)) console.error(error);
      this.failed = true;
      this.listener.changed();
    }
  }

  /** Ask; the conversation is made with its first question. */
  async ask(prompt: string, choice: Choice): Promise<void> {
    const { id: place } = this;
    const { signal } = this.opening;
    if (this.later) await this.load("");
    const sending = h("article", { class: "exchange sending" }, h("div", { class: "asked" }, h("div", { class: "bubble", dir: "auto" }, h("p", null, prompt))), h("p", { class: "link-state" }, t("sending")));
    const late = window.setTimeout(() => (this.list.append(sending), this.toEnd()), 250);
    try {
      const { agent, model } = choice;
      const made = place ? null : await this.patiently(() => call<Session>("/api/sessions", { body: { agent, model: agent ? "" : model } }));
      const id = made?.id ?? place;
      const headers = { "Idempotency-Key": crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}` };
      const body = { prompt, ...(agent ? { agent } : model ? { model } : {}), ...(choice.thinking ? { thinking: choice.thinking } : {}) };
      let brief: TurnBrief;
      try {
        brief = await this.patiently(() => call<TurnBrief>(`/api/sessions/${id}/turns`, { body, headers }));
      } catch (error) {
        // Nothing was said in it.
        if (made) void call(`/api/sessions/${id}`, { method: "DELETE" }).catch(() => undefined);
        throw error;
      }
      if (!signal.aborted) await this.arriving; // what was asked before stands above it
      // Whoever went elsewhere meanwhile finds the answer in the list.
      if (signal.aborted) return this.listener.stirred(id);
      if (this.failed) return await this.open({ session: id, turn: "", block: null });
      if (made) this.begun(made);
      if (this.list.classList.contains("empty")) this.list.replaceChildren();
      this.list.classList.remove("empty");
      const known = this.exchanges.get(brief.id); // by what another window, or a look at the gateway, told
      const exchange = known ?? this.exchange(brief.id);
      exchange.agent = agent && choice.name;
      if (!known) exchange.prompted(prompt);
      if (!known) this.list.append(exchange.node);
      exchange.follow();
      this.toEnd();
      this.listener.changed();
      this.listener.stirred(id);
    } finally {
      clearTimeout(late);
      sending.remove();
    }
  }

  private begun(session: Session): void {
    this.session = session;
    this.id = session.id;
    this.listener.made(session.id);
  }

  /** Look for what another window or an absence brought; what is here stays. */
  async refresh(): Promise<void> {
    const { session } = this;
    if (!session || this.later) return;
    const found = await Promise.all([call<Session>(`/api/sessions/${session.id}?limit=1`), this.newest(session.id)]).catch((error: unknown) => {
      if (error instanceof Problem && error.status === 404) return null;
      throw error;
    });
    if (this.session?.id !== session.id) return;
    if (!found) return this.missing();
    const [now, items] = found;
    this.session = now;
    const fresh = items.filter(({ turn }) => !this.exchanges.has(turn));
    this.list.append(...this.made(fresh).map(({ node }) => node));
    this.followRunning(items);
    this.listener.changed();
  }

  /** The last messages, back to one that is known here. */
  private async newest(session: string): Promise<Message[]> {
    let items: Message[] = [];
    let after = "";
    do {
      const page: Paged<Message> = await call(`/api/sessions/${session}/messages?limit=${after ? PAGE : 5}&order=newest${after && `&after=${after}`}`);
      items = [...page.items, ...items];
      after = page.next;
    } while (after && this.id === session && !this.exchanges.has(items[0]?.turn ?? ""));
    return items;
  }

  /** Everything of the window drawn as the preferences say now. */
  restyle(): void {
    for (const exchange of this.exchanges.values()) exchange.restyle();
  }

  expandAll(): void {
    this.stick = false;
    for (const exchange of this.exchanges.values()) exchange.expandAll();
  }

  /** Open all of it, or close all of it when nothing is closed. */
  toggleAll(): void {
    const thinking = [...this.exchanges.values()].filter(({ block }) => block.state.view);
    if (thinking.every(({ block }) => block.open)) this.collapseAll();
    else this.expandAll();
  }

  collapseAll(): void {
    for (const { block } of this.exchanges.values()) block.collapseAll();
  }

  /** Show a turn, and open a thought in it. */
  goTo(turn: string, block: number | null): void {
    const exchange = this.exchanges.get(turn);
    if (!exchange) return;
    this.stick = false;
    exchange.node.scrollIntoView({ block: "start" });
    if (block !== null && (exchange.turn.blocks[block]?.kind ?? "text") !== "text")
      void import("./reveal.js").then(({ reveal }) => reveal(exchange, block)).catch(complain);
    exchange.node.classList.remove("found");
    requestAnimationFrame(() => exchange.node.classList.add("found"));
    exchange.node.tabIndex = -1;
    exchange.node.focus({ preventScroll: true });
  }

  toEnd(): void {
    this.stick = true;
    this.scroller.scrollTop = this.scroller.scrollHeight;
    requestAnimationFrame(() => this.follow());
  }

  /** Stay where the reader is, from now on. */
  stay(): void {
    this.stick = false;
  }

  /** What the address names is not there. */
  missing(): void {
    this.clear();
    this.note(t("error.gone"));
    this.listener.changed();
  }

  /** Leave everything; nothing on the gateway changes. */
  clear(): void {
    this.opening.abort();
    this.opening = new AbortController();
    for (const exchange of this.exchanges.values()) exchange.leave();
    this.exchanges.clear();
    this.list.replaceChildren();
    this.list.classList.remove("empty");
    this.id = "";
    this.session = null;
    this.failed = false;
    this.ends("", "");
    show(this.latest, false);
    this.note("");
  }

  private async toLatest(): Promise<void> {
    if (this.later) await this.load("").catch(complain);
    this.toEnd();
  }

  /** The window anew: the end of the conversation, or the surroundings of a turn. */
  private async load(turn: string, session = this.session?.id ?? "", { signal } = this.opening): Promise<void> {
    const path = `/api/sessions/${session}/messages?limit=${PAGE}`;
    const [back, onward] = await Promise.all([
      call<Paged<Message>>(`${path}&order=newest${turn && `&turn=${turn}`}`, { signal }),
      turn ? call<Paged<Message>>(`${path}&turn=${turn}`, { signal }) : { items: [], next: "" },
    ]);
    if (signal.aborted) return;
    for (const exchange of this.exchanges.values()) exchange.leave();
    this.exchanges.clear();
    const items = [...back.items, ...onward.items.filter((one) => one.turn !== turn)];
    this.list.replaceChildren(...this.made(items).map(({ node }) => node));
    this.ends(back.next, onward.next);
    this.followRunning(items);
  }

  private async showEarlier(): Promise<void> {
    const { earlier, session } = this;
    if (!earlier || !session) return;
    this.earlier = "";
    const page = await call<Paged<Message>>(`/api/sessions/${session.id}/messages?limit=${PAGE}&order=newest&after=${earlier}`).catch((error: unknown) => {
      this.earlier = earlier;
      throw error;
    });
    if (this.session?.id !== session.id) return;
    const height = this.scroller.scrollHeight;
    const { scrollTop } = this.scroller;
    const shown = this.made(page.items, true);
    this.list.prepend(...shown.map(({ node }) => node));
    this.ends(page.next, this.later);
    this.scroller.scrollTop = scrollTop + this.scroller.scrollHeight - height;
  }

  private async showLater(): Promise<void> {
    const { later, session } = this;
    if (!later || !session || this.extending) return;
    this.extending = true;
    const page = await call<Paged<Message>>(`/api/sessions/${session.id}/messages?limit=${PAGE}&after=${later}`).finally(() => (this.extending = false));
    if (this.session?.id !== session.id) return;
    this.stay();
    this.list.append(...this.made(page.items).map(({ node }) => node));
    this.ends(this.earlier, page.next);
    this.followRunning(page.items);
  }

  private ends(earlier: string, later: string): void {
    this.earlier = earlier;
    this.later = later;
    show(this.before, !!earlier);
    show(this.after, !!later);
  }

  /** Exchanges for messages, in their order. */
  private made(items: Message[], ahead = false): Exchange[] {
    const fresh: Exchange[] = [];
    for (const message of items) {
      let exchange = this.exchanges.get(message.turn);
      if (!exchange) fresh.push((exchange = this.exchange(message.turn)));
      if (message.state !== "running" || message.role !== "assistant") exchange.kept(message);
    }
    // A map keeps the order in which things came; the one on the screen is another when they came before.
    if (ahead) this.exchanges = new Map([...fresh.map((one) => [one.id, one] as const), ...[...this.exchanges].filter(([, one]) => !fresh.includes(one))]);
    return fresh;
  }

  private followRunning(items: Message[]): void {
    const running = new Set(items.filter(({ state }) => state === "running").map(({ turn }) => turn));
    for (const id of running) this.exchanges.get(id)?.follow();
    this.listener.changed();
  }

  private exchange(id: string): Exchange {
    const exchange = new Exchange(id, {
      again: (prompt) => this.listener.again(prompt),
      ended: () => {
        this.listener.changed();
        if (this.session) this.listener.stirred(this.session.id);
      },
      gone: () => this.missing(),
    });
    this.exchanges.set(id, exchange);
    return exchange;
  }

  /** Do it again while the gateway is away for a moment: it starts, or the network is changing. */
  private async patiently<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    for (let at = 1; ; at++) {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof Problem) || !error.passing || at === TRIES) throw error;
        await new Promise((resolve) => setTimeout(resolve, (error as Problem).retryAfterMs || 250 * 2 ** at));
        signal?.throwIfAborted(); // nobody waits for it any more
      }
    }
  }

  private note(text: string, after = 0): void {
    clearTimeout(Number(this.status.dataset.timer));
    if (after && text) {
      this.status.dataset.timer = String(window.setTimeout(() => this.note(text), after));
      return;
    }
    this.status.replaceChildren(text && text !== t("loading") ? icon("alert") : "", text);
    show(this.status, !!text);
    if (text && text !== t("loading")) tell(text);
  }

  private scrolled(): void {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    const left = scrollHeight - scrollTop - clientHeight;
    const near = left < NEAR_PX;
    if (near && scrollTop > this.top) this.stick = true;
    // Whoever scrolls up leaves the end; what became shorter takes the reader along to it.
    else if (scrollTop < this.top - 1 && left > 1) this.stick = false;
    this.top = scrollTop;
    show(this.latest, this.exchanges.size > 0 && (!near || !!this.later));
  }

  /** Whoever is at the end stays there, whatever is drawn or gets its size later. */
  private follow(): void {
    this.scrolled(); // a reader who just scrolled is not pulled back
    if (this.stick && !this.later) this.scroller.scrollTop = this.scroller.scrollHeight;
    this.scrolled();
  }
}
