"""The words that commands print beside a turn and after a change, in all languages side by side."""

from collections.abc import Mapping

from thinkaloud.cli.settings import user_config
from thinkaloud.surfaces.tui.words import ScreenWords

TEXTS: Mapping[str, tuple[str, str]] = {
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
    "renamed": ("{reason} is now {name}", "{reason} agora é {name}"),
    "written": ("Written to {name} as {reason}.", "Gravado em {name} como {reason}."),
    "imported": ("{name}: imported as {reason}", "{name}: importado como {reason}"),
    "setting": ("{name} is {reason}.", "{name} é {reason}."),
    "setting_removed": ("{name} is not set; its default holds.", "{name} não está definido; vale o padrão."),
    "key_prompt": (
        "Key of {name}, not shown while you type: ",
        "Chave de {name}, oculta durante a digitação: ",
    ),
    "key_stored": ("Stored {name} in {reason}.", "{name} foi salva em {reason}."),
    "key_removed": ("Removed {name} from {reason}.", "{name} foi removida de {reason}."),
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
