"""Wakes other gateways on the same PostgreSQL when turns have changed, or when one asks something of another.

A notification is a hint with the keys of turns and may be lost; the tables are the truth. SQLite has one
gateway, which needs none.
"""

from collections.abc import Iterable

import msgspec
from sqlalchemy import Connection, text

LOG_CHANNEL = "thinkaloud_log"
COMMAND_CHANNEL = "thinkaloud_commands"
CHANNELS = (LOG_CHANNEL, COMMAND_CHANNEL)
ALL_TURNS = "*"
_MAX_TURNS = 390
"""PostgreSQL refuses payloads of 8,000 bytes, and with them the commit. A key has at most 19 digits."""
_NOTIFY = text("SELECT pg_notify(:channel, :payload)")


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
    keys = payload.split(",")
    known = all(key.isascii() and key.isdecimal() for key in keys)
    return Wakeup(frozenset(map(int, keys)) if known else None, commands=channel == COMMAND_CHANNEL)


def wake_readers(conn: Connection, turns: Iterable[int]) -> None:
    """Wake the gateways that read these turns, when this transaction commits."""
    _notify(conn, LOG_CHANNEL, turns)


def wake_for_command(conn: Connection, turn: int) -> None:
    """Wake the gateway that runs a turn, and the one that waits for the outcome of a command."""
    _notify(conn, COMMAND_CHANNEL, [turn])


def _notify(conn: Connection, channel: str, turns: Iterable[int]) -> None:
    if conn.dialect.name == "postgresql":
        conn.execute(_NOTIFY, {"channel": channel, "payload": turns_payload(turns)})
