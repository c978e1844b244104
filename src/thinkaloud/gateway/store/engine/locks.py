"""Locks between gateways on one database, for work that has no row to lock yet."""

import zlib

from sqlalchemy import Connection, text

_LOCK = text("SELECT pg_advisory_xact_lock(:space, :number)")
_SPACE = 0x74686B  # other programs may use advisory locks of the same database


def lock_until_commit(conn: Connection, name: str) -> None:
    """Wait until no other transaction holds the lock of this name. SQLite has one writer and needs none."""
    if conn.dialect.name == "postgresql":
        conn.execute(_LOCK, {"space": _SPACE, "number": zlib.crc32(name.encode()) >> 1})
