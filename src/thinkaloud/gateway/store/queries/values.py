"""Small values of all tables: public ids, texts as they can be stored, and facts about the store itself.

A public id has a prefix for its kind and 128 random bits, so it cannot be guessed. A text that is not a
well-formed id is never sent to the database. A fact is, for example, the version of the search index.
"""

import re
import secrets

import msgspec
from sqlalchemy import Connection, delete, select, text

from thinkaloud.core.canon import Refused, Wording
from thinkaloud.gateway.store.schema import facts

DELETION_FACT = "deletion"
"""A mark of the last deletion, as long as what was deleted can still be in the files."""
ERASES_FACT = "erases_deleted"
"""Stored once nothing is left in the files of what versions deleted that did not erase it."""

_RANDOM_BYTES = 16
_RANDOM = re.compile(r"[A-Za-z0-9_-]{22}")
_STORE_FACT = text(
    "INSERT INTO facts (name, value) VALUES (:name, :value) "
    "ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_REPLACEMENT = "\ufffd"
_QUOTED_CHARACTERS = 80


def new_id(prefix: str) -> str:
    """Return a new id of this kind."""
    return f"{prefix}_{secrets.token_urlsafe(_RANDOM_BYTES)}"


def matches_id(prefix: str, text: str) -> bool:
    """Whether a text is a well-formed id of this kind."""
    start, _, random = text.partition("_")
    return start == prefix and _RANDOM.fullmatch(random) is not None


def storable(text: str) -> str:
    """Replace what a database cannot store, NUL and lone surrogates, with U+FFFD."""
    if text.isascii() and "\0" not in text:  # most texts: looking twice is faster than one search by pattern
        return text
    return _UNSTORABLE.sub(_REPLACEMENT, text)


def bounded_text(text: str, label: Wording, max_characters: int) -> str:
    """Return the text as `storable`; refuse it if it is too long."""
    if len(text) > max_characters:
        raise Refused(
            "{label} may have at most {max_characters} characters; this one has {count}. Shorten it.",
            label=label,
            max_characters=max_characters,
            count=len(text),
        )
    return storable(text)


def quoted(text: str) -> str:
    """Quote a text in an error message: on one line, and shortened."""
    return repr(text if len(text) <= _QUOTED_CHARACTERS else text[:_QUOTED_CHARACTERS] + "…")


def json_text(value: msgspec.Struct | tuple[msgspec.Struct, ...], label: Wording) -> str:
    """Encode a value as JSON text. JSON escapes NUL, so only lone surrogates are refused."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        raise Refused(
            "{label} cannot be stored: it contains half of a surrogate pair. Remove it.", label=label
        ) from None


def read_fact(conn: Connection, name: str) -> str | None:
    """Return the value of a fact; None if it was never stored."""
    return conn.scalar(select(facts.c.value).where(facts.c.name == name))


def store_fact(conn: Connection, name: str, value: str) -> None:
    """Store the value of a fact."""
    conn.execute(_STORE_FACT, {"name": name, "value": value})


def note_deletion(conn: Connection) -> None:
    """Note that something was deleted whose words must be erased from the files too."""
    store_fact(conn, DELETION_FACT, secrets.token_hex(8))


def forget_deletion(conn: Connection, mark: str) -> None:
    """Note that all is erased that was deleted up to this mark."""
    conn.execute(delete(facts).where(facts.c.name == DELETION_FACT, facts.c.value == mark))
