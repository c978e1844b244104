/**
 * The conversation that is open: a window on its exchanges that grows in both directions, follows what runs, and scrolls
 * along only for a reader who is at the end.
 */

import { ApiError, type Message, retryTemporary, type Session, type State, type TurnSummary } from "./api.js";
import { modelThinks } from "./catalog.js";
import {
  createSession,
  deleteSession,
  loadMessages,
  loadNewest,
  loadSession,
  type Question,
  startTurn,
  TURNS_PER_PAGE,
} from "./chat-requests.js";
import { forgetQueue } from "./composer.js";
import { button, h, show } from "./dom.js";
import { refusalCard, StatusLine } from "./error-card.js";
import { Exchange, type ExchangeHost, sendingNode } from "./exchange.js";
import type { Place } from "./page-context.js";
import { ScrollFollow, whenNear } from "./scroll-follow.js";
import { showError, tellScreenReader } from "./toasts.js";
import { t } from "./words.js";

/** What the conversation tells the page around it, and asks of it. */
export interface ChatHost
  extends Pick<ExchangeHost, "askAgain" | "askChosen" | "draft" | "focusComposer" | "pickAnswerer" | "replace"> {
  /** The session, or its state, is another one. */
  changed(): void;
  /** The conversation is no longer there. */
  gone(): void;
  /** The new conversation has become this one; `open` where the reader is still in it. */
  created(session: string, open: boolean): void;
  /** Something began or ended that lists and other windows should know of. */
  sessionChanged(session: string): void;
  /** Puts what a new conversation begins with into a node. */
  welcome(node: HTMLElement): void;
  /** Opens what the address names once more. */
  retry(): void;
  /** Begins a new conversation. */
  startNew(): void;
}

const LOADING_AFTER_MS = 300;
const SENDING_AFTER_MS = 250;

export class Chat {
  readonly node: HTMLElement;
  /** The conversation that is open or on its way; empty is a new one. */
  id = "";
  session: Session | null = null;
  /** Whether it could not be loaded, and may be if it is opened again. */
  failed = false;
  exchanges = new Exchanges();
  private list = h("div", { class: "exchanges" });
  private scroller: HTMLElement;
  private scroll: ScrollFollow;
  private earlierButton = button(t("earlier"), "up", () => void this.showEarlier().catch(showError), {
    class: "plain more",
    hidden: true,
  });
  private laterButton = button(t("later"), "down", () => void this.showLater().catch(showError), {
    class: "plain more",
    hidden: true,
  });
  private latest = button(t("to_latest"), "down", () => this.toLatest(), { bare: true, class: "latest", hidden: true });
  private status = new StatusLine();
  private opening = new AbortController();
  private loading: Promise<void> = Promise.resolve();
  /** Cursors of the pages before and after the window; empty at the ends of the conversation. */
  private earlier = "";
  private later = "";
  private extending = false;
  private refusal: HTMLElement | null = null;

  constructor(private host: ChatHost) {
    this.scroller = h(
      "div",
      { class: "scroll", tabindex: -1 },
      h(
        "section",
        { class: "column", "aria-label": t("transcript") },
        this.earlierButton,
        this.status.node,
        this.list,
        this.laterButton,
      ),
    );
    this.node = h("div", { class: "chat" }, this.scroller, this.latest);
    this.scroll = new ScrollFollow(this.scroller, (nearEnd) =>
      show(this.latest, this.exchanges.size > 0 && (!nearEnd || !!this.later)),
    );
    // Whoever opens something wants to read it.
    const opened = ({ detail }: CustomEvent<{ open: boolean; by: string }>): void => {
      if (detail.open && detail.by !== "policy") this.scroll.stop();
    };
    this.list.addEventListener("thinking-toggle", opened);
    this.list.addEventListener("thinking-step-toggle", opened);
    new ResizeObserver(() => this.scroll.update(!!this.later)).observe(this.list);
    whenNear(this.scroller, this.earlierButton, () => void this.showEarlier().catch(showError));
  }

