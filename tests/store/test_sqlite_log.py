"""The event log on SQLite: a disk that is full or read-only, turns that are saved late, the file's lock."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from sqlalchemy import Connection
from tests.patience import PATIENCE_S
from tests.store.log_fixtures import (
    NOW_MS,
    TURN_REQUEST,
    append_all,
    entries,
    new_turn,
    read_all,
    turn_events,
)
from tests.store.test_log import NEVER, START, wait_until_published

from thinkaloud.core.canon import BlockEnded, BlockGrew, BlockStarted, Kind, ToolFinished
from thinkaloud.core.transcript import fold_entries
from thinkaloud.gateway.store.engine.database import DatabaseInUse, NotSaved, Query
from thinkaloud.gateway.store.engine.sqlite import SqliteDatabase, open_database
from thinkaloud.gateway.store.log.archive import encode_entry
from thinkaloud.gateway.store.log.event_log import CommitStats, EventLog, LogConfig
from thinkaloud.gateway.store.queries import sessions, turns, users
from thinkaloud.gateway.store.queries.keys import KeyReserve
from thinkaloud.gateway.store.queries.values import new_id
from thinkaloud.gateway.store.rows import SessionClient, TurnRow, TurnState


def run_on_sqlite(scenario: Callable[[SqliteDatabase], Awaitable[None]], folder: Path) -> None:
    async def whole() -> None:
        async with open_database(folder / "thinkaloud.db") as database:
            await asyncio.wait_for(scenario(database), PATIENCE_S)

    asyncio.run(whole())


async def set_pragma(database: SqliteDatabase, setting: str) -> None:
    """Set a pragma outside of a transaction: a read-only file cannot begin one."""

    def change() -> None:
        with database._writer_engine.connect() as conn:
            raw = conn.connection.driver_connection
            assert raw is not None
            raw.execute(f"PRAGMA {setting}")

    await asyncio.get_running_loop().run_in_executor(database._writer_pool, change)


FULL = ("max_page_count = 1", "max_page_count = 1000000000")
READ_ONLY = ("query_only = ON", "query_only = OFF")


@pytest.mark.parametrize(("refuse", "take"), [FULL, READ_ONLY], ids=["full", "read-only"])
def test_failed_writes_are_reported_and_retried(tmp_path: Path, refuse: str, take: str) -> None:
    """Readers get entries marked as not saved; when writes work again, everything is saved."""
    told_events = entries(turn_events(*("word " * 200 for _ in range(200))))

    async def scenario(database: SqliteDatabase) -> None:
        row = await new_turn(database)
        async with EventLog(database, LogConfig(retry_s=0.02)) as log:
            writer = log.writer(row.key, row.epoch)
            append_all(writer, told_events[:6])
            await writer.flush()
            await set_pragma(database, refuse)
            append_all(writer, told_events[6:])
            await wait_until_published(log, row.key, told_events[-1].seq)
            span = await log.read(row.key)
            assert not span.saved
            assert not log.saved
            assert span.lines == tuple(msgspec.json.encode(entry) for entry in told_events)
            assert log.unsaved_bytes > 100_000
            closing = asyncio.create_task(writer.close())
            await asyncio.sleep(0.1)
            assert not closing.done()
            await set_pragma(database, take)
            assert await closing is not None
            assert log.saved
            assert log.unsaved_bytes == 0
            assert await read_all(log, row.key) == list(span.lines)

    run_on_sqlite(scenario, tmp_path)


def test_unsaved_entries_in_memory_are_bounded(tmp_path: Path) -> None:
    async def scenario(database: SqliteDatabase) -> None:
        row = await new_turn(database)
        async with EventLog(database, LogConfig(max_unsaved_bytes=10_000, retry_s=NEVER)) as log:
            writer = log.writer(row.key, row.epoch)
            append_all(writer, entries(START))
            await writer.flush()
            await set_pragma(database, READ_ONLY[0])
            for seq in range(2, 4):
                append_all(writer, entries([BlockGrew(0, "x" * 5000)], seq))
                await wait_until_published(log, row.key, seq)
            with pytest.raises(NotSaved, match="buffer for unsaved entries is full"):
                append_all(writer, entries([BlockGrew(0, "x")], 4))
            await set_pragma(database, READ_ONLY[1])

    run_on_sqlite(scenario, tmp_path)


def test_database_is_locked_under_every_name(tmp_path: Path) -> None:
    async def scenario(database: SqliteDatabase) -> None:
        link = tmp_path / "link"
        link.mkdir()
        (link / "other.db").symlink_to(database.path)
        with pytest.raises(DatabaseInUse):
            async with open_database(link / "other.db"):
                pass

    run_on_sqlite(scenario, tmp_path)


class UnsavedTurn(NamedTuple):
    """The first turn of a session with reserved keys, and the change that saves both."""

    row: TurnRow
    save: Query[object]


async def unsaved_turn(database: SqliteDatabase, reserve: KeyReserve) -> UnsavedTurn:
    owner = await database.write(lambda conn: users.ensure_local(conn, NOW_MS))
    session_key, turn_key = await reserve.take()
    request = msgspec.structs.replace(TURN_REQUEST, first=True, parent=None, key=turn_key, id=new_id("trn"))

    def save(conn: Connection) -> None:
        new = sessions.NewClientSession(
            model="demo", client=SessionClient(), question="Why?", key=session_key
        )
        session = sessions.create_for_client(conn, owner, new, NOW_MS)
        turns.start_turn(conn, session, request, now_ms=NOW_MS, writer="w")

    return UnsavedTurn(turns.new_turn(request, session_key, now_ms=NOW_MS), save)


async def stored_turn(database: SqliteDatabase, row: TurnRow) -> TurnRow | None:
    found = await database.read(lambda conn: turns.with_session(conn, row.id))
    return None if found is None else found[0]


def test_start_of_a_turn_is_saved_in_time_also_without_entries(tmp_path: Path) -> None:
    async def scenario(database: SqliteDatabase) -> None:
        row, save = await unsaved_turn(database, KeyReserve(database))
        async with EventLog(database) as log:
            writer = log.writer(row.key, row.epoch, start=save)
            assert await stored_turn(database, row) is None
            while await stored_turn(database, row) is None:
                await asyncio.sleep(0.01)
            assert await stored_turn(database, row) == row, "what runs is what is stored"
            append_all(writer, entries(turn_events("51")))
            await writer.close()
            assert len(await read_all(log, row.key)) == len(turn_events("51"))

    run_on_sqlite(scenario, tmp_path)


def test_short_turn_is_saved_from_start_to_end_in_one_commit(tmp_path: Path) -> None:
    async def scenario(database: SqliteDatabase) -> None:
        row, save = await unsaved_turn(database, KeyReserve(database))
        commits: list[CommitStats] = []
        async with EventLog(database, LogConfig(commit_interval_s=NEVER), on_commit=commits.append) as log:
            writer = log.writer(row.key, row.epoch, start=save)
            new_entries = entries(turn_events("51"))
            append_all(writer, new_entries)
            await writer.close(fold_entries(new_entries))
            assert commits == [], "no commit of the log alone"
            assert await read_all(log, row.key) == [*map(encode_entry, new_entries)]
        stored = await stored_turn(database, row)
        assert stored is not None
        assert stored.state is TurnState.DONE

    run_on_sqlite(scenario, tmp_path)


def test_turn_whose_start_cannot_be_saved_is_given_up_alone(tmp_path: Path) -> None:
    def fail(conn: Connection) -> None:
        raise ValueError("no such user")

    async def scenario(database: SqliteDatabase) -> None:
        reserve = KeyReserve(database)
        (bad, _), (good, save) = await unsaved_turn(database, reserve), await unsaved_turn(database, reserve)
        async with EventLog(database) as log:
            bad_writer = log.writer(bad.key, bad.epoch, start=fail)
            good_writer = log.writer(good.key, good.epoch, start=save)
            append_all(bad_writer, entries(START))
            append_all(good_writer, entries(turn_events("51")))
            await good_writer.close()
            assert bad_writer.taken_over
            assert not good_writer.taken_over
        assert await stored_turn(database, bad) is None
        assert await stored_turn(database, good) is not None

    run_on_sqlite(scenario, tmp_path)


@pytest.mark.parametrize(("refuse", "take"), [FULL, READ_ONLY], ids=["full", "read-only"])
def test_start_of_a_turn_waits_for_the_disk(tmp_path: Path, refuse: str, take: str) -> None:
    """A short turn that the disk refuses is saved from start to end once the disk accepts writes again."""

    async def scenario(database: SqliteDatabase) -> None:
        row, save = await unsaved_turn(database, KeyReserve(database))
        await set_pragma(database, refuse)
        async with EventLog(database, LogConfig(retry_s=0.02)) as log:
            writer = log.writer(row.key, row.epoch, start=save)
            new_entries = entries(turn_events("51", thought=random.Random(1).randbytes(3000).hex()))
            append_all(writer, new_entries)
            closing = asyncio.create_task(writer.close(fold_entries(new_entries)))
            while log.saved:
                await asyncio.sleep(0.01)
            await set_pragma(database, take)
            assert await closing is not None
            assert len(await read_all(log, row.key)) == len(new_entries)

    run_on_sqlite(scenario, tmp_path)


def test_reserved_keys_are_never_given_out_twice(tmp_path: Path) -> None:
    async def scenario(database: SqliteDatabase) -> None:
        first = await new_turn(database)
        reserved = [
            await reserve.take() for reserve in (KeyReserve(database), KeyReserve(database)) for _ in "ab"
        ]
        last = await new_turn(database)
        keys = [(first.session, first.key), *reserved, (last.session, last.key)]
        assert len({session for session, _ in keys}) == len({turn for _, turn in keys}) == len(keys)
        assert keys == sorted(keys)

    run_on_sqlite(scenario, tmp_path)


def test_text_is_committed_sooner_for_a_reader_that_waits(tmp_path: Path) -> None:
    async def scenario(database: SqliteDatabase) -> None:
        row = await new_turn(database)
        config = LogConfig(commit_interval_s=NEVER, reader_interval_s=0.001, commit_spacing_s=0)
        async with EventLog(database, config) as log:
            writer = log.writer(row.key, row.epoch)
            append_all(writer, entries([*START, BlockGrew(0, "first")]))
            await wait_until_published(log, row.key, 2)
            reader = asyncio.create_task(wait_until_published(log, row.key, 3))
            await asyncio.sleep(0)
            append_all(writer, entries([BlockGrew(0, "second")], 3))
            await reader
            append_all(writer, entries([BlockGrew(0, "third")], 4))
            await asyncio.sleep(0.05)
            assert (await log.read(row.key)).last == 3, "nobody waits for it"

    run_on_sqlite(scenario, tmp_path)


def test_entries_are_committed_at_once_only_for_a_reader_that_waits(tmp_path: Path) -> None:
    async def scenario(database: SqliteDatabase) -> None:
        row = await new_turn(database)
        async with EventLog(database, LogConfig(commit_interval_s=NEVER, commit_spacing_s=0)) as log:
            writer = log.writer(row.key, row.epoch)
            append_all(writer, entries([*START, BlockGrew(0, "first")]))
            await asyncio.sleep(0.05)
            assert (await log.read(row.key)).lines == (), "nobody waits for them"
            await wait_until_published(log, row.key, 2)  # a reader that comes later
            reader = asyncio.create_task(wait_until_published(log, row.key, 3))
            await asyncio.sleep(0)
            append_all(writer, entries([BlockEnded(0)], 3))
            await reader
            append_all(writer, entries([BlockStarted(1, Kind.TOOL_CALL, "t", "c"), BlockEnded(1)], 4))
            append_all(writer, entries([ToolFinished(1, "done")], 6))
            while (await log.read(row.key)).last < 6:  # nobody waits, but it must not be run again
                await asyncio.sleep(0.01)

    run_on_sqlite(scenario, tmp_path)
