/** The words of `locales.ts` in Portuguese, key by key; the element loads them where a page's language is Portuguese. */

import type { Locale } from "./locales.js";
import { PT_BR_WORDS } from "./words-pt.js";

export const PT_BR: Locale = {
  name: "pt-BR",
  decimal: ",",
  thousands: ".",
  ones: [0, 1],
  words: {
    ...PT_BR_WORDS,
    copy: "Copiar",
    copied: "Copiado",
    close: "Fechar",
    show_all: "Mostrar tudo",
    show_less: "Mostrar menos",
    timeline: "Linha do tempo",
    steps: "Passos",
    reset: "Voltar ao padrão",
    retry: "Tentar de novo",
    answer_now: "Responder agora",
    waited: "Aguardou {duration}",
    tokens_of: "{n} de {of} tokens",
    image: "Imagem não carregada",
    "approval.denied": "Recusado",
  },
};
