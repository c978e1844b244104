"""Faults of the disk and of the file. These know that the database is an SQLite file."""

import asyncio
import resource
import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

from tests.faults.fault_run import FaultRun, LiveTurn, until
from tests.gateway.gateway_process import GatewayProcess
from tests.patience import PATIENCE_S

LONG = "r150-c150-ms10"
WAL_LIMIT_BYTES = 64 * 1024 * 1024
KILL_SHARE = 0.3


async def fill_disk(run: FaultRun) -> None:
    """No file can grow any more; in some rounds the gateway is killed then."""
    live_turns = await run.start_turns([LONG] * run.load.turns)
    limit_file_size(run.gateway, 0)
    await _until_not_saved(live_turns)
    await asyncio.sleep(run.dice.uniform(0.0, 1.0))
    if run.dice.random() < KILL_SHARE:
        await run.kill_and_start()
    else:
        limit_file_size(run.gateway, resource.RLIM_INFINITY)
    await run.finish(live_turns)


async def hang_disk(run: FaultRun) -> None:
    """Writes neither succeed nor fail for some seconds."""
    live_turns = await run.start_turns([LONG] * run.load.turns)
    async with _writes_blocked(run.gateway.database):
        await _until_not_saved(live_turns)
        await asyncio.sleep(run.dice.uniform(0.0, 2.0))
    await run.finish(live_turns)


async def hold_snapshot(run: FaultRun) -> None:
    """Another program reads an old state of the file for the whole round."""
    with closing(sqlite3.connect(f"file:{run.gateway.database}?mode=ro", uri=True)) as conn:
        conn.execute("BEGIN")
        conn.execute("SELECT count(*) FROM turns").fetchone()
        await run.finish(await run.start_turns())
        size = run.gateway.database.with_name(run.gateway.database.name + "-wal").stat().st_size
    run.expect(size < WAL_LIMIT_BYTES, "bounded", f"the write-ahead log has {size} bytes")


async def _until_not_saved(live_turns: list[LiveTurn]) -> None:
    """Wait until all readers of turns that still run were told that nothing is saved."""
    readers = [reader for live in live_turns for reader in live.readers]
    await until(lambda: all(reader.not_saved or reader.ended for reader in readers))


@asynccontextmanager
async def _writes_blocked(database: Path) -> AsyncIterator[None]:
    """Hold the write lock: a write of the gateway waits, as on a disk that does not answer."""
    with closing(sqlite3.connect(database, timeout=PATIENCE_S, isolation_level=None)) as conn:
        conn.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            conn.execute("ROLLBACK")


def limit_file_size(gateway: GatewayProcess, size: int) -> None:
    """Set the size beyond which the gateway process can write no file."""
    resource.prlimit(gateway.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def check_copy(run: FaultRun) -> None:
    """Check that a copy of the files that a kill left is a valid database."""
    folder = run.gateway.home / "copy"
    folder.mkdir(exist_ok=True)
    database = run.gateway.database
    for old_file in folder.iterdir():
        old_file.unlink()
    for suffix in ("", "-wal"):
        part = database.with_name(database.name + suffix)
        if part.exists():
            shutil.copy(part, folder / part.name)
    check_file(run, folder / database.name)


def check_file(run: FaultRun, database: Path) -> None:
    """Check that a file is a valid database."""
    with closing(sqlite3.connect(database)) as conn:
        for check, sound in (("integrity_check", [("ok",)]), ("foreign_key_check", [])):
            rows = conn.execute(f"PRAGMA {check}").fetchall()
            run.expect(rows == sound, "sound_file", f"{check}: {rows[:3]}")
