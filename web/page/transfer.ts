/** Conversations as files: out with or without thinking, and in again. */

import { call, request, type Session } from "./api.js";
import { open } from "./dialogs.js";
import { button, h, say, show } from "./dom.js";
import { learnMore } from "./more-words.js";
import { complain, note } from "./saying.js";
import { page } from "./shell.js";
import { t } from "./words.js";

learnMore();

const LONGEST_NAME = 60;

/** Export the open conversation. */
export function give(): void {
  const { session } = page.chat;
  if (!session) return;
  const choices = ["text", "markdown", "json"].map((format) => h("input", { type: "radio", name: "format", value: format, checked: format === "markdown" }));
  const thinking = h("input", { type: "checkbox" });
  const withThinking = h("label", { class: "check" }, thinking, h("span", null, t("export.thinking")));
  const told = h("p", { class: "muted small" });
  const draw = (): void => {
    const format = choices.find((one) => one.checked)?.value;
    show(withThinking, format === "markdown");
    say(told, format === "json" ? "" : format === "markdown" && thinking.checked ? t("export.with") : t("export.without"));
  };
  const save = async (): Promise<void> => {
    const format = choices.find((one) => one.checked)?.value ?? "markdown";
    const style = format === "markdown" ? `&thinking=${thinking.checked ? "details" : "omit"}` : "";
    const response = await request(`/api/sessions/${session.id}/export?format=${format}${style}`);
    const [ending = ""] = /\.\w+(?="$)/.exec(response.headers.get("Content-Disposition") ?? "") ?? [];
    const url = URL.createObjectURL(await response.blob());
    h("a", { href: url, download: fileName(session.title) + ending }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
    if (response.headers.get("Thinkaloud-Left-Out")) note(t("export.running"));
    close();
  };
  const { close } = open(
    t("export.title"),
    "small",
    h("div", { class: "stack", role: "radiogroup", "aria-label": t("export.title") }, ...choices.map((one) => h("label", { class: "check" }, one, h("span", null, t(`export.${one.value}`))))),
    withThinking,
    told,
    h("footer", { class: "dialog-foot" }, button(t("export.download"), "download", () => void save().catch(complain), { class: "primary" })),
  );
  for (const one of [...choices, thinking]) one.addEventListener("change", draw);
  draw();
}

/** A title as the name of a file, in its own letters: what a header can hold are those of English. */
function fileName(title: string): string {
  const words = title.normalize().match(/[\p{L}\p{M}\p{N}]+/gu) ?? ["session"];
  return [...words.join("-").toLowerCase()].slice(0, LONGEST_NAME).join("");
}

/** Make a conversation from a file, and open it. */
export async function take(file: File): Promise<void> {
  const json = file.name.endsWith(".json") || file.type === "application/json";
  const session = await call<Session>("/api/import", { body: await file.text(), type: json ? "application/json" : "text/markdown" });
  note(t("import.done", { name: session.title || file.name }));
  page.go({ session: session.id });
  page.stirred(session.id);
}
