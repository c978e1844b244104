/**
 * Questions that wait in a conversation until the answer before them is complete. They are sent in order, one at a time,
 * and only after a turn that ended normally; after one that failed or was stopped they stay.
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
  /** It was refused, is being edited, or the turn before it did not end normally: only a person sends it. */
  held?: boolean | undefined;
}

/** What is drawn of a question. */
interface Row {
  node: HTMLElement;
  text: HTMLElement;
  send: HTMLButtonElement;
  edit: HTMLButtonElement;
  remove: HTMLButtonElement;
}

/** So much of a question is shown in the list. */
const SHOWN_LENGTH = 300;

/** The queue of the page as it is at this moment. */
let current: Queue | undefined;
addEventListener("pagehide", () => current?.leaveEdit());

export class Queue {
  readonly node: HTMLElement;
  /** Whether a question of the list is on its way. */
  sending = false;
  private session = "";
  /** The key of the question that the gateway is being asked. */
  private asking = "";
  /** The question that is being edited; `leave` ends that with what is written so far. */
  private editing: { key: string; leave(): void } | null = null;
  /** The rows by the keys of their questions. */
  private rows = new Map<string, Row>();
  private list = h("ul");
  private state = h("p", { class: "muted small" });

  constructor(private page: PageContext) {
    this.node = h("section", { class: "queue", "aria-label": t("queue"), hidden: true }, this.state, this.list);
    // The page was built again, in another language: what is being edited in the old one is shown as it is left.
    current?.leaveEdit();
    current = this;
  }

  /** Ends the edit of a question with what is written so far. */
  leaveEdit(): void {
    this.editing?.leave();
  }

  /** Puts a question at the end of those of a conversation. */
  add(session: string, prompt: string, choice: Choice, attached?: Attached): void {
    this.write([...this.read(session), { key: newKey(), prompt, choice, attached }], session);
    tellScreenReader(t("queue.added"));
    this.update();
  }

  /** The new conversation has an id from now on: what waits is asked in it, also where the reader is in another one. */
  sessionCreated(id: string, open: boolean): void {
    const items = this.read("");
    this.write([], "");
    if (open) this.session = id;
    this.write([...this.read(id), ...items], id);
  }

  /** Something else is asked by hand: what stayed after a turn that did not end normally goes on staying after it. */
  hold(): void {
    const { lastState } = this.page.chat;
    if (!lastState || lastState === "done" || !this.free) return;
    this.write(this.read().map((item) => ({ ...item, held: true })));
    this.draw();
  }

  /** Shows what waits in a conversation, and sends the first if it is its turn. */
  update(session = this.session): void {
    if (session !== this.session) this.leaveEdit();
    this.session = session;
    this.draw();
    const [first] = this.read();
    if (first && !first.held && this.free && this.page.chat.lastState === "done")
      void this.send(first, false).catch(() => undefined); // nobody asked for it now, and it comes again by itself
  }

  /** Whether nothing runs and nothing is on its way. */
  private get free(): boolean {
    const { chat, composer } = this.page;
    return !this.sending && !composer.busy && !chat.exchanges.running && chat.id === this.session;
  }

  /** Sends a question; one that is not chosen by a person is sent after a turn that ended normally. */
  private async send(item: Waiting, chosen: boolean): Promise<void> {
    if (!this.free) return;
    const { chat } = this.page;
    const { session } = this;
    this.sending = true;
    this.draw();
    try {
      await oneWindow(`${QUEUE}:${session}`, async () => {
        await chat.refresh(); // another window may have sent it, or something else
        this.sending = false;
        const current = this.find(item.key); // it may have been edited or removed meanwhile
        if (!current || session !== this.session || !this.free || this.editing?.key === item.key) return;
        if (!chosen && (current.held || chat.lastState !== "done")) return;
        this.sending = true;
        await this.ask(current, session, chosen);
      });
    } finally {
      this.sending = false;
      this.draw();
    }
  }

