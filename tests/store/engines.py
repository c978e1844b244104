"""The database engines on which the tests of the store run: SQLite, and a PostgreSQL server of our own."""

import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from pathlib import Path

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.pool import StaticPool
from tests.postgres_server import shared_server

from thinkaloud.gateway.store.engine.database import Database
from thinkaloud.gateway.store.engine.postgres import open_postgres
from thinkaloud.gateway.store.engine.postgres_connect import TimeLimits, connect
from thinkaloud.gateway.store.engine.sqlite import open_database
from thinkaloud.gateway.store.migrations.migrate import migrate
from thinkaloud.gateway.store.schema import metadata
from thinkaloud.gateway.store.search import index as search_index

SQLITE, POSTGRES = "sqlite", "postgresql"
ENGINES = (SQLITE, POSTGRES)
_NEW_KEYS = text(
    "SELECT setval(quote_ident(sequencename)::regclass, 1, false) FROM pg_sequences "
    "WHERE schemaname = 'public'"
)


@contextmanager
def empty_tables(engine: str = SQLITE) -> Iterator[Connection]:
    """An empty database in one transaction: in memory, or rolled back at the end."""
    with _sqlite_in_memory() if engine == SQLITE else _postgres_transaction() as conn:
        yield conn


@contextmanager
def _sqlite_in_memory() -> Iterator[Connection]:
    engine = create_engine("sqlite://", poolclass=StaticPool)

    @event.listens_for(engine, "connect")
    def _connected(raw: sqlite3.Connection, _: object) -> None:
        raw.execute("PRAGMA foreign_keys=ON")

    try:
        with engine.begin() as conn:
            metadata.create_all(conn)
            search_index.create(conn)
            yield conn
    finally:
        engine.dispose()


@contextmanager
def _postgres_transaction() -> Iterator[Connection]:
    with _transaction_engine().connect() as conn:
        conn.execute(_NEW_KEYS)  # a rollback does not give keys back
        try:
            yield conn
        finally:
            conn.rollback()


@cache
def _transaction_engine() -> Engine:
    url = shared_server().url(shared_server().new_database(migrated_template()))
    limits = TimeLimits(statement_s=600, idle_s=600)
    return create_engine("postgresql+psycopg://", creator=lambda: connect(url, limits, name="tests"))


@cache
def migrated_template() -> str:
    """Return the name of a PostgreSQL database with all tables, to copy from."""
    name = shared_server().new_database()
    url = shared_server().url(name)
    engine = create_engine("postgresql+psycopg://", creator=lambda: connect(url, TimeLimits(), name="tests"))
    with engine.begin() as conn:
        migrate(conn)
    engine.dispose()
    return name


class TemporaryDatabases:
    """The database of each folder. On PostgreSQL a folder only names one, which is kept until `clear`."""

    def __init__(self) -> None:
        self.engine = SQLITE
        self._names: dict[Path, str] = {}

    @asynccontextmanager
    async def open(self, folder: Path) -> AsyncIterator[Database]:
        """Open the database of this folder, or a new one."""
        if self.engine == SQLITE:
            async with open_database(folder / "thinkaloud.db") as database:
                yield database
        else:
            async with open_postgres(self.url(folder)) as shared:
                yield shared

    def url(self, folder: Path) -> str:
        """Return the address of the PostgreSQL database of this folder."""
        if folder not in self._names:
            self._names[folder] = shared_server().new_database(migrated_template())
        return shared_server().url(self._names[folder])

    def clear(self) -> None:
        """Delete the PostgreSQL databases."""
        while self._names:
            shared_server().drop_database(self._names.popitem()[1])


TEMPORARY = TemporaryDatabases()
