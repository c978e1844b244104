/** Figures: thinking time, tokens and cost by model, agent and day, and the longest thoughts; as a chart and as tables. */

import { findLocale, Words } from "../src/core/words.js";
import { requestJson } from "./api.js";
import { modelTitle } from "./catalog.js";
import { addDialogWords, formatMoment } from "./dialog-words.js";
import { open, select } from "./dialogs.js";
import { h, say } from "./dom.js";
import type { PageContext } from "./page-context.js";
import { showError } from "./toasts.js";
import { addWords, currentLanguage, t } from "./words.js";

addDialogWords();
// biome-ignore format: a word per line, both languages side by side
addWords({
  "figures.period": ["Period", "Período"],
  "figures.days": ["{n} days", "{n} dias"],
  "figures.metric": ["Chart", "Gráfico"],
  "figures.counting": ["Counting… {n} turns so far", "Contando… {n} respostas até agora"],
  "figures.none": ["Nothing was asked in this time.", "Nada foi perguntado neste período."],
  "figures.by_day": ["By day", "Por dia"],
  "figures.by_model": ["By model", "Por modelo"],
  "figures.by_agent": ["By agent", "Por agente"],
  "figures.longest": ["The longest thoughts", "Os pensamentos mais longos"],
  "figures.no_thoughts": ["No thought with a known time.", "Nenhum pensamento com tempo conhecido."],
  "figures.as_table": ["As a table", "Em tabela"],
  "figures.day": ["Day", "Dia"],
  "figures.thinking": ["Thinking time", "Tempo de pensamento"],
  "figures.thinking.unit": ["Thinking time, in minutes", "Tempo de pensamento, em minutos"],
  "figures.tokens.unit": ["Tokens, in and out", "Tokens, de entrada e saída"],
  "figures.cost.unit": ["Cost, in US dollars", "Custo, em dólares"],
  "figures.turns.unit": ["Answers", "Respostas"],
  "figures.tokens_in": ["Tokens in", "Tokens de entrada"],
  "figures.tokens_out": ["Tokens out", "Tokens de saída"],
  "figures.tokens_thinking": ["of these thinking", "destes, pensamento"],
  "figures.cost": ["Cost", "Custo"],
  "figures.turns": ["Answers", "Respostas"],
  "figures.stalls": ["Stalls", "Pausas longas"],
  "figures.loops": ["Loops", "Repetições"],
  "figures.no_agent": ["No agent", "Sem agente"],
  "figures.agent_gone": ["Deleted agent", "Agente excluído"],
  "figures.untimed": ["The thinking time of {n} answer is unknown.|The thinking time of {n} answers is unknown.", "O tempo de pensamento de {n} resposta é desconhecido.|O tempo de pensamento de {n} respostas é desconhecido."],
  "figures.uncounted": ["The tokens of {n} answer are unknown.|The tokens of {n} answers are unknown.", "Os tokens de {n} resposta são desconhecidos.|Os tokens de {n} respostas são desconhecidos."],
  "figures.unpriced": ["The cost of {n} answer is unknown.|The cost of {n} answers is unknown.", "O custo de {n} resposta é desconhecido.|O custo de {n} respostas é desconhecido."],
  "figures.hidden": ["{n} answer has thinking that you may not see, and is only in the number of answers.|{n} answers have thinking that you may not see, and are only in the number of answers.", "{n} resposta tem pensamento que você não pode ver, e entra apenas no número de respostas.|{n} respostas têm pensamento que você não pode ver, e entram apenas no número de respostas."],
  "figures.prices": ["Prices: {name}.", "Preços: {name}."],
  "figures.counted": ["A stall is a long silence of a model, a loop is text or calls that repeat. Imported conversations are not counted.", "Uma pausa longa é um silêncio do modelo; uma repetição é texto ou chamadas que se repetem. Conversas importadas não contam."],
});

export interface FigureRow {
  name: string;
  title: string;
  turns: number;
  thought: number;
  timed: number;
  thinking_ms: number;
  counted: number;
  input_tokens: number;
  output_tokens: number;
  reasoning_tokens: number;
  priced: number;
  usd: string;
  stalls: number;
  loops: number;
  hidden: number;
}

interface Figures {
  since_ms: number;
  total: FigureRow;
  models: FigureRow[];
  agents: FigureRow[];
  days: FigureRow[];
  longest: {
    session: string;
    session_title: string;
    turn: string;
    block: number;
    model: string;
    thinking_ms: number;
    created_ms: number;
  }[];
  priced_by: string;
  complete: boolean;
}

