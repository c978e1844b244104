/** Where one writes: grows with its text, keeps a draft over a reload, and says who answers and how hard they think. */

import type { Session } from "./api.js";
import type { Attachments } from "./attachments.js";
import { findModel, levelsOf, modelTitle } from "./catalog.js";
import type { Question } from "./chat-requests.js";
import { button, composing, h, icon, say, show } from "./dom.js";
import type { PageContext } from "./page-context.js";
import { type Choice, DEFAULT_CHOICE, localSettings, requestSettings, saveLocalSettings } from "./preferences.js";
import type { Queue } from "./queue.js";
import type { SlashMenu } from "./slash-menu.js";
import { readStored, writeStored } from "./storage.js";
import { showError } from "./toasts.js";
import { t } from "./words.js";

/** What the composer asks of the page around it. */
export interface ComposerHost {
  /** The page, for commands. */
  page(): PageContext;
  ask(question: Question): Promise<void>;
  stop(): void;
  answerNow(): void;
  pickAnswerer(): void;
}

const SMALL = matchMedia("(max-width: 30rem)");
const DRAFT = "thinkaloud-draft";
/** A pasted text that is longer than this is kept beside the message box, where it can be taken away again. */
const LONGEST_IN_BOX = 4_000;
const PASTED = "thinkaloud-pasted";
export const QUEUE = "thinkaloud-queue";

/** What waits, and the files beside the message box, are the window's: they stay when the page is built again. */
let queue: Queue | null = null;
/** One import for all who wait for it: browsers end several of one module in any order. */
let loadingQueue: Promise<typeof import("./queue.js")> | null = null;
let lastFiles: Attachments | undefined;

export class Composer {
  readonly node: HTMLElement;
  readonly area = h("textarea", {
    id: "message",
    rows: 1,
    placeholder: t("ask"),
    "aria-label": t("ask.label"),
    "aria-describedby": "hint",
    enterkeyhint: "send",
    autocomplete: "off",
  });
  choice: Choice = DEFAULT_CHOICE;
  /** Whether a question is on its way. */
  busy = false;
  /** Ends when nothing is on its way, and what was refused is in its place again. */
  settled: Promise<void> | null = null;
  private sessionId: string | null = null;
  private choiceKnown = false;
  private answerer = h("button", { type: "button", class: "chip answerer", "aria-haspopup": "dialog" });
  private level = h("select", { class: "chip", "aria-label": t("think") });
  private depth = h("label", { class: "level" }, icon("thought"), this.level);
  private thinksNotNote = h("span", { class: "muted small thinks-not", hidden: true });
  private send = button(t("send"), "send", () => void this.submit(), { bare: true, class: "primary round" });
  private stop: HTMLButtonElement;
  private answerNow: HTMLButtonElement;
  /** Says that what is set for requests is not the usual. */
  private tuned = button(t("tuned"), "settings", () => void this.openSettings().catch(showError), {
    bare: true,
    class: "chip tuned",
    hidden: true,
  });
  private box: HTMLElement;
  private files: Attachments | null = null;
  /** What is being pasted or attached is there once this is done. */
  private adding: Promise<unknown> | null = null;
  private slash: SlashMenu | null = null;

