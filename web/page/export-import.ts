/** Conversations as files: out with or without thinking, and in again. */

import { request, requestJson, type Session } from "./api.js";
import { addDialogWords } from "./dialog-words.js";
import { open } from "./dialogs.js";
import { button, h, say, show } from "./dom.js";
import type { PageContext } from "./page-context.js";
import { notify, showError } from "./toasts.js";
import { t } from "./words.js";

addDialogWords();

const LONGEST_NAME = 60;

/** Opens the dialog that exports a conversation. */
export function exportSession(session: Session): void {
  const choices = ["text", "markdown", "json"].map((format) =>
    h("input", { type: "radio", name: "format", value: format, checked: format === "markdown" }),
  );
  const thinking = h("input", { type: "checkbox" });
  const withThinking = h("label", { class: "check" }, thinking, h("span", null, t("export.thinking")));
  const about = h("p", { class: "muted small" });
  const draw = (): void => {
    const format = choices.find((one) => one.checked)?.value;
    show(withThinking, format === "markdown");
    say(
      about,
      format === "json" ? "" : format === "markdown" && thinking.checked ? t("export.with") : t("export.without"),
    );
  };
  const save = async (): Promise<void> => {
    const format = choices.find((one) => one.checked)?.value ?? "markdown";
    const style = format === "markdown" ? `&thinking=${thinking.checked ? "details" : "omit"}` : "";
    const response = await request(`/api/sessions/${session.id}/export?format=${format}${style}`);
    const [ending = ""] = /\.\w+(?="$)/.exec(response.headers.get("Content-Disposition") ?? "") ?? [];
    saveFile(await response.blob(), fileName(session.title) + ending);
    if (response.headers.get("Thinkaloud-Left-Out")) notify(t("export.running"));
    close();
  };
  const { close } = open(
    t("export.title"),
    "small",
    h(
      "div",
      { class: "stack", role: "radiogroup", "aria-label": t("export.title") },
      ...choices.map((one) => h("label", { class: "check" }, one, h("span", null, t(`export.${one.value}`)))),
    ),
    withThinking,
    about,
    h(
      "footer",
      { class: "dialog-foot" },
      button(t("export.download"), "download", () => void save().catch(showError), { class: "primary" }),
    ),
  );
  for (const one of [...choices, thinking]) one.addEventListener("change", draw);
  draw();
}

/** Has the browser save a file. */
export function saveFile(content: Blob, name: string): void {
  const url = URL.createObjectURL(content);
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** A title as the name of a file, in its own letters: what a header can hold are those of English. */
export function fileName(title: string): string {
  const words = title.normalize().match(/[\p{L}\p{M}\p{N}]+/gu) ?? ["session"];
  return [...words.join("-").toLowerCase()].slice(0, LONGEST_NAME).join("");
}

/** Has the person choose a file to import. */
export function chooseImport(page: PageContext): void {
  const file = h("input", { type: "file", accept: ".md,.json,.markdown,text/markdown,application/json" });
  file.addEventListener("change", () => {
    const [chosen] = file.files ?? [];
    if (chosen) void importSession(page, chosen).catch(showError);
  });
  file.click();
}

/** Makes a conversation from a file, and opens it. */
async function importSession(page: PageContext, file: File): Promise<void> {
  const json = file.name.endsWith(".json") || file.type === "application/json";
  const session = await requestJson<Session>("/api/import", {
    body: await file.text(),
    type: json ? "application/json" : "text/markdown",
  });
  notify(t("import.done", { name: session.title || file.name }));
  page.go({ session: session.id });
  page.sessionChanged(session.id);
}
