/** Search over everything that was asked, answered and thought; a hit opens the conversation at its place. */

import { type Paged, requestJson, type SearchHit } from "./api.js";
import { addDialogWords, formatMoment } from "./dialog-words.js";
import { arrows, open } from "./dialogs.js";
import { button, h, say } from "./dom.js";
import type { PageContext } from "./page-context.js";
import { foundWords, readSnippet, snippetNodes } from "./snippet.js";
import { showError } from "./toasts.js";
import { t } from "./words.js";

addDialogWords();

const SCOPES = ["prompts", "answers", "thoughts", "tools"];
/** Where it searches at first. */
const FIRST_SCOPES = ["prompts", "answers"];
const PAUSE_MS = 180;

/** Opens the search dialog. */
export async function openSearch(page: PageContext): Promise<void> {
  if (document.querySelector("dialog.search")) return;
  await new SearchDialog(page).search();
}

class SearchDialog {
  private words = h("input", {
    class: "input",
    type: "search",
    autofocus: true,
    placeholder: t("search.hint"),
    "aria-label": t("search.label"),
    autocomplete: "off",
    spellcheck: "false",
    maxlength: 1000,
  });
  private scopes = SCOPES.map((scope) =>
    h("input", { type: "checkbox", value: scope, checked: FIRST_SCOPES.includes(scope) }),
  );
  private count = h("p", { class: "muted small", role: "status" });
  private list = h("ul", { class: "hits" });
  private more = h("div");
  private close: () => void;
  private timer = 0;
  private request = new AbortController();

  constructor(private page: PageContext) {
    const checks = this.scopes.map((box) =>
      h("label", { class: "check" }, box, h("span", null, t(`search.${box.value}`))),
    );
    const parts = [this.words, h("div", { class: "checks" }, ...checks), this.count, this.list, this.more];
    this.close = open(t("search.label"), "tall search", ...parts).close;
    this.words.addEventListener("input", () => this.searchSoon());
    for (const box of this.scopes) box.addEventListener("change", () => this.searchSoon());
    arrows(this.list, this.words);
  }

  /** Searches; `after` names the hit after which the list goes on. */
  async search(after = ""): Promise<void> {
    this.request.abort();
    this.request = new AbortController();
    const { signal } = this.request;
    const chosen = this.scopes.filter((box) => box.checked).map((box) => box.value);
    const query = this.words.value.trim();
    if (!query || !chosen[0]) {
      this.list.replaceChildren();
      this.more.replaceChildren();
      return say(this.count, t("search.start"));
    }
    const parameters = new URLSearchParams({ q: query, scope: chosen.join(), limit: "30", ...(after && { after }) });
    this.show(await requestJson<Paged<SearchHit>>(`/api/search?${parameters}`, { signal }), after);
  }

  private searchSoon(): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.search().catch(showError), PAUSE_MS);
  }

  private show({ items, next }: Paged<SearchHit>, after: string): void {
    const { list, more } = this;
    if (!after) list.replaceChildren();
    list.append(...items.map((hit) => h("li", null, this.row(hit))));
    more.replaceChildren();
    if (next)
      more.append(button(t("more"), null, () => void this.search(next).catch(showError), { class: "plain more" }));
    const n = list.childElementCount;
    say(this.count, n ? t("search.found", { n }) + (next ? " …" : "") : t("search.none"));
  }

  private row(hit: SearchHit): HTMLElement {
    const snippet = readSnippet(hit);
    const openHit = (): void => {
      this.close();
      const place = { session: hit.session, turn: hit.turn, block: hit.block };
      this.page.showHit({ place, query: this.words.value.trim(), words: foundWords(snippet) });
    };
    return h(
      "button",
      { type: "button", class: "hit", onclick: openHit },
      h(
        "span",
        { class: "hit-head" },
        h("span", { class: `kind ${hit.kind}` }, t(`kind.${hit.kind}`)),
        h("strong", { dir: "auto" }, hit.session_title || t("new")),
        h("time", { class: "muted small" }, formatMoment(hit.created_ms)),
      ),
      h("span", { class: "hit-text", dir: "auto" }, ...snippetNodes(snippet)),
    );
  }
}
