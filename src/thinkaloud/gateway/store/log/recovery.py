"""Recovers abandoned turns: turns whose gateway stopped while they ran.

Their events are kept. A turn whose last event was written is saved as usual, a turn that waits for an
approval can continue, and every other turn ends as interrupted, so that no reader waits for it.
"""

import asyncio
import time
import zlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection
from contextlib import aclosing
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
"""Turns that are claimed together. If their reaper dies too, those that have not ended wait for a lease."""
_TRIES_AT_ONCE = 5
"""A write may fail by chance, as when a connection breaks. Readers of a dead gateway's turns wait for it."""
_AT_ONCE_S = 2.0
"""What has taken longer is left to the next round: other turns must not wait for a lock again and again."""


class ClaimedTurn(msgspec.Struct, frozen=True):
    """An abandoned turn that the reaper writes now."""

    key: int
    id: str
    epoch: int


class RecoveredTurns(msgspec.Struct, frozen=True):
    """Abandoned turns: the ids of those that were ended, and those that wait and can continue."""

    ended: tuple[str, ...] = ()
    waiting: tuple[ClaimedTurn, ...] = ()
    unfinished: frozenset[int] = frozenset()
    """The keys of turns that the reaper has claimed, or may have, and could not end."""
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
    waiting: list[ClaimedTurn] = []
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
    """End turns whose gateway is gone, and leftover ones of this gateway. Yield each as it ends.

    Without this, a turn whose end could not be saved would stay running until the next start. A turn that
    cannot be ended now, or takes long, does not hold up the others.
    """
    find = partial(_abandoned, reaper=reaper, alone=database.exclusive)
    ending: dict[asyncio.Task[RecoveredTurns], ClaimedTurn] = {}
    try:
        for writer, all_keys in await _try_at_once(partial(database.read, find)):
            for start in range(0, len(all_keys), _AT_ONCE):
                keys = all_keys[start : start + _AT_ONCE]
                claim = partial(_claim, reaper=reaper, writer=writer, keys=keys)
                try:
                    claimed = await _try_at_once(partial(database.write, claim))
                except NotSaved as error:  # the server may have carried it out, and only not told so
                    yield RecoveredTurns(unfinished=frozenset(keys), error=error)
                    break
                for turn in claimed:
                    end = _end_claimed(database, turn, reaper.waits, now_ms)
                    ending[asyncio.create_task(end)] = turn
                async for some in _results(ending, fewer_than=_AT_ONCE):
                    yield some
        async for some in _results(ending, fewer_than=1):
            yield some
    finally:
        for task in ending:
            task.cancel()


async def _results(
    ending: dict[asyncio.Task[RecoveredTurns], ClaimedTurn], *, fewer_than: int
) -> AsyncGenerator[RecoveredTurns, None]:
    """Remove tasks that are done and yield what they did, until fewer are left."""
    while len(ending) >= fewer_than:
        done, _ = await asyncio.wait(ending, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            turn = ending.pop(task)
            error = task.exception()
            if error is None:
                yield task.result()
            else:
                yield RecoveredTurns(unfinished=frozenset({turn.key}), error=error)


async def _try_at_once(work: Callable[[], Awaitable[T]]) -> T:
    """Do something that the database may refuse, a few times if it does. All of it can be done again."""
    until_s = time.monotonic() + _AT_ONCE_S
    for _ in range(_TRIES_AT_ONCE - 1):
        try:
            return await work()
        except NotSaved:
            if time.monotonic() > until_s:
                raise
    return await work()


async def _end_claimed(
    database: Database, turn: ClaimedTurn, waits: Callable[[Turn], bool], now_ms: int
) -> RecoveredTurns:
    """End a turn, unless it waits and can continue, or another writer has it."""
    prepare = partial(_finished_turn, key=turn.key, now_ms=now_ms, waits=waits)
    finished = await _try_at_once(partial(database.read, prepare))
    if finished is None:
        return RecoveredTurns(waiting=(turn,))
    saved = await _try_at_once(partial(_save, database, turn.key, turn.epoch, finished))
    return RecoveredTurns(ended=(turn.id,) if saved else ())


def leftover_turns(conn: Connection, node: str, running: Collection[int]) -> frozenset[int]:
    """Return the turns of a gateway that it does not run."""
    own = select(turns.c.key).where(turns.c.writer == node, turns.c.state == TurnState.RUNNING)
    return frozenset(conn.scalars(own)).difference(running)


def _abandoned(conn: Connection, reaper: Reaper, alone: bool) -> list[tuple[str, list[int]]]:
    """Return the writers of abandoned turns, with the keys of these turns."""
    running = turns.c.state == TurnState.RUNNING
    others = select(turns.c.writer).where(running, turns.c.writer != reaper.node)
    writers = list(conn.scalars(others.distinct()))
    if writers and not alone:
        writers = gone_nodes(conn, writers, reaper.lease_ms, reaper.reached_ms)
    keys = select(turns.c.key).where(running).order_by(turns.c.key)
    abandoned = [(writer, list(conn.scalars(keys.where(turns.c.writer == writer)))) for writer in writers]
    # A leftover turn may have another writer: the claim that failed was perhaps not carried out.
    own = keys.where(turns.c.writer == reaper.node, turns.c.key.in_(padded(reaper.leftover)))
    return [*abandoned, (reaper.node, list(conn.scalars(own)))]


def _claim(conn: Connection, reaper: Reaper, writer: str, keys: list[int]) -> list[ClaimedTurn]:
    """Become the writer of these turns. The raised epoch stops a writer that is alive.

    It may be done again: a claim whose acknowledgement was lost has made the reaper their writer already. One
    that somebody else has locked is left to the next round.
    """
    lock_node(conn, writer)
    claimable = turns.c.writer == writer
    if conn.dialect.name == "postgresql" and writer != reaper.node:
        claimable &= is_gone(turns.c.writer)  # it may have come back while this transaction waited
    claimable |= turns.c.writer == reaper.node
    free = select(turns.c.key).where(
        turns.c.key.in_(padded(keys)), turns.c.state == TurnState.RUNNING, claimable
    )
    locked = conn.scalars(free.with_for_update(skip_locked=True, key_share=True)).all()
    claim = update(turns).where(turns.c.key.in_(padded(locked)))
    claim = claim.values(epoch=turns.c.epoch + 1, writer=reaper.node)
    rows = conn.execute(claim.returning(turns.c.key, turns.c.id, turns.c.epoch)).all()
    return [ClaimedTurn(row.key, row.id, row.epoch) for row in rows]


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
