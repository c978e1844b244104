"""The words of the chat in a terminal that name its keys, all languages side by side."""

from typing import ClassVar

from thinkaloud.surfaces.chat.display import Display
from thinkaloud.surfaces.chat.screen_words import CHAT_TEXTS, Texts

TEXTS: Texts = {
    **CHAT_TEXTS,
    "prompt": ("Ask anything… (? for help)", "Pergunte algo… (? para ajuda)"),
    "welcome": (
        "Ask a question below. Ctrl+O chooses the model, /attach adds an image, ? lists every key.",
        "Faça uma pergunta abaixo. Ctrl+O escolhe o modelo, /attach anexa uma imagem, ? lista as teclas.",
    ),
    "palette": ("Search for a command…", "Buscar um comando…"),
    "editing": ("Editing a question; Esc leaves it.", "Editando uma pergunta; Esc desiste."),
    "waiting.editing": (
        "Editing a question that waits; Esc leaves it as it was.",
        "Editando uma pergunta da fila; Esc a deixa como estava.",
    ),
    "status.waiting": ("Enter edits · d removes · Esc back", "Enter edita · d remove · Esc volta"),
    "waiting.next": ("Waiting for this answer · ↑ edits", "Aguardando esta resposta · ↑ edita"),
    "waiting.stays": ("Waiting · Enter sends · ↑ edits", "Na fila · Enter envia · ↑ edita"),
    "waiting.gone": (
        "This question was sent or removed meanwhile. Enter sends your text as a new one.",
        "Esta pergunta já foi enviada ou removida. Enter envia o seu texto como uma nova.",
    ),
    "waiting.prompt_full": (
        "Send or remove what is in the prompt, then edit the question that waits.",
        "Envie ou apague o que está no campo e depois edite a pergunta da fila.",
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
    "approval.keys": (
        "y and Enter, or Ctrl+Y, runs it · n and Enter denies it",
        "s e Enter, ou Ctrl+Y, executa · n e Enter nega",
    ),
    "confirm.keys": ("y yes · n no", "s sim · n não"),
    "text.keys": ("Enter saves · Esc leaves", "Enter salva · Esc desiste"),
    "picker.keys": ("↑ ↓ move · Enter chooses · Esc leaves", "↑ ↓ movem · Enter escolhe · Esc desiste"),
    "search.keys": (
        "Enter searches, then opens · Ctrl+T thoughts too · Esc leaves",
        "Enter busca, depois abre · Ctrl+T também pensamentos · Esc sai",
    ),
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
    "theme.usage": ("Use /theme light or /theme dark.", "Use /theme light ou /theme dark."),
    "attach.usage": (
        "Give the path of an image: /attach PATH",
        "Indique o caminho de uma imagem: /attach CAMINHO",
    ),
    "edit.running": (
        "This turn still runs. Stop it with Esc, then edit its question.",
        "Este turno ainda está em andamento. Pare-o com Esc e depois edite a pergunta.",
    ),
    "quit.waits": (
        "A turn of this chat still runs in this process. Waiting for its end; Ctrl-C stops it.",
        "Um turno desta conversa ainda está em andamento neste processo. Aguardando; Ctrl-C o interrompe.",
    ),
    "quit.runs": (
        "The turn goes on in the gateway; open the conversation again to read its answer.",
        "O turno continua no gateway; abra a conversa de novo para ler a resposta.",
    ),
    "quit.go_on": ("To go on: {name}", "Para continuar: {name}"),
    "quit.again": ("Press Ctrl+C again to quit.", "Pressione Ctrl+C de novo para sair."),
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
    "key.sessions": ("Conversations", "Conversas"),
    "key.next_session": ("Next conversation", "Próxima conversa"),
    "key.previous_session": ("Previous conversation", "Conversa anterior"),
    "key.edit": ("Edit the question and ask again", "Editar a pergunta e perguntar de novo"),
    "key.replay": ("Replay the turn", "Reproduzir o turno"),
    "key.help": ("All keys and commands", "Todas as teclas e comandos"),
    "key.end": ("Go to the end and follow it", "Ir ao fim e acompanhar"),
    "key.start": ("Go to the start", "Ir ao início"),
    "key.page_up": ("Scroll up", "Rolar para cima"),
    "key.page_down": ("Scroll down", "Rolar para baixo"),
    "key.send": ("Send (prompt)", "Enviar (pergunta)"),
    "key.recall": (
        "Waiting or earlier question (empty prompt)",
        "Pergunta da fila ou anterior (campo vazio)",
    ),
    "key.on_waiting": ("Edit, remove (waiting question)", "Editar, remover (pergunta da fila)"),
    "key.tab": ("Next place; completes a command", "Próximo lugar; completa um comando"),
    "keys.open_block": ("Enter, Space", "Enter, Espaço"),
    "key.open_block": ("Open or close (thinking)", "Abrir ou fechar (pensamento)"),
    "key.on_question": ("Edit, copy, replay (question)", "Editar, copiar, reproduzir (pergunta)"),
    "key.on_version": ("Other versions (question)", "Outras versões (pergunta)"),
    "key.on_session": ("New, rename, delete, export (list)", "Nova, renomear, excluir, exportar (lista)"),
    "approval.run_chosen": ("Enter runs it · Esc not yet", "Enter executa · Esc ainda não"),
    "approval.deny_chosen": ("Enter denies it · Esc not yet", "Enter nega · Esc ainda não"),
    "keys.approval": ("y Enter, n Enter", "s Enter, n Enter"),
    "key.on_approval": (
        "Run or deny (approval; Tab goes there)",
        "Executar ou negar (aprovação; Tab vai até lá)",
    ),
    "key.interrupt": (
        "Copy, empty the prompt or stop; twice quits",
        "Copiar, esvaziar o campo ou parar; duas vezes sai",
    ),
    "key.suspend": ("Suspend; fg comes back", "Suspender; fg volta"),
    "key.undo": ("Undo (prompt)", "Desfazer (pergunta)"),
    "key.leave": ("Quit (empty prompt)", "Sair (campo vazio)"),
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
    "command.theme": ("Theme, light or dark", "Tema claro ou escuro"),
    "command.help": ("All keys and commands", "Todas as teclas e comandos"),
    "command.quit": ("Quit", "Sair"),
}


class TerminalDisplay(Display):
    """The policy and the words of the chat in a terminal."""

    texts: ClassVar[Texts] = TEXTS
