"""Reads the commands that a person types instead of a question: `/thinking hide`, `:quit`.

What looks like a command and is none is not sent without asking; `view.unknown_command` decides that.
"""

import re
from collections.abc import Mapping

import msgspec

from thinkaloud.core.view import unknown_command

COMMANDS: Mapping[str, str] = {
    "thinking": "[show|hide]",
    "model": "[NAME]",
    "agent": "[NAME]",
    "effort": "[off|low|medium|high|max|TOKENS]",
    "new": "",
    "sessions": "",
    "rename": "TITLE",
    "delete": "",
    "search": "[WORDS]",
    "export": "[text|markdown|json] [FILE]",
    "attach": "PATH",
    "detach": "",
    "edit": "",
    "copy": "[thoughts]",
    "now": "",
    "stop": "",
    "replay": "",
    "settings": "",
    "theme": "[light|dark]",
    "help": "",
    "quit": "",
}
"""The arguments of every command."""

KEYLESS_COMMANDS = ("effort", "attach", "detach", "delete", "theme")
"""Commands that no key runs. The command palette puts them into the prompt."""

_ALIASES = {"?": "help", "h": "help", "q": "quit", "exit": "quit", "cancel": "stop", "answer": "now"}
_COMMAND = re.compile(r"[/:](?P<name>[a-z]+|\?)(?:\s+(?P<argument>.*))?", re.DOTALL | re.IGNORECASE)


class Command(msgspec.Struct, frozen=True):
    """A command with its argument. `known` is false if there is no such command."""

    name: str
    argument: str = ""
    known: bool = True


def read_command(text: str) -> Command | None:
    """Return the command in a text; None if the text is a question."""
    if match := _COMMAND.fullmatch(text.strip()):
        name = match["name"].lower()
        argument = (match["argument"] or "").strip()
        if (name, argument.lower()) == ("toggle", "thinking"):
            return Command("thinking")
        name = _ALIASES.get(name, name)
        if name in COMMANDS:
            return Command(name, argument)
    unknown = unknown_command(text)
    return Command(unknown, known=False) if unknown else None


def completions(text: str) -> list[str]:
    """Return the commands that start with what was typed so far; none once an argument begins."""
    if not text.startswith("/") or re.search(r"\s", text):
        return []
    return [f"/{name}" for name in COMMANDS if name.startswith(text[1:].lower())]
