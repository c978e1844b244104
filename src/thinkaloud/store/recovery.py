"""Recovers abandoned turns: turns whose gateway stopped while they ran.

Their events are kept. A turn whose last event was written is saved as usual, a turn that waits for an
approval can continue, and every other turn ends as interrupted, so that no reader waits for it.
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
    "The gateway stopped before this turn ended. The response so far is kept. Ask again to continue."
)


LEASE_MS = 30_000
"""A writer that has not renewed its lease for this long counts as stopped."""


def renew_leases(conn: Connection, writer: str, now_ms: int) -> None:
    """Renew the leases of all turns of a writer."""
    condition = (turns.c.writer == writer, turns.c.state == TurnState.RUNNING)
    conn.execute(update(turns).where(*condition).values(lease_until_ms=now_ms + LEASE_MS))


class RecoveredTurns(msgspec.Struct, frozen=True):
    """The ids of abandoned turns: those that were ended, and those that wait and can continue."""

    ended: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()


async def recover(
    database: Database, *, now_ms: int, waits: Callable[[Turn], bool] = lambda _: False
) -> RecoveredTurns:
    """End every abandoned turn, except those for which `waits` is true. Deletes incomplete imports too."""
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
    """Raise the epoch of abandoned turns, so that a writer that is still alive cannot append any more."""
    expired = or_(turns.c.lease_until_ms.is_(None), turns.c.lease_until_ms < now_ms)
    query = select(turns.c.key, turns.c.id).where(turns.c.state == TurnState.RUNNING)
    rows = conn.execute(query if include_leased else query.where(expired)).all()
    keys = [row.key for row in rows]
    conn.execute(update(turns).where(turns.c.key.in_(keys)).values(epoch=turns.c.epoch + 1))
    return [(row.key, row.id) for row in rows]


async def end_waiting(database: Database, key: int, *, now_ms: int, reason: str) -> None:
    """End a waiting turn that cannot continue."""
    finished = await database.read(partial(_finished_turn, key=key, now_ms=now_ms, reason=reason))
    if finished is not None:
        await database.write(partial(save_finished, key=key, finished=finished))


def take_over(conn: Connection, turn_id: str, writer: str, now_ms: int) -> tuple[TurnRow, Session] | None:
    """Become the writer of a waiting turn; None if it no longer exists."""
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
        end = TurnFailed("unreadable", f"The rest of this turn's log cannot be read: {error}. Ask again.")
    at_ms = max(now_ms, entries[-1].at_ms or 0) if entries else now_ms
    ends = events_to_end_turn(turn, end)
    entries += [Entry(seq, event, at_ms) for seq, event in enumerate(ends, turn.seq + 1)]
    return finished_from_entries(entries)
