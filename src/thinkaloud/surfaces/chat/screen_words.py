"""The words around a conversation on every chat surface, all languages side by side. A language is a column.

`|` separates the singular from the plural, and `{gap}` is filled in. Words that name a key or a gesture
belong to the surface that has it; the words of a thinking block are in `view.locales`.
"""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal

from thinkaloud.core.view import Words

LANGUAGES = ("en-US", "pt-BR")
"""The columns. A language of `view.locales` without a column gets the first one."""

Texts = Mapping[str, tuple[str, str]]
"""The texts in all languages, by key."""

CHAT_TEXTS: Texts = {
    "sessions": ("Conversations", "Conversas"),
    "untitled": ("New conversation", "Nova conversa"),
    "question.rest": (
        "({n} more character)|({n} more characters)",
        "(mais {n} caractere)|(mais {n} caracteres)",
    ),
    "gateway.lost": (
        "No connection to the gateway; trying again. {reason}",
        "Sem conexão com o gateway; tentando de novo. {reason}",
    ),
    "gateway.back": ("The gateway is back.", "O gateway voltou."),
    "stream.lost": ("Connection lost; resuming… {reason}", "Conexão perdida; retomando… {reason}"),
    "stream.failed": ("The turn cannot be shown: {reason}", "O turno não pode ser exibido: {reason}"),
    "stream.unsaved": (
        "The gateway cannot save this turn; it is kept in memory.",
        "O gateway não consegue salvar este turno; ele fica na memória.",
    ),
    "cost.tokens": ("{input} + {output} tokens", "{input} + {output} tokens"),
    "cost.no_tokens": ("tokens unknown", "tokens desconhecidos"),
    "cost.usd": ("${amount}", "US$ {amount}"),
    "cost.no_usd": ("cost unknown", "custo desconhecido"),
    "cost.context": ("{share}% of context", "{share}% do contexto"),
    "cost.no_context": ("context unknown", "contexto desconhecido"),
    "approval.title": ("Run {name}?", "Executar {name}?"),
    "yes": ("yes", "sim"),
    "no": ("no", "não"),
    "approval.more": ("{n} more waits|{n} more wait", "mais {n} aguarda|mais {n} aguardam"),
    "picker.filter": ("Filter…", "Filtrar…"),
    "picker.not_ready": ("not ready", "indisponível"),
    "search.title": ("Search all conversations", "Buscar em todas as conversas"),
    "search.words": ("Words…", "Palavras…"),
    "search.with_thoughts": (
        "In questions, answers, tools and thoughts.",
        "Em perguntas, respostas, ferramentas e pensamentos.",
    ),
    "search.without_thoughts": (
        "In questions, answers and tools.",
        "Em perguntas, respostas e ferramentas.",
    ),
    "search.found": ("{n} place|{n} places", "{n} lugar|{n} lugares"),
    "search.none": ("Nothing was found.", "Nada foi encontrado."),
    "kind.prompt": ("Question", "Pergunta"),
    "kind.answer": ("Answer", "Resposta"),
    "kind.thought": ("Thought", "Pensamento"),
    "kind.tool": ("Tool", "Ferramenta"),
    "rename.title": ("New title", "Novo título"),
    "delete.question": ("Delete “{name}” and everything in it?", "Excluir “{name}” e tudo o que há nela?"),
    "no_session": (
        "There is no conversation yet. Ask a question first.",
        "Ainda não há conversa. Faça uma pergunta primeiro.",
    ),
    "nothing_runs": ("Nothing runs in this conversation.", "Nada está em andamento nesta conversa."),
    "model.title": ("Model", "Modelo"),
    "model.unchecked": ("Not checked: needs {name} to run.", "Não verificado: requer {name} em execução."),
    "model.thinks_none": ("Does not think.", "Não pensa."),
    "model.thinks_always": (
        "Always thinks; with thinking off, as little as it can.",
        "Sempre pensa; com o pensamento desligado, o mínimo possível.",
    ),
    "model.no_key": ("No API key was found for {name}.", "Nenhuma chave de API encontrada para {name}."),
    "or": ("or", "ou"),
    "agent.title": ("Agent", "Agente"),
    "effort.usage": (
        "Unknown effort: {name}. Use off, low, medium, high, max or a number of tokens.",
        "Esforço desconhecido: {name}. Use off, low, medium, high, max ou um número de tokens.",
    ),
    "thinking.usage": (
        "Unknown argument: {name}. Use show or hide.",
        "Argumento desconhecido: {name}. Use show ou hide.",
    ),
    "theme.light": ("light", "claro"),
    "theme.dark": ("dark", "escuro"),
    "unknown_command": (
        "There is no command {name}. Send the text to the model?",
        "Não há comando {name}. Enviar o texto ao modelo?",
    ),
    "settings.title": ("Settings", "Configurações"),
    "settings.preset": ("Display of thinking", "Exibição do pensamento"),
    "settings.language": ("Language", "Idioma"),
    "settings.theme": ("Theme", "Tema"),
    "preset.default": (
        "label, time, words and the newest line",
        "rótulo, tempo, palavras e a linha mais recente",
    ),
    "preset.koder": ("closed, with a label", "fechado, com um rótulo"),
    "preset.preview": (
        "open while it streams, then its first words",
        "aberto ao chegar, depois as primeiras palavras",
    ),
    "preset.toggle": ("shown while it streams, then hidden", "visível ao chegar, depois oculto"),
    "preset.agent": ("closed, with its first words", "fechado, com as primeiras palavras"),
    "preset.trace": ("a summary and the steps", "um resumo e as etapas"),
    "language.en-US": ("English", "Inglês"),
    "language.pt-BR": ("Brazilian Portuguese", "Português do Brasil"),
    "version.none": (
        "This question has one version only. Edit it to ask again.",
        "Esta pergunta tem uma só versão. Edite-a para perguntar de novo.",
    ),
    "copy.nothing": ("There is no answer to copy.", "Não há resposta para copiar."),
    "copy.done": ("The answer was copied, without thoughts.", "A resposta foi copiada, sem os pensamentos."),
    "copy.thoughts": ("Thoughts and answer were copied.", "Pensamentos e resposta foram copiados."),
    "key.thinking": ("Show or hide all thinking", "Mostrar ou ocultar todo o pensamento"),
    "key.blocks": ("Open or close all blocks", "Abrir ou fechar todos os blocos"),
    "key.stop": ("Stop the turn", "Parar o turno"),
    "key.now": ("Answer now", "Responder já"),
    "key.new": ("New conversation", "Nova conversa"),
    "key.model": ("Choose a model", "Escolher um modelo"),
    "key.agent": ("Choose an agent", "Escolher um agente"),
    "key.search": ("Search", "Buscar"),
    "key.copy": ("Copy the answer, without thoughts", "Copiar a resposta, sem os pensamentos"),
    "key.rename": ("Rename the conversation", "Renomear a conversa"),
    "key.export": ("Export the conversation", "Exportar a conversa"),
    "key.settings": ("Settings", "Configurações"),
    "key.newline": ("New line (prompt)", "Nova linha (pergunta)"),
}


