"""What commands print in Portuguese: errors, table headers, findings of `doctor`, and help.

Errors are raised in English by every package, with the sentences put together where they are raised. Each
sentence of `portuguese.toml` is found by its fixed words. `{}` is a gap of any text, kept in order. The page
translates the errors of the gateway with the same table and rule (`web/page/translate.ts`).
"""

import argparse
import re
import tomllib
from collections.abc import Mapping
from functools import cache, partial
from importlib.resources import files


@cache
def texts() -> Mapping[str, Mapping[str, str]]:
    """Return the tables of texts, English to Portuguese: by what they are for."""
    return tomllib.loads(files("thinkaloud.cli").joinpath("portuguese.toml").read_text("utf-8"))


def translate_header(name: str) -> str:
    """Return a table header in Portuguese."""
    return texts()["headers"].get(name, name)


def translate_setting(meaning: str) -> str:
    """Return the meaning of a setting in Portuguese."""
    return texts()["settings"].get(meaning, meaning)


def translate_error(text: str) -> str:
    """Return an error in Portuguese. A sentence that is not known stays as it is."""
    for pattern, portuguese in _patterns("errors", "sentences"):
        text = pattern.sub(partial(_filled, portuguese), text)
    return text


def translate_help(text: str) -> str:
    """Return a text of the help in Portuguese, if it is known."""
    for pattern, portuguese in _patterns("help"):
        if match := pattern.fullmatch(text):
            return _filled(portuguese, match)
    return text


def translate_parser(parser: argparse.ArgumentParser) -> None:
    """Make the help of a command Portuguese."""
    parser.formatter_class = _PortugueseHelp
    parser.description = translate_help(parser.description or "")
    for group in parser._action_groups:
        group.title = translate_help(group.title or "")
    for action in parser._actions:
        choices = action._choices_actions if isinstance(action, argparse._SubParsersAction) else []
        for described in (action, *choices):
            if described.help and described.help != argparse.SUPPRESS:
                described.help = translate_help(described.help)


class _PortugueseHelp(argparse.HelpFormatter):
    def add_usage(self, usage, actions, groups, prefix=None):  # type: ignore[no-untyped-def]
        super().add_usage(usage, actions, groups, "uso: " if prefix is None else prefix)


def _filled(portuguese: str, match: re.Match[str]) -> str:
    return portuguese.format(*match.groups())


@cache
def _patterns(*tables: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    """Return the texts of tables as patterns, the longest first: a short one may be part of a long one."""
    pairs = (pair for table in tables for pair in texts()[table].items())
    ordered = sorted(pairs, key=lambda pair: -len(pair[0]))
    return tuple((_pattern(english), portuguese) for english, portuguese in ordered)


def _pattern(english: str) -> re.Pattern[str]:
    fixed = (re.escape(part) for part in english.split("{}"))
    return re.compile(r"(.+?)".join(fixed) + ("$" if english.endswith("{}") else ""), re.DOTALL)
