"""Recovers abandoned turns: turns whose gateway stopped while they ran.

Their events are kept. A turn whose last event was written is saved as usual, a turn that waits for an
approval can continue, and every other turn ends as interrupted, so that no reader waits for it.
"""

import asyncio
import zlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection
from contextlib import aclosing, suppress
from functools import partial

import msgspec
from sqlalchemy import Connection, select, update

from thinkaloud.core.canon import Entry, OutOfOrder, TurnFailed, Wording, reason_of
from thinkaloud.core.transcript import Turn, apply, events_to_end_turn
from thinkaloud.gateway.store.engine.database import Database, NotSaved, T
from thinkaloud.gateway.store.engine.many_rows import padded
from thinkaloud.gateway.store.log.archive import decode_entry, encode_entry, log_lines
from thinkaloud.gateway.store.log.finish import INTERRUPTED, FinishedTurn, finished_from_lines, save_finished
from thinkaloud.gateway.store.log.nodes import gone_nodes, is_gone, lock_node
from thinkaloud.gateway.store.queries.sessions import drop_old_imports, drop_partial_imports
from thinkaloud.gateway.store.queries.turns import with_session
from thinkaloud.gateway.store.rows import Session, TurnRow, TurnState
from thinkaloud.gateway.store.schema import turns
from thinkaloud.gateway.store.search.index import index_rest

INTERRUPTED_MESSAGE = Wording(
    "The gateway stopped before this turn ended. The response so far is kept. Ask again to continue."
)


_AT_ONCE = 8
"""Turns that are claimed and ended together. If their reaper dies too, these wait for another lease."""
_TRIES_AT_ONCE = 3
"""A write may fail by chance, as when a connection breaks. Readers of a dead gateway's turns wait for it."""


class _ClaimedTurn(msgspec.Struct, frozen=True):
    key: int
    id: str
    epoch: int


class RecoveredTurns(msgspec.Struct, frozen=True):
    """The ids of abandoned turns: those that were ended, and those that wait and can continue."""

    ended: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    unfinished: frozenset[int] = frozenset()
    """The keys of turns that the reaper has claimed and could not end."""
    error: BaseException | None = None
    """Why one of them could not be ended."""


class Reaper(msgspec.Struct, frozen=True, kw_only=True):
    """The gateway that ends abandoned turns."""

    node: str
    lease_ms: int
    """How long a gateway must have been able to renew its lease before it is taken for dead."""
    reached_ms: Collection[int] = ()
    """When the reaper has reached the database, by the clock of the database."""
    leftover: Collection[int] = ()
    """Its own turns that it does not run any more, since their end could not be saved."""
    waits: Callable[[Turn], bool] = lambda _: False
    """Whether a turn can continue, because it waits for an approval."""


async def recover(database: Database, reaper: Reaper, *, now_ms: int) -> RecoveredTurns:
    """End every abandoned turn, except those that can wait. Delete incomplete imports too.

    A turn that cannot be ended is told, and keeps nothing from starting.
    """
    await database.write(drop_partial_imports if database.exclusive else drop_old_imports)
    ended: list[str] = []
    waiting: list[str] = []
    unfinished: frozenset[int] = frozenset()
    error: BaseException | None = None
    async with aclosing(end_abandoned(database, reaper, now_ms=now_ms)) as recovered:
        async for some in recovered:
            ended += some.ended
            waiting += some.waiting
            unfinished |= some.unfinished
            error = error or some.error
    return RecoveredTurns(tuple(ended), tuple(waiting), unfinished, error)


async def end_abandoned(
    database: Database, reaper: Reaper, *, now_ms: int
) -> AsyncGenerator[RecoveredTurns, None]:
    """End turns whose gateway is gone, and leftover ones of this gateway, some at a time.

    Without this, a turn whose end could not be saved would stay running until the next start. A turn that
    cannot be ended now does not hold up the others.
    """
    tried: frozenset[int] = frozenset()
    for writer in await database.read(partial(_gone_writers, reaper=reaper, alone=database.exclusive)):
        while True:
            claim = partial(_claim, reaper=reaper, writer=writer, tried=tried)
            claimed = await _try_at_once(partial(database.write, claim))
            if not claimed:
                break
            tried |= {turn.key for turn in claimed}
            ends = [partial(_end_claimed, database, turn, reaper.waits, now_ms) for turn in claimed]
            results = await asyncio.gather(*map(_try_at_once, ends), return_exceptions=True)
            yield _recovered(claimed, results)


