"""The event log: committed before published, the same for every reader, and explicit about failed writes."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import msgspec
import pytest
from sqlalchemy import update
from tests.patience import PATIENCE_S
from tests.store.log_fixtures import append_all, entries, new_turn, read_all, temporary_database, turn_events

from thinkaloud.core.canon import BlockGrew, BlockStarted, Event, Kind, OutOfOrder, TurnStarted
from thinkaloud.core.transcript import Turn, apply
from thinkaloud.gateway.store.engine.database import Batch, Database, OnWakeup, Query, T
from thinkaloud.gateway.store.log.event_log import CommitStats, EventLog, LogConfig
from thinkaloud.gateway.store.queries import turns as turn_queries
from thinkaloud.gateway.store.schema import turns

pytestmark = pytest.mark.usefixtures("each_engine")
NEVER = 3600.0
NO_TIMER_CONFIG = LogConfig(commit_interval_s=NEVER)
"""Nothing is committed for having waited long enough."""

START: list[Event] = [TurnStarted("openai_chat", "demo"), BlockStarted(0, Kind.REASONING)]


def run_scenario(scenario: Callable[[Database], Awaitable[None]], folder: Path) -> None:
    async def whole() -> None:
        async with temporary_database(folder) as database:
            await asyncio.wait_for(scenario(database), PATIENCE_S)

    asyncio.run(whole())


async def wait_until_published(log: EventLog, turn: int, last: int) -> None:
    """Wait until entry `last` is published."""
    while (span := await log.read(turn)).last < last:
        await log.wait_for_change(turn, span.last)


class DatabaseWrapper:
    """A database that passes everything on to another one."""

    def __init__(self, database: Database) -> None:
        self.database = database

    @property
    def exclusive(self) -> bool:
        return self.database.exclusive

    @property
    def stuck_s(self) -> float:
        return self.database.stuck_s

    async def read(self, query: Query[T]) -> T:
        return await self.database.read(query)

    async def read_long(self, query: Query[T]) -> T:
        return await self.database.read_long(query)

    async def write(self, change: Query[T]) -> T:
        return await self.database.write(change)

    async def write_urgent(self, change: Query[T]) -> T:
        return await self.database.write_urgent(change)

    def listen(self, on_wakeup: OnWakeup) -> AbstractAsyncContextManager[None]:
        return self.database.listen(on_wakeup)

    async def write_short(self, change: Query[T]) -> T:
        return await self.database.write_short(change)

    async def append(self, batches: Sequence[Batch]) -> tuple[int, ...]:
        return await self.database.append(batches)

    async def erase_deleted(self, mark: str, *, old: bool = False) -> bool:
        return await self.database.erase_deleted(mark, old=old)


class GatedDatabase(DatabaseWrapper):
    """A database whose commits wait for a gate to open."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.gate = asyncio.Event()

    async def append(self, batches: Sequence[Batch]) -> tuple[int, ...]:
        await self.gate.wait()
        return await super().append(batches)


def test_entries_are_published_only_after_their_commit(tmp_path: Path) -> None:
    async def scenario(database: Database) -> None:
        row = await new_turn(database)
        gated = GatedDatabase(database)
        async with EventLog(gated) as log:
            writer = log.writer(row.key, row.epoch)
            append_all(writer, entries(START))
            await asyncio.sleep(0.05)
            assert (await log.read(row.key)).lines == ()
            gated.gate.set()
            await wait_until_published(log, row.key, 1)

    run_scenario(scenario, tmp_path)


def test_first_text_and_boundaries_are_committed_immediately(tmp_path: Path) -> None:
    """The first delta of a block is committed immediately; the next waits for time, size or a boundary."""

    async def scenario(database: Database) -> None:
        row = await new_turn(database)
        async with EventLog(database, NO_TIMER_CONFIG) as log:
            writer = log.writer(row.key, row.epoch)
            append_all(writer, entries([*START, BlockGrew(0, "first")]))
            await wait_until_published(log, row.key, 2)
            append_all(writer, entries([BlockGrew(0, " second")], 3))
            await asyncio.sleep(0.05)
            assert (await log.read(row.key)).last == 2
            append_all(writer, entries([BlockGrew(0, "x" * 4096)], 4))
            await wait_until_published(log, row.key, 4)
            append_all(writer, entries([BlockGrew(0, "small"), BlockStarted(1, Kind.TEXT)], 5))
            await wait_until_published(log, row.key, 6)

    run_scenario(scenario, tmp_path)


