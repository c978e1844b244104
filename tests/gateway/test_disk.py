"""A disk that takes nothing, seen over HTTP: streams go on and say so; with room again, all of it is kept."""

import asyncio
import resource
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.gateway_process import Caller, GatewayProcess, calling
from tests.gateway.providing import ROW, expected
from tests.gateway.reading import Tape, follow, streaming
from tests.patience import PATIENCE_S
from tests.server.calling import calling as calling_in_process
from tests.server.calling import quick

from thinkaloud.store.log import Pace
from thinkaloud.store.sqlite import Sqlite

MODEL = "r300-c300-ms10"
BRIEF = "r3-c3-ms5"
COUNT = 3
SAVED, NOT_SAVED = ("storage", {"saved": True}), ("storage", {"saved": False})
MUCH = 1 << 40
BROKEN = "CREATE TRIGGER broken BEFORE INSERT ON {table} WHEN {when} BEGIN SELECT RAISE(ABORT, 'broken'); END"
MENDED = "DROP TRIGGER broken"
LIMITS = pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="limits of others are set on Linux")
Ready = Callable[[], Awaitable[tuple[int, str]]]


async def until(true: Callable[[], bool], seconds: float = PATIENCE_S) -> None:
    async with asyncio.timeout(seconds):
        while not true():
            await asyncio.sleep(0.01)


async def until_ready(ready: Ready, wanted: tuple[int, str]) -> None:
    """Until the gateway says this of itself."""
    async with asyncio.timeout(PATIENCE_S):
        while await ready() != wanted:
            await asyncio.sleep(0.02)


async def check(
    url: str, turns: list[str], ready: Ready, refuse: Callable[[], Any], take: Callable[[], Any]
) -> None:
    """Streams before, while and after the disk refuses: said, gone on with, recovered, and all there."""
    tapes = [Tape() for _ in turns]
    reading = [asyncio.create_task(follow(url, turn, tape)) for turn, tape in zip(turns, tapes, strict=True)]
    await until(lambda: all(tape.last > 3 for tape in tapes))
    await refuse()
    await until(lambda: all(NOT_SAVED in tape.named for tape in tapes))
    assert await ready() == (503, "not_saved")
    seen = [tape.last for tape in tapes]
    await until(lambda: all(tape.last > last + 10 for tape, last in zip(tapes, seen, strict=True)))
    late = Tape()
    joining = asyncio.create_task(follow(url, turns[0], late))
    await until(lambda: late.last > seen[0])
    assert late.named == [NOT_SAVED], "who comes now is told at once"
    await take()
    await until(lambda: all(SAVED in tape.named for tape in tapes))
    await until_ready(ready, (200, "ok"))
    await asyncio.gather(*reading, joining)
    for turn, tape in zip(turns, tapes, strict=True):
        assert tape.named == [NOT_SAVED, SAVED, ("end", {"state": "done"})]
        assert tape.text == expected(MODEL)
        again = Tape()
        await follow(url, turn, again)
        assert again.lines == tape.lines
    assert late.lines == tapes[0].lines


@pytest.mark.parametrize(
    ("refuse", "take"),
    [("max_page_count = 1", "max_page_count = 1000000000"), ("query_only = ON", "query_only = OFF")],
    ids=["full", "read-only"],
)
def test_a_disk_that_refuses_is_said_and_recovers(
    tmp_path: Path, provider: str, refuse: str, take: str
) -> None:
    async def story() -> None:
        settings, rows = quick(pace=Pace(retry_s=0.05), grace_s=0.0), ROW.format(url=provider)
        async with calling_in_process(tmp_path, settings=settings, more=rows) as caller:
            turns = [await caller.begin(await caller.session(), model=f"paced/{MODEL}") for _ in range(COUNT)]

            async def ready() -> tuple[int, str]:
                async with caller.http.get(f"{caller.url}/readyz") as response:
                    return response.status, (await response.json())["status"]

            await check(
                caller.url,
                turns,
                ready,
                lambda: set_pragma(caller.database, refuse),
                lambda: set_pragma(caller.database, take),
            )

    asyncio.run(story())
    assert whole(tmp_path / "thinkaloud.db") == ["done"] * COUNT


@LIMITS
def test_a_process_that_may_not_write_goes_on_and_keeps_all_when_it_may(
    tmp_path: Path, provider: str
) -> None:
    """The kernel itself refuses: no file of the gateway may grow beyond what it has."""

    async def story() -> None:
        gateway = GatewayProcess(tmp_path, provider)
        async with calling(gateway) as caller:
            turns = [await caller.begin(MODEL) for _ in range(COUNT)]

            async def ready() -> tuple[int, str]:
                return await readiness(caller)

            await check(gateway.url, turns, ready, lambda: limit(gateway, 0), lambda: limit(gateway, MUCH))
            await caller.begin(BRIEF)
            assert await gateway.stop() == 0
            assert "Traceback" not in gateway.errors

    asyncio.run(story())
    assert whole(tmp_path / "thinkaloud.db") == ["done"] * (COUNT + 1)


