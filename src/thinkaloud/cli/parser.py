"""The grammar of the command line: one parser for all commands, with suggestions for typing errors.

Options and words may stand in any order, and options are not abbreviated: an abbreviation would get another
meaning when an option is added. Completion scripts and the manual page are made from the same parser.
"""

import argparse
import difflib
import importlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, NoReturn

from thinkaloud.cli.output.console import in_users_language, users_language
from thinkaloud.core.canon import Wording
from thinkaloud.core.view.translate import translate
from thinkaloud.surfaces.terminal import clean

Commands = Mapping[str, tuple[str, str, str]]
"""For each command: `module:function` that adds its options, a summary for lists, and a description."""

DESCRIPTION = "Ask any model, and show its thoughts, tool calls and answer separately."
_LITERAL = "\0"
"""Marks a word that is no option though it starts with a dash. No argument of a program contains this."""
_USAGE = "usage: "
_OF_EVERY_PARSER = {
    None,
    "actions",
    "commands",
    "positional arguments",
    "options",
    "show this help message and exit",
    "show program's version number and exit",
}
_SIMILARITY = 0.65
"""`aks` is similar enough to `ask`; `--modle` is not to `--file`."""
_MANY = (argparse.ZERO_OR_MORE, argparse.ONE_OR_MORE)


