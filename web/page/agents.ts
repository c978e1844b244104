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
  const edit = (agent: Agent | null) => () => void new AgentForm(page, agent, models, agents, again);
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

/** A labelled field of the form, with a hint below it where there is one. */
function field(label: string, input: HTMLElement, hint = ""): HTMLElement {
  const node = h("label", { class: "field" }, h("span", null, t(label)), input);
  if (!hint) return node;
  const id = `${hint.replaceAll(".", "-")}`;
  input.setAttribute("aria-describedby", id);
  return h("div", { class: "field" }, node, h("span", { id, class: "muted small" }, t(hint)));
}

/** The depths of thinking that a model offers: its own, its levels, or a number of tokens. */
function depthsOf(row: Model | undefined): string[] {
  const levels = levelsOf(row).filter((level) => level !== "off");
  const budget = !row || row.control.includes("budget");
  return ["", ...levels, ...(budget ? ["budget"] : [])];
}

function depthText(depth: string): string {
  if (!depth) return t("agent.depth.default");
  return t(depth === "budget" ? "agent.depth.budget" : `agent.level.${depth}`);
}

/** Why thinking can or cannot be chosen. */
function thinkingText(row: Model | undefined): string {
  if (!row) return t("agent.unknown");
  return row.thinking === "optional" ? ability(row) : t(`reason.${row.thinking}`, { name: row.id });
}

/** The form of one agent; a new one where there is none. */
class AgentForm {
  private name = h("input", { class: "input", required: true, maxlength: 64, autocomplete: "off" });
  private description = h("input", { class: "input", maxlength: 1000 });
  private model = h("input", {
    class: "input",
    required: true,
    maxlength: 200,
    list: "agent-models",
    autocomplete: "off",
    spellcheck: "false",
  });
  private system = h("textarea", { class: "input", rows: 4 });
  private thinking = h("input", { type: "checkbox" });
  private toggle = h("label", { class: "check" }, this.thinking, h("span", null, t("agent.thinking")));
  private reason = h("p", { class: "muted small", role: "note" });
  private depth = h("select", { class: "input" });
  private depthField = field("agent.depth", this.depth);
  private budget = h("input", {
    class: "input",
    type: "number",
    min: 1,
    max: 10_000_000,
    step: 1,
    inputmode: "numeric",
  });
  private budgetField = field("agent.budget", this.budget);
  private uses: Checks;
  private assistants: Checks;
  private save = button(t("save"), null, () => undefined, { class: "primary", type: "submit" });
  /** The depth that is wanted, also while a model is named that does not offer it. */
  private wanted: string;
  private close: () => void;

  constructor(
    private page: PageContext,
    private agent: Agent | null,
    models: Model[],
    { items, tools }: AgentList,
    private done: () => void,
  ) {
    const others = items.filter(({ id }) => id !== agent?.id);
    this.uses = checks("uses", named(tools), agent?.uses ?? []);
    this.assistants = checks(
      "assistants",
      others.map(({ id, name }) => [id, name]),
      agent?.assistants ?? [],
    );
    this.name.value = agent?.name ?? "";
    this.description.value = agent?.description ?? "";
    this.model.value = agent?.model ?? builtInName();
    this.system.value = agent?.system ?? "";
    this.thinking.checked = agent?.thinking ?? true;
    this.budget.value = String(agent?.budget_tokens ?? 8192);
    this.wanted = agent?.budget_tokens != null ? "budget" : (agent?.level ?? "");
    const form = this.form(models);
    this.listen(form);
    this.close = open(agent ? t("agents.edit") : t("agents.new"), "", form).close;
    this.draw();
    this.name.focus();
  }