  private async ask(item: Waiting, session: string, chosen: boolean): Promise<void> {
    const again = (): void => void this.send(item, true).catch(showError);
    const { key, prompt, choice, attached } = item;
    this.asking = key;
    this.draw();
    try {
      await this.page.composer.ask({ key, prompt, choice, attached, automatic: !chosen, again });
      this.change(key, null, session);
    } catch (error) {
      const code = error instanceof ApiError ? error.code : "";
      // Another window sent it with other settings.
      if (code === "idempotency_conflict") return this.change(key, null, session);
      this.change(key, { ...item, held: true }, session); // why is said in the conversation
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
    const editing = this.editing?.key;
    show(this.node, !!items[0] || !!editing);
    say(this.state, this.stateText(items[0], rests));
    // What is being edited stays, whatever became of it elsewhere.
    for (const [key, { node }] of this.rows)
      if (key !== editing && !items.some((item) => item.key === key)) {
        node.remove();
        this.rows.delete(key);
      }
    // Whoever is on a button, or writes, stays there: only what changed is drawn.
    for (const [index, item] of items.entries()) if (item.key !== editing) this.drawRow(item, index, rests);
  }

  /** When the first question is sent. */
  private stateText(first: Waiting | undefined, rests: boolean): string {
    const { lastState } = this.page.chat;
    if (!first) return "";
    if (rests && lastState && lastState !== "done") return t("queue.stays");
    const held = first.held && first.key !== this.editing?.key;
    return t(rests || held ? "queue.refused" : "queue.next");
  }

  private drawRow({ key, prompt }: Waiting, index: number, rests: boolean): void {
    const row = this.rows.get(key) ?? this.createRow(key, index);
    say(row.text, prompt.slice(0, SHOWN_LENGTH) || t("attached"));
    if (!rests && row.send === document.activeElement) row.edit.focus();
    show(row.send, rests);
    // What the gateway is being asked can no longer be changed.
    row.edit.disabled = row.remove.disabled = key === this.asking;
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
      if (item) void this.send(item, true).catch(showError);
    };
    const quiet = { bare: true, class: "quiet" };
    const text = h("span", { class: "queue-text", dir: "auto" });
    const send = button(t("send"), "send", sendItem, quiet);
    const edit = button(t("queue.edit"), "pencil", () => this.edit(key, node), quiet);
    const remove = button(t("queue.remove"), "close", removeItem, quiet);
    const node = h("li", null, text, send, edit, remove);
    const row = { node, text, send, edit, remove };
    this.rows.set(key, row);
    this.list.insertBefore(node, this.list.children[index] ?? null);
    return row;
  }

  /** Another text for a question; nobody sends it meanwhile. */
  private edit(key: string, node: HTMLElement): void {
    const item = this.find(key);
    if (this.editing || !item) return;
    const end = (changed: Partial<Waiting>): void => {
      this.editing = null;
      this.rows.delete(key);
      node.remove();
      if (this.find(key)) this.change(key, { ...item, ...changed });
      // Another window sent or removed it as it was: the new text is for the person to send.
      else if (changed.key) this.write([...this.read(), { ...item, ...changed, held: true }]);
    };
    const close = (changed: Partial<Waiting>): void => {
      end(changed);
      this.update();
      this.page.composer.area.focus();
    };
    const box = new EditBox(item.prompt, {
      name: t("save"),
      done: (prompt, more) => {
        const unchanged = prompt === item.prompt && !more.images[0] && !more.files[0];
        close(unchanged ? {} : { key: newKey(), prompt, attached: joined(item.attached, more) });
      },
      left: () => close({}),
    });
    const leave = (): void => {
      if (box.empty || box.unchanged) return end({});
      const { prompt, attached } = box.take();
      end({ key: newKey(), prompt, attached: joined(item.attached, attached), held: true });
    };
    this.editing = { key, leave };
    this.change(key, { ...item, held: true });
    node.replaceChildren(box.node);
    box.focus();
  }
}

/** Runs work while no other window does; browsers offer that on secure addresses only. */
async function oneWindow(name: string, work: () => Promise<void>): Promise<void> {
  const locks = navigator.locks as LockManager | undefined;
  await (locks ? locks.request(name, work) : work());
}
