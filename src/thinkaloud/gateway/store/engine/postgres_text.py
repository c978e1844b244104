"""Texts on PostgreSQL, which stores neither NUL nor lone surrogates. Both are escaped, and read back.

Models send NUL now and then. SQLite keeps it, so PostgreSQL must too.
"""

import re
from typing import Any

import psycopg
from psycopg.adapt import Loader
from psycopg.types.string import StrDumper, TextLoader

_ESCAPE = "\U0010ffff"
"""A noncharacter: no text should have it, and one that does is escaped too."""
_SHIFT = 0xE000 - 0xD800
"""Surrogates are written as characters for private use, which follow the escape."""
_UNSTORABLE = re.compile("[\x00\ud800-\udfff\U0010ffff]")
_ESCAPED = re.compile("\U0010ffff([0\ue000-\ue7ff\U0010ffff])")


def escape(text: str) -> str:
    """Return a text that PostgreSQL can store."""
    return _UNSTORABLE.sub(lambda match: _ESCAPE + _escape_character(match[0]), text)


def unescape(text: str) -> str:
    """Return the text that `escape` was given."""
    return _ESCAPED.sub(lambda match: _unescape_character(match[1]), text) if _ESCAPE in text else text


def _escape_character(character: str) -> str:
    if character == "\x00":
        return "0"
    return character if character == _ESCAPE else chr(ord(character) + _SHIFT)


def _unescape_character(character: str) -> str:
    if character == "0":
        return "\x00"
    return character if character == _ESCAPE else chr(ord(character) - _SHIFT)


class _EscapingDumper(StrDumper):
    def dump(self, obj: str) -> Any:
        return super().dump(escape(obj))


class _EscapingLoader(Loader):
    def __init__(self, oid: int, context: Any = None) -> None:
        super().__init__(oid, context)
        self._loader = TextLoader(oid, context)

    def load(self, data: Any) -> str:
        text = self._loader.load(data)
        return unescape(text if isinstance(text, str) else text.decode())


def register_escapes(connection: psycopg.Connection[Any]) -> None:
    """Escape all texts that this connection sends, and unescape those that it receives."""
    connection.adapters.register_dumper(str, _EscapingDumper)
    connection.adapters.register_loader("text", _EscapingLoader)