  private form(models: Model[]): HTMLFormElement {
    const names = models.map((model) => h("option", { value: builtIn(model) ? builtInName() : model.id }));
    const remove = (): void => void this.remove().catch(showError);
    return h(
      "form",
      { class: "stack" },
      field("agent.name", this.name),
      field("agent.model", this.model),
      h("datalist", { id: "agent-models" }, ...names),
      field("agent.system", this.system, "agent.system.hint"),
      field("agent.description", this.description, "agent.description.hint"),
      this.uses.node,
      this.assistants.node,
      h(
        "fieldset",
        { class: "stack" },
        h("legend", null, t("think")),
        this.toggle,
        this.reason,
        this.depthField,
        this.budgetField,
        h("p", { class: "muted small" }, t("agent.display")),
      ),
      h(
        "footer",
        { class: "dialog-foot" },
        this.agent && button(t("delete"), "trash", remove, { class: "danger quiet-danger" }),
        h("span", { class: "grow" }),
        this.save,
      ),
    );
  }

  private listen(form: HTMLFormElement): void {
    this.model.addEventListener("input", () => this.draw());
    this.thinking.addEventListener("change", () => this.draw());
    this.depth.addEventListener("change", () => {
      this.wanted = this.depth.value;
      this.draw();
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.store();
    });
  }

  /** Offers what the model that is named can do. */
  private draw(): void {
    const row = findModel(this.model.value.trim());
    const depths = depthsOf(row);
    if (!depths.includes(this.wanted)) this.wanted = "";
    const options = depths.map((value) => h("option", { value, selected: value === this.wanted }, depthText(value)));
    this.depth.replaceChildren(...options);
    say(this.reason, thinkingText(row));
    show(this.toggle, canThink(row));
    show(this.depthField, this.thinks(row) && depths.length > 1);
    show(this.budgetField, this.thinks(row) && this.wanted === "budget");
    this.budget.required = !this.budgetField.hidden;
  }

  private thinks(row: Model | undefined): boolean {
    return this.thinking.checked && canThink(row);
  }

  private values(): NewAgent {
    const model = this.model.value.trim();
    const thinking = this.thinks(findModel(model));
    const budget = this.wanted === "budget";
    return {
      ...rest(this.agent),
      name: this.name.value.trim(),
      description: this.description.value.trim(),
      uses: this.uses.chosen(),
      assistants: this.assistants.chosen(),
      model,
      system: this.system.value,
      thinking,
      level: thinking && this.wanted && !budget ? this.wanted : null,
      budget_tokens: thinking && budget ? Number(this.budget.value) : null,
    };
  }

  private async store(): Promise<void> {
    const { agent } = this;
    const { composer } = this.page;
    const method = agent ? "PUT" : "POST";
    this.save.disabled = true;
    try {
      const path = agent ? `/api/agents/${agent.id}` : "/api/agents";
      const stored = await requestJson<Agent>(path, { method, body: this.values() });
      notify(t("saved"));
      if (composer.choice.agent === stored.id) composer.choose({ ...composer.choice, name: stored.name });
      this.close();
      this.done();
    } catch (error) {
      showError(error);
    } finally {
      this.save.disabled = false;
    }
  }

  private async remove(): Promise<void> {
    const { agent } = this;
    const { composer } = this.page;
    if (!agent || !(await confirmed(t("agent.delete.sure", { name: agent.name }), t("delete")))) return;
    await requestJson(`/api/agents/${agent.id}`, { method: "DELETE" });
    if (composer.choice.agent === agent.id) composer.choose(DEFAULT_CHOICE);
    this.close();
    this.done();
  }
}

/** Whether thinking can be switched on for a model; of one that nobody knows, a person may know it. */
function canThink(row: Model | undefined): boolean {
  return !row || row.thinking_toggle;
}

/** Options whose names are their ids. */
function named(ids: string[]): [id: string, name: string][] {
  return ids.map((id) => [id, id]);
}

interface Checks {
  node: HTMLElement;
  chosen(): string[];
}

/** Boxes to check, of what an agent may use. What it uses and nobody lists any more can be unchecked. */
function checks(name: string, options: [id: string, name: string][], chosen: string[]): Checks {
  const gone = chosen.filter((id) => !options.some(([known]) => known === id));
  const boxes = [...options, ...named(gone)].map(([id, label]) => {
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
