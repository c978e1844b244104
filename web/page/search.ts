/** Search over everything that was asked, answered and thought; a hit opens the conversation at its place. */

import { type Paged, requestJson, type SearchHit } from "./api.js";
import { addDialogWords } from "./dialog-words.js";
import { arrows, open } from "./dialogs.js";
import { button, composing, h, say } from "./dom.js";
import type { PageContext } from "./page-context.js";
import { foundWords, readSnippet, snippetNodes } from "./snippet.js";
import { showError } from "./toasts.js";
import { formatMoment, t } from "./words.js";

addDialogWords();

const SCOPES = ["prompts", "answers", "thoughts", "tools"];
const PAUSE_MS = 180;

/** Opens the search dialog. */
export async function openSearch(page: PageContext): Promise<void> {
  if (document.querySelector("dialog.search")) return;
  const words = h("input", {
    class: "input",
    type: "search",
    autofocus: true,
    placeholder: t("search.hint"),
    "aria-label": t("search.label"),
    autocomplete: "off",
    spellcheck: "false",
    maxlength: 1000,
  });
  const boxes = SCOPES.map((scope) =>
    h("input", { type: "checkbox", value: scope, checked: !["thoughts", "tools"].includes(scope) }),
  );
  const count = h("p", { class: "muted small", role: "status" });
  const list = h("ul", { class: "hits" });
  const more = h("div");
  const { close } = open(
    t("search.label"),
    "tall search",
    words,
    h(
      "div",
      { class: "checks" },
      ...boxes.map((box) => h("label", { class: "check" }, box, h("span", null, t(`search.${box.value}`)))),
    ),
    count,
    list,
    more,
  );
  let waiting = 0;
  let asking = new AbortController();

  const look = async (after = ""): Promise<void> => {
    asking.abort();
    asking = new AbortController();
    const scope = boxes
      .filter((box) => box.checked)
      .map((box) => box.value)
      .join(",");
    const q = words.value.trim();
    if (!q || !scope) {
      list.replaceChildren();
      more.replaceChildren();
      return say(count, t("search.start"));
    }
    const { signal } = asking;
    const found = await requestJson<Paged<SearchHit>>(
      `/api/search?q=${encodeURIComponent(q)}&scope=${scope}&limit=30${after && `&after=${after}`}`,
      { signal },
    );
    if (!after) list.replaceChildren();
    list.append(...found.items.map((hit) => h("li", null, row(hit))));
    more.replaceChildren(
      found.next ? button(t("more"), null, () => void look(found.next).catch(showError), { class: "plain more" }) : "",
    );
    say(
      count,
      list.childElementCount
        ? t("search.found", { n: list.childElementCount }) + (found.next ? " …" : "")
        : t("search.none"),
    );
  };
  const row = (hit: SearchHit): HTMLElement => {
    const snippet = readSnippet(hit);
    return h(
      "button",
      {
        type: "button",
        class: "hit",
        onclick: () => {
          close();
          const place = { session: hit.session, turn: hit.turn, block: hit.block };
          page.showHit({ place, query: words.value.trim(), words: foundWords(snippet) });
        },
      },
      h(
        "span",
        { class: "hit-head" },
        h("span", { class: `kind ${hit.kind}` }, t(`kind.${hit.kind}`)),
        h("strong", { dir: "auto" }, hit.session_title || t("untitled")),
        h("time", { class: "muted small" }, formatMoment(hit.created_ms)),
      ),
      h("span", { class: "hit-text", dir: "auto" }, ...snippetNodes(snippet)),
    );
  };
  const soon = (): void => {
    clearTimeout(waiting);
    waiting = window.setTimeout(() => void look().catch(showError), PAUSE_MS);
  };
  words.addEventListener("input", soon);
  for (const box of boxes) box.addEventListener("change", soon);
  words.addEventListener("keydown", (event) => {
    if (composing(event)) return;
    if (event.key === "ArrowDown") list.querySelector("button")?.focus();
    else if (event.key === "Enter") list.querySelector("button")?.click();
    else return;
    event.preventDefault();
  });
  arrows(list, words);
  await look();
}
