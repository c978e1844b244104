"""Facts about the store itself, such as the version of the search index."""

from sqlalchemy import Connection, insert, select, update

from thinkaloud.store.schema import facts


def read_fact(conn: Connection, name: str) -> str | None:
    """Return the value of a fact; None if it was never stored."""
    return conn.scalar(select(facts.c.value).where(facts.c.name == name))


def store_fact(conn: Connection, name: str, value: str) -> None:
    """Store the value of a fact."""
    if conn.execute(update(facts).where(facts.c.name == name).values(value=value)).rowcount == 0:
        conn.execute(insert(facts).values(name=name, value=value))
