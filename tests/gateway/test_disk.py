"""A disk that refuses writes: streams continue and report it, and everything is saved when it recovers."""

import asyncio
import resource
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.forked_gateway import ForkedGateway
from tests.gateway.gateway_process import Caller, GatewayProcess, start_caller
from tests.gateway.paced_provider import CATALOG_ROW, expected
from tests.gateway.stream_record import StreamRecord, follow, open_stream
from tests.patience import PATIENCE_S
from tests.server.caller import quick_settings
from tests.server.caller import start_gateway as calling_in_process

from thinkaloud.gateway.store.engine.sqlite import SqliteDatabase
from thinkaloud.gateway.store.log.event_log import LogConfig

MODEL = "r300-c300-ms10"
BRIEF = "r3-c3-ms5"
COUNT = 3
SAVED, NOT_SAVED = ("storage", {"saved": True}), ("storage", {"saved": False})
MUCH = 1 << 40
BROKEN = "CREATE TRIGGER broken BEFORE INSERT ON {table} WHEN {when} BEGIN SELECT RAISE(ABORT, 'broken'); END"
REPAIRED = "DROP TRIGGER broken"
LIMITS = pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="limits of others are set on Linux")
Ready = Callable[[], Awaitable[tuple[int, str]]]


async def until(true: Callable[[], bool], seconds: float = PATIENCE_S) -> None:
    async with asyncio.timeout(seconds):
        while not true():
            await asyncio.sleep(0.01)


async def until_ready(read_readiness: Ready, expected: tuple[int, str]) -> None:
    """Wait until `/readyz` gives this response."""
    async with asyncio.timeout(PATIENCE_S):
        while await read_readiness() != expected:
            await asyncio.sleep(0.02)


async def check(
    url: str, turns: list[str], read_readiness: Ready, refuse: Callable[[], Any], take: Callable[[], Any]
) -> None:
    """Check streams before, during and after the disk refuses writes."""
    records = [StreamRecord() for _ in turns]
    reading = [
        asyncio.create_task(follow(url, turn, record)) for turn, record in zip(turns, records, strict=True)
    ]
    await until(lambda: all(record.last > 3 for record in records))
    await refuse()
    await until(lambda: all(NOT_SAVED in record.events for record in records))
    assert await read_readiness() == (503, "not_saved")
    last_ids = [record.last for record in records]
    await until(lambda: all(record.last > last + 10 for record, last in zip(records, last_ids, strict=True)))
    late = StreamRecord()
    joining = asyncio.create_task(follow(url, turns[0], late))
    await until(lambda: late.last > last_ids[0])
    assert late.events == [NOT_SAVED], "a new reader is informed at once"
    await take()
    await until(lambda: all(SAVED in record.events for record in records))
    await until_ready(read_readiness, (200, "ok"))
    await asyncio.gather(*reading, joining)
    for turn, record in zip(turns, records, strict=True):
        assert record.events == [NOT_SAVED, SAVED, ("end", {"state": "done"})]
        assert record.text == expected(MODEL)
        again = StreamRecord()
        await follow(url, turn, again)
        assert again.lines == record.lines
    assert late.lines == records[0].lines


@pytest.mark.parametrize(
    ("refuse", "take"),
    [("max_page_count = 1", "max_page_count = 1000000000"), ("query_only = ON", "query_only = OFF")],
    ids=["full", "read-only"],
)
def test_full_disk_is_reported_and_recovers(tmp_path: Path, provider: str, refuse: str, take: str) -> None:
    async def story() -> None:
        settings, rows = (
            quick_settings(log_config=LogConfig(retry_s=0.05, slow_commit_s=PATIENCE_S), grace_s=0.0),
            CATALOG_ROW.format(url=provider),
        )
        async with calling_in_process(tmp_path, settings=settings, extra=rows) as caller:
            turns = [
                await caller.start_turn(await caller.create_session(), model=f"paced/{MODEL}")
                for _ in range(COUNT)
            ]

            async def read_readiness() -> tuple[int, str]:
                async with caller.http.get(f"{caller.url}/readyz") as response:
                    return response.status, (await response.json())["status"]

            await check(
                caller.url,
                turns,
                read_readiness,
                lambda: set_pragma(caller.database, refuse),
                lambda: set_pragma(caller.database, take),
            )

    asyncio.run(story())
    assert whole(tmp_path / "thinkaloud.db") == ["done"] * COUNT


@LIMITS
def test_file_size_limit_is_reported_and_recovers(tmp_path: Path, provider: str) -> None:
    """The kernel refuses writes: a resource limit stops all files from growing."""

    async def story() -> None:
        gateway = ForkedGateway(tmp_path, provider)
        async with start_caller(gateway) as caller:
            turns = [await caller.start_turn(MODEL) for _ in range(COUNT)]

            async def read_readiness() -> tuple[int, str]:
                return await readiness(caller)

            await check(
                gateway.url, turns, read_readiness, lambda: limit(gateway, 0), lambda: limit(gateway, MUCH)
            )
            await caller.start_turn(BRIEF)
            assert await gateway.stop() == 0
            assert "Traceback" not in gateway.errors

    asyncio.run(story())
    assert whole(tmp_path / "thinkaloud.db") == ["done"] * (COUNT + 1)


