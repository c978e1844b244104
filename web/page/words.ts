/**
 * The page's own words, both languages side by side; `|` parts "one" from "other", `{gap}` is filled in.
 *
 * What the thinking block says is in its own tables. A language is a column here.
 */

import { namesPortuguese } from "../src/core/words.js";

export type Table = Record<string, [en: string, pt: string]>;

// biome-ignore format: a word per line, both languages side by side
const WORDS: Table = {
  "sessions": ["Conversations", "Conversas"],
  "new": ["New conversation", "Nova conversa"],
  "more": ["More", "Mais"],
  "menu": ["Conversations and settings", "Conversas e configurações"],
  "close": ["Close", "Fechar"],
  "today": ["Today", "Hoje"],
  "yesterday": ["Yesterday", "Ontem"],
  "week": ["Last 7 days", "Últimos 7 dias"],
  "older": ["Earlier", "Antes disso"],
  "pinned": ["Pinned", "Fixadas"],
  "running": ["Running", "Em andamento"],
  "actions_of": ["Actions: {name}", "Ações: {name}"],
  "no_sessions": ["What you ask is kept here.", "O que você perguntar fica guardado aqui."],
  "skip": ["Skip to the message box", "Ir para a caixa de mensagem"],
  "skip.chat": ["Skip to the conversation", "Ir para a conversa"],
  "to_latest": ["Latest", "Mais recente"],
  "earlier": ["Show earlier messages", "Mostrar mensagens anteriores"],
  "later": ["Show later messages", "Mostrar mensagens seguintes"],
  "loading": ["Loading…", "Carregando…"],
  "transcript": ["Conversation", "Conversa"],
  "picture": ["Picture", "Imagem"],
  "you": ["You", "Você"],
  "show_more": ["Show more", "Mostrar mais"],
  "show_less": ["Show less", "Mostrar menos"],
  "answer_by": ["Answer by {name}", "Resposta de {name}"],

  "connect.choose": ["Choose who answers", "Escolha quem responde"],
  "ask": ["Ask anything…", "Pergunte algo…"],
  "ask.label": ["Message", "Mensagem"],
  "attach": ["Attach files", "Anexar arquivos"],
  "tuned": ["Answers are set up differently: see the settings", "As respostas estão configuradas de outro modo: veja as configurações"],
  "send": ["Send", "Enviar"],
  "send.later": ["Send when the answer is complete", "Enviar quando a resposta terminar"],
  "sending": ["Sending…", "Enviando…"],
  "stop": ["Stop", "Parar"],
  "answer_now": ["Answer now", "Responder agora"],
  "hint": ["Enter sends, Shift+Enter begins a new line, / lists commands.", "Enter envia, Shift+Enter começa outra linha, / lista os comandos."],
  "who": ["Who answers: {name}", "Quem responde: {name}"],
  "who.default": ["Built-in solver", "Solucionador embutido"],
  "think": ["Thinking", "Pensamento"],
  "think.default": ["Thinking: auto", "Pensamento: auto"],
  "think.off": ["Thinking: off", "Pensamento: não"],
  "think.low": ["Thinking: low", "Pensamento: baixo"],
  "think.medium": ["Thinking: medium", "Pensamento: médio"],
  "think.high": ["Thinking: high", "Pensamento: alto"],
  "think.max": ["Thinking: max", "Pensamento: máximo"],
  "think.none": ["Does not think", "Não pensa"],

  "find": ["Find in thinking", "Buscar no pensamento"],
  "expand": ["Expand all thinking", "Expandir todo o pensamento"],
  "collapse": ["Collapse all thinking", "Recolher todo o pensamento"],
  "toggle": ["Show or hide thinking (Alt+T)", "Mostrar ou ocultar o pensamento (Alt+T)"],
  "shown": ["Thinking blocks: shown", "Blocos de pensamento: visíveis"],
  "hidden": ["Thinking blocks: hidden", "Blocos de pensamento: ocultos"],
  "actions": ["Actions for this conversation", "Ações desta conversa"],

  "words": ["{n} word|{n} words", "{n} palavra|{n} palavras"],
  "ready": ["Answer ready, {words}", "Resposta pronta, {words}"],

  "reconnecting": ["Connection lost. Trying again…", "Conexão perdida. Tentando de novo…"],
  "resume": ["Resume", "Retomar"],
  "lost": ["The gateway has not answered for a while. What came so far stays here.", "O gateway não responde há algum tempo. O que já chegou continua aqui."],
  "offline": ["You are offline. What you read stays; what you send waits until you are back.", "Você está sem rede. O que você lê permanece; o envio espera a rede voltar."],
  "step": ["Step {n}", "Passo {n}"],
  "waiting": ["Waiting…", "Aguardando…"],
  "retry": ["Try again", "Tentar de novo"],
  "still": ["Still waiting for the first word. You can go on waiting, or stop.", "Ainda aguardando a primeira palavra. Você pode esperar ou parar."],
  "unsaved": ["The gateway's disk is full or read-only: this turn is not saved yet.", "O disco do gateway está cheio ou só para leitura: esta resposta ainda não foi salva."],
  "error.unreachable": ["The gateway does not answer. Is it still running? What you wrote is kept; try again in a moment.", "O gateway não responde. Ele ainda está em execução? O que você escreveu está guardado; tente de novo em instantes."],
  "error.offline": ["You are offline. Try again when the network is back.", "Você está sem rede. Tente de novo quando ela voltar."],
  "error.status": ["The gateway answered with error {n}. Try again in a moment.", "O gateway respondeu com o erro {n}. Tente de novo em instantes."],
  "error.gone": ["This conversation is not there any more. It may have been deleted in another window.", "Esta conversa não existe mais. Talvez tenha sido excluída em outra janela."],
  "error.turn_running": ["An answer is still on its way in this conversation. Wait for it, or stop it.", "Uma resposta ainda está a caminho nesta conversa. Espere por ela ou pare-a."],
  "error.broken": ["Something on this page went wrong. Reload it; nothing that was said is lost.", "Algo nesta página deu errado. Recarregue; nada do que foi dito se perde."],
  "dismiss": ["Dismiss", "Dispensar"],

  "search": ["Search", "Buscar"],

  "agent": ["Agent", "Agente"],
  "agents": ["Agents", "Agentes"],

  "figures": ["Figures", "Números"],
  "settings": ["Settings", "Configurações"],

  "import": ["Import", "Importar"],
};

type Gaps = Record<string, string | number>;

let language = "en-US";

export function currentLanguage(): string {
  return language;
}

/** Speak this language from now on; what is on the screen already is up to the caller. */
export function setLanguage(tag: string): void {
  language = namesPortuguese(tag) ? "pt-BR" : "en-US";
  document.documentElement.lang = language;
}

/** The text of a key; a text with a plural needs `n`. */
export function t(key: string, gaps: Gaps = {}): string {
  const inPortuguese = language === "pt-BR";
  const [one, other] = (WORDS[key]?.[inPortuguese ? 1 : 0] ?? key).split("|") as [string, string?];
  const single = gaps.n === 1 || (inPortuguese && gaps.n === 0);
  const text = other !== undefined && !single ? other : one;
  return text.replace(/\{(\w+)\}/g, (_, gap: string) => {
    const value = gaps[gap] ?? "";
    return typeof value === "number" ? value.toLocaleString(language) : value;
  });
}

/** More words, of a part that is fetched later. */
export function addWords(more: Table): void {
  Object.assign(WORDS, more);
}

/** Whether there is a text for this key. */
export function hasWords(key: string): boolean {
  return key in WORDS;
}
