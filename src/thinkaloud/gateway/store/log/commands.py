"""Commands for turns that another gateway runs: to cancel, to answer now, to decide on a tool call."""

from collections.abc import Collection
from enum import StrEnum

import msgspec
from sqlalchemy import Connection, delete, insert, select, update

from thinkaloud.core.canon.events import build_types
from thinkaloud.gateway.store.engine.coordination import DatabaseNowMs, wake_for_command
from thinkaloud.gateway.store.engine.many_rows import padded
from thinkaloud.gateway.store.schema import commands


class CommandKind(StrEnum):
    """What is asked of a turn."""

    CANCEL = "cancel"
    ANSWER_NOW = "answer_now"
    DECIDE = "decide"


class CommandState(StrEnum):
    """How far a command is."""

    WAITING = "waiting"
    DONE = "done"
    REFUSED = "refused"


class TurnCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A command. `block` and `granted` are for a decision, and `given_by` is who made it."""

    kind: CommandKind
    block: int | None = None
    granted: bool | None = None
    given_by: str = ""


class CommandRow(TurnCommand, frozen=True, kw_only=True):
    """A command as it is stored."""

    key: int
    turn: int


build_types(CommandRow)


def send(conn: Connection, turn: int, command: TurnCommand) -> int:
    """Store a command and wake the gateway that runs the turn; return its key."""
    values = {"turn": turn, "created_ms": DatabaseNowMs(), **msgspec.structs.asdict(command)}
    key: int = conn.execute(insert(commands).values(values).returning(commands.c.key)).scalar_one()
    wake_for_command(conn, turn)
    return key


def waiting_for(conn: Connection, turns: Collection[int]) -> list[CommandRow]:
    """Return the commands that wait for these turns, the oldest first."""
    of_turns = commands.c.turn.in_(padded(turns))
    query = select(commands).where(of_turns, commands.c.state == CommandState.WAITING)
    return [
        msgspec.convert(row, CommandRow, from_attributes=True)
        for row in conn.execute(query.order_by(commands.c.key))
    ]


def settle(conn: Connection, command: CommandRow, error: str = "") -> None:
    """Say that a command was run, or why not."""
    state = CommandState.REFUSED if error else CommandState.DONE
    conn.execute(update(commands).where(commands.c.key == command.key).values(state=state, error=error))
    wake_for_command(conn, command.turn)


def withdraw(conn: Connection, key: int) -> None:
    """Delete a command that nobody runs."""
    conn.execute(delete(commands).where(commands.c.key == key))


def take_outcome(conn: Connection, key: int) -> str | None:
    """Return the error of a settled command, empty if it was run, and delete it; None if it waits."""
    settled = (commands.c.key == key, commands.c.state != CommandState.WAITING)
    return conn.scalar(delete(commands).where(*settled).returning(commands.c.error))
