"""Recovers abandoned turns: turns whose gateway stopped while they ran.

Their events are kept. A turn whose last event was written is saved as usual, a turn that waits for an
approval can continue, and every other turn ends as interrupted, so that no reader waits for it.
"""

from collections.abc import Callable, Collection
from functools import partial

import msgspec
from sqlalchemy import Connection, or_, select, update

from thinkaloud.canon import Entry, OutOfOrder, TurnFailed
from thinkaloud.store.archive import decode_entry, encode_entry, log_lines
from thinkaloud.store.database import Database
from thinkaloud.store.finish import INTERRUPTED, FinishedTurn, finished_from_lines, save_finished
from thinkaloud.store.index_slices import index_rest
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


def renew_leases(conn: Connection, running: Collection[int], now_ms: int) -> None:
    """Renew the leases of turns that run. The lease of a turn that nobody runs any more expires."""
    condition = (turns.c.key.in_(running), turns.c.state == TurnState.RUNNING)
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
    return await _end_claimed(database, claimed, now_ms, waits)


async def end_abandoned(
    database: Database, *, now_ms: int, running: Collection[int], waits: Callable[[Turn], bool]
) -> RecoveredTurns:
    """End turns whose lease has expired and that do not run here, as `recover` does at the start.

    Without this, a turn whose end could not be saved would stay running until the next start.
    """
    abandoned = await database.read(lambda conn: _abandoned(conn, now_ms, running))
    if not abandoned:
        return RecoveredTurns()
    claimed = await database.write(lambda conn: _claim(conn, now_ms, running=running))
    return await _end_claimed(database, claimed, now_ms, waits)


async def _end_claimed(
    database: Database, claimed: list[tuple[int, str]], now_ms: int, waits: Callable[[Turn], bool]
) -> RecoveredTurns:
    ended, waiting = [], []
    for key, turn_id in claimed:
        finished = await database.read(partial(_finished_turn, key=key, now_ms=now_ms, waits=waits))
        if finished is None:
            waiting.append(turn_id)
        else:
            await database.write(partial(save_finished, key=key, finished=finished))
            await index_rest(database, key, finished.normalized_texts)
            ended.append(turn_id)
    return RecoveredTurns(tuple(ended), tuple(waiting))


def _abandoned(
    conn: Connection, now_ms: int, running: Collection[int], *, include_leased: bool = False
) -> list[tuple[int, str]]:
    expired = or_(turns.c.lease_until_ms.is_(None), turns.c.lease_until_ms < now_ms)
    query = select(turns.c.key, turns.c.id).where(turns.c.state == TurnState.RUNNING)
    rows = conn.execute(query if include_leased else query.where(expired)).all()
    return [(row.key, row.id) for row in rows if row.key not in running]


def _claim(
    conn: Connection, now_ms: int, *, running: Collection[int] = (), include_leased: bool = False
) -> list[tuple[int, str]]:
    """Raise the epoch of abandoned turns, so that a writer that is still alive cannot append any more."""
    claimed = _abandoned(conn, now_ms, running, include_leased=include_leased)
    keys = [key for key, _ in claimed]
    conn.execute(update(turns).where(turns.c.key.in_(keys)).values(epoch=turns.c.epoch + 1))
    return claimed


async def end_waiting(database: Database, key: int, *, now_ms: int, reason: str) -> None:
    """End a waiting turn that cannot continue."""
    finished = await database.read(partial(_finished_turn, key=key, now_ms=now_ms, reason=reason))
    if finished is not None:
        await database.write(partial(save_finished, key=key, finished=finished))
        await index_rest(database, key, finished.normalized_texts)


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
    lines, turn = list(log_lines(conn, key)), Turn()
    known: list[Entry] = []
    end = TurnFailed(INTERRUPTED, reason)
    for number, line in enumerate(lines):
        try:
            entry = decode_entry(line)
            if entry is not None:  # an event of a newer version stays in the log as it is
                apply(turn, entry)
                known.append(entry)
        except (msgspec.MsgspecError, OutOfOrder) as error:
            del lines[number:]
            end = TurnFailed("unreadable", f"The rest of this turn's log cannot be read: {error}. Ask again.")
            break
    else:
        if waits(turn):
            return None
    # The time of the last entry: nobody thought while the gateway was down.
    at_ms = next((entry.at_ms for entry in reversed(known) if entry.at_ms is not None), now_ms)
    for event in events_to_end_turn(turn, end):
        known.append(Entry(len(lines), event, at_ms))
        apply(turn, known[-1])
        lines.append(encode_entry(known[-1]))
    return finished_from_lines(turn, known[-1].event, lines)
