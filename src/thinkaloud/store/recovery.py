"""Recovers abandoned turns: turns whose gateway stopped while they ran.

Their events are kept. A turn whose last event was written is saved as usual, a turn that waits for an
approval can continue, and every other turn ends as interrupted, so that no reader waits for it.
"""

from collections.abc import Callable, Collection
from functools import partial

import msgspec
from sqlalchemy import Connection, literal, select, update

from thinkaloud.canon import Entry, OutOfOrder, TurnFailed
from thinkaloud.store.archive import decode_entry, encode_entry, log_lines
from thinkaloud.store.database import Database
from thinkaloud.store.finish import INTERRUPTED, FinishedTurn, finished_from_lines, save_finished
from thinkaloud.store.index_slices import index_rest
from thinkaloud.store.nodes import is_gone, lock_node
from thinkaloud.store.rows import Session, TurnRow, TurnState
from thinkaloud.store.schema import turns
from thinkaloud.store.sessions import drop_old_imports, drop_partial_imports
from thinkaloud.store.turns import with_session
from thinkaloud.transcript import Turn, apply, events_to_end_turn

INTERRUPTED_MESSAGE = (
    "The gateway stopped before this turn ended. The response so far is kept. Ask again to continue."
)


class _ClaimedTurn(msgspec.Struct, frozen=True):
    key: int
    id: str
    epoch: int


class RecoveredTurns(msgspec.Struct, frozen=True):
    """The ids of abandoned turns: those that were ended, and those that wait and can continue."""

    ended: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()


class Reaper(msgspec.Struct, frozen=True, kw_only=True):
    """The gateway that ends abandoned turns."""

    node: str
    expired: bool
    """Whether it may end turns of gateways whose lease has ended, and not only of those that left."""
    running: Collection[int] = ()
    """The turns that it runs itself."""
    leftover: Collection[int] = ()
    """Its own turns that it does not run any more, since their end could not be saved."""
    waits: Callable[[Turn], bool] = lambda _: False
    """Whether a turn can continue, because it waits for an approval."""


async def recover(database: Database, reaper: Reaper, *, now_ms: int) -> RecoveredTurns:
    """End every abandoned turn, except those that can wait. Delete incomplete imports too."""
    await database.write(drop_partial_imports if database.exclusive else drop_old_imports)
    return await end_abandoned(database, reaper, now_ms=now_ms)


async def end_abandoned(database: Database, reaper: Reaper, *, now_ms: int) -> RecoveredTurns:
    """End turns whose gateway is gone, and leftover ones of this gateway.

    Without this, a turn whose end could not be saved would stay running until the next start.
    """
    writers = await database.read(partial(_gone_writers, reaper=reaper, alone=database.exclusive))
    ended, waiting = [], []
    for writer in writers:
        for turn in await database.write(partial(_claim, reaper=reaper, writer=writer)):
            finished = await database.read(
                partial(_finished_turn, key=turn.key, now_ms=now_ms, waits=reaper.waits)
            )
            if finished is None:
                waiting.append(turn.id)
            elif await _save(database, turn.key, turn.epoch, finished):
                ended.append(turn.id)
    return RecoveredTurns(tuple(ended), tuple(waiting))


def leftover_turns(conn: Connection, node: str, running: Collection[int]) -> frozenset[int]:
    """Return the turns of a gateway that it does not run."""
    own = select(turns.c.key).where(turns.c.writer == node, turns.c.state == TurnState.RUNNING)
    return frozenset(conn.scalars(own)).difference(running)


def _gone_writers(conn: Connection, reaper: Reaper, alone: bool) -> list[str]:
    gone = literal(True) if alone else is_gone(turns.c.writer, expired=reaper.expired)
    query = select(turns.c.writer).where(
        turns.c.state == TurnState.RUNNING, turns.c.writer != reaper.node, gone
    )
    writers = list(conn.scalars(query.distinct()))
    return [*writers, reaper.node] if reaper.leftover else writers


def _claim(conn: Connection, reaper: Reaper, writer: str) -> list[_ClaimedTurn]:
    """Become the writer of abandoned turns. The raised epoch keeps a writer that is alive from appending."""
    if not lock_node(conn, writer):
        return []  # the next round tries again
    claim = update(turns).where(turns.c.writer == writer, turns.c.state == TurnState.RUNNING)
    if writer == reaper.node:
        claim = claim.where(turns.c.key.in_(list(reaper.leftover)))
    elif conn.dialect.name == "postgresql":  # it may have come back while this transaction waited
        claim = claim.where(is_gone(turns.c.writer, expired=reaper.expired))
    claim = claim.values(epoch=turns.c.epoch + 1, writer=reaper.node)
    rows = conn.execute(claim.returning(turns.c.key, turns.c.id, turns.c.epoch)).all()
    return [_ClaimedTurn(row.key, row.id, row.epoch) for row in rows if row.key not in reaper.running]


async def end_waiting(database: Database, turn: TurnRow, *, now_ms: int, reason: str) -> None:
    """End a waiting turn that cannot continue."""
    finished = await database.read(partial(_finished_turn, key=turn.key, now_ms=now_ms, reason=reason))
    if finished is not None:
        await _save(database, turn.key, turn.epoch, finished)


def claimed_turn(conn: Connection, turn_id: str, node: str) -> tuple[TurnRow, Session] | None:
    """Return a waiting turn that this gateway has claimed; None if it ended or has another writer now."""
    own = (turns.c.id == turn_id, turns.c.writer == node, turns.c.state == TurnState.RUNNING)
    return with_session(conn, turn_id) if conn.scalar(select(turns.c.key).where(*own)) else None


async def _save(database: Database, key: int, epoch: int, finished: FinishedTurn) -> bool:
    saved = await database.write(partial(save_finished, key=key, epoch=epoch, finished=finished))
    await index_rest(database, key, finished.normalized_texts)
    return saved


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
