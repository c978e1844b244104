/**
 * Questions that wait in a conversation until the answer before them is complete. They are sent in order, one at a time.
 *
 * | state | meaning | sent by |
 * |---|---|---|
 * | `waits` | its turn has not come | any window, once nothing runs and the last turn ended normally |
 * | `held` | it was refused or is being edited, or what it waited for failed | a person |
 * | `asked` | it is on its way, or was when its window was closed | any window, at once: the gateway knows its key |
 *
 * A question is removed when the gateway has it. `update` alone decides what is sent, and is called after everything that
 * can change that: a turn that began or ended, a request that was answered or refused, a list that another window wrote.
 *
 * All windows of this browser show one list for each conversation. The gateway knows every question by its key: where
 * two windows send it at the same moment, it is asked once.
 */

import { ApiError } from "./api.js";
import { type Attached, joined } from "./attachments.js";
import { newKey } from "./chat-requests.js";
import { QUEUE, queueArea, storedQueue } from "./composer.js";
import { addDialogWords } from "./dialog-words.js";
import { button, h, say, show } from "./dom.js";
import { EditBox } from "./edit-box.js";
import type { PageContext } from "./page-context.js";
import type { Choice } from "./preferences.js";
import { writeStored } from "./storage.js";
import { showError, tellScreenReader } from "./toasts.js";
import { t } from "./words.js";

addDialogWords();

/** A question that waits. */
interface Waiting {
  key: string;
  prompt: string;
  choice: Choice;
  attached?: Attached | undefined;
  state: "waits" | "held" | "asked";
}

/** What is drawn of a question. */
interface Row {
  node: HTMLElement;
  text: HTMLElement;
  send: HTMLButtonElement;
  edit: HTMLButtonElement;
  remove: HTMLButtonElement;
}

/** So much of a question is shown in the list; an emoji is not cut in two. */
const SHOWN = /^.{0,300}/su;

/** What could not be sent by itself is tried again after this time. */
const RETRY_MS = 3_000;

/** The queue of this window. It stays when the page is built again in another language. */
export class Queue {
  node = h("section");
  /** Whether a question of the list is on its way. */
  sending = false;
  private session = "";
  /** The key of the question that the gateway is being asked. */
  private asking = "";
  /** The question that is being edited, as it was, and the field with what is written so far. */
  private editing: { item: Waiting; box: EditBox } | null = null;
  /** The rows by the keys of their questions. */
  private rows = new Map<string, Row>();
  private list = h("ul");
  private state = h("p");

  constructor(private page: PageContext) {
    this.build(page);
    addEventListener("pagehide", () => this.leaveEdit());
  }

  /** Shows what waits in a conversation on the page of the moment. */
  show(page: PageContext, session: string): void {
    if (page !== this.page) this.build(page);
    this.update(session);
  }

  /** Makes the nodes in the language of the moment. */
  private build(page: PageContext): void {
    this.page = page;
    this.rows.clear();
    this.list = h("ul");
    this.state = h("p", { class: "muted small" });
    this.node = h("section", { class: "queue", "aria-label": t("queue"), hidden: true }, this.state, this.list);
    if (this.editing) this.openBox(this.editing.item);
  }

  /** Puts a question at the end of those of a conversation. */
  add(session: string, prompt: string, choice: Choice, attached?: Attached): void {
    this.write([...this.read(session), { key: newKey(), prompt, choice, attached, state: "waits" }], session);
    tellScreenReader(t("queue.added"));
    this.update();
  }

  /** The new conversation has an id from now on: what waits is asked in it, also where the reader is in another one. */
  sessionCreated(id: string, open: boolean): void {
    const items = this.read("").filter(({ key }) => key !== this.asking); // that one began it
    this.write([], "");
    if (open) this.session = id;
    this.write([...this.read(id), ...items], id);
  }

  /** Something else is asked by hand: what stayed after a turn that did not end normally goes on staying after it. */
  askedByHand(): void {
    const { lastState } = this.page.chat;
    if (lastState && lastState !== "done" && this.free) this.hold(this.session);
  }

