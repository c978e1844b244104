"""Turns that were left behind: their writer is gone, and somebody has to say so.

What they said is kept. One that had come to its end is folded as if nothing had happened, and one that waits
for a person may go on; every other ends here as interrupted, so that nobody waits for it.
"""

from collections.abc import Callable
from functools import partial

import msgspec
from sqlalchemy import Connection, or_, select, update

from thinkaloud.canon import Entry, OutOfOrder, TurnFailed
from thinkaloud.store.archive import log_entries
from thinkaloud.store.database import Database
from thinkaloud.store.finish import INTERRUPTED, FinishedTurn, finished_from_entries, save_finished
from thinkaloud.store.rows import Session, TurnRow, TurnState
from thinkaloud.store.schema import turns
from thinkaloud.store.sessions import drop_partial_imports
from thinkaloud.store.turns import with_session
from thinkaloud.transcript import Turn, apply, events_to_end_turn

INTERRUPTED_MESSAGE = (
    "The gateway stopped before this turn was over. What was said until then is kept; ask again to go on."
)


LEASE_MS = 30_000
"""A writer that has not renewed its lease for so long is gone."""


def renew_leases(conn: Connection, writer: str, now_ms: int) -> None:
    """Say that a writer still lives, for all turns it writes."""
    condition = (turns.c.writer == writer, turns.c.state == TurnState.RUNNING)
    conn.execute(update(turns).where(*condition).values(lease_until_ms=now_ms + LEASE_MS))


class RecoveredTurns(msgspec.Struct, frozen=True):
    """The turns that were left behind, by their ids: those that are over now, and those that can go on."""

    ended: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()


async def recover(
    database: Database, *, now_ms: int, waits: Callable[[Turn], bool] = lambda _: False
) -> RecoveredTurns:
    """Bring every turn that was left behind to an end, but those that wait. Halves of imports go, too."""
    if database.exclusive:
        await database.write(drop_partial_imports)
    claimed = await database.write(lambda conn: _claim(conn, now_ms, include_leased=database.exclusive))
    ended, waiting = [], []
    for key, turn_id in claimed:
        finished = await database.read(partial(_finished_turn, key=key, now_ms=now_ms, waits=waits))
        if finished is None:
            waiting.append(turn_id)
        else:
            await database.write(partial(save_finished, key=key, finished=finished))
            ended.append(turn_id)
    return RecoveredTurns(tuple(ended), tuple(waiting))


def _claim(conn: Connection, now_ms: int, *, include_leased: bool) -> list[tuple[int, str]]:
    """Raise the epoch of turns without a writer: if one still lives somewhere, it can add nothing more."""
    expired = or_(turns.c.lease_until_ms.is_(None), turns.c.lease_until_ms < now_ms)
    query = select(turns.c.key, turns.c.id).where(turns.c.state == TurnState.RUNNING)
    rows = conn.execute(query if include_leased else query.where(expired)).all()
    keys = [row.key for row in rows]
    conn.execute(update(turns).where(turns.c.key.in_(keys)).values(epoch=turns.c.epoch + 1))
    return [(row.key, row.id) for row in rows]


async def end_waiting(database: Database, key: int, *, now_ms: int, reason: str) -> None:
    """End a turn that waits and can never go on."""
    finished = await database.read(partial(_finished_turn, key=key, now_ms=now_ms, reason=reason))
    if finished is not None:
        await database.write(partial(save_finished, key=key, finished=finished))


def take_over(conn: Connection, turn_id: str, writer: str, now_ms: int) -> tuple[TurnRow, Session] | None:
    """Become the writer of a turn that waits; None where it is gone."""
    statement = update(turns).where(turns.c.id == turn_id, turns.c.state == TurnState.RUNNING)
    conn.execute(statement.values(writer=writer, lease_until_ms=now_ms + LEASE_MS))
    return with_session(conn, turn_id)


def _finished_turn(
    conn: Connection,
    key: int,
    now_ms: int,
    waits: Callable[[Turn], bool] = lambda _: False,
    reason: str = INTERRUPTED_MESSAGE,
) -> FinishedTurn | None:
    entries, turn = [], Turn()
    try:
        for entry in log_entries(conn, key):
            apply(turn, entry)
            entries.append(entry)
        if waits(turn):
            return None
        end = TurnFailed(INTERRUPTED, reason)
    except (msgspec.MsgspecError, OutOfOrder) as error:
        end = TurnFailed("unreadable", f"The rest of this turn's log cannot be read: {error}")
    at_ms = max(now_ms, entries[-1].at_ms or 0) if entries else now_ms
    ends = events_to_end_turn(turn, end)
    entries += [Entry(seq, event, at_ms) for seq, event in enumerate(ends, turn.seq + 1)]
    return finished_from_entries(entries)
