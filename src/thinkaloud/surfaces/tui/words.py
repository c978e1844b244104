"""The words of the chat in a terminal, all languages side by side. A language is a column here.

`|` separates the singular from the plural, and `{gap}` is filled in. The words of a thinking block are in
`view.locales`.
"""

import re
from collections.abc import Mapping

from thinkaloud.view import Words

_LANGUAGES = ("en-US", "pt-BR")

TEXTS: Mapping[str, tuple[str, str]] = {
    "sessions": ("Conversations", "Conversas"),
    "untitled": ("New conversation", "Nova conversa"),
    "prompt": ("Ask anything… (? for help)", "Pergunte algo… (? para ajuda)"),
    "welcome": (
        "Ask a question below. Ctrl+O chooses the model, /attach adds an image, ? lists every key.",
        "Faça uma pergunta abaixo. Ctrl+O escolhe o modelo, /attach anexa uma imagem, ? lista as teclas.",
    ),
    "palette": ("Search for a command…", "Buscar um comando…"),
    "editing": ("Editing a question; Esc leaves it.", "Editando uma pergunta; Esc desiste."),
    "question.rest": (
        "({n} more character)|({n} more characters)",
        "(mais {n} caractere)|(mais {n} caracteres)",
    ),
    "status.running": (
        "Working… · Esc stops · Ctrl+G answers now",
        "Trabalhando… · Esc para · Ctrl+G responde já",
    ),
    "status.idle": (
        "? keys · Ctrl+P commands · Ctrl+B conversations",
        "? teclas · Ctrl+P comandos · Ctrl+B conversas",
    ),
    "status.list": (
        "Enter opens · n new · r rename · d delete · x export · Esc back",
        "Enter abre · n nova · r renomear · d excluir · x exportar · Esc volta",
    ),
    "status.question": (
        "e edit and ask again · c copy the answer · r replay · ← → versions",
        "e editar e perguntar de novo · c copiar a resposta · r reproduzir · ← → versões",
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
    "approval.title": ("Run {name}?", "Executar {name}?"),
    "approval.keys": (
        "y runs it · n denies it",
        "s executa · n nega",
    ),
    "approval.more": ("{n} more waits|{n} more wait", "mais {n} aguarda|mais {n} aguardam"),
    "confirm.keys": ("y yes · n no", "s sim · n não"),
    "text.keys": ("Enter saves · Esc leaves", "Enter salva · Esc desiste"),
    "picker.filter": ("Filter…", "Filtrar…"),
    "picker.keys": ("↑ ↓ move · Enter chooses · Esc leaves", "↑ ↓ movem · Enter escolhe · Esc desiste"),
    "picker.not_ready": ("not ready", "indisponível"),
    "search.title": ("Search all conversations", "Buscar em todas as conversas"),
    "search.words": ("Words…", "Palavras…"),
    "search.keys": (
        "Enter searches, then opens · Ctrl+T thoughts too · Esc leaves",
        "Enter busca, depois abre · Ctrl+T também pensamentos · Esc sai",
    ),
    "search.with_thoughts": ("In questions, answers and thoughts.", "Em perguntas, respostas e pensamentos."),
    "search.without_thoughts": ("In questions and answers.", "Em perguntas e respostas."),
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
    "export.title": ("Export as", "Exportar como"),
    "export.markdown": ("to read, and to import again", "para ler e importar de novo"),
    "export.text": ("plain text", "texto simples"),
    "export.json": ("everything, exactly", "tudo, exatamente"),
    "export.replace": ("{name} exists. Replace it?", "{name} já existe. Substituir?"),
    "export.done": ("Written to {name}.", "Gravado em {name}."),
    "export.failed": (
        "Cannot write {name}: {reason}. Give another file.",
        "Não foi possível gravar {name}: {reason}. Indique outro arquivo.",
    ),
    "export.forms": (
        "Unknown form: {name}. Use text, markdown or json.",
        "Formato desconhecido: {name}. Use text, markdown ou json.",
    ),
    "model.title": ("Model", "Modelo"),
    "model.unchecked": ("not checked: needs {name} to run.", "não verificado: requer {name} em execução."),
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
    "theme.usage": ("Use /theme light or /theme dark.", "Use /theme light ou /theme dark."),
    "theme.light": ("light", "claro"),
    "theme.dark": ("dark", "escuro"),
    "attach.usage": (
        "Give the path of an image: /attach PATH",
        "Indique o caminho de uma imagem: /attach CAMINHO",
    ),
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
    "edit.running": (
        "This turn still runs. Stop it with Esc, then edit its question.",
        "Este turno ainda está em andamento. Pare-o com Esc e depois edite a pergunta.",
    ),
    "version.none": (
        "This question has one version only. Edit it to ask again.",
        "Esta pergunta tem uma só versão. Edite-a para perguntar de novo.",
    ),
    "copy.nothing": ("There is no answer to copy.", "Não há resposta para copiar."),
    "copy.done": ("The answer was copied, without thoughts.", "A resposta foi copiada, sem os pensamentos."),
    "copy.thoughts": ("Thoughts and answer were copied.", "Pensamentos e resposta foram copiados."),
    "quit.waits": (
        "A turn of this chat still runs in this process. Waiting for its end; Ctrl-C stops it.",
        "Um turno desta conversa ainda está em andamento neste processo. Aguardando; Ctrl-C o interrompe.",
    ),
    "quit.runs": (
        "The turn goes on in the gateway; open the conversation again to read its answer.",
        "O turno continua no gateway; abra a conversa de novo para ler a resposta.",
    ),
    "quit.go_on": ("To go on: {name}", "Para continuar: {name}"),
    "quit.how": ("Ctrl+Q quits.", "Ctrl+Q sai."),
    "replay.keys": (
        "Space pauses · ← → 5 s · + − speed · Esc leaves",
        "Espaço pausa · ← → 5 s · + − velocidade · Esc sai",
    ),
    "replay.running": (
        "This turn still runs. Replay it when it has ended.",
        "Este turno ainda está em andamento. Reproduza-o quando terminar.",
    ),
    "help.places": ("Keys where the focus is", "Teclas onde está o foco"),
    "help.everywhere": ("Keys everywhere", "Teclas em todo lugar"),
    "help.commands": ("Commands", "Comandos"),
    "help.marks": ("Marks in the list", "Marcas na lista"),
    "help.keys": ("↑ ↓ scroll · Esc leaves", "↑ ↓ rolam · Esc sai"),
    "mark.running": ("a turn runs", "um turno está em andamento"),
    "mark.waiting": ("a call waits for approval", "uma chamada aguarda aprovação"),
    "mark.unread": ("a turn has ended since you looked", "um turno terminou desde que você olhou"),
    "key.thinking": ("Show or hide all thinking", "Mostrar ou ocultar todo o pensamento"),
    "key.blocks": ("Open or close all blocks", "Abrir ou fechar todos os blocos"),
    "key.stop": ("Stop the turn", "Parar o turno"),
    "key.now": ("Answer now", "Responder já"),
    "key.new": ("New conversation", "Nova conversa"),
    "key.sessions": ("Conversations", "Conversas"),
    "key.next_session": ("Next conversation", "Próxima conversa"),
    "key.previous_session": ("Previous conversation", "Conversa anterior"),
    "key.model": ("Choose a model", "Escolher um modelo"),
    "key.agent": ("Choose an agent", "Escolher um agente"),
    "key.search": ("Search", "Buscar"),
    "key.edit": ("Edit the question and ask again", "Editar a pergunta e perguntar de novo"),
    "key.copy": ("Copy the answer, without thoughts", "Copiar a resposta, sem os pensamentos"),
    "key.replay": ("Replay the turn", "Reproduzir o turno"),
    "key.rename": ("Rename the conversation", "Renomear a conversa"),
    "key.export": ("Export the conversation", "Exportar a conversa"),
    "key.settings": ("Settings", "Configurações"),
    "key.help": ("All keys and commands", "Todas as teclas e comandos"),
    "key.end": ("Go to the end and follow it", "Ir ao fim e acompanhar"),
    "key.start": ("Go to the start", "Ir ao início"),
    "key.page_up": ("Scroll up", "Rolar para cima"),
    "key.page_down": ("Scroll down", "Rolar para baixo"),
    "key.send": ("Send (prompt)", "Enviar (pergunta)"),
    "key.newline": ("New line (prompt)", "Nova linha (pergunta)"),
    "key.recall": ("Earlier question (empty prompt)", "Pergunta anterior (campo vazio)"),
    "key.tab": ("Next place; completes a command", "Próximo lugar; completa um comando"),
    "key.open_block": ("Open or close (thinking)", "Abrir ou fechar (pensamento)"),
    "key.on_question": ("Edit, copy, replay (question)", "Editar, copiar, reproduzir (pergunta)"),
    "key.on_version": ("Other versions (question)", "Outras versões (pergunta)"),
    "key.on_session": ("New, rename, delete, export (list)", "Nova, renomear, excluir, exportar (lista)"),
    "keys.approval": ("y, n", "s, n"),
    "key.on_approval": (
        "Run or deny (approval; Tab goes there)",
        "Executar ou negar (aprovação; Tab vai até lá)",
    ),
    "key.copy_selection": ("Copy the selected text", "Copiar o texto selecionado"),
    "key.palette": ("Command palette", "Paleta de comandos"),
    "key.quit": ("Quit; running turns go on", "Sair; os turnos continuam"),
    "argument.name": ("NAME", "NOME"),
    "argument.tokens": ("TOKENS", "TOKENS"),
    "argument.title": ("TITLE", "TÍTULO"),
    "argument.words": ("WORDS", "PALAVRAS"),
    "argument.file": ("FILE", "ARQUIVO"),
    "argument.path": ("PATH", "CAMINHO"),
    "command.thinking": ("Show or hide all thinking", "Mostrar ou ocultar todo o pensamento"),
    "command.model": ("Choose a model", "Escolher um modelo"),
    "command.agent": ("Choose an agent", "Escolher um agente"),
    "command.effort": ("How much the model thinks", "Quanto o modelo pensa"),
    "command.new": ("New conversation", "Nova conversa"),
    "command.sessions": ("Conversations", "Conversas"),
    "command.rename": ("Rename the conversation", "Renomear a conversa"),
    "command.delete": ("Delete the conversation", "Excluir a conversa"),
    "command.search": ("Search all conversations", "Buscar em todas as conversas"),
    "command.export": ("Write the conversation to a file", "Gravar a conversa em um arquivo"),
    "command.attach": ("Attach an image", "Anexar uma imagem"),
    "command.detach": ("Remove what is attached", "Remover os anexos"),
    "command.edit": ("Edit the question and ask again", "Editar a pergunta e perguntar de novo"),
    "command.copy": ("Copy the answer", "Copiar a resposta"),
    "command.now": ("Answer now", "Responder já"),
    "command.stop": ("Stop the turn", "Parar o turno"),
    "command.replay": ("Replay the turn", "Reproduzir o turno"),
    "command.settings": ("Preset, language, theme", "Predefinição, idioma, tema"),
    "command.theme": ("Light or dark", "Claro ou escuro"),
    "command.help": ("All keys and commands", "Todas as teclas e comandos"),
    "command.quit": ("Quit", "Sair"),
}


class ScreenWords:
    """The texts of one language: `ScreenWords("pt-BR").text("search.found", n=3)`."""

    def __init__(self, locale: str, texts: Mapping[str, tuple[str, str]] = TEXTS) -> None:
        self._words = Words(locale)
        self._texts = texts
        self._column = _LANGUAGES.index(self._words.locale)

    @property
    def locale(self) -> str:
        """The full name of the language."""
        return self._words.locale

    def arguments(self, text: str) -> str:
        """Return the arguments of a command with the names in capitals translated."""
        return re.sub("[A-Z]+", lambda name: self.text(f"argument.{name[0].lower()}"), text)

    def text(self, key: str, *, n: int = 0, name: str = "", reason: str = "") -> str:
        """Return a text with its gaps filled."""
        one, _, other = self._texts[key][self._column].partition("|")
        singular = n == 1 or (n == 0 and self.locale == "pt-BR")
        text = one if singular or not other else other
        return text.format(n=self._words.count(n), name=name, reason=reason)
