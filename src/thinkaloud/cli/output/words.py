"""The words that commands print beside a turn and after a change, in all languages side by side."""

from collections.abc import Mapping

from thinkaloud.cli.settings import user_config
from thinkaloud.surfaces.chat.screen_words import ScreenWords

TEXTS: Mapping[str, tuple[str, str]] = {
    "app_open": (
        "Only this machine can open the address. Ctrl-C stops.",
        "Só esta máquina pode abrir o endereço. Ctrl-C encerra.",
    ),
    "app_no_browser": (
        "No browser was found. Open the address yourself.",
        "Nenhum navegador foi encontrado. Abra o endereço você mesmo.",
    ),
    "app_wait": (
        "{n} turn still runs. Waiting for its end; Ctrl-C stops it."
        "|{n} turns still run. Waiting for their end; Ctrl-C stops them.",
        "{n} turno ainda está em andamento. Aguardando o fim; Ctrl-C o interrompe."
        "|{n} turnos ainda estão em andamento. Aguardando o fim; Ctrl-C os interrompe.",
    ),
    "wait": (
        "{n} turn of another command runs in this process. Waiting for the end; Ctrl-C stops."
        "|{n} turns of other commands run in this process. Waiting for the end; Ctrl-C stops.",
        "{n} turno de outro comando está em andamento neste processo. Aguardando o fim; Ctrl-C interrompe."
        "|{n} turnos de outros comandos estão em andamento neste processo. Aguardando o fim; "
        "Ctrl-C interrompe.",
    ),
    "reconnect": ("{reason} Connecting again.", "{reason} Conectando de novo."),
    "saved": ("The turn is saved again.", "O turno voltou a ser salvo."),
    "unsaved": (
        "The turn is not saved: the disk accepts no writes.",
        "O turno não está salvo: o disco não aceita gravações.",
    ),
    "runs": ("It still runs: {name}", "Ainda está em andamento: {name}"),
    "versions": ("Other versions: {name}", "Outras versões: {name}"),
    "no_sessions": (
        "No sessions yet. `thinkaloud ask` starts one.",
        "Ainda não há sessões. `thinkaloud ask` inicia uma.",
    ),
    "renamed": ("{session} is now {name}", "{session} agora é {name}"),
    "written": ("Written to {name} as {format}.", "Gravado em {name} como {format}."),
    "traces_sent": (
        "{n} trace sent to {name}.|{n} traces sent to {name}.",
        "{n} trace enviado a {name}.|{n} traces enviados a {name}.",
    ),
    "imported": ("{name}: imported {counts}", "{name}: importado: {counts}"),
    "import_planned": ("{name}: would import {counts}", "{name}: seria importado: {counts}"),
    "import_conversations": ("{n} conversation|{n} conversations", "{n} conversa|{n} conversas"),
    "import_new": ("{n} new|{n} new", "{n} nova|{n} novas"),
    "import_grown": ("{n} grown|{n} grown", "{n} ampliada|{n} ampliadas"),
    "import_turns": ("{n} turn added|{n} turns added", "{n} turno novo|{n} turnos novos"),
    "import_thoughts": ("{n} thought|{n} thoughts", "{n} pensamento|{n} pensamentos"),
    "import_calls": ("{n} tool call|{n} tool calls", "{n} chamada de ferramenta|{n} chamadas de ferramentas"),
    "import_unread": (
        "not imported: {n} × {name} (first in line {line})",
        "não importado: {n} × {name} (primeiro na linha {line})",
    ),
    "import_unread_more": (
        "and {n} more kind; --json lists all|and {n} more kinds; --json lists all",
        "e mais {n} tipo; --json lista todos|e mais {n} tipos; --json lista todos",
    ),
    "import_passed_over": (
        "{n} file of no known format was passed over.|{n} files of no known format were passed over.",
        "{n} arquivo de formato desconhecido foi ignorado."
        "|{n} arquivos de formato desconhecido foram ignorados.",
    ),
    "import_reading": (
        "{name}: reading, {n} conversation|{name}: reading, {n} conversations",
        "{name}: lendo, {n} conversa|{name}: lendo, {n} conversas",
    ),
    "import_sending": ("{name}: importing {n} of {total}", "{name}: importando {n} de {total}"),
    "db_copying": ("{name}: {n} of {total} rows", "{name}: {n} de {total} linhas"),
    "db_copied": (
        "Copied {source} to {target}: {n} row, compared.|Copied {source} to {target}: {n} rows, compared.",
        "{source} foi copiado para {target}: {n} linha, comparada."
        "|{source} foi copiado para {target}: {n} linhas, comparadas.",
    ),
    "setting": ("{name} is {value}.", "{name} é {value}."),
    "setting_removed": ("{name} is not set; its default holds.", "{name} não está definido; vale o padrão."),
    "key_prompt": (
        "Key of {name}, not shown while you type: ",
        "Chave de {name}, oculta durante a digitação: ",
    ),
    "key_stored": ("Stored {name} in {place}.", "{name} foi salva em {place}."),
    "key_removed": ("Removed {name} from {places}.", "{name} foi removida de {places}."),
    "check_key": ("Check it: {name}", "Verifique: {name}"),
    "nothing_found": ("Nothing was found.", "Nada foi encontrado."),
    "nothing_found_hint": (
        "Nothing was found. Add --thoughts to search thoughts as well.",
        "Nada foi encontrado. Use --thoughts para buscar também nos pensamentos.",
    ),
}


def command_words(locale: str = "") -> ScreenWords:
    """Return the words in a language, or in the user's."""
    return ScreenWords(locale or user_config().language, TEXTS)
