"""What the gateways on one database share: notifications that turns have changed, locks, and its clock.

A notification is a hint with the keys of turns and may be lost; the tables are the truth. SQLite has one
gateway, which needs neither notifications nor locks.
"""

import re
import zlib
from collections.abc import Iterable
from typing import Any

import msgspec
from sqlalchemy import BigInteger, Connection, text
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

LOG_CHANNEL = "thinkaloud_log"
COMMAND_CHANNEL = "thinkaloud_commands"
CHANNELS = (LOG_CHANNEL, COMMAND_CHANNEL)
ALL_TURNS = "*"
_TURN_KEYS = re.compile(r"[0-9]{1,19}(,[0-9]{1,19})*")
_MAX_TURNS = 390
"""PostgreSQL refuses payloads of 8,000 bytes, and with them the commit. A key has at most 19 digits."""
_NOTIFY = text("SELECT pg_notify(:channel, :payload)")
_LOCK = text("SELECT pg_advisory_xact_lock(:space, :number)")
_LOCK_SPACE = 0x74686B  # other programs may use advisory locks of the same database


class Wakeup(msgspec.Struct, frozen=True):
    """Turns that may have changed, or have commands. `turns` is None for all: some may have been missed."""

    turns: frozenset[int] | None = None
    commands: bool = False
    replaced: bool = False
    """Whether another server has taken the place of the database: it may lack what readers have received."""


def turns_payload(turns: Iterable[int]) -> str:
    """Return the notification for these turns."""
    keys = set(turns)
    return ALL_TURNS if len(keys) > _MAX_TURNS else ",".join(map(str, sorted(keys)))


def read_wakeup(channel: str, payload: str) -> Wakeup:
    """Return what a notification says; all turns if another program sent it."""
    turns: frozenset[int] | None = None
    if _TURN_KEYS.fullmatch(payload):
        turns = frozenset(map(int, payload.split(",")))
    return Wakeup(turns, commands=channel == COMMAND_CHANNEL)


def wake_readers(conn: Connection, turns: Iterable[int]) -> None:
    """Wake the gateways that read these turns, when this transaction commits."""
    _notify(conn, LOG_CHANNEL, turns)


def wake_for_command(conn: Connection, turn: int) -> None:
    """Wake the gateway that runs a turn, and the one that waits for the outcome of a command."""
    _notify(conn, COMMAND_CHANNEL, [turn])


def _notify(conn: Connection, channel: str, turns: Iterable[int]) -> None:
    if conn.dialect.name == "postgresql":
        conn.execute(_NOTIFY, {"channel": channel, "payload": turns_payload(turns)})


def lock_until_commit(conn: Connection, name: str) -> None:
    """Wait until no other transaction holds the lock of this name, for work that has no row to lock yet."""
    if conn.dialect.name == "postgresql":
        conn.execute(_LOCK, {"space": _LOCK_SPACE, "number": zlib.crc32(name.encode()) >> 1})


class DatabaseNowMs(FunctionElement[int]):
    """The time of the database, in milliseconds, also within a long transaction."""

    type = BigInteger()
    inherit_cache = True


@compiles(DatabaseNowMs, "postgresql")
def _on_postgres(element: DatabaseNowMs, compiler: Any, **options: Any) -> str:
    return "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)"


@compiles(DatabaseNowMs, "sqlite")
def _on_sqlite(element: DatabaseNowMs, compiler: Any, **options: Any) -> str:
    return "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"
