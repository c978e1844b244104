/** Files that go with a question: pasted, dropped or chosen. Shown above the message box, each with what to do about it. */

import { ApiError } from "./api.js";
import { findModel } from "./catalog.js";
import { addDialogWords } from "./dialog-words.js";
import { open } from "./dialogs.js";
import { button, h, type IconName, icon } from "./dom.js";
import { readStored, writeStored } from "./storage.js";
import { showError } from "./toasts.js";
import { currentLanguage, t } from "./words.js";

addDialogWords();

/** A file as the gateway takes it: an image, a PDF file or a recording. */
export interface FileBody {
  media_type: string;
  data: string;
  name?: string;
}

/** What goes with a question. */
export interface Attached {
  images: FileBody[];
  files: FileBody[];
}

/** The files of both. */
export function joined(one: Partial<Attached> | undefined, other: Attached): Attached {
  return {
    images: [...(one?.images ?? []), ...other.images],
    files: [...(one?.files ?? []), ...other.files],
  };
}

interface Attachment extends FileBody {
  name: string;
  /** It was pasted as text, and is part of the question as it is. */
  pasted?: boolean;
  kind: "image" | "pdf" | "audio" | "text";
  bytes: number;
}

/** The gateway takes 10 MiB in one request, and base64 is a third longer than what it stands for. */
const MAX_BYTES = 7 * 1024 * 1024;
const MAX_FILES = 20;
/** The gateway takes names of 200 characters. */
const LONGEST_NAME = /^.{0,200}/su;
const LOOKS: Record<Attachment["kind"], IconName> = { image: "image", pdf: "file", audio: "audio", text: "file" };
/** What a file begins with; browsers go by its name, and that may be wrong. */
const SIGNATURES: [RegExp, string][] = [
  [/^\x89PNG/, "image/png"],
  [/^\xff\xd8\xff/, "image/jpeg"],
  [/^GIF8/, "image/gif"],
  [/^RIFF.{4}WEBP/s, "image/webp"],
  [/^%PDF-/, "application/pdf"],
  [/^RIFF.{4}WAVE/s, "audio/wav"],
  [/^(?:ID3|\xff[\xfb\xf3\xf2])/, "audio/mpeg"],
];

export class Attachments {
  readonly node = h("ul", { class: "attachments", hidden: true, "aria-label": t("attached") });
  private items: Attachment[];

  /** `changed` is called when a file came or went; `from` has the files that are here at first. */
  constructor(
    private changed: () => void,
    from?: Attachments,
  ) {
    this.items = from?.items ?? [];
  }

  get empty(): boolean {
    return !this.items[0];
  }

  /** The texts that were pasted. */
  get pasted(): string[] {
    return this.items.filter(({ pasted }) => pasted).map(({ data }) => data);
  }

  /** Puts other pasted texts in the place of those that are here: they belong to a conversation. */
  set pasted(texts: string[]) {
    this.items = [...this.items.filter(({ pasted }) => !pasted), ...texts.map(pastedText)];
    this.changed();
  }

  async add(files: Iterable<File>): Promise<void> {
    for (const file of files) {
      try {
        this.check(file);
        this.items.push(await readFile(file));
      } catch (error) {
        showError(error);
      }
    }
    this.changed();
  }

  /** Takes all files away and returns them, with texts after the question. */
  take(prompt: string): { prompt: string; attached: Attached; giveBack(pastedKey: string): void } {
    const { items } = this;
    const texts = this.items
      .filter(({ kind }) => kind === "text")
      .map(({ name, data, pasted }) => (pasted ? data : `${name}:\n\n${data}`));
    const rest = this.items.filter(({ kind }) => kind !== "text");
    this.items = [];
    this.changed();
    return {
      // Pasted texts belong to a conversation: they are kept for one that is not open, under the key of its own.
      giveBack: (pastedKey) => {
        this.items = [...items.filter(({ pasted }) => !pasted || !pastedKey), ...this.items];
        if (pastedKey) keepPasted(items, pastedKey);
        this.changed();
      },
      prompt: [prompt.trim() && prompt, ...texts].filter(Boolean).join("\n\n"),
      attached: {
        images: rest.filter(({ kind }) => kind === "image").map(({ media_type, data }) => ({ media_type, data })),
        files: rest
          .filter(({ kind }) => kind !== "image")
          .map(({ media_type, data, name }) => ({ media_type, data, name: LONGEST_NAME.exec(name)?.[0] ?? "" })),
      },
    };
  }