const PERIODS = [7, 30, 90, 366];
const METRICS: Record<string, (row: FigureRow) => number> = {
  thinking: ({ thinking_ms }) => thinking_ms / 60_000,
  tokens: ({ input_tokens, output_tokens }) => input_tokens + output_tokens,
  cost: ({ usd }) => Number(usd),
  turns: ({ turns }) => turns,
};

/** Opens the figures. */
export async function openFigures(page: PageContext): Promise<void> {
  await new FiguresDialog(page).load();
}

class FiguresDialog {
  private status = h("p", { class: "muted small", role: "status" }, t("loading"));
  private content = h("div", { class: "stack figures" });
  private close: () => void;
  private days = 30;
  private metric = "thinking";
  /** The number of the newest request: what an older one brings is not drawn. */
  private latest = 0;
  private chart: { destroy(): void } | null = null;

  constructor(page: PageContext) {
    const { body, dialog, close } = open(t("figures"), "wide");
    this.close = close;
    dialog.addEventListener("close", () => {
      this.latest++;
      this.chart?.destroy();
      if (location.hash === "#figures") page.go({});
    });
    body.append(this.tools(), this.status, this.content);
  }

  async load(): Promise<void> {
    const number = ++this.latest;
    let figures: Figures;
    do {
      const offset = -new Date().getTimezoneOffset();
      figures = await requestJson<Figures>(`/api/figures?days=${this.days}&utc_offset_minutes=${offset}`);
      if (number !== this.latest) return;
      await this.draw(figures);
      say(this.status, figures.complete ? "" : t("figures.counting", { n: figures.total.turns }));
    } while (!figures.complete);
  }

  private tools(): HTMLElement {
    const reload = (): void => void this.load().catch(showError);
    const period = select(
      t("figures.period"),
      PERIODS.map((n) => [String(n), t("figures.days", { n })]),
      String(this.days),
      (value) => {
        this.days = Number(value);
        reload();
      },
    );
    const metric = select(
      t("figures.metric"),
      Object.keys(METRICS).map((name) => [name, t(`figures.${name}.unit`)]),
      this.metric,
      (value) => {
        this.metric = value;
        reload();
      },
    );
    return h("div", { class: "figure-tools" }, period, metric);
  }

  private async draw(figures: Figures): Promise<void> {
    const plot = h("div", { class: "figure-plot" });
    this.content.replaceChildren(...sections(figures, plot, this.close));
    this.chart?.destroy();
    this.chart = null;
    if (!figures.total.turns) return;
    const { drawChart } = await import("./figure-chart.js");
    if (!plot.isConnected) return;
    const value = METRICS[this.metric] as (row: FigureRow) => number;
    this.chart = drawChart(plot, eachDay(figures, this.days), value, {
      name: t(`figures.${this.metric}.unit`),
      dayLabel: t("figures.day"),
    });
  }
}

function sections(figures: Figures, plot: HTMLElement, close: () => void): HTMLElement[] {
  const { total, models, agents, days, longest } = figures;
  if (!total.turns) return [h("p", { class: "muted pad" }, t("figures.none"))];
  return [
    tiles(total),
    h("section", null, h("h3", null, t("figures.by_day")), plot, table("figures.day", days, dayName, true)),
    h(
      "section",
      null,
      h("h3", null, t("figures.by_model")),
      table("agent.model", models, ({ name }) => modelTitle(name)),
    ),
    h("section", null, h("h3", null, t("figures.by_agent")), table("agent", agents, agentName)),
    h("section", null, h("h3", null, t("figures.longest")), longestList(longest, close)),
    h("p", { class: "muted small" }, notes(figures)),
  ];
}

function tiles(total: FigureRow): HTMLElement {
  const facts: [string, string][] = [
    ["figures.thinking", total.timed ? duration(total.thinking_ms) : "–"],
    ["figures.tokens_in", known(total.counted, total.input_tokens)],
    ["figures.tokens_out", known(total.counted, total.output_tokens)],
    ["figures.cost", usd(total)],
    ["figures.turns", total.turns.toLocaleString(currentLanguage())],
    ["figures.stalls", total.stalls.toLocaleString(currentLanguage())],
    ["figures.loops", total.loops.toLocaleString(currentLanguage())],
  ];
  return h(
    "dl",
    { class: "tiles" },
    ...facts.map(([name, value]) => h("div", null, h("dt", null, t(name)), h("dd", null, value))),
  );
}