  constructor(private host: ComposerHost) {
    this.stop = button(t("stop"), "stop", () => host.stop(), { bare: true, class: "primary round", hidden: true });
    this.answerNow = button(t("answer_now"), "bolt", () => host.answerNow(), {
      class: "chip now",
      title: t("answer_now"),
      hidden: true,
    });
    this.answerer.addEventListener("click", () => host.pickAnswerer());
    this.level.addEventListener("change", () => this.choose({ ...this.choice, thinking: this.level.value }));
    this.area.addEventListener("keydown", (event) => this.key(event));
    this.area.addEventListener("input", () => this.typed());
    this.area.addEventListener("paste", (event) => this.paste(event));
    const chooser = h("input", { type: "file", multiple: true, hidden: true, "aria-label": t("attach") });
    chooser.addEventListener("change", () => {
      this.attach([...(chooser.files ?? [])]);
      chooser.value = "";
    });
    this.box = h(
      "div",
      { class: "composer-box" },
      this.area,
      h(
        "div",
        { class: "composer-row" },
        button(t("attach"), "plus", () => chooser.click(), { bare: true, class: "quiet attach" }),
        chooser,
        this.answerer,
        this.depth,
        this.thinksNotNote,
        this.tuned,
        h("span", { class: "grow" }),
        this.answerNow,
        this.stop,
        this.send,
      ),
    );
    this.node = h("form", { class: "composer" }, this.box, h("p", { id: "hint", class: "hint" }, t("hint")));
    this.node.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.submit();
    });
    this.draw();
  }

  /** Who answers from now on. */
  choose(choice: Choice): void {
    this.choice = choice;
    this.choiceKnown = true;
    saveLocalSettings({
      choice,
      ...(choice.agent ? { names: { ...localSettings().names, [choice.agent]: choice.name } } : {}),
    });
    this.draw();
  }

  /**
   * Another conversation: its draft at once, and who answers in it as soon as that is known for sure; `agentName`
   * is the name of the agent that was last asked.
   */
  showSession(id: string, session: Session | null, sure: boolean, agentName = ""): void {
    if (id === this.sessionId && this.choiceKnown) return;
    if (id !== this.sessionId) {
      this.sessionId = id;
      this.area.value = draftOf(id);
      this.showPasted(id);
      this.typed();
    }
    this.choiceKnown = sure;
    const { agent = "", model = "" } = session ?? {};
    const own = agent || model;
    if (session && own)
      this.choice = {
        ...DEFAULT_CHOICE,
        agent,
        model: agent ? "" : model,
        name: localSettings().names?.[own] ?? (agent ? agentName || t("agent") : modelTitle(own)),
      };
    else if (id)
      this.choice = { ...DEFAULT_CHOICE, thinking: this.choice.agent || this.choice.model ? "" : this.choice.thinking };
    else this.choice = localSettings().choice ?? DEFAULT_CHOICE;
    this.draw();
  }

  /** The new conversation has an id from now on: what waits, and where it is still open what is being written, is its own. */
  sessionCreated(id: string, open: boolean): void {
    queue?.sessionCreated(id, open);
    if (!open) return;
    for (const key of [DRAFT, PASTED]) writeStored(`${key}:${this.sessionId}`, "", "sessionStorage");
    this.sessionId = id;
    this.keepPasted();
    this.typed();
  }

  /** The conversation is no longer there: what is being written is for a new one. */
  sessionGone(): void {
    if (!this.sessionId) return;
    this.area.value = joined(draftOf(""), this.area.value);
    this.sessionCreated("", true);
  }

  /** Whether something runs: then stopping is what there is to do, and where it thinks, ending that. */
  running(runs: boolean, thinks: boolean): void {
    this.node.classList.toggle("running", runs);
    show(this.stop, runs);
    show(this.answerNow, runs && thinks);
    this.drawSend();
    this.showQueue();
  }

  /** Shows what waits in this conversation, and has it sent when it is its turn. */
  showQueue(): void {
    // While a turn runs a question can wait, also after the connection has gone: the queue is loaded before that.
    const needed = queue || !this.stop.hidden || storedQueue(this.sessionId ?? "");
    if (needed) void this.loadQueue().catch(showError);
  }

  put(text: string): void {
    this.area.value = text;
    this.typed();
    this.area.focus();
  }

  async submit(): Promise<void> {
    const text = this.area.value;
    const { sessionId } = this;
    await this.adding; // what was just pasted goes with it
    if (/^\s*[/:]/.test(text) && (await this.runCommand(text.trim()))) return;
    if (this.empty || sessionId !== this.sessionId || this.area.value !== text) return;
    this.put("");
    const taken = this.files?.take(text);
    const { prompt, attached } = taken ?? { prompt: text };
    // What was refused is in the message box again, with all that goes with it.
    const again = (): void => void (this.area.value === text ? this.submit() : this.askAgain(prompt, attached));
    const question = { prompt, attached, again };
    const giveBack = (): void => {
      this.giveBack(text, sessionId ?? "");
      taken?.giveBack(sessionId === this.sessionId ? "" : `${PASTED}:${sessionId}`);
    };
    // Nobody knows whether what is on its way still arrives when the page is left.
    addEventListener("pagehide", giveBack);
    // Why it was refused is said in the conversation.
    await (this.waits ? this.wait(question) : this.ask(question)).catch(giveBack);
    removeEventListener("pagehide", giveBack);
  }

  /** Whether what is asked now has to wait. */
  private get waits(): boolean {
    return this.busy || !this.stop.hidden || !!loadingQueue || !!queue?.sending;
  }

  /** Whether there is nothing to send. */
  private get empty(): boolean {
    return !this.area.value.trim() && (this.files?.empty ?? true);
  }

  /** Has a question wait until it is its turn. */
  private async wait({ prompt, attached }: Omit<Question, "choice">): Promise<void> {
    const { choice, sessionId } = this;
    try {
      const queue = await this.loadQueue();
      // A new conversation may have got its id meanwhile; while its first question is on its way, it has none.
      queue.add(sessionId || (!this.busy && this.sessionId) || "", prompt, choice, attached);
    } catch (error) {
      showError(error);
      throw error;
    }
  }

  private async loadQueue(): Promise<Queue> {
    loadingQueue ??= import("./queue.js").finally(() => {
      loadingQueue = null;
    });
    const { Queue } = await loadingQueue;
    queue ??= new Queue(this.host.page());
    // A page that was left does not take it from the one that came after it.
    if (this.node.isConnected) queue.show(this.host.page(), this.sessionId ?? "");
    if (!queue.node.isConnected) this.box.before(queue.node);
    return queue;
  }

  /** Runs a command; false if it is to be sent to the model. */
  private async runCommand(text: string): Promise<boolean> {
    const { runCommand, sendAnyway } = await import("./slash-menu.js");
    if (runCommand(this.host.page(), text)) {
      if (text.startsWith(this.area.value.trim())) this.put("");
      return true;
    }
    if (await sendAnyway(text)) return false;
    this.area.focus();
    return true;
  }

  /** Takes files that are dropped on a node. */
  takeDropsOn(node: HTMLElement): void {
    node.addEventListener("dragover", (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      this.box.classList.add("dropping");
    });
    for (const name of ["dragleave", "drop"]) node.addEventListener(name, () => this.box.classList.remove("dropping"));
    node.addEventListener("drop", (event) => {
      const files = [...(event.dataTransfer?.files ?? [])];
      if (!files[0]) return;
      event.preventDefault();
      this.attach(files);
    });
  }

  /** Takes what is pasted: a text in the box, a long one beside it, and files where the text is but their names. */
  private paste(event: ClipboardEvent): void {
    const { text, files } = pastedParts(event);
    if (!files[0] && text.length <= LONGEST_IN_BOX) return; // the browser does it
    event.preventDefault();
    if (files[0]) return this.attach(files);
    this.addFiles((files) => {
      files.pasted = [...files.pasted, text];
    });
  }

  /** The texts that were pasted into the draft of a conversation. */
  private showPasted(id: string): void {
    const stored = readStored(`${PASTED}:${id}`, "sessionStorage");
    const texts = JSON.parse(stored ?? "[]") as string[];
    if (this.files) this.files.pasted = texts;
    else if (stored || lastFiles)
      void this.loadFiles()
        .then((files) => {
          if (id === this.sessionId) files.pasted = texts;
        })
        .catch(showError);
  }

  private keepPasted(): void {
    const texts = this.files?.pasted;
    if (texts) writeStored(`${PASTED}:${this.sessionId}`, texts[0] ? JSON.stringify(texts) : "", "sessionStorage");
  }

  private attach(files: File[]): void {
    this.addFiles(async (attachments) => {
      await attachments.add(files);
      this.area.focus();
    });
  }

  private addFiles(add: (files: Attachments) => void | Promise<void>): void {
    this.adding = Promise.all([this.loadFiles().then(add), this.adding]).catch(showError);
  }

  private async loadFiles(): Promise<Attachments> {
    const { Attachments } = await import("./attachments.js");
    const changed = (): void => {
      this.keepPasted();
      this.draw();
    };
    this.files ??= new Attachments(changed, lastFiles);
    lastFiles = this.files;
    this.box.prepend(this.files.node);
    return this.files;
  }

  private async openSettings(): Promise<void> {
    const { openSettings } = await import("./settings.js");
    await openSettings(this.host.page());
  }

  /** Asks what somebody chose; it waits where something runs. */
  async askChosen(prompt: string): Promise<void> {
    const { sessionId } = this;
    await (this.waits ? this.wait({ prompt }) : this.ask({ prompt })).catch(() =>
      this.giveBack(prompt, sessionId ?? ""),
    );
  }

  /** Asks once more; what was given back to the message box is taken from there. */
  async askAgain(prompt: string, attached?: Question["attached"]): Promise<void> {
    const { sessionId } = this;
    const givenBack = this.area.value === prompt;
    if (givenBack && !this.busy) this.put("");
    await this.ask({ prompt, attached }).catch(() => givenBack && this.giveBack(prompt, sessionId ?? ""));
  }

  /** Have something asked; one thing at a time. */
  async ask(question: Partial<Question> & Pick<Question, "prompt">): Promise<void> {
    if (this.busy) return;
    const { sessionId } = this;
    if (!question.key) queue?.askedByHand();
    this.busy = true;
    let settle = (): void => undefined;
    this.settled = new Promise((resolve) => {
      settle = resolve;
    });
    try {
      await this.host.ask({ choice: this.choice, ...question });
    } catch (error) {
      if (!question.key) queue?.hold(sessionId ?? ""); // what was to be asked after it
      throw error;
    } finally {
      this.busy = false;
      this.typed();
      this.showQueue(); // the turn may be over by now
      setTimeout(settle);
    }
  }

  /** What did not get through goes back to where it was asked, before what was written there since. */
  private giveBack(prompt: string, sessionId: string): void {
    if (sessionId === this.sessionId) this.put(joined(prompt, this.area.value));
    else writeStored(`${DRAFT}:${sessionId}`, joined(prompt, draftOf(sessionId)), "sessionStorage");
  }

  private key(event: KeyboardEvent): void {
    if (composing(event) || this.slash?.key(event)) return;
    if (event.key !== "Enter" || event.shiftKey) return;
    event.preventDefault();
    void this.submit();
  }

  private typed(): void {
    this.drawSend();
    if (this.slash) this.slash.update();
    else if (this.area.value.startsWith("/")) void this.showCommands().catch(showError);
    writeStored(`${DRAFT}:${this.sessionId}`, this.area.value, "sessionStorage");
    if (CSS.supports("field-sizing", "content")) return;
    this.area.style.blockSize = "auto";
    this.area.style.blockSize = `${this.area.scrollHeight}px`;
  }

  private drawSend(): void {
    const runs = !this.stop.hidden;
    this.send.disabled = this.empty;
    show(this.send, !runs || !this.empty);
    this.send.title = this.send.ariaLabel = t(runs ? "send.later" : "send");
  }

  private async showCommands(): Promise<void> {
    const { SlashMenu } = await import("./slash-menu.js");
    this.slash ??= new SlashMenu(this.host.page(), this.area, (command) => void this.runCommand(command));
    if (!this.slash.node.isConnected) this.box.before(this.slash.node);
    this.slash.update();
  }

  /** Draws who answers and what goes with the question. */
  draw(): void {
    this.files?.draw(this.choice.model, !!this.choice.agent);
    this.typed();
    show(this.tuned, Object.keys(requestSettings()).length > 0);
    const name = this.choice.name || modelTitle("");
    this.answerer.replaceChildren(icon(this.choice.agent ? "agents" : "thought"), h("span", null, name), icon("down"));
    this.answerer.setAttribute("aria-label", t("who", { name }));
    const model = findModel(this.choice.model);
    const thinks = !this.choice.agent && (!model || model.thinking_toggle);
    show(this.depth, thinks);
    show(this.thinksNotNote, !this.choice.agent && !thinks);
    say(this.thinksNotNote, t("think.none"));
    const levels = levelsOf(model);
    // Where there is little room, the sign beside it says what it is about.
    const levelText = (level: string): string =>
      t(`think.${level || "default"}`).slice(SMALL.matches ? t("think").length + 2 : 0);
    if (this.choice.thinking && !levels.includes(this.choice.thinking)) this.choice = { ...this.choice, thinking: "" };
    this.level.replaceChildren(
      ...["", ...levels].map((level) =>
        h("option", { value: level, selected: level === this.choice.thinking }, levelText(level)),
      ),
    );
  }
}

