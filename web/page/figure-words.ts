/** The words of the figures, which are fetched with them. */

import type { Table } from "./words.js";

// biome-ignore format: a word per line, both languages side by side
export const FIGURE_WORDS: Table = {
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
};