def test_ordinary_delta_is_committed_within_the_interval(tmp_path: Path) -> None:
    async def scenario(database: Database) -> None:
        row = await new_turn(database)
        commits: list[CommitStats] = []
        async with EventLog(database, on_commit=commits.append) as log:
            writer = log.writer(row.key, row.epoch)
            append_all(writer, entries([*START, *(BlockGrew(0, "a") for _ in range(100))]))
            await wait_until_published(log, row.key, 101)
            append_all(writer, entries([BlockGrew(0, "b")], 102))
            await wait_until_published(log, row.key, 102)
        assert sum(commit.entries for commit in commits) == 103
        assert len(commits) == 2

    run_scenario(scenario, tmp_path)


def test_concurrent_late_and_replaying_readers_read_the_same_log(tmp_path: Path) -> None:
    """Every reader gets the same bytes without gaps or duplicates, from memory or from the database."""
    told_events = entries(turn_events(*("word " for _ in range(3000))))

    async def scenario(database: Database) -> None:
        row = await new_turn(database)
        async with EventLog(database, LogConfig(commit_interval_s=0.002, cached_bytes=2000)) as log:
            writer = log.writer(row.key, row.epoch)
            tabs = [asyncio.create_task(read_all(log, row.key)) for _ in range(2)]
            dice = random.Random(7)
            joiners: list[tuple[int, asyncio.Task[list[bytes]]]] = []
            for entry in told_events:
                writer.append(entry)
                if dice.random() < 0.01:
                    await asyncio.sleep(0.002)
                    after = dice.randrange(-1, max(0, (await log.read(row.key, entry.seq)).last + 1))
                    joiners.append((after, asyncio.create_task(read_all(log, row.key, after))))
            turn = await writer.close()
            assert turn is not None
            expected = [msgspec.json.encode(entry) for entry in told_events]
            for tab in tabs:
                assert await tab == expected
            assert len(joiners) > 10
            for after, joiner in joiners:
                assert await joiner == expected[after + 1 :]
            assert await read_all(log, row.key) == expected
            folded = Turn()
            for entry in told_events:
                apply(folded, entry)
            assert (turn.answer, turn.reasoning) == (folded.answer, folded.reasoning)
            assert (turn.outcome, turn.seq) == (folded.outcome, folded.seq)

    run_scenario(scenario, tmp_path)


def test_old_writer_cannot_append_after_takeover(tmp_path: Path) -> None:
    async def scenario(database: Database) -> None:
        row, other = await new_turn(database), await new_turn(database)
        async with EventLog(database) as log:
            writer, untouched = log.writer(row.key, row.epoch), log.writer(other.key, other.epoch)
            append_all(writer, entries(START))
            await writer.flush()
            claim = update(turns).where(turns.c.key == row.key).values(epoch=turns.c.epoch + 1)
            await database.write(lambda conn: conn.execute(claim).rowcount)
            append_all(writer, entries([BlockGrew(0, "too late")], 2))
            append_all(untouched, entries(START))
            await writer.flush()
            await untouched.flush()
            assert writer.taken_over
            assert not untouched.taken_over
            append_all(writer, entries([BlockGrew(0, "much too late")], 3))
        async with EventLog(database) as log:
            assert (await log.read(row.key)).last == 1
            assert (await log.read(other.key)).last == 1

    run_scenario(scenario, tmp_path)


def test_memory_caches_only_the_newest_entries(tmp_path: Path) -> None:
    async def scenario(database: Database) -> None:
        row = await new_turn(database)
        async with EventLog(database, LogConfig(cached_bytes=1000)) as log:
            writer = log.writer(row.key, row.epoch)
            for entry in entries([*START, *(BlockGrew(0, "y" * 5000) for _ in range(50))]):
                writer.append(entry)
                await writer.flush()
            live = log._live_logs[row.key]
            assert live.first_cached == 51
            assert (await log.read(row.key)).lines

    run_scenario(scenario, tmp_path)


def test_append_after_the_end_of_a_turn_is_refused(tmp_path: Path) -> None:
    async def scenario(database: Database) -> None:
        row = await new_turn(database)
        async with EventLog(database) as log:
            writer = log.writer(row.key, row.epoch)
            append_all(writer, entries(turn_events("51")))
            with pytest.raises(OutOfOrder):
                append_all(writer, entries([BlockGrew(1, "!")], 99))
            await writer.close()

    run_scenario(scenario, tmp_path)


def test_waiting_entries_are_saved_when_the_log_closes(tmp_path: Path) -> None:
    async def scenario(database: Database) -> None:
        row = await new_turn(database)
        async with EventLog(database, NO_TIMER_CONFIG) as log:
            append_all(
                log.writer(row.key, row.epoch), entries([*START, BlockGrew(0, "a"), BlockGrew(0, "b")])
            )
        async with EventLog(database) as log:
            assert (await log.read(row.key)).last == 3
            running = await database.write(lambda conn: turn_queries.running_of(conn, 1))
            assert running == 1

    run_scenario(scenario, tmp_path)