async def left_unsaved(caller: Caller, turn: str) -> StreamRecord:
    """Return what a reader received of a turn, some of it unsaved."""
    record = StreamRecord()
    async with open_stream(caller.gateway.url, turn, record) as stream:
        while record.last < 5:
            assert await stream.read()
        await limit(caller.gateway, 0)
        while record.last_saved is None or record.last < record.last_saved + 20:
            assert await stream.read()
    return record


@LIMITS
@pytest.mark.parametrize("ahead", [1, 2, 20], ids=lambda ahead: f"{ahead} ahead")
def test_kill_with_unsaved_entries_resets_readers(tmp_path: Path, provider: str, ahead: int) -> None:
    """After a kill with unsaved entries, a reader that received them gets a reset."""

    async def story() -> None:
        gateway = ForkedGateway(tmp_path, provider)
        async with start_caller(gateway) as caller:
            turn = await caller.start_turn(MODEL)
            unsaved_record = await left_unsaved(caller, turn)
            await gateway.kill()
            await gateway.start()
            log = StreamRecord()
            await follow(gateway.url, turn, log)
            assert (log.state, log.end_count) == ("interrupted", 1)
            assert unsaved_record.last_saved is not None
            common_lines = sum(
                shown_line == saved_line
                for shown_line, saved_line in zip(unsaved_record.lines, log.lines, strict=False)
            )
            assert common_lines > unsaved_record.last_saved, "entries reported as saved are there"
            back = StreamRecord(unsaved_record.lines[: common_lines + ahead], resets_allowed=True)
            await follow(gateway.url, turn, back)
            assert back.lines == log.lines, "the reader goes on with what never was"

    asyncio.run(story())


@LIMITS
def test_stop_with_a_full_disk_completes(tmp_path: Path, provider: str) -> None:
    """The next start marks the turn as interrupted."""

    async def story() -> None:
        # Not forked: the exit code is that of Python itself, which cannot write its last words.
        gateway = GatewayProcess(tmp_path, provider, "--grace", "0.5")
        async with start_caller(gateway) as caller:
            turn = await caller.start_turn(MODEL)
            unsaved_record = await left_unsaved(caller, turn)
            assert await gateway.stop() == 0
            await gateway.start()
            again = StreamRecord()
            await follow(gateway.url, turn, again)
            assert (again.state, again.end_count) == ("interrupted", 1)
            assert unsaved_record.last_saved is not None
            assert (
                again.lines[: unsaved_record.last_saved + 1]
                == unsaved_record.lines[: unsaved_record.last_saved + 1]
            )

    asyncio.run(story())
    assert whole(tmp_path / "thinkaloud.db") == ["interrupted"]


def test_unexpected_database_error_is_reported_like_a_full_disk(tmp_path: Path, provider: str) -> None:
    """An unexpected database error is reported like a full disk."""

    async def story() -> None:
        gateway = ForkedGateway(tmp_path, provider)
        async with start_caller(gateway) as caller:
            turns = [await caller.start_turn(MODEL) for _ in range(COUNT)]

            async def read_readiness() -> tuple[int, str]:
                return await readiness(caller)

            await check(
                gateway.url,
                turns,
                read_readiness,
                lambda: alter(gateway, BROKEN.format(table="log", when="TRUE")),
                lambda: alter(gateway, REPAIRED),
            )

    asyncio.run(story())


def test_end_of_turn_is_saved_when_the_disk_recovers(tmp_path: Path, provider: str) -> None:
    """A turn whose end could not be saved once is ended later."""

    async def story() -> None:
        gateway = ForkedGateway(tmp_path, provider)
        async with start_caller(gateway) as caller:
            session, record = await caller.create_session(), StreamRecord()
            await alter(gateway, BROKEN.format(table="messages", when="NEW.role = 'assistant'"))
            turn = await caller.start_turn(BRIEF, session)
            reading = asyncio.create_task(follow(gateway.url, turn, record))
            await until(lambda: "could not be saved" in gateway.errors)
            await alter(gateway, REPAIRED)
            await reading
            async with asyncio.timeout(PATIENCE_S):
                while not record.state:
                    await follow(gateway.url, turn, record)
            assert (record.text, record.state) == (expected(BRIEF), "done")
            await caller.start_turn(BRIEF, session)

    asyncio.run(story())


async def alter(gateway: GatewayProcess, statement: str) -> None:
    """Run a statement in the database while the gateway is running."""
    with closing(sqlite3.connect(gateway.database, timeout=PATIENCE_S)) as conn:
        conn.execute(statement)
        conn.commit()


async def limit(gateway: GatewayProcess, size: int) -> None:
    """Set the file size limit of the gateway process."""
    resource.prlimit(gateway.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


async def readiness(caller: Caller) -> tuple[int, str]:
    async with caller.http.get(f"{caller.gateway.url}/readyz") as response:
        return response.status, (await response.json())["status"]


async def set_pragma(database: SqliteDatabase, setting: str) -> None:
    """Set a pragma outside a transaction: a read-only file cannot begin one."""

    def change() -> None:
        with database._writer_engine.connect() as conn:
            raw = conn.connection.driver_connection
            assert raw is not None
            raw.execute(f"PRAGMA {setting}")

    await asyncio.get_running_loop().run_in_executor(database._writer_pool, change)


def whole(database: Path) -> list[str]:
    """Check the integrity of a database and return the states of its turns."""
    with closing(sqlite3.connect(database)) as conn:
        assert conn.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert conn.execute("PRAGMA foreign_key_check").fetchall() == []
        return [state for (state,) in conn.execute("SELECT state FROM turns ORDER BY key")]