/** Where the questions that wait are kept: all windows share those of a conversation, a new one is this window's alone. */
export function queueArea(session: string): "localStorage" | "sessionStorage" {
  return session ? "localStorage" : "sessionStorage";
}

/** Forgets what waits in a conversation that is deleted. */
export function forgetQueue(session: string): void {
  writeStored(`${QUEUE}:${session}`, "", queueArea(session));
}

export function storedQueue(session: string): string {
  return readStored(`${QUEUE}:${session}`, queueArea(session)) ?? "";
}

/** What is pasted, with line ends as a field has them: a text, or files where the text is but their names. */
export function pastedParts({ clipboardData: data }: ClipboardEvent): { text: string; files: File[] } {
  const text = (data?.getData("text/plain") ?? "").replace(/\r\n?/g, "\n");
  const files = [...(data?.files ?? [])];
  const names = new Set(files.map(({ name }) => name));
  const lines = text.split("\n").map((line) => line.slice(line.lastIndexOf("/") + 1).trim());
  // Office programs add a picture of the text that they copy.
  return lines.every((line) => !line || names.has(decoded(line))) ? { text: "", files } : { text, files: [] };
}

/** A name as it is read; in a copied address it may be encoded. */
function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name; // it is a name with a percent sign
  }
}

function joined(...texts: string[]): string {
  return texts.filter(Boolean).join("\n\n");
}

/** What was written for a conversation and not sent. */
function draftOf(id: string): string {
  return readStored(`${DRAFT}:${id}`, "sessionStorage") ?? "";
}
