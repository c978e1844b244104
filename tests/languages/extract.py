"""Finds every text for people in the source, and updates the catalogs of the languages with them.

`python -m tests.languages.extract` adds new texts to the catalogs in `core/view/locales`, for a translator to
fill in, and removes those that are gone. The tests fail for a text without a translation.
"""

import argparse
import ast
import inspect
import io
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po

import thinkaloud
from thinkaloud.agents.config import builtin_agents
from thinkaloud.cli import COMMANDS
from thinkaloud.cli.parser import build_parser, command_nodes

PACKAGE = Path(thinkaloud.__file__).parent
CATALOGS = PACKAGE / "core" / "view" / "locales"
ARGPARSE = "argparse"
"""The context of the texts of `argparse` itself."""
FIELD = re.compile(r"\{(\w+)\}")
_ROOT = "ThinkaloudError"
_OPTIONS = {"wording", "code", "fault", "response", "retryable"}
"""Arguments of our errors that are no fields of their message."""


class Text(NamedTuple):
    """A text in the source: its template, where it is, and the names of the fields that it is given there."""

    template: str
    place: str
    fields: frozenset[str] = frozenset()
    context: str = ""


@cache
def modules() -> Mapping[Path, ast.Module]:
    """Return all modules of the package."""
    return {path: ast.parse(path.read_text("utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def error_names() -> frozenset[str]:
    """Return the names of the classes of our errors."""
    classes = [
        node for tree in modules().values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
    ]
    names = {_ROOT}
    while found := {node.name for node in classes if names & set(map(_name, node.bases))} - names:
        names |= found
    return frozenset(names)


def message_calls() -> Iterator[tuple[Path, ast.Call]]:
    """Yield the calls that make a message for people: of `Wording`, and of our errors."""
    for path, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and (_name(node.func) in _makers() or _calls_base(node)):
                yield path, node


@cache
def texts() -> tuple[Text, ...]:
    """Return all texts that need a translation: those with a word besides their fields."""
    found = (*_texts_of_messages(), *_default_texts(), *_help_texts(), *_agent_texts(), *_argparse_texts())
    return tuple(text for text in found if any(map(str.isalpha, FIELD.sub("", text.template))))


def _texts_of_messages() -> Iterator[Text]:
    for path, call in message_calls():
        if call.args and (template := _literal(call.args[0])):
            fields = frozenset(keyword.arg or "" for keyword in call.keywords) - _OPTIONS
            yield Text(template, f"{path.relative_to(PACKAGE)}:{call.lineno}", fields)


def _default_texts() -> Iterator[Text]:
    """Yield the messages that errors have by default."""
    for path, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.arguments) and [one.arg for one in node.posonlyargs[-1:]] == ["template"]:
                for default in node.defaults:
                    yield Text(_literal(default), str(path.relative_to(PACKAGE)))


def _agent_texts() -> Iterator[Text]:
    for name, agent in builtin_agents().agents.items():
        yield Text(agent.description, f"agent {name}")


def _argparse_texts() -> Iterator[Text]:
    for node in ast.walk(ast.parse(inspect.getsource(argparse))):
        if isinstance(node, ast.Call) and _name(node.func) in ("_", "ngettext"):
            for argument in node.args:
                yield Text(_literal(argument), ARGPARSE, context=ARGPARSE)


def _help_texts() -> Iterator[Text]:
    for node in command_nodes(build_parser(COMMANDS, None, "")):
        place = " ".join(("help of", *node.path))
        actions = [choice for action in node.words for choice in getattr(action, "_choices_actions", [])]
        for title in (group.title for group in node.parser._action_groups):
            yield Text(title or "", place)
        for text in (node.parser.description, *(one.help for one in (*node.options, *node.words, *actions))):
            yield Text(text or "", place)


def _makers() -> frozenset[str]:
    return error_names() | {"Wording", "invalid_value", "_ok", "_note", "_problem"}


def _calls_base(node: ast.Call) -> bool:
    """Whether it is `super().__init__` with a template and fields, as in the errors that write their own."""
    function = node.func
    is_init = isinstance(function, ast.Attribute) and function.attr == "__init__"
    return is_init and any(keyword.arg for keyword in node.keywords) and bool(node.args)


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _literal(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def updated(content: bytes) -> bytes:
    """Return a catalog with all texts of the source, and none that are gone."""
    catalog = read_po(io.BytesIO(content))
    catalog.project, catalog.version = "Thinkaloud", thinkaloud.__version__
    catalog.msgid_bugs_address, catalog.last_translator = "", "The Thinkaloud authors"
    found = Catalog(creation_date=catalog.creation_date)
    own = {text.template for text in texts() if not text.context}
    for text in texts():
        if not text.context or text.template not in own:
            found.add(text.template, context=text.context or None)
    catalog.update(found, no_fuzzy_matching=True, update_header_comment=False)
    output = io.BytesIO()
    write_po(output, catalog, width=0, sort_output=True, ignore_obsolete=True)
    return output.getvalue()


if __name__ == "__main__":
    for path in CATALOGS.glob("*.po"):
        path.write_bytes(updated(path.read_bytes()))