  /** Draws the files, with what the model that answers will not take. */
  draw(model: string, agent: boolean): void {
    const inputs = agent ? null : findModel(model)?.inputs; // nobody knows what an agent hands on
    this.node.hidden = this.empty;
    this.node.replaceChildren(
      ...this.items.map((item, index) => {
        const refused = item.kind !== "text" && !!inputs && !inputs.includes(item.kind);
        const remove = (): void => {
          this.items.splice(index, 1);
          this.changed();
        };
        return h(
          "li",
          { class: `attachment ${refused ? "refused" : ""}` },
          item.kind === "image"
            ? h("img", { src: `data:${item.media_type};base64,${item.data}`, alt: "" })
            : icon(LOOKS[item.kind]),
          h(
            "span",
            { class: "attachment-text" },
            h("span", { class: "attachment-name", dir: "auto" }, item.name),
            h(
              "span",
              { class: "muted" },
              refused ? t(`attach.refused.${item.kind}`, { name: model || t("who.default") }) : sizeOf(item),
            ),
          ),
          item.pasted && button(t("attach.view"), "eye", () => viewText(item.data), { bare: true, class: "quiet" }),
          button(t("attach.remove", { name: item.name }), "close", remove, { bare: true, class: "quiet" }),
        );
      }),
    );
  }

  private check(file: File): void {
    const bytes = this.items.reduce((sum, { bytes }) => sum + bytes, file.size);
    const problem =
      this.items.length >= MAX_FILES
        ? t("attach.many", { n: MAX_FILES })
        : bytes > MAX_BYTES
          ? t("attach.large", { name: file.name, size: formatBytes(MAX_BYTES) })
          : "";
    if (problem) throw new ApiError(0, "attachment", problem);
  }
}

/** Puts the pasted texts before those that are stored. */
function keepPasted(items: Attachment[], key: string): void {
  const stored = JSON.parse(readStored(key, "sessionStorage") ?? "[]") as string[];
  const texts = [...items.filter(({ pasted }) => pasted).map(({ data }) => data), ...stored];
  writeStored(key, texts[0] ? JSON.stringify(texts) : "", "sessionStorage");
}

/** A pasted text as it goes with a question. */
function pastedText(data: string): Attachment {
  return { name: t("attach.pasted"), kind: "text", media_type: "text/plain", data, bytes: data.length, pasted: true };
}

function sizeOf({ pasted, bytes }: Attachment): string {
  return pasted ? t("attach.chars", { n: bytes }) : formatBytes(bytes);
}

function viewText(text: string): void {
  const label = t("attach.pasted");
  open(
    label,
    "wide",
    h("pre", { class: "pasted", dir: "auto", tabindex: 0, role: "region", "aria-label": label }, text),
  );
}

async function readFile(file: File): Promise<Attachment> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const start = String.fromCharCode(...bytes.subarray(0, 16));
  const media_type = SIGNATURES.find(([signature]) => signature.test(start))?.[1] ?? "";
  const name = file.name || t("attach.unnamed");
  if (media_type) {
    const kind = media_type === "application/pdf" ? "pdf" : (media_type.split("/")[0] as "image" | "audio");
    return { name, kind, media_type, data: base64(bytes), bytes: file.size };
  }
  let text = "\0";
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    // It is no text; said below.
  }
  if (text.includes("\0")) throw new ApiError(0, "attachment", t("attach.unknown", { name }));
  return { name, kind: "text", media_type: "text/plain", data: text, bytes: file.size };
}

function base64(bytes: Uint8Array): string {
  const pieces: string[] = [];
  const size = 0x8000 - (0x8000 % 3); // each piece is whole groups of three bytes
  for (let start = 0; start < bytes.length; start += size)
    pieces.push(btoa(String.fromCharCode(...bytes.subarray(start, start + size))));
  return pieces.join("");
}

function formatBytes(bytes: number): string {
  const power = bytes < 1024 ? 0 : bytes < 1024 * 1024 ? 1 : 2;
  const size = bytes / 1024 ** power;
  const unit = ["byte", "kilobyte", "megabyte"][power] as string;
  return size.toLocaleString(currentLanguage(), {
    style: "unit",
    unit,
    unitDisplay: power ? "short" : "long",
    maximumFractionDigits: 1,
  });
}
