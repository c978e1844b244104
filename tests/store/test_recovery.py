"""Abandoned turns are ended when the next gateway starts."""

import asyncio
import base64
import pickle
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from sqlalchemy import Connection, Insert, func, insert, select, update
from tests.store.log_fixtures import (
    NOW_MS,
    TURN_REQUEST,
    append_all,
    entries,
    new_turn,
    temporary_database,
    turn_events,
)
from tests.store.test_log import DatabaseWrapper

from thinkaloud.core.canon import Entry, TurnStarted
from thinkaloud.core.transcript import BlockStatus
from thinkaloud.gateway.store.engine.database import Database, NotSaved
from thinkaloud.gateway.store.log import nodes
from thinkaloud.gateway.store.log.archive import decode_entry, log_lines
from thinkaloud.gateway.store.log.event_log import EventLog
from thinkaloud.gateway.store.log.finish import finished_from_entries, save_imported
from thinkaloud.gateway.store.log.recovery import (
    Reaper,
    RecoveredTurns,
    end_abandoned,
    leftover_turns,
    recover,
)
from thinkaloud.gateway.store.queries import sessions, users
from thinkaloud.gateway.store.queries import turns as turn_queries
from thinkaloud.gateway.store.queries.messages import messages_of
from thinkaloud.gateway.store.rows import Owner, SearchKind, Session, StoredMessage, TurnRow, TurnState
from thinkaloud.gateway.store.schema import log as log_rows
from thinkaloud.gateway.store.schema import nodes as node_rows
from thinkaloud.gateway.store.schema import sessions as session_rows
from thinkaloud.gateway.store.schema import turns
from thinkaloud.gateway.store.search.find import find_hits

pytestmark = pytest.mark.usefixtures("each_engine")
REAPER = Reaper(node="reaper", lease_ms=0)
LATER_MS = NOW_MS + 60_000
IMPORT_REQUEST = msgspec.structs.replace(TURN_REQUEST, imported=True)


class SharedDatabase(DatabaseWrapper):
    """A database to which other gateways may write."""

    exclusive = False


async def abandoned_turn(database: Database, log_entries: list[Entry]) -> TurnRow:
    row = await new_turn(database)
    async with EventLog(database) as log:
        append_all(log.writer(row.key, row.epoch), log_entries)
    return row


async def stored_turn(database: Database, row: TurnRow) -> tuple[TurnRow, StoredMessage]:
    stored_row = await database.read(lambda conn: turn_queries.get(conn, Owner(1, 1), row.id))
    messages_by_turn = await database.read(lambda conn: messages_of(conn, [row.key]))
    assert stored_row is not None
    return stored_row, messages_by_turn[row.key][-1]


WHOLE = entries(turn_events("It is ", "51."))


@pytest.mark.parametrize("entry_count", range(len(WHOLE) + 1))
def test_recovery_ends_an_abandoned_turn_at_any_point_and_keeps_its_text(
    tmp_path: Path, entry_count: int
) -> None:
    async def scenario() -> None:
        async with temporary_database(tmp_path) as database:
            row = await abandoned_turn(database, WHOLE[:entry_count])
        async with temporary_database(tmp_path) as database:
            assert await recover(database, REAPER, now_ms=LATER_MS) == RecoveredTurns((row.id,))
            stored_row, message = await stored_turn(database, row)
            whole = entry_count == len(WHOLE)
            assert stored_row.state == (TurnState.DONE if whole else TurnState.INTERRUPTED)
            assert stored_row.epoch == row.epoch + 1
            assert message.content == "".join(["It is ", "51."][: max(0, entry_count - 5)])
            assert message.outcome is not None
            assert whole or message.outcome.cause == "interrupted"
            assert all(block.status is not BlockStatus.RUNNING for block in message.parts)
            first_line = await database.read(lambda conn: next(iter(log_lines(conn, row.key))))
            first_entry = decode_entry(first_line)
            assert first_entry is not None
            assert isinstance(first_entry.event, TurnStarted), "a turn starts, also if nothing was written"
            assert await recover(database, REAPER, now_ms=LATER_MS) == RecoveredTurns()

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("packed", "lines"),
    [(False, b'{"seq":'), (False, b'{"seq":3,"event":{"type":"\xff"}}'), (True, b"not compressed")],
    ids=["half a line", "not UTF-8", "not unpackable"],
)
def test_recovery_ends_an_unreadable_log_at_its_last_readable_entry(
    tmp_path: Path, packed: bool, lines: bytes
) -> None:
    async def scenario() -> None:
        async with temporary_database(tmp_path) as database:
            row = await abandoned_turn(database, WHOLE[:3])
            damage = {"turn": row.key, "first_seq": 3, "last_seq": 3, "packed": packed, "entries": lines}
            await database.write(partial(_execute, statement=insert(log_rows).values(damage)))
            await recover(database, REAPER, now_ms=LATER_MS)
            stored_row, message = await stored_turn(database, row)
            assert stored_row.state is TurnState.FAILED
            assert message.thinking == "51"
            assert message.outcome is not None
            assert "cannot be read" in message.outcome.message

    asyncio.run(scenario())


