"""Facts about the store itself, such as the version of the search index."""

import secrets

from sqlalchemy import Connection, delete, select, text

from thinkaloud.gateway.store.schema import facts

DELETION_FACT = "deletion"
"""A mark of the last deletion, as long as what was deleted can still be in the files."""
ERASES_FACT = "erases_deleted"
"""Stored once nothing is left in the files of what versions deleted that did not erase it."""

_STORE = text(
    "INSERT INTO facts (name, value) VALUES (:name, :value) "
    "ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)


def read_fact(conn: Connection, name: str) -> str | None:
    """Return the value of a fact; None if it was never stored."""
    return conn.scalar(select(facts.c.value).where(facts.c.name == name))


def store_fact(conn: Connection, name: str, value: str) -> None:
    """Store the value of a fact."""
    conn.execute(_STORE, {"name": name, "value": value})


def note_deletion(conn: Connection) -> None:
    """Note that something was deleted whose words must be erased from the files too."""
    store_fact(conn, DELETION_FACT, secrets.token_hex(8))


def forget_deletion(conn: Connection, mark: str) -> None:
    """Note that all is erased that was deleted up to this mark."""
    conn.execute(delete(facts).where(facts.c.name == DELETION_FACT, facts.c.value == mark))