async def _try_at_once(work: Callable[[], Awaitable[T]]) -> T:
    """Do something that the database may refuse, a few times if it does. All of it can be done again."""
    for _ in range(_TRIES_AT_ONCE - 1):
        with suppress(NotSaved):
            return await work()
    return await work()


async def _end_claimed(
    database: Database, turn: _ClaimedTurn, waits: Callable[[Turn], bool], now_ms: int
) -> TurnState | None:
    """End a turn. Return its state: running if it waits and can continue, None if another writer has it."""
    finished = await database.read(partial(_finished_turn, key=turn.key, now_ms=now_ms, waits=waits))
    if finished is None:
        return TurnState.RUNNING
    return finished.state if await _save(database, turn.key, turn.epoch, finished) else None


def _recovered(
    claimed: list[_ClaimedTurn], results: list[TurnState | BaseException | None]
) -> RecoveredTurns:
    ended: list[str] = []
    waiting: list[str] = []
    unfinished: set[int] = set()
    error: BaseException | None = None
    for turn, result in zip(claimed, results, strict=True):
        if isinstance(result, BaseException):
            unfinished.add(turn.key)
            error = result
        elif result is TurnState.RUNNING:
            waiting.append(turn.id)
        elif result is not None:
            ended.append(turn.id)
    return RecoveredTurns(tuple(ended), tuple(waiting), frozenset(unfinished), error)


def leftover_turns(conn: Connection, node: str, running: Collection[int]) -> frozenset[int]:
    """Return the turns of a gateway that it does not run."""
    own = select(turns.c.key).where(turns.c.writer == node, turns.c.state == TurnState.RUNNING)
    return frozenset(conn.scalars(own)).difference(running)


def _gone_writers(conn: Connection, reaper: Reaper, alone: bool) -> list[str]:
    query = select(turns.c.writer).where(turns.c.state == TurnState.RUNNING, turns.c.writer != reaper.node)
    writers = list(conn.scalars(query.distinct()))
    if writers and not alone:
        writers = gone_nodes(conn, writers, reaper.lease_ms, reaper.reached_ms)
    return [*writers, reaper.node] if reaper.leftover else writers


def _claim(conn: Connection, reaper: Reaper, writer: str, tried: frozenset[int]) -> list[_ClaimedTurn]:
    """Become the writer of some abandoned turns. The raised epoch stops a writer that is alive."""
    if not lock_node(conn, writer):
        return []  # the next round tries again
    owned = turns.c.writer == writer, turns.c.state == TurnState.RUNNING
    some = select(turns.c.key).where(*owned)
    if writer == reaper.node:
        some = some.where(turns.c.key.in_(padded(set(reaper.leftover) - tried)))
    elif conn.dialect.name == "postgresql":  # it may have come back while this transaction waited
        some = some.where(is_gone(turns.c.writer))
    keys = conn.scalars(some.order_by(turns.c.key).limit(_AT_ONCE)).all()
    claim = update(turns).where(turns.c.key.in_(padded(keys)), *owned)
    claim = claim.values(epoch=turns.c.epoch + 1, writer=reaper.node)
    rows = conn.execute(claim.returning(turns.c.key, turns.c.id, turns.c.epoch)).all()
    return [_ClaimedTurn(row.key, row.id, row.epoch) for row in rows]


async def end_waiting(database: Database, turn: TurnRow, *, now_ms: int, reason: Wording) -> None:
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
    reason: Wording = INTERRUPTED_MESSAGE,
) -> FinishedTurn | None:
    lines: list[bytes] = []
    known: list[Entry] = []
    turn, end = Turn(), TurnFailed.of(INTERRUPTED, reason)
    try:
        for line in log_lines(conn, key):
            entry = decode_entry(line)
            if entry is not None:  # an event of a newer version stays in the log as it is
                apply(turn, entry)
                known.append(entry)
            lines.append(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, zlib.error, OutOfOrder) as error:
        end = TurnFailed.of(
            "unreadable",
            Wording(
                "The rest of this turn's log cannot be read: {reason}. Ask again.", reason=reason_of(error)
            ),
        )
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
