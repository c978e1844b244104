"""Facts about the store itself, such as the version of the search index."""

from sqlalchemy import Connection, select, text

from thinkaloud.store.schema import facts

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
