"""The words in Brazilian Portuguese."""

from thinkaloud.view.locales.table import Locale, Plural

PT_BR = Locale(
    name="pt-BR",
    decimal=",",
    thousands=".",
    singular_counts=frozenset({0, 1}),
    words={
        "ai.thinking.streaming": "Pensando...",
        "ai.thinking.complete": "Pensou por {duration}",
        "ai.thinking.complete_unknown": "Pensou",
        "ai.thinking.approximate": "≈{duration}",
        "ai.thinking.words": Plural("{n} palavra", "{n} palavras"),
        "ai.thinking.tokens": Plural("{n} token", "{n} tokens"),
        "ai.thinking.step": "[Etapa {n}]",
        "ai.thinking.waiting": "Aguardando…",
        "ai.thinking.still_waiting": "Ainda aguardando…",
        "ai.thinking.interrupted": "Interrompido",
        "ai.thinking.stopped": "Parado",
        "ai.thinking.cut_by_limit": "Cortado",
        "ai.thinking.connection_lost": "Conexão perdida",
        "ai.thinking.status.thinking": "Pensando…",
        "ai.thinking.status.done": "Concluído",
        "ai.thinking.status.error": "Falhou",
        "ai.thinking.tools": Plural("{n} ferramenta usada", "{n} ferramentas usadas"),
        "ai.thinking.tools_deep": "{n} com as dos assistentes",
        "ai.thinking.tool": "Ferramenta",
        "ai.thinking.assistant": "Assistente",
        "ai.thinking.working": "{name} está trabalhando…",
        "ai.thinking.approval": "{name} aguarda aprovação",
        "ai.thinking.encrypted": "Pensou; o provedor criptografou o texto, que não pode ser exibido.",
        "ai.thinking.redacted": "Pensou; o provedor suprimiu o texto, que não pode ser exibido.",
        "ai.thinking.withheld": "Pensou; o provedor não enviou o texto.",
        "ai.thinking.provenance.raw": "Palavras do próprio modelo",
        "ai.thinking.provenance.summary": "Resumo do provedor",
        "ai.thinking.provenance.generated": "Resumo gerado",
        "ai.thinking.hidden": "Pensamento oculto",
        "ai.thinking.expand": "(clique para expandir)",
        "ai.thinking.collapse": "(clique para recolher)",
        "ai.thinking.blocks_shown": "Blocos de pensamento: visíveis",
        "ai.thinking.blocks_hidden": "Blocos de pensamento: ocultos",
        "ai.thinking.enable": "Ativar pensamento",
        "ai.thinking.budget": "Limite de pensamento (tokens)",
        "ai.thinking.no_key": (
            "O pensamento está ativado, mas {name} não está definida. "
            "Defina-a ou desative o pensamento; nada foi enviado."
        ),
        "ai.notice.reasoning_only": (
            "O modelo apresentou um raciocínio, mas nenhuma resposta. Tente reformular a pergunta."
        ),
        "ai.notice.empty": "O modelo não deu resposta.",
        "ai.notice.refused": "O modelo se recusou a responder.",
        "ai.notice.stopped": "Parado antes do fim da resposta.",
        "ai.notice.cut_by_limit": "O limite de tamanho cortou a resposta.",
        "ai.notice.connection_lost": "A conexão caiu antes do fim da resposta.",
        "ai.notice.failed": "A resposta falhou: {reason}",
        "ai.notice.silent": "O modelo não envia nada há algum tempo.",
        "ai.notice.repeating": "O modelo parece estar se repetindo.",
        "ai.notice.budget_nearly_used": "O limite de pensamento está quase esgotado.",
        "ai.session.untitled": "Conversa",
        "ai.session.you": "Você",
        "ai.session.thinking": "Pensamento",
        "ai.session.result": "Resultado",
        "ai.session.error": "Erro",
        "ai.session.image": "Imagem: {name}",
        "ai.speech.code": "Código omitido.",
        "ai.notice.answer_now": "O pensamento foi interrompido, e pediu-se ao modelo que responda já.",
        "cli.steer": "Ctrl-C o interrompe, Ctrl-\\ pede a resposta já.",
        "cli.show_key": "{name} mostra os pensamentos",
        "cli.approve": "Executar {name} com {reason}? [s/N]",
        "cli.not_approved": (
            "{name} não foi executada: precisa de aprovação, e não há terminal em que perguntar. "
            "Permita-a com --approve {name}, ou todas as ferramentas com --approve all."
        ),
        "cli.replaying": "Reproduzindo {name}, um turno gravado; nenhum modelo é consultado.",
    },
)
