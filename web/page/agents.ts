/** Agents: those of the workspace, and a form that offers thinking only where the model can think. */

import { type Agent, type Model, type NewAgent, type OwnAgent, requestJson } from "./api.js";
import { type AgentList, builtIn, builtInName, findModel, levelsOf, loadAgents, loadModels } from "./catalog.js";
import { addDialogWords } from "./dialog-words.js";
import { confirmed, open } from "./dialogs.js";
import { button, h, say, show } from "./dom.js";
import type { PageContext } from "./page-context.js";
import { ability } from "./picker.js";
import { DEFAULT_CHOICE } from "./preferences.js";
import { notify, showError } from "./toasts.js";
import { t } from "./words.js";

addDialogWords();

/** Opens the dialog of agents. */
export async function openAgents(page: PageContext): Promise<void> {
  const [agents, models] = await Promise.all([loadAgents(), loadModels()]);
  const { items, own } = agents;
  const { body, close } = open(t("agents"), "");
  const use = ({ id, name }: Agent | OwnAgent): void => {
    page.choose({ ...DEFAULT_CHOICE, agent: id, name });
    close();
  };
  const again = (): void => {
    close();
    void openAgents(page).catch(showError);
  };
  const edit = (agent: Agent | null) => () => openForm(page, agent, models, agents, again);
  body.append(
    h("p", { class: "muted" }, t("agents.about")),
    h(
      "ul",
      { class: "cards" },
      ...items.map((agent) => card(agent, () => use(agent), agent.yours ? edit(agent) : null)),
      ...own.map((agent) => card(agent, () => use(agent), null)),
    ),
    items[0] || own[0] ? "" : h("p", { class: "muted pad" }, t("agents.none")),
    h("footer", { class: "dialog-foot" }, button(t("agents.new"), "plus", edit(null), { class: "primary" })),
  );
}

function card(agent: Agent | OwnAgent, use: () => void, edit: (() => void) | null): HTMLElement {
  const about = "description" in agent && agent.description ? (agent.description as string) : agent.model;
  return h(
    "li",
    { class: "card" },
    h(
      "div",
      { class: "card-text" },
      h("strong", { dir: "auto" }, agent.name),
      h("span", { class: "muted small" }, about),
    ),
    edit && button(t("agents.edit_one", { name: agent.name }), "pencil", edit, { bare: true, class: "quiet" }),
    h(
      "button",
      { type: "button", class: "plain", "aria-label": t("agents.use_one", { name: agent.name }), onclick: use },
      t("agents.use"),
    ),
  );
}

