/** The versions of an answer: which one is shown, the way to the others, and all of them side by side. */

import { type Attached, joined } from "./attachments.js";
import { loadMessages } from "./chat-requests.js";
import { addDialogWords } from "./dialog-words.js";
import { open } from "./dialogs.js";
import { button, h } from "./dom.js";
import { EditBox } from "./edit-box.js";
import { Exchange, type ExchangeHost } from "./exchange.js";
import { showError } from "./toasts.js";
import { t } from "./words.js";

addDialogWords();

/** The questions that are being edited, by their turns: they stay while another conversation or another language is shown. */
const drafts = new Map<string, EditBox>();

/** Adds what can be done with a question: edit it, and go to other versions of it. */
export function addQuestionTools(exchange: Exchange): void {
  const { promptsNode, versions, id } = exchange;
  const edit = (): void => editPrompt(exchange).focus();
  const bubble = promptsNode.lastElementChild;
  const row = h(
    "div",
    { class: "question-row" },
    button(t("edit"), "pencil", edit, { bare: true, class: "quiet edit-prompt" }),
  );
  // The button stands beside the question, so that nothing moves when it comes.
  bubble?.replaceWith(row);
  if (bubble) row.append(bubble);
  if (versions[1]) promptsNode.append(versionsNode(exchange));
  if (drafts.has(id)) editPrompt(exchange);
}

/** ‹ 2/3 ›, and a button that compares them. */
function versionsNode({ id, versions, host }: Exchange): HTMLElement {
  const at = versions.indexOf(id);
  const step = (name: string, by: number): HTMLElement =>
    button(name, by < 0 ? "left" : "right", () => host.showVersion(versions[at + by] as string), {
      bare: true,
      class: "quiet",
      disabled: !versions[at + by],
    });
  return h(
    "div",
    { class: "versions", role: "group", "aria-label": t("versions") },
    step(t("versions.previous"), -1),
    h("span", { class: "muted small" }, `${at + 1}/${versions.length}`),
    step(t("versions.next"), 1),
    button(t("versions.compare"), "compare", () => void compare(host, versions).catch(showError), {
      bare: true,
      class: "quiet",
    }),
  );
}

/** Shows every version beside the others, each with its question and its thinking. */
async function compare(host: ExchangeHost, versions: string[]): Promise<void> {
  const pages = await Promise.all(versions.map((turn) => loadMessages(host.session(), 1, { turn })));
  const columns = pages.map(({ items }, index) => {
    const id = versions[index] as string;
    const exchange = new Exchange(id, host);
    for (const message of items) if (message.turn === id) exchange.showMessage({ ...message, versions: [] });
    exchange.node.removeAttribute("id");
    return h("section", { "aria-label": `${index + 1}/${versions.length}` }, exchange.node);
  });
  open(t("versions.compare"), "wide compare", h("div", { class: "columns" }, ...columns));
}

/** A field in the place of a question, to ask another one there. */
function editPrompt({ promptsNode, prompt, id, host, attached }: Exchange): EditBox {
  const left = (): void => {
    drafts.delete(id);
    box.node.replaceWith(promptsNode);
  };
  const done = async (text: string, more: Attached): Promise<boolean> => {
    const asked = await host.replace(id, text, joined(attached, more));
    if (asked) left();
    return asked;
  };
  const box = new EditBox(prompt, { name: t("send"), done, left }, drafts.get(id));
  drafts.set(id, box);
  promptsNode.replaceWith(box.node);
  return box;
}
