"""Reads the commands that a person types instead of a question: `/thinking hide`, `:toggle thinking`.

A text that starts with `/` is never a question by itself: either its first word is a command, or the person is
asked whether to send it. `:` starts a command only if a word follows at once, so that ":)" stays a question.
"""

import re
from collections.abc import Mapping

import msgspec

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

_ALIASES = {"?": "help", "h": "help", "q": "quit", "exit": "quit", "cancel": "stop", "answer": "now"}
_COMMAND = re.compile(
    r"/(?P<slash>\S*)\s*(?P<rest>.*)|:(?P<colon>[a-z]+)(?: +(?P<colon_rest>[^\n]*))?", re.S | re.I
)


class Command(msgspec.Struct, frozen=True):
    """A command with its argument. `known` is false if there is no such command."""

    name: str
    argument: str = ""
    known: bool = True


def read_command(text: str) -> Command | None:
    """Return the command in a text; None if the text is a question."""
    match = _COMMAND.fullmatch(text.strip())
    if match is None:
        return None
    slash = match["slash"] is not None
    word = (match["slash"] if slash else match["colon"]).lower()
    argument = ((match["rest"] if slash else match["colon_rest"]) or "").strip()
    if word == "toggle" and argument.lower() == "thinking":
        return Command("thinking")
    name = _ALIASES.get(word, word)
    if name in COMMANDS:
        return Command(name, argument)
    if not slash and argument:
        return None
    return Command(word, argument, known=False)


def completions(text: str) -> list[str]:
    """Return the commands that start with what was typed so far; none once an argument begins."""
    if not text.startswith("/") or re.search(r"\s", text):
        return []
    return [f"/{name}" for name in COMMANDS if name.startswith(text[1:].lower())]
