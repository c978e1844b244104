"""What commands print in Portuguese besides errors: table headers, the meanings of settings, and help."""

import argparse
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from thinkaloud.surfaces.chat.error_words import Patterns, filled, sentence_patterns


@cache
def texts() -> Mapping[str, Mapping[str, str]]:
    """Return the tables of texts, English to Portuguese: by what they are for."""
    return tomllib.loads(files("thinkaloud.cli.output").joinpath("portuguese.toml").read_text("utf-8"))


def translate_header(name: str) -> str:
    """Return a table header in Portuguese."""
    return texts()["headers"].get(name, name)


def translate_setting(meaning: str) -> str:
    """Return the meaning of a setting in Portuguese."""
    return texts()["settings"].get(meaning, meaning)


def translate_help(text: str) -> str:
    """Return a text of the help in Portuguese, if it is known."""
    for pattern, portuguese in _help_patterns():
        if match := pattern.fullmatch(text):
            return filled(portuguese, match)
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


@cache
def _help_patterns() -> Patterns:
    return sentence_patterns(texts()["help"].items())
