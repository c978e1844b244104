/** Who answers: every agent and every model, with what its thinking can do. */

import type { Agent, Model, OwnAgent } from "./api.js";
import { builtIn, loadAgents, loadModels, modelTitle } from "./catalog.js";
import { addDialogWords } from "./dialog-words.js";
import { arrows, open } from "./dialogs.js";
import { h, icon } from "./dom.js";
import type { PageContext } from "./page-context.js";
import { type Choice, DEFAULT_CHOICE } from "./preferences.js";
import { hasWords, t } from "./words.js";

addDialogWords();

interface Row {
  group: string;
  choice: Choice;
  about: string;
}

/** Opens the dialog that chooses who answers. */
export async function pickAnswerer(page: PageContext): Promise<void> {
  const [models, { items, own }] = await Promise.all([loadModels(true), loadAgents()]);
  page.composer.draw();
  const rows = rowsOf(models, items, own);
  const filter = h("input", {
    class: "input",
    type: "search",
    autofocus: true,
    placeholder: t("picker.filter"),
    "aria-label": t("picker.filter"),
    autocomplete: "off",
    spellcheck: "false",
  });
  const list = h("div", { class: "rows" });
  const { close } = open(t("picker"), "tall", filter, list);
  const chosen = page.composer.choice;
  const choose = (choice: Choice): void => {
    page.choose(choice);
    close();
  };
  const draw = (): void => {
    const matching = filtered(rows, filter.value.trim());
    const groups = Map.groupBy(matching, ({ group }) => group);
    list.replaceChildren(
      ...Array.from(groups, ([title, members]) =>
        section(
          title,
          members.map((row) => option(row, chosen, choose)),
        ),
      ),
    );
    if (!matching[0]) list.append(h("p", { class: "muted pad" }, t("picker.none")));
  };
  filter.addEventListener("input", draw);
  arrows(list, filter);
  draw();
}

/** The rows that have these words; a provider may have models that no list names, so one can be typed. */
function filtered(rows: Row[], words: string): Row[] {
  const matching = rows.filter(({ choice, about }) =>
    `${choice.name} ${choice.model} ${about}`.toLowerCase().includes(words.toLowerCase()),
  );
  if (/^[\w.-]+\/\S+$/.test(words) && !matching.some(({ choice }) => choice.model === words))
    matching.push({ group: t("picker.typed"), choice: { ...DEFAULT_CHOICE, model: words, name: words }, about: "" });
  return matching;
}

function section(title: string, options: HTMLElement[]): HTMLElement {
  const items = options.map((node) => h("li", null, node));
  return h("section", null, title && h("h3", null, title), h("ul", null, ...items));
}

function option({ choice, about }: Row, chosen: Choice, take: (choice: Choice) => void): HTMLElement {
  const same = choice.agent === chosen.agent && choice.model === chosen.model;
  return h(
    "button",
    {
      type: "button",
      class: "option",
      "aria-pressed": String(same),
      onclick: () => take({ ...choice, thinking: same ? chosen.thinking : "" }),
    },
    h("span", { class: "option-name", dir: "auto" }, choice.name || modelTitle("")),
    h("span", { class: "option-about" }, about),
    same && icon("check"),
  );
}

function rowsOf(models: Model[], agents: Agent[], own: OwnAgent[]): Row[] {
  const one = (choice: Partial<Choice>): Choice => ({ ...DEFAULT_CHOICE, ...choice });
  const solver = models.find(builtIn);
  return [
    {
      group: "",
      choice: DEFAULT_CHOICE,
      about: solver ? `${t("picker.default")} · ${ability(solver)}` : t("picker.default"),
    },
    ...agents.map(({ id, name, model }) => ({
      group: t("picker.agents"),
      choice: one({ agent: id, name }),
      about: model,
    })),
    ...own.map(({ id, name, description, model }) => ({
      group: t("picker.house"),
      choice: one({ agent: id, name }),
      about: description || model,
    })),
    ...models
      .filter((model) => !builtIn(model))
      .sort((a, b) => rank(a) - rank(b))
      .map((model) => ({
        group: t(`picker.${model.ready || "nokey"}`),
        choice: one({ model: model.id, name: model.id }),
        about: `${ability(model)} · ${model.missing || model.providers.slice(0, 3).join(", ")}`,
      })),
  ];
}

function rank({ ready }: Model): number {
  return ["key", "own", "down", ""].indexOf(ready ?? "");
}

/** What a model's thinking can do, in a few words. */
export function ability({ thinking, control, visible }: Model): string {
  if (thinking === "none") return t("can.none");
  const facts = [t(`can.${thinking}`)];
  if (control.includes("budget")) facts.push(t("can.budget"));
  else if (control.some((one) => one !== "toggle")) facts.push(t("can.effort"));
  if (hasWords(`see.${visible}`)) facts.push(t(`see.${visible}`));
  return facts.join(" · ");
}