function openForm(
  page: PageContext,
  agent: Agent | null,
  models: Model[],
  { items, tools }: AgentList,
  done: () => void,
): void {
  const description = h("input", { class: "input", maxlength: 1000, "aria-describedby": "agent-description-hint" });
  const uses = checks(
    "uses",
    tools.map((tool) => [tool, tool]),
    agent?.uses ?? [],
  );
  const others = items.filter(({ id }) => id !== agent?.id);
  const assistants = checks(
    "assistants",
    others.map(({ id, name }) => [id, name]),
    agent?.assistants ?? [],
  );
  description.value = agent?.description ?? "";
  const name = h("input", { class: "input", required: true, maxlength: 64, autocomplete: "off" });
  const model = h("input", {
    class: "input",
    required: true,
    maxlength: 200,
    list: "agent-models",
    autocomplete: "off",
    spellcheck: "false",
  });
  const system = h("textarea", { class: "input", rows: 4, "aria-describedby": "agent-system-hint" });
  const thinking = h("input", { type: "checkbox" });
  const depth = h("select", { class: "input" });
  const budget = h("input", { class: "input", type: "number", min: 1, max: 10_000_000, step: 1, inputmode: "numeric" });
  const reason = h("p", { class: "muted small", role: "note" });
  const toggle = h("label", { class: "check" }, thinking, h("span", null, t("agent.thinking")));
  const depthField = h("label", { class: "field" }, h("span", null, t("agent.depth")), depth);
  const budgetField = h("label", { class: "field" }, h("span", null, t("agent.budget")), budget);
  name.value = agent?.name ?? "";
  model.value = agent?.model ?? builtInName();
  system.value = agent?.system ?? "";
  thinking.checked = agent?.thinking ?? true;
  budget.value = String(agent?.budget_tokens ?? 8192);
  let wanted = agent?.budget_tokens != null ? "budget" : (agent?.level ?? "");

  const draw = (): void => {
    const row = findModel(model.value.trim());
    const can = !row || row.thinking_toggle;
    show(toggle, can);
    say(
      reason,
      !row
        ? t("agent.unknown")
        : row.thinking === "optional"
          ? ability(row)
          : t(`reason.${row.thinking}`, { name: row.id }),
    );
    const depths = [
      "",
      ...levelsOf(row).filter((level) => level !== "off"),
      ...(!row || row.control.includes("budget") ? ["budget"] : []),
    ];
    if (!depths.includes(wanted)) wanted = "";
    depth.replaceChildren(
      ...depths.map((one) =>
        h(
          "option",
          { value: one, selected: one === wanted },
          t(one === "budget" ? "agent.depth.budget" : one ? `agent.level.${one}` : "agent.depth.default"),
        ),
      ),
    );
    show(depthField, can && thinking.checked && depths.length > 1);
    show(budgetField, can && thinking.checked && wanted === "budget");
    budget.required = !budgetField.hidden;
  };
  model.addEventListener("input", draw);
  thinking.addEventListener("change", draw);
  depth.addEventListener("change", () => {
    wanted = depth.value;
    draw();
  });

  const save = button(t("save"), null, () => undefined, { class: "primary", type: "submit" });
  const node = h(
    "form",
    { class: "stack" },
    h("label", { class: "field" }, h("span", null, t("agent.name")), name),
    h("label", { class: "field" }, h("span", null, t("agent.model")), model),
    h(
      "datalist",
      { id: "agent-models" },
      ...models.map((model) => h("option", { value: builtIn(model) ? builtInName() : model.id })),
    ),
    h(
      "div",
      { class: "field" },
      h("label", { class: "field" }, h("span", null, t("agent.system")), system),
      h("span", { id: "agent-system-hint", class: "muted small" }, t("agent.system.hint")),
    ),
    h(
      "div",
      { class: "field" },
      h("label", { class: "field" }, h("span", null, t("agent.description")), description),
      h("span", { id: "agent-description-hint", class: "muted small" }, t("agent.description.hint")),
    ),
    uses.node,
    assistants.node,
    h(
      "fieldset",
      { class: "stack" },
      h("legend", null, t("think")),
      toggle,
      reason,
      depthField,
      budgetField,
      h("p", { class: "muted small" }, t("agent.display")),
    ),
    h(
      "footer",
      { class: "dialog-foot" },
      agent && button(t("delete"), "trash", () => void remove().catch(showError), { class: "danger quiet-danger" }),
      h("span", { class: "grow" }),
      save,
    ),
  );
  const { close } = open(agent ? t("agents.edit") : t("agents.new"), "", node);
  const remove = async (): Promise<void> => {
    if (!agent || !(await confirmed(t("agent.delete.sure", { name: agent.name }), t("delete")))) return;
    await requestJson(`/api/agents/${agent.id}`, { method: "DELETE" });
    if (page.composer.choice.agent === agent.id) page.composer.choose(DEFAULT_CHOICE);
    close();
    done();
  };
  node.addEventListener("submit", (event) => {
    event.preventDefault();
    const row = findModel(model.value.trim());
    const thinks = thinking.checked && (!row || row.thinking_toggle);
    const body: NewAgent = {
      ...rest(agent),
      name: name.value.trim(),
      description: description.value.trim(),
      uses: uses.chosen(),
      assistants: assistants.chosen(),
      model: model.value.trim(),
      system: system.value,
      thinking: thinks,
      level: thinks && wanted && wanted !== "budget" ? wanted : null,
      budget_tokens: thinks && wanted === "budget" ? Number(budget.value) : null,
    };
    save.disabled = true;
    requestJson<Agent>(agent ? `/api/agents/${agent.id}` : "/api/agents", { method: agent ? "PUT" : "POST", body })
      .then((kept) => {
        notify(t("saved"));
        if (page.composer.choice.agent === kept.id) page.composer.choose({ ...page.composer.choice, name: kept.name });
        close();
        done();
      }, showError)
      .finally(() => (save.disabled = false));
  });
  draw();
  name.focus();
}

/** Boxes to check, of what an agent may use. What it uses and nobody lists any more can be unchecked. */
function checks(
  name: string,
  options: [id: string, name: string][],
  chosen: string[],
): { node: HTMLElement; chosen(): string[] } {
  const gone = chosen.filter((id) => !options.some(([known]) => known === id)).map((id): [string, string] => [id, id]);
  const boxes = [...options, ...gone].map(([id, label]) => {
    const box = h("input", { type: "checkbox", value: id, checked: chosen.includes(id) });
    return { box, node: h("label", { class: "check" }, box, h("span", { dir: "auto" }, label)) };
  });
  const about = boxes[0] || name !== "uses" ? t(`agent.${name}.about`) : t("agent.uses.none");
  const node = h(
    "fieldset",
    { class: "stack", hidden: !boxes[0] && name !== "uses" },
    h("legend", null, t(`agent.${name}`)),
    h("p", { class: "muted small" }, about),
    h("div", { class: "checks" }, ...boxes.map(({ node }) => node)),
  );
  return { node, chosen: () => boxes.filter(({ box }) => box.checked).map(({ box }) => box.value) };
}

/** What this form does not show of an agent stays as it was. */
function rest(agent: Agent | null): Record<string, unknown> {
  const { id: _, yours: __, created_ms: ___, updated_ms: ____, ...more } = agent ?? ({} as Partial<Agent>);
  return more;
}
