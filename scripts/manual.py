"""Writes the manual page of the package from the parser: `python scripts/manual.py`."""

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

from thinkaloud import __version__
from thinkaloud.cli import COMMANDS
from thinkaloud.cli.parser import DESCRIPTION, CommandNode, build_parser, command_nodes, help_text

PAGE = Path(__file__).parents[1] / "src" / "thinkaloud" / "cli" / "thinkaloud.1"
EXIT_CODES = (
    ("0", "success"),
    ("1", "the model or its provider failed"),
    ("2", "the command cannot be carried out, or an input is invalid"),
    ("130", "stopped by Ctrl-C"),
)
ENVIRONMENT = (
    ("THINKALOUD_HOME", "the folder of settings, keys, agents, catalog and database"),
    ("THINKALOUD_MODEL", "the default model; overrides the settings"),
    ("NO_COLOR", "if not empty, no colours and no dimmed text"),
    ("FORCE_COLOR", "if not empty, colours and dimmed text also where there is no terminal"),
    ("CLICOLOR_FORCE, CLICOLOR", "if not 0, as FORCE_COLOR; CLICOLOR=0 is as NO_COLOR, which wins"),
    ("TERM, COLORTERM", "whether the chat draws more than the 16 colours of the terminal"),
    ("COLORFGBG", "the colours of the terminal, for the light or dark theme of the chat"),
    ("ACCESSIBLE", "if not empty, static lines for screen readers: nothing is redrawn"),
    ("THINKALOUD_PAGER, PAGER", "the program that shows long lists on a terminal; cat for none"),
    ("LC_ALL, LC_MESSAGES, LANG", "the language, if the settings name none"),
)


def manual_page(version: str) -> str:
    """Return the manual page in the language of `man`."""
    nodes = list(command_nodes(build_parser(COMMANDS, None, version)))
    return "\n".join(_lines(nodes, version)) + "\n"


def _lines(nodes: list[CommandNode], version: str) -> Iterator[str]:
    yield f'.TH THINKALOUD 1 "" "thinkaloud {version}" "User Commands"'
    yield ".SH NAME"
    yield f"thinkaloud \\- {_escape(DESCRIPTION[0].lower() + DESCRIPTION[1:].rstrip('.'))}"
    yield ".SH SYNOPSIS"
    yield ".B thinkaloud"
    yield "COMMAND [OPTION...] [WORD...]"
    yield ".SH DESCRIPTION"
    yield _escape(DESCRIPTION)
    yield "Options and words may stand in any order."
    yield ".SH COMMANDS"
    for node in nodes[1:]:
        yield from _command(node)
    yield from _table("EXIT STATUS", EXIT_CODES)
    yield from _table("ENVIRONMENT", ENVIRONMENT)


def _command(node: CommandNode) -> Iterator[str]:
    yield f".SS thinkaloud {' '.join(node.path)}"
    yield _escape(node.parser.description or node.summary)
    for action in (*node.words, *node.options):
        if isinstance(action, argparse._SubParsersAction | argparse._HelpAction):
            continue
        yield ".TP"
        yield _term(action)
        yield _escape(help_text(action))


def _term(action: argparse.Action) -> str:
    metavar = str(action.metavar or "|".join(map(str, action.choices or ())) or action.dest.upper())
    value = "" if action.nargs == 0 else f" \\fI{_escape(metavar)}\\fR"
    if not action.option_strings:
        return value.strip()
    names = ", ".join(f"\\fB{_escape(name)}\\fR" for name in action.option_strings)
    return f"{names}{value}"


def _table(title: str, rows: tuple[tuple[str, str], ...]) -> Iterator[str]:
    yield f".SH {title}"
    for name, meaning in rows:
        yield ".TP"
        yield f".B {_escape(name)}"
        yield _escape(meaning)


def _escape(text: str) -> str:
    """Return text that `man` shows as it is: backslashes, hyphens and leading dots have a meaning there."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "\\(ga").replace("'", "\\(aq")
    return f"\\&{escaped}" if escaped.startswith(".") else escaped


if __name__ == "__main__":
    os.environ["COLUMNS"] = "80"
    PAGE.write_text(manual_page(__version__), "utf-8")
