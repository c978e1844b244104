/** Shares a conversation as one HTML file, which opens anywhere and needs no network. What goes into it is shown first. */

import { type Entry, type Message, request, type Session } from "./api.js";
import { modelTitle } from "./catalog.js";
import { loadMessages } from "./chat-requests.js";
import { addDialogWords } from "./dialog-words.js";
import { open } from "./dialogs.js";
import { button, h, say } from "./dom.js";
import { fileName, saveFile } from "./export-import.js";
import { notify, showError } from "./toasts.js";
import { currentLanguage, t } from "./words.js";

addDialogWords();

/** The address of the file without a conversation in it; known when the page is built. */
declare const SHARED_TEMPLATE: string;
const TURNS_PER_PAGE = 50;

/** Opens the dialog that shares a conversation. */
export async function openShare(session: Session): Promise<void> {
  const messages = await loadAll(session.id);
  const thinking = h("input", { type: "checkbox" });
  const counts = h("p", { class: "muted small", role: "status" });
  const preview = h("ol", { class: "share-preview", tabindex: 0, "aria-label": t("share.preview") });
  const data = (): SharedData => ({
    title: session.title || t("new"),
    language: currentLanguage(),
    saved_ms: Date.now(),
    exchanges: exchangesOf(messages, thinking.checked),
  });
  const draw = (): void => {
    const parts = partsOf(messages, thinking.checked);
    say(
      counts,
      t("share.counts", {
        questions: countOf(parts, "prompt"),
        answers: countOf(parts, "answer"),
        thoughts: countOf(parts, "thought"),
        tools: countOf(parts, "tool"),
      }),
    );
    preview.replaceChildren(
      ...parts.map(({ kind, text }) =>
        h("li", null, h("span", { class: `kind ${kind}` }, t(`kind.${kind}`)), h("p", { dir: "auto" }, text)),
      ),
    );
  };
  const save = async (): Promise<void> => {
    const template = await (await request(SHARED_TEMPLATE)).text();
    const file = new Blob([fill(template, data())], { type: "text/html" });
    saveFile(file, `${fileName(session.title)}.html`);
    notify(t("share.saved"));
    close();
  };
  thinking.addEventListener("change", draw);
  const { close } = open(
    t("share"),
    "",
    h("p", { class: "muted" }, t("share.about")),
    h("label", { class: "check" }, thinking, h("span", null, t("share.thinking"))),
    counts,
    preview,
    h(
      "footer",
      { class: "dialog-foot" },
      button(t("share.save"), "download", () => void save().catch(showError), { class: "primary" }),
    ),
  );
  draw();
}

/** The file with a conversation. No text in it can end the element that holds it. */
function fill(template: string, data: SharedData): string {
  const json = JSON.stringify(data).replace(
    /[<>&\u2028\u2029]/g,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  return template.replace("%lang%", () => data.language).replace("%data%", () => json);
}

/** All messages of the branch that is shown, without turns that still run. */
async function loadAll(session: string): Promise<Message[]> {
  const items: Message[] = [];
  let after = "";
  do {
    const page = await loadMessages(session, TURNS_PER_PAGE, { after });
    items.push(...page.items);
    after = page.next;
  } while (after);
  return items.filter(({ state }) => state !== "running");
}

function exchangesOf(messages: Message[], thinking: boolean): SharedExchange[] {
  return [...Map.groupBy(messages, ({ turn }) => turn).values()].map((turn) => {
    const reply = turn.find(({ role }) => role === "assistant");
    return {
      prompts: turn
        .filter(({ role }) => role === "user")
        .map(({ content, images, files }) => ({
          text: content,
          images: images.map(({ media_type, data }) => ({ media_type, data })),
          files: files.map(({ name, media_type }) => name || media_type),
        })),
      name: reply?.agent_name || modelTitle(reply?.model ?? ""),
      answer: reply?.content ?? "",
      entries: thinking ? (reply?.entries ?? []).flatMap(withoutSecrets) : [],
    };
  });
}

/** An entry without what providers seal: nobody can read it, and it is of no use elsewhere. */
function withoutSecrets(entry: Entry): Entry[] {
  const { event } = entry;
  if (event.type === "block.sealed") return [];
  return "message" in event && event.message && event.type !== "turn.failed"
    ? [{ ...entry, event: { ...event, message: null } as Entry["event"] }]
    : [entry];
}

interface Part {
  kind: "prompt" | "thought" | "tool" | "answer";
  text: string;
}

/** What will be in the file, in order, as text. */
function partsOf(messages: Message[], thinking: boolean): Part[] {
  return messages.flatMap((message): Part[] => {
    if (message.role === "user") {
      const files = [...message.images, ...message.files].map(
        (file) => ("name" in file && file.name) || file.media_type,
      );
      return [{ kind: "prompt", text: [message.content, ...files].filter(Boolean).join("\n") }];
    }
    if (message.role !== "assistant") return [];
    const answer: Part[] = message.content ? [{ kind: "answer", text: message.content }] : [];
    return [...(thinking ? thoughtsOf(message.entries) : []), ...answer];
  });
}

/** Thoughts and tool calls of a turn as texts; the answer is another part. */
function thoughtsOf(entries: Entry[]): Part[] {
  const parts = new Map<number, Part>();
  for (const { event } of entries) {
    if (event.type === "block.started" && event.kind !== "text")
      parts.set(event.block, {
        kind: event.kind === "reasoning" ? "thought" : "tool",
        text: event.name ? `${event.name}: ` : "",
      });
    else if (event.type === "block.grew") {
      const part = parts.get(event.block);
      if (part) part.text += event.text;
    } else if (event.type === "tool.finished") {
      const part = parts.get(event.block);
      if (part) part.text += `\n→ ${event.result ?? ""}`;
    }
  }
  return [...parts.values()].filter(({ text }) => text.trim());
}

function countOf(parts: Part[], kind: Part["kind"]): number {
  return parts.filter((part) => part.kind === kind).length;
}

export interface SharedExchange {
  prompts: { text: string; images: { media_type: string; data: string }[]; files: string[] }[];
  /** Who answered. */
  name: string;
  answer: string;
  /** The entries of the turn with its thoughts and tools; empty without them. */
  entries: Entry[];
}

export interface SharedData {
  title: string;
  language: string;
  saved_ms: number;
  exchanges: SharedExchange[];
}