class Opener:
    """Creates a file when somebody unpickles it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return open, (str(self.path), "w")


def _execute(conn: Connection, statement: Insert) -> int:
    return conn.execute(statement).rowcount


def test_rows_that_somebody_has_changed_are_data_and_run_nothing(tmp_path: Path) -> None:
    """S11: pickles, tags of unknown types and damaged text in a log are never executed."""
    trap = tmp_path / "executed"
    payloads = [
        pickle.dumps(Opener(trap)),
        base64.b64encode(pickle.dumps(Opener(trap))),
        b'{"seq":3,"event":{"type":"builtins.open","path":"%b"}}' % bytes(trap),
        b'{"seq":3,"event":{"type":"block.grew","block":{"__reduce__":"open"},"text":1}}',
        b"\xc7\x05\x01\x00\xff",
    ]

    async def scenario() -> None:
        async with temporary_database(tmp_path) as database:
            rows = [await abandoned_turn(database, WHOLE[:3]) for _ in payloads]
            for row, payload in zip(rows, payloads, strict=True):
                damaged = insert(log_rows).values(turn=row.key, first_seq=3, last_seq=3, entries=payload)
                await database.write(partial(_execute, statement=damaged))
            recovered = await recover(database, REAPER, now_ms=LATER_MS)
            assert len(recovered.ended) == len(payloads)
            async with EventLog(database) as log:
                for row in rows:
                    assert (await log.read(row.key)).ended
            assert not trap.exists()

    asyncio.run(scenario())


def test_recovery_respects_leases_of_other_gateways(tmp_path: Path) -> None:
    """Point 11: leases are compared with the clock of the database, never with that of a gateway."""

    async def scenario() -> None:
        async with temporary_database(tmp_path) as database:
            row, other = await abandoned_turn(database, WHOLE[:3]), await abandoned_turn(database, WHOLE[:3])
            set_writer = update(turns).where(turns.c.key == other.key).values(writer="other")
            await database.write(lambda conn: conn.execute(set_writer).rowcount)
            await database.write(lambda conn: nodes.renew_lease(conn, "w", "", 3_600_000))
            await database.write(lambda conn: nodes.renew_lease(conn, "other", "", -1))
            shared = SharedDatabase(database)
            day_ms = 24 * 3_600_000
            careful = Reaper(node="me", lease_ms=day_ms)
            assert await recover(shared, careful, now_ms=NOW_MS + day_ms) == RecoveredTurns()
            assert await recover(shared, REAPER, now_ms=NOW_MS + day_ms) == RecoveredTurns((other.id,))
            await database.write(lambda conn: nodes.leave(conn, "w"))
            assert await recover(shared, careful, now_ms=NOW_MS) == RecoveredTurns((row.id,))

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("others_reached", "ended"),
    [((0.3, 0.7, 1.1), True), ((), False), ((0.1, 0.2), False), ((0.4, 0.8, 2.6, 3.0, 3.4), True)],
    ids=["reached all the time", "away", "away since soon after", "away for a while"],
)
def test_lease_counts_the_time_in_which_anybody_reached_the_database(
    tmp_path: Path, others_reached: tuple[float, ...], ended: bool
) -> None:
    """The reaper has just started, and knows from the rows of others when the database could be reached.

    Times are in leases after the last renewal of the gateway that has stopped.
    """
    lease_ms = 3_600_000

    async def scenario() -> None:
        async with temporary_database(tmp_path) as database:
            row = await abandoned_turn(database, WHOLE[:3])
            now_ms = await database.write(lambda conn: nodes.renew_lease(conn, "me", "", lease_ms))
            renewed_ms = now_ms - int(max(1.5, *others_reached, 0) * lease_ms)
            rows = [
                {
                    "id": f"other {at}",
                    "started_ms": renewed_ms + int(at * lease_ms),
                    "lease_until_ms": nodes.LEFT,
                }
                for at in others_reached
            ]
            rows.append({"id": "w", "started_ms": 0, "lease_until_ms": renewed_ms + lease_ms})
            await database.write(lambda conn: conn.execute(insert(node_rows), rows).rowcount)
            reaper = Reaper(node="me", lease_ms=lease_ms, reached_ms=[now_ms])
            recovered = await recover(SharedDatabase(database), reaper, now_ms=LATER_MS)
            assert recovered == RecoveredTurns((row.id,) if ended else ())

    asyncio.run(scenario())


class FailingSaves(DatabaseWrapper):
    """A database that cannot save the end of one turn."""

    failing_key = -1

    async def write(self, change: Any) -> Any:
        if isinstance(change, partial) and change.keywords.get("key") == self.failing_key:
            raise NotSaved("The connection was lost.")
        return await super().write(change)


def test_turn_that_cannot_be_ended_now_does_not_hold_up_the_others(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with temporary_database(tmp_path) as database:
            rows = [await abandoned_turn(database, WHOLE[:3]) for _ in range(20)]
            failing = FailingSaves(database)
            failing.failing_key = rows[0].key
            swept = [some async for some in end_abandoned(failing, REAPER, now_ms=LATER_MS)]
            ended = {turn for some in swept for turn in some.ended}
            assert ended == {row.id for row in rows[1:]}
            unfinished = frozenset(key for some in swept for key in some.unfinished)
            assert unfinished == {rows[0].key}
            assert [type(some.error) for some in swept if some.error] == [NotSaved]
            again = Reaper(node=REAPER.node, lease_ms=0, leftover=unfinished)
            assert (await recover(failing, again, now_ms=LATER_MS)).unfinished == unfinished
            assert (await recover(database, again, now_ms=LATER_MS)).ended == (rows[0].id,)

    asyncio.run(scenario())


class EveryFifthWriteFails(DatabaseWrapper):
    """A database that refuses every fifth write, whatever it is."""

    write_count = 0

    async def write(self, change: Any) -> Any:
        self.write_count += 1
        if self.write_count % 5 == 0:
            raise NotSaved("The connection was lost.")
        return await super().write(change)


@pytest.mark.parametrize("earlier_writes", range(5))
def test_one_sweep_ends_all_turns_though_every_fifth_write_fails(tmp_path: Path, earlier_writes: int) -> None:
    """A turn that failed is tried again at once: each later try would make its readers wait longer."""

    async def scenario() -> None:
        async with temporary_database(tmp_path) as database:
            rows = [await abandoned_turn(database, WHOLE[:3]) for _ in range(20)]
            failing = EveryFifthWriteFails(database)
            failing.write_count = earlier_writes
            swept = [some async for some in end_abandoned(failing, REAPER, now_ms=LATER_MS)]
            assert {turn for some in swept for turn in some.ended} == {row.id for row in rows}
            assert [some.error for some in swept if some.error is not None] == []

    asyncio.run(scenario())


def test_two_reapers_at_once_end_each_turn_once(tmp_path: Path) -> None:
    """Point 3: no constraint is broken, and one of the two ends the turn."""

    async def scenario() -> None:
        async with temporary_database(tmp_path) as database:
            rows = [await abandoned_turn(database, WHOLE[:count]) for count in range(len(WHOLE))]
            shared = SharedDatabase(database)
            reapers = [Reaper(node=f"reaper {number}", lease_ms=0) for number in range(4)]
            swept = await asyncio.gather(*(recover(shared, one, now_ms=LATER_MS) for one in reapers))
            ended = [turn for result in swept for turn in result.ended]
            assert sorted(ended) == sorted(row.id for row in rows)

    asyncio.run(scenario())


def test_gateway_knows_which_turns_it_has_lost(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with temporary_database(tmp_path) as database:
            kept, lost = await new_turn(database), await new_turn(database)
            running = {kept.key: kept.epoch, lost.key: lost.epoch}
            claim = update(turns).where(turns.c.key == lost.key).values(writer="other", epoch=1)
            await database.write(lambda conn: conn.execute(claim).rowcount)
            assert await database.read(lambda conn: nodes.lost_turns(conn, "w", running)) == [lost.key]
            left = await database.read(lambda conn: leftover_turns(conn, "w", []))
            assert left == {kept.key}

    asyncio.run(scenario())


def test_import_is_visible_when_complete_and_deleted_when_not(tmp_path: Path) -> None:
    """An incomplete import is neither listed nor searchable, and is deleted at the next start."""
    me = Owner(1, 1)

    def begin(conn: Connection) -> Session:
        users.ensure_local(conn, NOW_MS)
        session = sessions.create(conn, me, now_ms=NOW_MS, title="Half")
        sessions.hide(conn, session)
        save_imported(conn, session, IMPORT_REQUEST, finished_from_entries(WHOLE), created_ms=NOW_MS)
        return session

    def seen(conn: Connection) -> tuple[int, int]:
        hits = find_hits(conn, me, "17", kinds=frozenset(SearchKind), limit=5)
        return len(sessions.list_page(conn, me, limit=5).items), len(hits.items)

    async def scenario() -> None:
        async with temporary_database(tmp_path) as database:
            half, whole = await database.write(begin), await database.write(begin)
            assert await database.read(seen) == (0, 0)
            assert await database.read(lambda conn: sessions.get(conn, me, half.id)) is None
            await database.write(lambda conn: sessions.end_import(conn, whole, LATER_MS))
            assert await database.read(seen) == (1, 1)
        async with temporary_database(tmp_path) as database:
            hours_ago = update(session_rows).where(~session_rows.c.whole).values(updated_ms=NOW_MS)
            await database.write(lambda conn: conn.execute(hours_ago).rowcount)
            await recover(database, REAPER, now_ms=LATER_MS)
            assert await database.read(seen) == (1, 1)
            assert await database.write(sessions.drop_partial_imports) == 0
            count = select(func.count()).select_from(session_rows)
            rows = await database.read(lambda conn: conn.scalar(count))
            assert rows == 1

    asyncio.run(scenario())
