"""The words of the Flutter app beside those of every chat, all languages side by side."""

from typing import ClassVar

from thinkaloud.surfaces.chat.display import Display
from thinkaloud.surfaces.chat.screen_words import CHAT_TEXTS, Texts

TEXTS: Texts = {
    **CHAT_TEXTS,
    "prompt": ("Ask anything…", "Pergunte algo…"),
    "welcome": (
        "Ask a question below. The name beneath it is who answers; press it to choose.",
        "Faça uma pergunta abaixo. O nome embaixo é de quem responde; toque nele para escolher.",
    ),
    "send": ("Send", "Enviar"),
    "cancel": ("Cancel", "Cancelar"),
    "close": ("Close", "Fechar"),
    "save": ("Save", "Salvar"),
    "delete": ("Delete", "Excluir"),
    "rename": ("Rename", "Renomear"),
    "more": ("More about {name}", "Mais sobre {name}"),
    "approval.run": ("Run", "Executar"),
    "approval.deny": ("Deny", "Negar"),
    "answerer": ("Who answers", "Quem responde"),
    "answerer.default": ("Default model", "Modelo padrão"),
    "settings.effort": ("How much the model thinks", "Quanto o modelo pensa"),
    "effort.default": ("as the model does", "como o modelo costuma"),
    "effort.off": ("off", "desligado"),
    "effort.low": ("low", "pouco"),
    "effort.medium": ("medium", "médio"),
    "effort.high": ("high", "muito"),
    "effort.max": ("as much as it can", "o máximo"),
    "theme.system": ("as the device", "como o dispositivo"),
    "earlier": ("Show earlier turns", "Mostrar turnos anteriores"),
    "sessions.more": ("Show more conversations", "Mostrar mais conversas"),
    "mark.running": ("A turn runs", "Um turno está em andamento"),
    "mark.waiting": ("A call waits for approval", "Uma chamada aguarda aprovação"),
    "font.missing": (
        "No font of this machine has {name}, which stay boxes here. Install one, or start with --font FILE.",
        "Nenhuma fonte deste computador tem {name}, aqui em quadrados. Instale uma, ou use --font ARQUIVO.",
    ),
    "font.chinese": ("Chinese characters", "caracteres chineses"),
    "font.japanese": ("Japanese characters", "caracteres japoneses"),
    "font.korean": ("Korean characters", "caracteres coreanos"),
    "font.arabic": ("Arabic letters", "letras árabes"),
    "font.devanagari": ("Devanagari letters", "letras devanágari"),
    "font.hebrew": ("Hebrew letters", "letras hebraicas"),
    "font.bengali": ("Bengali letters", "letras bengalis"),
    "font.tamil": ("Tamil letters", "letras tâmeis"),
    "font.thai": ("Thai letters", "letras tailandesas"),
    "font.symbols": ("some symbols", "alguns símbolos"),
    "font.emoji": ("emoji", "emojis"),
    "font.other": ("some letters of this text", "algumas letras deste texto"),
    "mark.unread": ("A turn has ended", "Um turno terminou"),
}


class FlutterDisplay(Display):
    """The policy and the words of the Flutter app."""

    texts: ClassVar[Texts] = TEXTS
