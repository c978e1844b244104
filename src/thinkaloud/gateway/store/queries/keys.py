"""The keys of new rows: the counters from which a database takes them, and keys that are reserved in advance.

Keys of deleted rows are not used again. With a reserved key a turn can begin before it is saved: raising the
counter of SQLite reserves the keys in between, and nobody else gets them, also not after a crash.
"""

import asyncio

from sqlalchemy import Connection, func, select, text

from thinkaloud.gateway.store.engine.database import Database
from thinkaloud.gateway.store.schema import metadata

_RESERVED_AT_ONCE = 1_000
_RESERVED_TABLES = ("sessions", "turns")
_RESERVE_SQLITE = text("UPDATE sqlite_sequence SET seq = seq + :count WHERE name = :name RETURNING seq")
_COUNTED = [table for table in metadata.sorted_tables if "key" in table.c]
_SQLITE_COUNTERS = text("SELECT name, seq FROM sqlite_sequence")
_RAISE_SQLITE = text("UPDATE sqlite_sequence SET seq = max(seq, :last) WHERE name = :name")
_ADD_SQLITE = text("INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :last)")
_POSTGRES_SEQUENCE = text("SELECT pg_get_serial_sequence(:name, 'key')")
_RAISE_POSTGRES = text("SELECT setval(CAST(:sequence AS regclass), :last)")


class KeyReserve:
    """Reserved keys of sessions and turns, for the only process that writes to a SQLite file."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._keys: list[tuple[int, int]] = []
        self._lock = asyncio.Lock()

    async def take(self) -> tuple[int, int]:
        """Return the keys of a new session and its first turn."""
        async with self._lock:
            if not self._keys:
                sessions, turns = await self._database.write(_reserve)
                self._keys = list(zip(reversed(sessions), reversed(turns), strict=True))
            return self._keys.pop()


def _reserve(conn: Connection) -> list[range]:
    """Reserve keys in each table."""
    return [_reserve_in(conn, name) for name in _RESERVED_TABLES]


def _reserve_in(conn: Connection, name: str) -> range:
    values = {"name": name, "count": _RESERVED_AT_ONCE}
    last = conn.scalar(_RESERVE_SQLITE, values)
    if last is None:  # the table has never had a row
        last = _RESERVED_AT_ONCE
        conn.execute(_ADD_SQLITE, {"name": name, "last": last})
    return range(last - _RESERVED_AT_ONCE + 1, last + 1)


def key_counters(conn: Connection) -> dict[str, int]:
    """Return the last key that each table has given out; 0 for none."""
    if conn.dialect.name == "postgresql":
        counted = {table.name: _postgres_counter(conn, table.name) for table in _COUNTED}
    else:
        counted = {row.name: row.seq for row in conn.execute(_SQLITE_COUNTERS)}
    counters = {}
    for table in _COUNTED:
        highest = conn.scalar(select(func.max(table.c.key))) or 0
        counters[table.name] = max(highest, counted.get(table.name, 0))
    return counters


def raise_key_counters(conn: Connection, counters: dict[str, int]) -> None:
    """Make every new key higher than these, and than those of the rows."""
    own = key_counters(conn)
    autoincrement = {table.name for table in _COUNTED if table.dialect_options["sqlite"]["autoincrement"]}
    for name, last in counters.items():
        values = {"name": name, "last": max(last, own[name])}
        if not values["last"]:
            continue
        if conn.dialect.name == "postgresql":
            conn.execute(_RAISE_POSTGRES, {**values, "sequence": _sequence(conn, name)})
        elif name in autoincrement and conn.execute(_RAISE_SQLITE, values).rowcount == 0:
            conn.execute(_ADD_SQLITE, values)


def _sequence(conn: Connection, table: str) -> str:
    return str(conn.scalar(_POSTGRES_SEQUENCE, {"name": table}))


def _postgres_counter(conn: Connection, table: str) -> int:
    query = f"SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {_sequence(conn, table)}"
    return conn.scalar(text(query)) or 0