async def left_unsaved(caller: Caller, turn: str) -> Tape:
    """What a reader has of a turn when the disk has refused some of it; the reader goes on."""
    tape = Tape()
    async with streaming(caller.gateway.url, turn, tape) as stream:
        while tape.last < 5:
            assert await stream.read()
        await limit(caller.gateway, 0)
        while tape.last_saved is None or tape.last < tape.last_saved + 20:
            assert await stream.read()
    return tape


@LIMITS
@pytest.mark.parametrize("ahead", [1, 2, 20], ids=lambda ahead: f"{ahead} ahead")
def test_what_was_shown_and_never_saved_is_taken_back(tmp_path: Path, provider: str, ahead: int) -> None:
    """Killed while the disk refuses: who saw more than what is kept is told to forget it."""

    async def story() -> None:
        gateway = GatewayProcess(tmp_path, provider)
        async with calling(gateway) as caller:
            turn = await caller.begin(MODEL)
            seen = await left_unsaved(caller, turn)
            await gateway.kill()
            await gateway.start()
            log = Tape()
            await follow(gateway.url, turn, log)
            assert (log.state, log.ends) == ("interrupted", 1)
            assert seen.last_saved is not None
            kept = sum(ours == theirs for ours, theirs in zip(seen.lines, log.lines, strict=False))
            assert kept > seen.last_saved, "what was said to be saved is there"
            back = Tape(seen.lines[: kept + ahead], resets=True)
            await follow(gateway.url, turn, back)
            assert back.lines == log.lines, "the reader goes on with what never was"

    asyncio.run(story())


@LIMITS
def test_a_stop_while_nothing_can_be_saved_comes_to_its_end(tmp_path: Path, provider: str) -> None:
    """What is on the disk is there at the next start, and the turn is marked then."""

    async def story() -> None:
        gateway = GatewayProcess(tmp_path, provider, "--grace", "0.5")
        async with calling(gateway) as caller:
            turn = await caller.begin(MODEL)
            seen = await left_unsaved(caller, turn)
            assert await gateway.stop() == 0
            await gateway.start()
            again = Tape()
            await follow(gateway.url, turn, again)
            assert (again.state, again.ends) == ("interrupted", 1)
            assert seen.last_saved is not None
            assert again.lines[: seen.last_saved + 1] == seen.lines[: seen.last_saved + 1]

    asyncio.run(story())
    assert whole(tmp_path / "thinkaloud.db") == ["interrupted"]


def test_an_error_that_the_engine_was_not_expected_to_make_is_no_silence(
    tmp_path: Path, provider: str
) -> None:
    """A database that refuses what is appended, for a reason of its own: said like a disk that is full."""

    async def story() -> None:
        gateway = GatewayProcess(tmp_path, provider)
        async with calling(gateway) as caller:
            turns = [await caller.begin(MODEL) for _ in range(COUNT)]

            async def ready() -> tuple[int, str]:
                return await readiness(caller)

            await check(
                gateway.url,
                turns,
                ready,
                lambda: alter(gateway, BROKEN.format(table="log", when="TRUE")),
                lambda: alter(gateway, MENDED),
            )

    asyncio.run(story())


def test_an_end_that_cannot_be_kept_is_kept_when_it_can(tmp_path: Path, provider: str) -> None:
    """A turn does not run for ever because its last rows were refused once."""

    async def story() -> None:
        gateway = GatewayProcess(tmp_path, provider)
        async with calling(gateway) as caller:
            session, tape = await caller.session(), Tape()
            await alter(gateway, BROKEN.format(table="messages", when="NEW.role = 'assistant'"))
            turn = await caller.begin(BRIEF, session)
            reading = asyncio.create_task(follow(gateway.url, turn, tape))
            await until(lambda: "could not be kept" in gateway.errors)
            await alter(gateway, MENDED)
            await reading
            async with asyncio.timeout(PATIENCE_S):
                while not tape.state:
                    await follow(gateway.url, turn, tape)
            assert (tape.text, tape.state) == (expected(BRIEF), "done")
            await caller.begin(BRIEF, session)

    asyncio.run(story())


async def alter(gateway: GatewayProcess, statement: str) -> None:
    """Change the database behind the gateway's back."""
    with closing(sqlite3.connect(gateway.database, timeout=PATIENCE_S)) as conn:
        conn.execute(statement)
        conn.commit()


async def limit(gateway: GatewayProcess, size: int) -> None:
    """Let no file of the gateway grow beyond this."""
    resource.prlimit(gateway.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


async def readiness(caller: Caller) -> tuple[int, str]:
    async with caller.http.get(f"{caller.gateway.url}/readyz") as response:
        return response.status, (await response.json())["status"]


async def set_pragma(database: Sqlite, setting: str) -> None:
    """Outside of any transaction, for a file that takes nothing begins none."""

    def change() -> None:
        with database._writer.connect() as conn:
            raw = conn.connection.driver_connection
            assert raw is not None
            raw.execute(f"PRAGMA {setting}")

    await asyncio.get_running_loop().run_in_executor(database._writing, change)


def whole(database: Path) -> list[str]:
    """The states of all turns in a file that is a database without a fault."""
    with closing(sqlite3.connect(database)) as conn:
        assert conn.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert conn.execute("PRAGMA foreign_key_check").fetchall() == []
        return [state for (state,) in conn.execute("SELECT state FROM turns ORDER BY key")]
