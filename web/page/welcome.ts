/** What a new conversation begins with: three puzzles one click away, and the way to a real model. */

import { loadModels } from "./catalog.js";
import { button, h, icon } from "./dom.js";
import type { PageContext } from "./page-context.js";
import { DEFAULT_CHOICE } from "./preferences.js";
import { t } from "./words.js";

export function welcome(page: PageContext): HTMLElement {
  const puzzles = [1, 2, 3].map((n) =>
    h(
      "button",
      {
        type: "button",
        class: "puzzle",
        onclick: () => {
          if (page.composer.busy) return;
          page.composer.choose(DEFAULT_CHOICE);
          page.composer.put(t(`puzzle.${n}`));
          void page.composer.submit();
        },
      },
      h("span", { class: "puzzle-about" }, t(`puzzle.${n}.about`)),
      h("span", { class: "puzzle-text" }, t(`puzzle.${n}`).replace(/-/g, "\u2011")),
    ),
  );
  const ready = h("p", { class: "muted small" });
  void loadModels().then(
    (models) => {
      const n = models.filter(({ ready }) => ready === "key").length;
      if (n) ready.textContent = t("connect.ready", { n });
    },
    () => undefined,
  );
  return h(
    "div",
    { class: "welcome" },
    h("span", { class: "logo large" }, icon("thought")),
    h("h2", null, t("welcome.title")),
    h("p", { class: "lead" }, t("welcome.text")),
    h("h3", null, t("welcome.try")),
    h("div", { class: "puzzles" }, ...puzzles),
    h(
      "section",
      { class: "connect" },
      h("h3", null, icon("key"), t("connect.title")),
      h(
        "p",
        null,
        `${t("connect.key")} `,
        h("code", null, "ANTHROPIC_API_KEY"),
        ", ",
        h("code", null, "OPENAI_API_KEY"),
        ", ",
        h("code", null, "OPENROUTER_API_KEY"),
        ", ",
        t("connect.local"),
      ),
      h("p", { class: "muted small" }, t("connect.safe")),
      h(
        "div",
        { class: "row" },
        button(
          t("connect.choose"),
          null,
          () => void import("./picker.js").then(({ pickAnswerer }) => pickAnswerer(page)),
          { class: "plain" },
        ),
        ready,
      ),
    ),
  );
}
