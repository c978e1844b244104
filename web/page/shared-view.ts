/**
 * The script of a shared file: shows the conversation in it, without a network. Texts of models become text nodes and the
 * nodes of the formatter, as on the page.
 */

import { ThinkingBlockElement } from "../src/element/element.js";
import { Answer } from "./answer.js";
import { addDialogWords, formatMoment } from "./dialog-words.js";
import { h } from "./dom.js";
import type { SharedData, SharedExchange } from "./share.js";
import { currentLanguage, setLanguage, t } from "./words.js";

addDialogWords();
customElements.define("thinking-block", ThinkingBlockElement);
const data = JSON.parse(document.querySelector("#conversation")?.textContent ?? "") as SharedData;
setLanguage(data.language);
document.title = data.title;
document.body.append(
  h(
    "main",
    { class: "shared column" },
    h(
      "header",
      null,
      h("h1", { dir: "auto" }, data.title),
      h("p", { class: "muted small" }, t("shared.saved", { when: formatMoment(data.saved_ms) })),
    ),
    ...data.exchanges.map(exchangeNode),
  ),
);

function exchangeNode({ prompts, name, answer, entries }: SharedExchange): HTMLElement {
  const text = new Answer();
  text.set(answer, false);
  const block = document.createElement("thinking-block");
  block.setAttribute("lang", currentLanguage());
  block.strings = { step: t("step", { n: "{n}" }) };
  for (const entry of entries) block.feed(entry);
  return h(
    "article",
    { class: "exchange" },
    h(
      "div",
      { class: "asked" },
      ...prompts.map(({ text, images, files }) =>
        h(
          "div",
          { class: "bubble", dir: "auto" },
          h("h2", { class: "sr" }, t("you")),
          h("p", null, text),
          ...images.map(({ media_type, data }) =>
            h("img", { class: "picture", src: `data:${media_type};base64,${data}`, alt: t("picture") }),
          ),
          ...files.map((file) => h("p", { class: "muted" }, file)),
        ),
      ),
    ),
    h(
      "div",
      { class: "reply" },
      h("h2", { class: "sr" }, t("answer_by", { name })),
      entries[0] && block,
      text.node,
      h("p", { class: "muted small" }, name),
    ),
  );
}
