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
import { editBox } from "./edit-box.js";
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
  /** It was refused or is being edited: only a person sends it. */
  held?: boolean;
}

/** So much of a question is shown in the list. */
const SHOWN_LENGTH = 300;

export class Queue {
  readonly node: HTMLElement;
  /** Whether a question of the list is on its way. */
  sending = false;
  private session = "";
  /** The key of the question that is being edited. */
  private editing = "";
  /** The rows by the keys of their questions, with what they show. */
  private rows = new Map<string, { row: HTMLElement; shown: string }>();
  private list = h("ul");
  private state = h("p", { class: "muted small" });

  constructor(private page: PageContext) {
    this.node = h("section", { class: "queue", "aria-label": t("queue"), hidden: true }, this.state, this.list);
  }

  /** Puts a question at the end of those of a conversation. */
  add(session: string, prompt: string, choice: Choice, attached?: Attached): void {
    this.write([...this.read(session), { key: newKey(), prompt, choice, attached }], session);
    tellScreenReader(t("queue.added"));
    this.update();
  }

  /** The new conversation has an id from now on: what waits is asked in it. */
  sessionCreated(id: string): void {
    const items = this.read();
    this.write([]);
    this.session = id;
    this.write([...this.read(), ...items]);
  }

  /** Shows what waits in a conversation, and sends the first if it is its turn. */
  update(session = this.session): void {
    if (session !== this.session) this.editing = "";
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
        const waits = this.read().some(({ key }) => key === item.key);
        if (!waits || session !== this.session || !this.free) return;
        if (!chosen && chat.lastState !== "done") return;
        this.sending = true;
        await this.ask(item, session);
      });
    } finally {
      this.sending = false;
      this.draw();
    }
  }

  private async ask(item: Waiting, session: string): Promise<void> {
    const again = (): void => void this.send(item, true).catch(showError);
    const { key, prompt, choice, attached } = item;
    try {
      await this.page.composer.ask({ key, prompt, choice, attached, again });
      this.change(key, null, session);
    } catch (error) {
      const code = error instanceof ApiError ? error.code : "";
      // Another window sent it with other settings.
      if (code === "idempotency_conflict") return this.change(key, null, session);
      this.change(key, { ...item, held: true }, session); // why is said in the conversation
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

  private write(items: Waiting[], session = this.session): void {
    writeStored(`${QUEUE}:${session}`, items[0] ? JSON.stringify(items) : "", queueArea(session));
  }

  private draw(): void {
    const { chat, composer } = this.page;
    const items = this.read();
    const rests = !chat.exchanges.running && !composer.busy && !this.sending;
    show(this.node, !!items[0]);
    const stays = chat.lastState === "done" || !chat.lastState ? "queue.refused" : "queue.stays";
    say(this.state, items[0] ? t(rests ? stays : "queue.next") : "");
    for (const [key, { row }] of this.rows)
      if (!items.some((item) => item.key === key)) {
        row.remove();
        this.rows.delete(key);
      }
    // Whoever is on a button, or writes, stays there: only what changed is drawn.
    for (const [index, item] of items.entries()) this.drawRow(item, index, rests);
  }

  private drawRow(item: Waiting, index: number, rests: boolean): void {
    const drawn = this.rows.get(item.key);
    const shown = JSON.stringify([item.prompt, rests]);
    if (drawn?.shown === shown || item.key === this.editing) return;
    const row = this.row(item, rests);
    if (drawn) drawn.row.replaceWith(row);
    else this.list.insertBefore(row, this.list.children[index] ?? null);
    this.rows.set(item.key, { row, shown });
  }

  private row(item: Waiting, rests: boolean): HTMLElement {
    const { composer } = this.page;
    const remove = (): void => {
      this.change(item.key, null);
      composer.area.focus();
    };
    const send = (): void => {
      composer.area.focus();
      void this.send(item, true).catch(showError);
    };
    const quiet = { bare: true, class: "quiet" };
    const row = h(
      "li",
      null,
      h("span", { class: "queue-text", dir: "auto" }, item.prompt.slice(0, SHOWN_LENGTH) || t("attached")),
      rests && button(t("send"), "send", send, quiet),
      button(t("queue.edit"), "pencil", () => this.edit(item, row), quiet),
      button(t("queue.remove"), "close", remove, quiet),
    );
    return row;
  }

  /** Another text for a question; nobody sends it meanwhile. */
  private edit(item: Waiting, row: HTMLElement): void {
    if (this.editing) return;
    const { composer } = this.page;
    const close = (prompt: string, attached = item.attached): void => {
      this.editing = "";
      const waits = this.read().some(({ key }) => key === item.key);
      // A window that was faster sent it as it was: the new text is for the person to send.
      if (waits) this.change(item.key, { ...item, key: newKey(), prompt, attached });
      else if (prompt !== item.prompt) composer.put(prompt);
      this.update();
      composer.area.focus();
    };
    this.editing = item.key;
    this.change(item.key, { ...item, held: true });
    const box = editBox(item.prompt, {
      name: t("save"),
      done: (prompt, more) => close(prompt, joined(item.attached, more)),
      left: () => close(item.prompt),
    });
    row.replaceChildren(box);
    box.querySelector("textarea")?.focus();
  }
}

/** Runs work while no other window does; browsers offer that on secure addresses only. */
async function oneWindow(name: string, work: () => Promise<void>): Promise<void> {
  const locks = navigator.locks as LockManager | undefined;
  await (locks ? locks.request(name, work) : work());
}
