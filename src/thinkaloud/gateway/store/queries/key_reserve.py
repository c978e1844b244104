"""Keys that are reserved in advance, so that a turn can begin before it is saved.

SQLite counts the keys that it has given out in a table of its own. Raising the counter reserves the keys in
between: nobody else gets them, also not after a crash.
"""

import asyncio

from sqlalchemy import Connection, text

from thinkaloud.gateway.store.engine.database import Database

_RESERVED_AT_ONCE = 1_000
_TABLES = ("sessions", "turns")
_RAISE = text("UPDATE sqlite_sequence SET seq = seq + :count WHERE name = :name RETURNING seq")
_BEGIN = text("INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :count)")


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
    return [_reserve_in(conn, name) for name in _TABLES]


def _reserve_in(conn: Connection, name: str) -> range:
    values = {"name": name, "count": _RESERVED_AT_ONCE}
    last = conn.scalar(_RAISE, values)
    if last is None:  # the table has never had a row
        conn.execute(_BEGIN, values)
        last = _RESERVED_AT_ONCE
    return range(last - _RESERVED_AT_ONCE + 1, last + 1)