  /** Opens a conversation, at its end or at a place in it; an empty id is a new one. */
  async open({ session, turn, block }: Place): Promise<void> {
    if (session && session === this.session?.id) {
      if (turn && !this.exchanges.has(turn)) await this.load(turn);
      if (turn) this.goTo(turn, block);
      return;
    }
    this.clear();
    this.id = session;
    if (!session) {
      const welcome = h("div");
      this.list.replaceChildren(welcome);
      this.list.classList.add("empty");
      this.host.welcome(welcome);
      this.scroll.toStart(); // it begins with its headline, also where the window is low
    }
    this.host.changed();
    if (!session) return;
    this.loading = this.loadSession({ session, turn, block });
    await this.loading;
  }

  private async loadSession({ session, turn, block }: Place): Promise<void> {
    const { opening } = this;
    const { signal } = opening;
    this.status.show(t("loading"), LOADING_AFTER_MS);
    const load = () => Promise.all([loadSession(session, signal), this.load(turn, session, opening)]);
    try {
      const [loaded] = await retryTemporary(load, signal);
      if (signal.aborted) return;
      this.status.show("");
      this.session = loaded;
      this.host.changed();
      if (turn) this.goTo(turn, block);
      else this.toEnd();
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ApiError && error.status === 404) return this.missing();
      const text = error instanceof ApiError ? error.message : t("error.broken");
      this.status.showProblem(text, { name: t("retry"), act: () => this.host.retry() });
      if (!(error instanceof ApiError)) console.error(error);
      this.failed = true;
      this.host.changed();
    }
  }

  /** How the last turn stands; null where there is none, or the end of the conversation is not in sight. */
  get lastState(): State | null {
    const last = [...this.exchanges.values()].pop();
    return this.later ? null : (last?.state ?? null);
  }

  /** Asks, perhaps in the place of another turn; the conversation is created with its first question. */
  async ask(question: Question): Promise<void> {
    const { id: sessionId } = this;
    const { prompt, choice, replaces, automatic } = question;
    const { signal } = this.opening;
    if (this.later) await this.load("");
    this.refusal?.remove();
    const sending = sendingNode(prompt);
    const sendingTimer = window.setTimeout(() => {
      if (signal.aborted) return; // the reader is in another conversation
      const stays = automatic && !this.scroll.atEnd;
      this.list.append(sending);
      if (!stays) this.toEnd();
    }, SENDING_AFTER_MS);
    try {
      const created = sessionId ? null : await createSession(choice);
      const id = created?.id ?? sessionId;
      const turn = await startTurn(id, question).catch((error: unknown) => {
        if (created) deleteSession(id); // nothing was said in it
        throw error;
      });
      if (!signal.aborted) await this.loading; // what was asked before stands above it
      // Whoever went elsewhere meanwhile finds the answer in the list.
      if (created) this.sessionCreated(created, !signal.aborted);
      if (signal.aborted) return this.host.sessionChanged(id);
      if (this.failed) return await this.open({ session: id, turn: "", block: null });
      if (replaces) await this.load("");
      this.showAsked(turn, question);
      this.host.sessionChanged(id);
    } catch (error) {
      if (!signal.aborted) await this.loading; // what is loaded replaces all that stands in the list
      const refused = error instanceof ApiError;
      const waits = refused && question.key && error.code === "turn_running"; // it goes on waiting
      if (signal.aborted || !refused) showError(error);
      else if (!waits) this.showRefused(error, question);
      throw error;
    } finally {
      clearTimeout(sendingTimer);
      sending.remove();
    }
  }

  /** Says why a question was not taken; it is still in the message box. */
  private showRefused(error: ApiError, { prompt, replaces, attached, again, automatic }: Question): void {
    const { host } = this;
    const stays = automatic && !this.scroll.atEnd;
    const askAgain = (): void =>
      void (replaces ? host.replace(replaces, prompt, attached) : host.askAgain(prompt, attached));
    this.refusal = refusalCard(error, again ?? askAgain, () => host.pickAnswerer());
    this.list.append(this.refusal);
    tellScreenReader(error.message);
    if (!stays) this.toEnd();
  }

  private sessionCreated(session: Session, open: boolean): void {
    if (open) {
      this.session = session;
      this.id = session.id;
    }
    this.host.created(session.id, open);
  }

  private showAsked(turn: TurnSummary, { prompt, choice, attached, automatic }: Question): void {
    const { agent, name, model, thinking } = choice;
    const stays = automatic && !this.scroll.atEnd; // nobody asked for it now: a reader who is elsewhere stays there
    if (this.list.classList.contains("empty")) this.list.replaceChildren();
    this.list.classList.remove("empty");
    const known = this.exchanges.get(turn.id); // another window, or a look at the gateway, may have told of it
    const exchange = known ?? this.createExchange(turn.id);
    exchange.agent = agent && name;
    exchange.expectsThinking = !!agent || (thinking !== "off" && modelThinks(model));
    if (!known) exchange.addPrompt(prompt, attached);
    if (!known) this.list.append(exchange.node);
    exchange.follow();
    if (!stays) this.toEnd(exchange.node);
    this.host.changed();
  }

  /** Looks for what another window or an absence brought; what is here stays. */
  async refresh(): Promise<void> {
    const { session } = this;
    if (!session || this.later) return;
    const newest = await Promise.all([
      loadSession(session.id),
      loadNewest(session.id, (turn) => this.id !== session.id || this.exchanges.has(turn)),
    ]).catch((error: unknown) => {
      if (error instanceof ApiError && error.status === 404) return null;
      throw error;
    });
    if (this.session?.id !== session.id) return;
    if (!newest) {
      this.missing();
      return forgetQueue(session.id);
    }
    const [current, items] = newest;
    this.session = current;
    const fresh = items.filter(({ turn }) => !this.exchanges.has(turn));
    this.list.append(...this.createExchanges(fresh).map(({ node }) => node));
    this.followRunning(items);
    this.host.changed();
  }

  expandAll(): void {
    this.scroll.stop();
    this.exchanges.expandAll();
  }

  /** Opens all thinking, or closes all of it when nothing is closed. */
  toggleAll(): void {
    if (this.exchanges.expanded) this.exchanges.collapseAll();
    else this.expandAll();
  }

  /** Shows a turn, and opens a step in it. */
  goTo(turn: string, block: number | null): void {
    const exchange = this.exchanges.get(turn);
    if (!exchange) return;
    this.scroll.stop();
    exchange.node.scrollIntoView({ block: "start" });
    if (block !== null && (exchange.turn.blocks[block]?.kind ?? "text") !== "text")
      void import("./step-links.js").then(({ revealStep }) => revealStep(exchange, block)).catch(showError);
    exchange.node.classList.remove("found");
    requestAnimationFrame(() => exchange.node.classList.add("found"));
    exchange.node.tabIndex = -1;
    exchange.node.focus({ preventScroll: true });
  }

  /** Brings the keyboard to the conversation. */
  focus(): void {
    this.scroller.focus();
  }

  /** Goes to the end; where an exchange is given, no further than its question stays in sight. */
  toEnd(kept: HTMLElement | null = null): void {
    this.scroll.toEnd(kept);
    requestAnimationFrame(() => this.scroll.update(!!this.later));
  }

  /** Stays where the reader is, from now on. */
  stopFollowing(): void {
    this.scroll.stop();
  }

  /** What the address names is not there. */
  missing(): void {
    this.host.gone();
    this.clear();
    this.status.showProblem(t("error.gone"), { name: t("new"), act: () => this.host.startNew() });
    this.host.changed();
  }

  /** Leaves the conversation; nothing on the gateway changes. */
  clear(): void {
    this.opening.abort();
    this.opening = new AbortController();
    this.clearExchanges();
    this.list.replaceChildren();
    this.list.classList.remove("empty");
    this.id = "";
    this.session = null;
    this.failed = false;
    this.setCursors("", "");
    show(this.latest, false);
    this.status.show("");
  }

  private clearExchanges(): void {
    for (const exchange of this.exchanges.values()) exchange.leave();
    this.exchanges.clear();
  }

  private async toLatest(): Promise<void> {
    if (this.later) await this.load("").catch(showError);
    this.toEnd();
  }

  /** Loads the window anew: the end of the conversation, or the surroundings of a turn. */
  private async load(turn: string, session = this.session?.id ?? "", { signal } = this.opening): Promise<void> {
    const [before, after] = await Promise.all([
      loadMessages(session, TURNS_PER_PAGE, { order: "newest", turn }, signal),
      turn ? loadMessages(session, TURNS_PER_PAGE, { turn }, signal) : { items: [], next: "" },
    ]);
    if (signal.aborted) return;
    this.clearExchanges();
    const items = [...before.items, ...after.items.filter((message) => message.turn !== turn)];
    this.list.replaceChildren(...this.createExchanges(items).map(({ node }) => node));
    this.setCursors(before.next, after.next);
    this.followRunning(items);
  }

  private async showEarlier(): Promise<void> {
    const { earlier, id } = this; // messages may be there before the session is, and this is not called twice
    if (!earlier) return;
    this.earlier = "";
    const page = await loadMessages(id, TURNS_PER_PAGE, { order: "newest", after: earlier }).catch((error: unknown) => {
      this.earlier = earlier;
      throw error;
    });
    if (this.id !== id) return;
    const { scrollTop, scrollHeight } = this.scroller;
    const fresh = this.createExchanges(page.items);
    // A map keeps the order of insertion, and these stand before the others.
    const known = [...this.exchanges].filter(([, exchange]) => !fresh.includes(exchange));
    this.exchanges = new Exchanges([...fresh.map((exchange) => [exchange.id, exchange] as const), ...known]);
    this.list.prepend(...fresh.map(({ node }) => node));
    this.setCursors(page.next, this.later);
    this.scroller.scrollTop = scrollTop + this.scroller.scrollHeight - scrollHeight;
  }

  private async showLater(): Promise<void> {
    const { later, session } = this;
    if (!later || !session || this.extending) return;
    this.extending = true;
    const page = await loadMessages(session.id, TURNS_PER_PAGE, { after: later }).finally(() => {
      this.extending = false;
    });
    if (this.session?.id !== session.id) return;
    this.scroll.stop();
    this.list.append(...this.createExchanges(page.items).map(({ node }) => node));
    this.setCursors(this.earlier, page.next);
    this.followRunning(page.items);
  }

  private setCursors(earlier: string, later: string): void {
    this.earlier = earlier;
    this.later = later;
    show(this.earlierButton, !!earlier);
    show(this.laterButton, !!later);
  }

  /** Exchanges for messages, in their order; those that are new are returned. */
  private createExchanges(items: Message[]): Exchange[] {
    const fresh: Exchange[] = [];
    for (const message of items) {
      let exchange = this.exchanges.get(message.turn);
      if (!exchange) {
        exchange = this.createExchange(message.turn);
        fresh.push(exchange);
      }
      if (message.state !== "running" || message.role !== "assistant") exchange.showMessage(message);
    }
    return fresh;
  }

  private followRunning(items: Message[]): void {
    const running = new Set(items.filter(({ state }) => state === "running").map(({ turn }) => turn));
    for (const id of running) this.exchanges.get(id)?.follow();
    this.host.changed();
  }

  private createExchange(id: string): Exchange {
    const { host } = this;
    const exchange = new Exchange(id, {
      ...host,
      showVersion: (turn) => void this.load(turn).then(() => this.goTo(turn, null), showError),
      session: () => this.id,
      stopFollowing: () => this.scroll.stop(),
      ended: () => {
        host.changed();
        if (this.session) host.sessionChanged(this.session.id);
      },
      gone: () => this.missing(),
    });
    this.exchanges.set(id, exchange);
    return exchange;
  }
}

export class Exchanges extends Map<string, Exchange> {
  /** The exchange that runs, if one does. */
  get running(): Exchange | null {
    return [...this.values()].reverse().find((exchange) => exchange.running) ?? null;
  }

  /** The first prompt; it serves as title until there is one. */
  get firstPrompt(): string {
    const [first] = this.values();
    return /^.{0,80}/u.exec(first?.prompt ?? "")?.[0] ?? ""; // cut between characters
  }

  /** Whether all thinking is open. */
  get expanded(): boolean {
    const thinking = [...this.values()].filter(({ block }) => block.state.view);
    return thinking.every(({ block }) => block.open);
  }

  /** Draws everything as the preferences say now. */
  restyle(): void {
    for (const exchange of this.values()) exchange.restyle();
  }

  /** Draws the names of those who answered again, once the models are known. */
  redrawNames(): void {
    for (const exchange of this.values()) if (exchange.turn.outcome || exchange.running) exchange.draw();
  }

  expandAll(): void {
    for (const exchange of this.values()) exchange.expandAll();
  }

  collapseAll(): void {
    for (const { block } of this.values()) block.collapseAll();
  }
}
