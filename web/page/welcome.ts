/** What a new conversation begins with: three puzzles one click away, and the way to a real model. */

import { keyedProviders, loadModels } from "./catalog.js";
import { addIcons, button, h, icon } from "./dom.js";
import { MORE_PATHS } from "./more-icons.js";
import type { PageContext } from "./page-context.js";
import { DEFAULT_CHOICE } from "./preferences.js";
import { addWords, currentLanguage, t } from "./words.js";

addIcons(MORE_PATHS);
// biome-ignore format: a word per line, both languages side by side
addWords({
  "welcome.title": ["Ask, and watch it think", "Pergunte e veja o pensamento"],
  "welcome.text": ["Nothing to set up: the built-in solver works right here, without a key and without the network, and shows every step it takes.", "Nada para configurar: o solucionador embutido funciona aqui mesmo, sem chave e sem rede, e mostra cada passo que dá."],
  "welcome.try": ["Try a puzzle", "Experimente um desafio"],
  "puzzle.1": ["make 24 from 4 7 8 8", "faça 24 com 4 7 8 8"],
  "puzzle.1.about": ["Four numbers, one target", "Quatro números, um alvo"],
  "puzzle.2": ["A says B is a knave. B says we are both knights.", "A diz que B é patife. B diz que ambos somos cavaleiros."],
  "puzzle.2.about": ["Who tells the truth?", "Quem diz a verdade?"],
  "puzzle.3": ["how many days between 2026-01-01 and 2026-11-15", "quantos dias entre 2026-01-01 e 2026-11-15"],
  "puzzle.3.about": ["Days between two dates", "Dias entre duas datas"],
  "connect.title": ["Connect a real model", "Conecte um modelo de verdade"],
  "connect.key": ["Set a key before the gateway starts, for example", "Defina uma chave antes de iniciar o gateway, por exemplo"],
  "connect.local": ["or run a server of your own: Ollama, llama.cpp, vLLM or LM Studio.", "ou use um servidor seu: Ollama, llama.cpp, vLLM ou LM Studio."],
  "connect.safe": ["Keys stay on the gateway. This page never sees one.", "As chaves ficam no gateway. Esta página nunca vê nenhuma."],
  "connect.ready": ["{n} model is ready|{n} models are ready", "{n} modelo está pronto|{n} modelos estão prontos"],
  "connect.found": ["The gateway has a key for {names}. Choose a model, and ask.", "O gateway tem uma chave para {names}. Escolha um modelo e pergunte."],
});

export function welcome(page: PageContext): HTMLElement {
  return h(
    "div",
    { class: "welcome" },
    h("span", { class: "logo large" }, icon("thought")),
    h("h2", null, t("welcome.title")),
    h("p", { class: "lead" }, t("welcome.text")),
    h("h3", null, t("welcome.try")),
    h("div", { class: "puzzles" }, ...[1, 2, 3].map((n) => puzzle(page, n))),
    connectCard(page),
  );
}

function puzzle({ composer }: PageContext, n: number): HTMLElement {
  const ask = (): void => {
    if (composer.busy) return;
    composer.choose(DEFAULT_CHOICE);
    composer.put(t(`puzzle.${n}`));
    void composer.submit();
  };
  return h(
    "button",
    { type: "button", class: "puzzle", onclick: ask },
    h("span", { class: "puzzle-about" }, t(`puzzle.${n}.about`)),
    h("span", { class: "puzzle-text" }, t(`puzzle.${n}`).replace(/-/g, "\u2011")),
  );
}

/** The way to a real model: keys, a server of one's own, and what the gateway has already. */
function connectCard(page: PageContext): HTMLElement {
  const ready = h("p", { class: "muted small" });
  const found = h("p", { class: "key-found" });
  const keys = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY"].flatMap((key) => [
    h("code", null, key),
    ", ",
  ]);
  void loadModels().then(
    (models) => {
      const n = models.filter(({ ready }) => ready === "key").length;
      if (!n) return;
      ready.textContent = t("connect.ready", { n });
      const names = new Intl.ListFormat(currentLanguage(), { type: "conjunction" }).format(keyedProviders());
      found.replaceChildren(icon("check"), t("connect.found", { names }));
    },
    () => undefined, // they are loaded again when somebody chooses one
  );
  return h(
    "section",
    { class: "connect" },
    h("h3", null, icon("key"), t("connect.title")),
    found,
    h("p", null, `${t("connect.key")} `, ...keys, t("connect.local")),
    h("p", { class: "muted small" }, t("connect.safe")),
    h(
      "div",
      { class: "row" },
      button(t("connect.choose"), null, () => page.pickAnswerer(), { class: "plain" }),
      ready,
    ),
  );
}
