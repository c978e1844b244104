/**
 * The words on the screen, both languages side by side; `|` parts "one" from "other".
 *
 * A key `streaming` is `ai.thinking.streaming` in the Python package's tables, `notice.empty` is
 * `ai.notice.empty`, and the words are the same to the letter. The last group is the page's alone.
 */

export type Table = Record<string, string>;

/** One language: how it writes numbers, which counts are "one", and its words. */
export interface Locale {
  name: string;
  decimal: string;
  thousands: string;
  ones: number[];
  words: Table;
}

// prettier-ignore
const WORDS: Record<string, [en: string, pt: string]> = {
  "streaming": ["Thinking...", "Pensando..."],
  "complete": ["Thought for {duration}", "Pensou por {duration}"],
  "complete_unknown": ["Thought", "Pensou"],
  "approximate": ["≈{duration}", "≈{duration}"],
  "words": ["{n} word|{n} words", "{n} palavra|{n} palavras"],
  "tokens": ["{n} token|{n} tokens", "{n} token|{n} tokens"],
  "step": ["[Step {n}]", "[Etapa {n}]"],
  "waiting": ["Waiting…", "Aguardando…"],
  "still_waiting": ["Still waiting…", "Ainda aguardando…"],
  "interrupted": ["Interrupted", "Interrompido"],
  "stopped": ["Stopped", "Parado"],
  "cut_by_limit": ["Cut off", "Cortado"],
  "connection_lost": ["Connection lost", "Conexão perdida"],
  "status.thinking": ["Thinking…", "Pensando…"],
  "status.done": ["Done", "Concluído"],
  "status.error": ["Failed", "Falhou"],
  "tools": ["{n} tool used|{n} tools used", "{n} ferramenta usada|{n} ferramentas usadas"],
  "tools_deep": ["{n} with those of assistants", "{n} com as dos assistentes"],
  "tool": ["Tool", "Ferramenta"],
  "assistant": ["Assistant", "Assistente"],
  "working": ["{name} is working…", "{name} está trabalhando…"],
  "encrypted": ["Thought; the provider encrypted the text, so it cannot be shown.", "Pensou; o provedor criptografou o texto, que não pode ser exibido."],
  "redacted": ["Thought; the provider redacted the text, so it cannot be shown.", "Pensou; o provedor suprimiu o texto, que não pode ser exibido."],
  "withheld": ["Thought; the provider withheld the text.", "Pensou; o provedor não enviou o texto."],
  "provenance.raw": ["Model's own words", "Palavras do próprio modelo"],
  "provenance.summary": ["Provider's summary", "Resumo do provedor"],
  "provenance.generated": ["Generated summary", "Resumo gerado"],
  "hidden": ["Thinking hidden", "Pensamento oculto"],
  "notice.reasoning_only": ["Model provided reasoning but no response. Try rephrasing your question.", "O modelo apresentou um raciocínio, mas nenhuma resposta. Tente reformular a pergunta."],
  "notice.empty": ["The model gave no answer.", "O modelo não deu resposta."],
  "notice.refused": ["The model declined to answer.", "O modelo se recusou a responder."],
  "notice.stopped": ["Stopped before the answer was complete.", "Parado antes do fim da resposta."],
  "notice.cut_by_limit": ["The length limit cut the answer off.", "O limite de tamanho cortou a resposta."],
  "notice.connection_lost": ["The connection was lost before the answer was complete.", "A conexão caiu antes do fim da resposta."],
  "notice.failed": ["The answer failed: {reason}", "A resposta falhou: {reason}"],
  "session.thinking": ["Thinking", "Pensamento"],
  "session.result": ["Result", "Resultado"],
  "session.error": ["Error", "Erro"],

  "copy": ["Copy", "Copiar"],
  "copied": ["Copied", "Copiado"],
  "close": ["Close", "Fechar"],
  "retry": ["Try again", "Tentar de novo"],
  "answer_now": ["Answer now", "Responder agora"],
  "waited": ["Waited {duration}", "Aguardou {duration}"],
  "image": ["Image not loaded", "Imagem não carregada"],
  "approval.asked": ["Waiting for approval", "Aguardando aprovação"],
  "approval.granted": ["Approved", "Aprovado"],
  "approval.denied": ["Declined", "Recusado"],
};

const column = (at: 0 | 1): Table => Object.fromEntries(Object.entries(WORDS).map(([key, both]) => [key, both[at]]));

export const EN_US: Locale = { name: "en-US", decimal: ".", thousands: ",", ones: [1], words: column(0) };
export const PT_BR: Locale = { name: "pt-BR", decimal: ",", thousands: ".", ones: [0, 1], words: column(1) };