/** A table of rows; one that only repeats a chart is folded. */
function table(heading: string, rows: FigureRow[], name: (row: FigureRow) => string, folded = false): HTMLElement {
  const columns: [string, (row: FigureRow) => string][] = [
    ["figures.turns", ({ turns }) => turns.toLocaleString(currentLanguage())],
    ["figures.thinking", ({ timed, thinking_ms }) => (timed ? duration(thinking_ms) : "–")],
    ["figures.tokens_in", ({ counted, input_tokens }) => known(counted, input_tokens)],
    ["figures.tokens_out", ({ counted, output_tokens }) => known(counted, output_tokens)],
    ["figures.tokens_thinking", ({ counted, reasoning_tokens }) => known(counted, reasoning_tokens)],
    ["figures.cost", usd],
    ["figures.stalls", ({ stalls }) => stalls.toLocaleString(currentLanguage())],
    ["figures.loops", ({ loops }) => loops.toLocaleString(currentLanguage())],
  ];
  const node = h(
    "div",
    { class: "table", tabindex: 0, role: "region", "aria-label": t(heading) },
    h(
      "table",
      null,
      h(
        "thead",
        null,
        h(
          "tr",
          null,
          h("th", { scope: "col" }, t(heading)),
          ...columns.map(([key]) => h("th", { scope: "col", class: "to-right" }, t(key))),
        ),
      ),
      h(
        "tbody",
        null,
        ...rows.map((row) =>
          h(
            "tr",
            null,
            h("th", { scope: "row", dir: "auto" }, name(row)),
            ...columns.map(([, value]) => h("td", { class: "to-right" }, value(row))),
          ),
        ),
      ),
    ),
  );
  return folded ? h("details", null, h("summary", null, t("figures.as_table")), node) : node;
}

function longestList(longest: Figures["longest"], close: () => void): HTMLElement {
  if (!longest[0]) return h("p", { class: "muted" }, t("figures.no_thoughts"));
  return h(
    "ol",
    { class: "hits" },
    ...longest.map(({ session, turn, block, session_title, model, thinking_ms, created_ms }) =>
      h(
        "li",
        null,
        h(
          "a",
          { class: "hit", href: `./#${session}/${turn}/${block}`, onclick: close },
          h(
            "span",
            { class: "hit-head" },
            h("strong", { dir: "auto" }, session_title || t("new")),
            h("span", null, duration(thinking_ms)),
          ),
          h("span", { class: "hit-text" }, `${modelTitle(model)} · ${formatMoment(created_ms)}`),
        ),
      ),
    ),
  );
}

/** What the sums leave out, and where prices are from. */
function notes({ total, priced_by }: Figures): string {
  const { turns, thought, timed, counted, priced, hidden } = total;
  const seen = turns - hidden;
  const parts = [
    timed < thought && t("figures.untimed", { n: thought - timed }),
    counted < seen && t("figures.uncounted", { n: seen - counted }),
    priced < seen && t("figures.unpriced", { n: seen - priced }),
    hidden > 0 && t("figures.hidden", { n: hidden }),
    priced_by && t("figures.prices", { name: priced_by }),
    t("figures.counted"),
  ];
  return parts.filter(Boolean).join(" ");
}

/** A row for each day of the period, those without turns as well. */
function eachDay({ days, since_ms }: Figures, count: number): FigureRow[] {
  const empty = { turns: 0, thinking_ms: 0, input_tokens: 0, output_tokens: 0, usd: "0" } as FigureRow;
  const first = new Date(since_ms);
  return Array.from({ length: count }, (_, index) => {
    const day = new Date(first.getFullYear(), first.getMonth(), first.getDate() + index);
    const name = [day.getFullYear(), day.getMonth() + 1, day.getDate()]
      .map((n) => String(n).padStart(2, "0"))
      .join("-");
    return days.find((row) => row.name === name) ?? { ...empty, name };
  });
}

function dayName({ name }: FigureRow): string {
  return new Date(`${name}T12:00`).toLocaleDateString(currentLanguage(), { dateStyle: "medium" });
}

function agentName({ name, title }: FigureRow): string {
  return title || (name ? t("figures.agent_gone") : t("figures.no_agent"));
}

function duration(ms: number): string {
  return new Words(findLocale(currentLanguage())).duration(ms);
}

function known(counted: number, tokens: number): string {
  return counted ? tokens.toLocaleString(currentLanguage()) : "–";
}

function usd({ priced, usd }: FigureRow): string {
  if (!priced) return "–";
  return t("cost", { n: Number(usd).toLocaleString(currentLanguage(), { maximumSignificantDigits: 3 }) });
}