  /** Leaves it to a person to send what waits. */
  hold(session: string): void {
    this.write(
      this.read(session).map((item) => ({ ...item, state: "held" })),
      session,
    );
    this.draw();
  }

  /** Shows what waits in a conversation, and sends the first if it is its turn. */
  update(session = this.session): void {
    if (session !== this.session) this.leaveEdit();
    this.session = session;
    this.draw();
    const [first] = this.read();
    if (first && this.due(first, false)) void this.send(first, false);
  }

  /** Whether nothing is on its way from this window. */
  private get free(): boolean {
    const { chat, composer } = this.page;
    return !this.sending && !composer.busy && chat.id === this.session;
  }

  /** Whether it is a question's turn; one that a person chose need not wait for a turn that ends normally. */
  private due({ state }: Waiting, chosen: boolean): boolean {
    const { chat } = this.page;
    if (!this.free) return false;
    if (state === "asked") return !!chat.session;
    if (chat.exchanges.running) return false;
    return chosen || (state === "waits" && chat.lastState === "done");
  }

  private async send(item: Waiting, chosen: boolean): Promise<void> {
    if (!this.free) return;
    const { session } = this;
    this.sending = true;
    this.draw();
    try {
      await oneWindow(`${QUEUE}:${session}`, async () => {
        await this.page.chat.refresh(); // another window may have sent it, or something else
        this.sending = false;
        const current = this.find(item.key); // it may have been edited or removed meanwhile
        if (!current || session !== this.session || this.editing?.item.key === item.key) return;
        if (!this.due(current, chosen)) return;
        this.sending = true;
        await this.ask(current, session, chosen);
      });
    } catch (error) {
      // Nobody asked for it now, and it comes again by itself.
      if (chosen) showError(error);
      setTimeout(() => this.update(), RETRY_MS);
      return;
    } finally {
      this.sending = false;
      this.draw();
    }
    this.update(); // what happened meanwhile told nobody that the next one may go
  }

  private async ask(item: Waiting, session: string, chosen: boolean): Promise<void> {
    const again = (): void => void this.send(item, true);
    const { key, prompt, choice, attached } = item;
    // A conversation without an id would be created twice: its first question is not sent again without a person.
    if (session) this.change(key, { ...item, state: "asked" }, session);
    this.asking = key;
    this.draw();
    try {
      await this.page.composer.ask({ key, prompt, choice, attached, automatic: !chosen, again });
      this.change(key, null, session);
    } catch (error) {
      const code = error instanceof ApiError ? error.code : "";
      // Another window sent it with other settings.
      if (code === "idempotency_conflict") return this.change(key, null, session);
      // Somebody else was faster: it waits for the end of that.
      const waits = code === "turn_running";
      this.change(key, { ...item, state: waits ? "waits" : "held" }, session); // why is said in the conversation
      if (waits) throw error;
    } finally {
      this.asking = "";
    }
  }

  /** Puts another question in the place of one, or none. */
  private change(key: string, item: Waiting | null, session = this.session): void {
    const items = this.read(session).flatMap((one) => (one.key === key ? (item ?? []) : one));
    this.write(items, session);
    this.draw();
  }

  private read(session = this.session): Waiting[] {
    return JSON.parse(storedQueue(session) || "[]") as Waiting[];
  }

  private find(wanted: string): Waiting | undefined {
    return this.read().find(({ key }) => key === wanted);
  }

  private write(items: Waiting[], session = this.session): void {
    const text = items[0] ? JSON.stringify(items) : "";
    const stored = writeStored(`${QUEUE}:${session}`, text, queueArea(session));
    if (!stored) showError(new ApiError(0, "storage", t("queue.unsaved")));
  }

  private draw(): void {
    const { chat, composer } = this.page;
    const items = this.read();
    const rests = !chat.exchanges.running && !composer.busy && !this.sending;
    const edited = this.editing?.item;
    // What is being edited stays, whatever became of it elsewhere.
    const shown = edited && !this.find(edited.key) ? [...items, edited] : items;
    show(this.node, !!shown[0]);
    say(this.state, this.stateText(items[0], rests));
    for (const [key, { node }] of this.rows)
      if (!shown.some((item) => item.key === key)) {
        node.remove();
        this.rows.delete(key);
      }
    // Whoever is on a button, or writes, stays there: only what changed is drawn.
    for (const [index, item] of shown.entries()) this.drawRow(item, index, rests);
  }