class ScreenWords:
    """The texts of one language: `ScreenWords("pt-BR", CHAT_TEXTS).text("search.found", n=3)`."""

    def __init__(self, locale: str, texts: Texts) -> None:
        self._words = Words(locale)
        self._texts = texts
        self._column = LANGUAGES.index(self._words.locale) if self._words.locale in LANGUAGES else 0

    @property
    def locale(self) -> str:
        """The full name of the language."""
        return self._words.locale

    @property
    def yes_key(self) -> str:
        """The letter that says yes in this language."""
        return self.text("yes")[0]

    @property
    def no_key(self) -> str:
        """The letter that says no in this language."""
        return self.text("no")[0]

    def arguments(self, text: str) -> str:
        """Return the arguments of a command with the names in capitals translated."""
        return re.sub("[A-Z]+", lambda name: self.text(f"argument.{name[0].lower()}"), text)

    def text(self, key: str, *, n: int = 0, **values: str) -> str:
        """Return a text with its gaps filled."""
        singular, _, plural = self._texts[key][self._column].partition("|")
        one = n == 1 or (n == 0 and self.locale == "pt-BR")  # Portuguese: "0 lugar"
        text = singular if one or not plural else plural
        return text.format(n=self._words.count(n), **values)

    def count(self, count: int | None) -> str:
        """Return a number with the separators of the language; `?` if it is unknown."""
        return "?" if count is None else self._words.count(count)

    def decimal(self, number: float) -> str:
        """Return a number with three significant digits and the decimal mark of the language."""
        text = f"{Decimal(f'{number:.3g}'):f}"
        return text.replace(".", ",") if self.locale == "pt-BR" else text

    def any_of(self, key: str, names: Sequence[str]) -> str:
        """Return a text with the names joined by "or"; empty if there are none."""
        if not names:
            return ""
        separator = f" {self.text('or')} "
        return self.text(key, name=separator.join(names))
