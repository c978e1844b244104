"""The event log when the disk hangs, a read fails, or another process takes a turn over."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from sqlalchemy import insert, update
from tests.patience import PATIENCE_S
from tests.store.log_fixtures import NOW_MS, append_all, entries, new_turn, read_all, turn_events
from tests.store.test_log import (
    NEVER,
    START,
    DatabaseWrapper,
    GatedDatabase,
    run_scenario,
    wait_until_published,
)

from thinkaloud.core.canon import BlockGrew, BlockStarted, Entry, Kind, TurnFailed, TurnStarted
from thinkaloud.gateway.store.engine.database import Database, NotSaved, Query, T
from thinkaloud.gateway.store.log.archive import decode_entries, decode_entry, log_lines
from thinkaloud.gateway.store.log.event_log import EventLog, LogConfig
from thinkaloud.gateway.store.log.finish import drop_timing
from thinkaloud.gateway.store.log.live import LiveLog
from thinkaloud.gateway.store.log.recovery import Reaper, end_abandoned, recover
from thinkaloud.gateway.store.log.states import IllegalMove
from thinkaloud.gateway.store.queries import turns as turn_queries
from thinkaloud.gateway.store.queries.messages import messages_of
from thinkaloud.gateway.store.rows import Owner, TurnState
from thinkaloud.gateway.store.schema import log as log_rows
from thinkaloud.gateway.store.schema import turns

pytestmark = pytest.mark.usefixtures("each_engine")
REAPER = Reaper(node="reaper", lease_ms=0)
HANGING = LogConfig(slow_commit_s=0.05, max_unsaved_bytes=20_000)
WHOLE = entries(turn_events("It is ", "51."))


def test_entries_are_shown_as_not_saved_while_the_disk_hangs(tmp_path: Path) -> None:
    """A commit that hangs counts as failed: readers go on, and everything is saved when the disk returns."""

    async def scenario(database: Database) -> None:
        row = await new_turn(database)
        hanging = GatedDatabase(database)
        async with EventLog(hanging, HANGING) as log:
            writer = log.writer(row.key, row.epoch)
            append_all(writer, WHOLE[:2])
            try:
                await wait_until_published(log, row.key, 1)
                assert not log.saved
                assert not (await log.read(row.key)).saved
                append_all(writer, WHOLE[2:])
                await wait_until_published(log, row.key, WHOLE[-1].seq)
                assert log.waiting_s > 0
                assert log.unsaved_bytes > 0
            finally:
                hanging.gate.set()  # without it a failed assertion would wait for the disk for ever
            await asyncio.wait_for(writer.close(), PATIENCE_S)
            assert log.saved
            assert log.waiting_s == log.unsaved_bytes == 0
            assert await read_all(log, row.key) == [msgspec.json.encode(entry) for entry in WHOLE]

    run_scenario(scenario, tmp_path)


def test_a_fault_in_one_commit_does_not_stop_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(database: Database) -> None:
        faulty, sound = await new_turn(database), await new_turn(database)
        async with EventLog(database) as log:
            with monkeypatch.context() as patch:
                failed = asyncio.Event()

                def fail(*_: object) -> None:
                    failed.set()
                    raise IllegalMove("planted")

                patch.setattr(LiveLog, "publish", fail)
                append_all(log.writer(faulty.key, faulty.epoch), WHOLE[:2])
                await asyncio.wait_for(failed.wait(), PATIENCE_S)
            writer = log.writer(sound.key, sound.epoch)
            append_all(writer, WHOLE)
            await wait_until_published(log, sound.key, WHOLE[-1].seq)
            await asyncio.wait_for(writer.close(), PATIENCE_S)

    run_scenario(scenario, tmp_path)
    assert "failed unexpectedly" in caplog.text


def test_memory_is_bounded_while_the_disk_hangs(tmp_path: Path) -> None:
    """Entries that wait for the hanging commit count too."""

    async def scenario(database: Database) -> None:
        row = await new_turn(database)
        hanging = GatedDatabase(database)
        async with EventLog(hanging, LogConfig(slow_commit_s=NEVER, max_unsaved_bytes=20_000)) as log:
            writer = log.writer(row.key, row.epoch)
            append_all(writer, entries(START))
            await asyncio.sleep(0)
            with pytest.raises(NotSaved, match="buffer for unsaved entries is full"):
                append_all(writer, entries([BlockGrew(0, "x" * 1_000)] * 30, 2))
            hanging.gate.set()

    run_scenario(scenario, tmp_path)


class FailingReads(DatabaseWrapper):
    """A database whose next reads fail."""

    failures = 0

    async def read(self, query: Query[T]) -> T:
        if self.failures:
            self.failures -= 1
            raise OSError("the disk reported an error")
        return await super().read(query)


def test_failed_read_at_the_end_of_a_turn_is_repeated(tmp_path: Path) -> None:
    async def scenario(database: Database) -> None:
        row = await new_turn(database)
        failing = FailingReads(database)
        async with EventLog(failing, LogConfig(retry_s=0.01)) as log:
            writer = log.writer(row.key, row.epoch)
            append_all(writer, WHOLE)
            failing.failures = 3
            assert await asyncio.wait_for(writer.close(), PATIENCE_S) is not None
        stored = await database.read(lambda conn: turn_queries.get(conn, Owner(1, 1), row.id))
        assert stored is not None
        assert stored.state is TurnState.DONE

    run_scenario(scenario, tmp_path)


@pytest.mark.parametrize("entry_count", [3, len(WHOLE)])
def test_turn_that_its_gateway_does_not_run_any_more_is_ended(tmp_path: Path, entry_count: int) -> None:
    async def scenario(database: Database) -> None:
        row = await new_turn(database)
        await new_turn(database)  # runs
        async with EventLog(database) as log:
            append_all(log.writer(row.key, row.epoch), WHOLE[:entry_count])
        for leftover, ended in (((), ()), ((row.key,), (row.id,)), ((row.key,), ())):
            reaper = Reaper(node="w", lease_ms=0, leftover=leftover)
            swept = [some async for some in end_abandoned(database, reaper, now_ms=NOW_MS)]
            assert tuple(turn for some in swept for turn in some.ended) == ended
        stored = await database.read(lambda conn: turn_queries.get(conn, Owner(1, 1), row.id))
        assert stored is not None
        assert stored.state is (TurnState.DONE if entry_count == len(WHOLE) else TurnState.INTERRUPTED)

    run_scenario(scenario, tmp_path)


def test_readers_of_a_turn_that_was_taken_over_go_on_with_the_new_writer(tmp_path: Path) -> None:
    """The old writer closes without an error, and no reader takes its shortened log for the whole."""

    async def scenario(database: Database) -> None:
        row = await new_turn(database)
        async with EventLog(database) as old, EventLog(database) as new:
            writer = old.writer(row.key, row.epoch)
            append_all(writer, WHOLE[:2])
            await writer.flush()
            reader = asyncio.create_task(read_all(old, row.key))
            claim = update(turns).where(turns.c.key == row.key).values(epoch=turns.c.epoch + 1)
            await database.write(lambda conn: conn.execute(claim).rowcount)
            append_all(writer, entries([BlockGrew(0, "too late")], 2))
            await writer.flush()
            assert not (await old.read(row.key)).ended
            assert await writer.close() is None
            successor = new.writer(row.key, row.epoch + 1, after=1)
            append_all(successor, WHOLE[2:])
            await successor.close()
            assert await asyncio.wait_for(reader, PATIENCE_S) == list(map(msgspec.json.encode, WHOLE))

    run_scenario(scenario, tmp_path)


NEWER = b'{"seq":%d,"event":{"type":"block.painted","block":0,"colour":"red"},"at_ms":1700000000003}'


def with_newer_events(lines: Sequence[Entry]) -> list[bytes]:
    """The lines of entries, each followed by an event of a newer version."""
    encoded: list[bytes] = []
    for entry in lines:
        encoded.append(msgspec.json.encode(msgspec.structs.replace(entry, seq=len(encoded))))
        encoded.append(NEWER % len(encoded))
    return encoded


@pytest.mark.parametrize("entry_count", [4, len(WHOLE)])
def test_events_of_a_newer_version_are_kept_and_folded_around(tmp_path: Path, entry_count: int) -> None:
    async def scenario(database: Database) -> None:
        row = await new_turn(database)
        lines = with_newer_events(WHOLE[:entry_count])[: -1 if entry_count == len(WHOLE) else None]
        values = {"turn": row.key, "first_seq": 0, "last_seq": len(lines) - 1, "entries": b"\n".join(lines)}
        await database.write(lambda conn: conn.execute(insert(log_rows), values).rowcount)
        await recover(database, REAPER, now_ms=NOW_MS + 60_000)
        stored = await database.read(lambda conn: list(log_lines(conn, row.key)))
        assert stored[: len(lines)] == lines
        assert [msgspec.json.decode(line)["seq"] for line in stored] == list(range(len(stored)))
        message = (await database.read(lambda conn: messages_of(conn, [row.key])))[row.key][-1]
        assert message.thinking == "51"
        assert message.content == ("It is 51." if entry_count == len(WHOLE) else "")
        assert await database.write(lambda conn: drop_timing(conn, NOW_MS + 60_000)) == 1
        assert await database.write(lambda conn: drop_timing(conn, NOW_MS + 60_000)) == 0
        assert await database.read(lambda conn: list(log_lines(conn, row.key))) == stored

    run_scenario(scenario, tmp_path)


def test_broken_line_is_not_taken_for_a_newer_event() -> None:
    assert decode_entry(NEWER % 7) is None
    assert list(decode_entries([NEWER % 0, msgspec.json.encode(WHOLE[0])])) == [WHOLE[0]]
    for line in (
        b'{"seq":1',
        b'{"seq":1,"event":{"type":"block.grew"}}',
        b'{"seq":"x","event":{"type":"new"}}',
    ):
        with pytest.raises(msgspec.MsgspecError):
            decode_entry(line)


def test_downtime_is_not_counted_as_thinking(tmp_path: Path) -> None:
    async def scenario(database: Database) -> None:
        row = await new_turn(database)
        async with EventLog(database) as log:
            append_all(
                log.writer(row.key, row.epoch),
                entries([TurnStarted("d", "m"), BlockStarted(0, Kind.REASONING), BlockGrew(0, "hm")]),
            )
        await recover(database, REAPER, now_ms=NOW_MS + 8 * 3600 * 1000)
        last = (await database.read(lambda conn: list(log_lines(conn, row.key))))[-1]
        entry = decode_entry(last)
        assert entry is not None
        assert isinstance(entry.event, TurnFailed)
        assert entry.at_ms == NOW_MS + 2

    run_scenario(scenario, tmp_path)