class CommandParser(argparse.ArgumentParser):
    """A parser, also of each command, whose errors suggest what was meant and where to find help."""

    def __init__(self, **keywords: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **keywords})
        self._intermixed = False

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        end = "" if message.endswith("?") else "."
        remedy = Wording("Run `{program} --help` for help.", program=self.prog)
        text = Wording(
            "{program}: error: {message} {remedy}", program=self.prog, message=message + end, remedy=remedy
        )
        self.exit(2, f"{clean(in_users_language(text))}\n")

    def format_usage(self) -> str:
        self._translate()
        usage = super().format_usage()
        if self._intermixed and self.usage is None:
            # `argparse` cuts the English prefix off by its length and keeps the rest.
            return usage.replace(_argparse_text(_USAGE), _USAGE, 1)
        return usage

    def format_help(self) -> str:
        self._translate()
        return super().format_help()

    def _translate(self) -> None:
        """Put the texts of this command into the user's language."""
        locale = users_language()
        self.description = translate(self.description or "", locale)
        for group in self._action_groups:
            group.title = translate(group.title or "", locale)
        for action in self._actions:
            choices = action._choices_actions if isinstance(action, argparse._SubParsersAction) else []
            for described in (action, *choices):
                if described.help and described.help != argparse.SUPPRESS:
                    described.help = translate(described.help, locale)

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        super().exit(status, message and message.replace(_LITERAL, ""))

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the arguments; the parser of a command refuses options that it does not know."""
        if self._intermixed or self.has_commands:
            return super().parse_known_args(args, namespace)
        if any(action.nargs in _MANY for action in self._get_positional_actions()):
            self._intermixed = True
            try:
                options, unknown = self.parse_known_intermixed_args(args, namespace)
            finally:
                self._intermixed = False
        else:
            options, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(self._unknown_text(unknown))
        return options, unknown

    @property
    def has_commands(self) -> bool:
        """Whether this parser only chooses between commands."""
        return any(isinstance(action, argparse._SubParsersAction) for action in self._actions)

    def _unknown_text(self, unknown: Sequence[str]) -> str:
        option = next((word for word in unknown if word.startswith("-")), "")
        if not option:
            return in_users_language(Wording("unexpected argument: {words}", words=" ".join(unknown)))
        name = option.partition("=")[0]
        text = Wording("unknown option {option}", option=name)
        similar = _similar(name, [word for word in self._option_string_actions if len(word) > 2])
        if similar is not None:
            text = Wording.join([text, similar], ". ")
        return in_users_language(text)


def parse(parser: CommandParser, argv: Sequence[str]) -> argparse.Namespace:
    """Parse the arguments. After `--` no word is an option.

    `argparse` loses the `--` where options and words may stand in any order, so the words are marked. An
    unknown option before the command would be reported as a command that is missing.
    """
    end = list(argv).index("--") if "--" in argv else len(argv)
    before_command = takewhile(_dashed, argv[:end])
    if unknown := [word for word in before_command if word not in parser._option_string_actions]:
        parser.error(parser._unknown_text(unknown))
    words = list(argv[:end])
    for word in argv[end + 1 :]:
        words.append(_LITERAL + word if _dashed(word) else word)
    options = parser.parse_args(words)
    for name, value in vars(options).items():
        setattr(options, name, _unmarked(value))
    return options


def _dashed(word: str) -> bool:
    return word.startswith("-")


def _unmarked(value: Any) -> Any:
    """Return a word or a list of words without marks, and any other value as it is."""
    if isinstance(value, list):
        return [_unmarked(word) for word in value]
    if isinstance(value, str) and value.startswith(_LITERAL):  # a member of an enum must stay one
        return value.removeprefix(_LITERAL)
    return value


def with_suggestion(missing: Wording, name: str, known: Sequence[str], remedy: Wording) -> Wording:
    """Return the message about a name that does not exist, with what was perhaps meant, and what to do."""
    similar = _similar(name, known)
    return Wording.join([missing, remedy] if similar is None else [missing, similar, remedy])


def _similar(word: str, known: Sequence[str]) -> Wording | None:
    similar = difflib.get_close_matches(word, known, n=3, cutoff=_SIMILARITY)
    return Wording("Did you mean {names}?", names=Wording.any_of(similar)) if similar else None


def help_text(action: argparse.Action) -> str:
    """Return the help of an option in English, with its values filled in."""
    values = {**vars(action), "choices": ", ".join(map(str, action.choices or ()))}
    return (action.help or "") % values


def _of_argparse(text: str, locale: str) -> str:
    return translate(text, locale, context="argparse")


def _argparse_text(text: str) -> str:
    """Return a text of `argparse` itself in the user's language, which is read from a file.

    What every parser has is translated with the rest of its help, if that is shown at all.
    """
    return text if text in _OF_EVERY_PARSER else _of_argparse(text, users_language())


def _argparse_plural(one: str, many: str, count: int) -> str:
    return _argparse_text(one if count == 1 else many)


# `argparse` has its texts from gettext, which knows only the language of the environment.
vars(argparse).update(_=_argparse_text, ngettext=_argparse_plural)


def add_actions(
    parser: argparse.ArgumentParser, *, required: bool = True
) -> Callable[..., argparse.ArgumentParser]:
    """Return a function that adds an action to a command: its name, summary, description and function."""
    actions = parser.add_subparsers(title="actions", required=required, metavar="ACTION")

    def add_action(
        name: str, summary: str, description: str, run: Callable[[argparse.Namespace], int]
    ) -> argparse.ArgumentParser:
        action: argparse.ArgumentParser = actions.add_parser(name, help=summary, description=description)
        action.set_defaults(run=run)
        return action

    return add_action


def build_parser(commands: Commands, chosen: str | None, version: str) -> CommandParser:
    """Return the parser with all commands by name, and the options of the chosen one, or of all if None."""
    parser = CommandParser(prog="thinkaloud", description=DESCRIPTION)
    parser.add_argument("--version", action="version", version=version)
    subparsers = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, (options, summary, description) in commands.items():
        subparser = subparsers.add_parser(name, help=summary, description=description)
        if options and chosen in (name, None):
            module, _, function = options.partition(":")
            getattr(importlib.import_module(f"thinkaloud.cli.commands.{module}"), function)(subparser)
    return parser


class CommandNode:
    """A command as the completion scripts and the manual page need it."""

    def __init__(self, path: tuple[str, ...], summary: str, parser: argparse.ArgumentParser) -> None:
        self.path = path
        self.summary = summary
        self.parser = parser
        self.options = [action for action in parser._actions if action.option_strings]
        self.words = [action for action in parser._actions if not action.option_strings]

    @property
    def children(self) -> dict[str, str]:
        """The commands below this one, with their summaries."""
        summaries: dict[str, str] = {}
        for action in self.words:
            if isinstance(action, argparse._SubParsersAction):
                summaries |= {choice.dest: choice.help or "" for choice in action._choices_actions}
        return summaries

    @property
    def word_choices(self) -> list[str]:
        """The values that words of this command may have, if they are limited."""
        choices: list[str] = []
        for action in self.words:
            if not isinstance(action, argparse._SubParsersAction):
                choices += map(str, action.choices or ())
        return choices


def command_nodes(
    parser: argparse.ArgumentParser, path: tuple[str, ...] = (), summary: str = ""
) -> Iterator[CommandNode]:
    """Yield the parser and all commands below it, each before its own commands."""
    node = CommandNode(path, summary, parser)
    yield node
    for action in node.words:
        if isinstance(action, argparse._SubParsersAction):
            summaries = node.children
            for name, child in action.choices.items():
                yield from command_nodes(child, (*path, name), summaries.get(name, ""))