  /** When the first question is sent. */
  private stateText(first: Waiting | undefined, rests: boolean): string {
    const { lastState } = this.page.chat;
    if (!first) return "";
    if (rests && lastState && lastState !== "done") return t("queue.stays");
    const held = first.state === "held" && first.key !== this.editing?.item.key;
    return t(rests || held ? "queue.refused" : "queue.next");
  }

  private drawRow({ key, prompt, state }: Waiting, index: number, rests: boolean): void {
    const row = this.rows.get(key) ?? this.createRow(key, index);
    const { editing } = this;
    if (editing?.item.key === key) {
      if (!row.node.contains(editing.box.node)) row.node.replaceChildren(editing.box.node);
      return;
    }
    say(row.text, SHOWN.exec(prompt)?.[0] || t("attached"));
    if (!rests && row.send === document.activeElement) row.edit.focus();
    show(row.send, rests);
    // What the gateway is being asked can no longer be changed, in no window.
    row.edit.disabled = row.remove.disabled = state === "asked" || key === this.asking;
  }

  private createRow(key: string, index: number): Row {
    const { composer } = this.page;
    const removeItem = (): void => {
      this.change(key, null);
      composer.area.focus();
    };
    const sendItem = (): void => {
      const item = this.find(key);
      composer.area.focus();
      if (item) void this.send(item, true);
    };
    const quiet = { bare: true, class: "quiet" };
    const text = h("span", { class: "queue-text", dir: "auto" });
    const send = button(t("send"), "send", sendItem, quiet);
    const edit = button(t("queue.edit"), "pencil", () => this.edit(key), quiet);
    const remove = button(t("queue.remove"), "close", removeItem, quiet);
    const node = h("li", null, text, send, edit, remove);
    const row = { node, text, send, edit, remove };
    this.rows.set(key, row);
    this.list.insertBefore(node, this.list.children[index] ?? null);
    return row;
  }

  /** Another text for a question; nobody sends it meanwhile. */
  private edit(key: string): void {
    const item = this.find(key);
    if (this.editing || !item) return;
    const box = this.openBox(item);
    this.change(key, { ...item, state: "held" });
    box.focus();
  }

  /** A field for the text of a question; it begins with what is written in the one before it. */
  private openBox(item: Waiting): EditBox {
    const close = (changed: Partial<Waiting>): void => {
      this.endEdit(changed);
      this.update();
      this.page.composer.area.focus();
    };
    const done = (prompt: string, more: Attached): boolean => {
      const unchanged = prompt === item.prompt && !more.images[0] && !more.files[0];
      close(unchanged ? {} : { key: newKey(), prompt, attached: joined(item.attached, more) });
      return true;
    };
    const host = { name: t("save"), done, left: () => close({}) };
    const box = new EditBox(item.prompt, host, this.editing?.box);
    this.editing = { item, box };
    return box;
  }

  /** Ends the edit of a question with what is written so far. */
  private leaveEdit(): void {
    if (!this.editing) return;
    const { item, box } = this.editing;
    if (box.empty || box.unchanged) return this.endEdit({});
    const { prompt, attached } = box.take();
    this.endEdit({ key: newKey(), prompt, attached: joined(item.attached, attached), state: "held" });
  }

  private endEdit(changed: Partial<Waiting>): void {
    if (!this.editing) return;
    const { item } = this.editing;
    this.editing = null;
    this.rows.get(item.key)?.node.remove();
    this.rows.delete(item.key);
    if (this.find(item.key)) return this.change(item.key, { ...item, ...changed });
    // Another window sent or removed it as it was: the new text is for the person to send.
    if (changed.key) this.write([...this.read(), { ...item, ...changed, state: "held" }]);
  }
}

/** Runs work while no other window does; browsers offer that on secure addresses only. */
async function oneWindow(name: string, work: () => Promise<void>): Promise<void> {
  const locks = navigator.locks as LockManager | undefined;
  await (locks ? locks.request(name, work) : work());
}
