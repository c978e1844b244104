"""Throughput of the event log, latency to its readers, and disk space per turn.

Writers append a word at a fixed rate; every turn has a reader that gets the lines as they are committed.
For comparison: the writers alone, and a bare SQLite table with the same lines in the same groups.
"""

import asyncio
import sqlite3
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

import msgspec
from sqlalchemy import Connection, insert

from benchmarks.report import Goal, Section, WrongAnswer, table
from benchmarks.sample_text import words
from thinkaloud.core.canon import (
    BlockEnded,
    BlockGrew,
    BlockStarted,
    Entry,
    Event,
    Finish,
    Kind,
    TurnEnded,
    TurnStarted,
)
from thinkaloud.gateway.store.engine.sqlite import SqliteDatabase, open_database
from thinkaloud.gateway.store.log.event_log import DEFAULT_LOG_CONFIG, EventLog
from thinkaloud.gateway.store.rows import TurnState
from thinkaloud.gateway.store.schema import sessions, turns, users, workspaces

TITLE = "Keeping live turns"
DELTAS_PER_SECOND = 80
WORDS = words(5_000, seed=5)
START: list[Event] = [TurnStarted("openai_chat", "m"), BlockStarted(0, Kind.REASONING)]
END: list[Event] = [BlockEnded(0), TurnEnded(Finish.STOP)]
MAX_CORES = 0.6
MAX_P99_MS = 100

AppendEntry = Callable[[int, Entry], None]


class LogResult(NamedTuple):
    """The result of one run; `lags_ms` is the time from appending an entry to its reader, sorted."""

    entries: int
    seconds: float
    cores: float
    lags_ms: list[float]

    def lag(self, share: float) -> float:
        return self.lags_ms[int(len(self.lags_ms) * share)]


def word_at(stream: int, tick: int) -> str:
    """The word of a stream at a tick; every stream has different words."""
    return WORDS[(stream * 977 + tick) % len(WORDS)]


async def write_streams(streams: int, seconds: float, append: AppendEntry) -> None:
    """Run all writers at once, each with its own offset within the tick."""

    async def write_stream(stream: int) -> None:
        begin = time.perf_counter() + stream / streams / DELTAS_PER_SECOND
        seq = 0
        for event in START:
            append(stream, Entry(seq, event, 0))
            seq += 1
        for tick in range(int(DELTAS_PER_SECOND * seconds)):
            await asyncio.sleep(max(0.0, begin + tick / DELTAS_PER_SECOND - time.perf_counter()))
            append(stream, Entry(seq, BlockGrew(0, word_at(stream, tick)), time.time_ns() // 1_000_000))
            seq += 1
        for event in END:
            append(stream, Entry(seq, event, 0))
            seq += 1

    await asyncio.gather(*(write_stream(stream) for stream in range(streams)))


async def time_work(work: Awaitable[None]) -> tuple[float, float]:
    """Wall time in seconds, and CPU cores used."""
    wall, processor = time.perf_counter(), time.process_time()
    await work
    seconds = time.perf_counter() - wall
    return seconds, (time.process_time() - processor) / seconds


async def writers_only(streams: int, seconds: float) -> LogResult:
    """The writers alone, without a log."""
    count = 0

    def append(stream: int, entry: Entry) -> None:
        nonlocal count
        count += 1

    wall_s, cores = await time_work(write_streams(streams, seconds, append))
    return LogResult(count, wall_s, cores, [])


async def bare_sqlite(streams: int, seconds: float, folder: Path) -> LogResult:
    """A table, a thread and a timer: the minimum that stores the same lines durably, without readers."""
    db = sqlite3.connect(folder / "bare.db", isolation_level=None, check_same_thread=False)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("PRAGMA synchronous=NORMAL")
    db.execute("CREATE TABLE log (turn INT, seq INT, lines BLOB, PRIMARY KEY (turn, seq)) WITHOUT ROWID")
    waiting: dict[int, list[bytes]] = {}
    written = 0

    def commit(rows: list[tuple[int, int, bytes]]) -> None:
        db.execute("BEGIN IMMEDIATE")
        db.executemany("INSERT INTO log VALUES (?, ?, ?)", rows)
        db.execute("COMMIT")

    async def save() -> None:
        nonlocal written, waiting
        batch, waiting = waiting, {}
        rows = [
            (turn, written + place, b"\n".join(lines)) for place, (turn, lines) in enumerate(batch.items())
        ]
        written += len(rows)
        await asyncio.to_thread(commit, rows)

    async def save_until_written() -> None:
        while not all_written:
            await asyncio.sleep(DEFAULT_LOG_CONFIG.commit_interval_s)
            await save()

    def append(stream: int, entry: Entry) -> None:
        waiting.setdefault(stream, []).append(msgspec.json.encode(entry))

    all_written = False
    saving = asyncio.create_task(save_until_written())
    wall_s, cores = await time_work(write_streams(streams, seconds, append))
    all_written = True
    await saving  # a commit that is cancelled goes on in its thread, unseen by the count below
    await save()
    count = sum(lines.count(b"\n") + 1 for (lines,) in db.execute("SELECT lines FROM log"))
    db.close()
    return LogResult(count, wall_s, cores, [])


def insert_running_turns(conn: Connection, count: int) -> None:
    """Create running turns, each in a session of its own."""
    conn.execute(insert(users), [{"id": "u", "name": "u", "created_ms": 0}])
    conn.execute(insert(workspaces), [{"id": "w", "name": "w", "created_ms": 0}])
    numbers = range(1, count + 1)
    rows = [{"id": f"s{n}", "user": 1, "workspace": 1, "created_ms": 0, "updated_ms": 0} for n in numbers]
    conn.execute(insert(sessions), rows)
    rows = [
        {"id": f"t{n}", "session": n, "position": 0, "created_ms": 0, "state": TurnState.RUNNING}
        for n in numbers
    ]
    conn.execute(insert(turns), rows)


async def log_with_readers(streams: int, seconds: float, database: SqliteDatabase) -> LogResult:
    """The log with a reader for each turn, without folding the finished turns."""
    lags: list[float] = []
    appended_at: dict[tuple[int, int], float] = {}
    read_count = 0

    async def read(stream: int) -> None:
        nonlocal read_count
        after, ended = -1, False
        while not ended:
            span = await log.read(stream + 1, after)
            now = time.perf_counter()
            lags.extend(
                (now - appended_at.pop((stream, span.first + at))) * 1000 for at in range(len(span.lines))
            )
            read_count += len(span.lines)
            after, ended = span.last, span.ended
            if not ended:
                await log.wait_for_change(stream + 1, after)

    def append(stream: int, entry: Entry) -> None:
        appended_at[stream, entry.seq] = time.perf_counter()
        writers[stream].append(entry)

    async def write_and_read() -> None:
        async with asyncio.TaskGroup() as group:
            for stream in range(streams):
                group.create_task(read(stream))
            await write_streams(streams, seconds, append)

    await database.write(lambda conn: insert_running_turns(conn, streams))
    async with EventLog(database) as log:
        writers = [log.writer(stream + 1, 0) for stream in range(streams)]
        wall_s, cores = await time_work(write_and_read())
        for writer in writers:
            await writer.close()
    return LogResult(read_count, wall_s, cores, sorted(lags))


def used_bytes(conn: Connection) -> int:
    """Bytes of the file in use; freed pages are reused by later turns."""
    sizes = {
        name: conn.exec_driver_sql(f"PRAGMA {name}").scalar_one()
        for name in ("page_count", "freelist_count", "page_size")
    }
    return int((sizes["page_count"] - sizes["freelist_count"]) * sizes["page_size"])


async def measure_all(streams: int, seconds: float) -> tuple[dict[str, LogResult], float]:
    """Measure all three, and the bytes on disk per byte of text."""
    results: dict[str, LogResult] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        results["writers alone"] = await writers_only(streams, seconds)
        results["bare SQLite, no readers"] = await bare_sqlite(streams, seconds, folder)
        async with open_database(folder / "kept.db") as database:
            empty = await database.read(used_bytes)
            results["the log, a reader each"] = await log_with_readers(streams, seconds, database)
            used = await database.read(used_bytes) - empty
        ticks = range(int(DELTAS_PER_SECOND * seconds))
        text = sum(len(word_at(stream, tick).encode()) for stream in range(streams) for tick in ticks)
        return results, used / text


def measure(streams: int, seconds: float) -> Section:
    """Measure and return the section for the report."""
    results, cost = asyncio.run(measure_all(streams, seconds))
    expected = streams * (int(DELTAS_PER_SECOND * seconds) + len(START) + len(END))
    if any(run.entries != expected for run in results.values()):
        counts = [run.entries for run in results.values()]
        raise WrongAnswer(f"{counts} entries arrived, {expected} were appended")
    log_result = results["the log, a reader each"]
    rows = [
        (name, f"{run.entries / run.seconds:,.0f}", f"{run.cores:.2f}", *_lag_cells(run))
        for name, run in results.items()
    ]
    head = (
        f"{streams} turns × {DELTAS_PER_SECOND} deltas/s",
        "entries/s",
        "cores",
        "p50, ms",
        "p99, ms",
        "most, ms",
    )
    disk_note = (
        f"On disk when all was folded: {cost:.1f} bytes per byte of text, which came a word at a time."
    )
    body = f"{table(head, rows)}\n\n{disk_note}"
    late = log_result.seconds - seconds
    goals = (
        Goal(
            f"{streams} turns × {DELTAS_PER_SECOND} deltas/s are kept up with, at ≤ {MAX_CORES} core",
            f"{log_result.entries / log_result.seconds:,.0f} entries/s, {log_result.cores:.2f} core",
            late < 1 and log_result.cores <= MAX_CORES,
        ),
        Goal(
            f"from a provider's delta to durable to its reader: p99 ≤ {MAX_P99_MS} ms",
            f"{log_result.lag(0.99):.0f} ms",
            log_result.lag(0.99) <= MAX_P99_MS,
        ),
    )
    return Section(TITLE, body, goals)


def _lag_cells(run: LogResult) -> tuple[str, str, str]:
    if not run.lags_ms:
        return "–", "–", "–"
    return f"{run.lag(0.5):.0f}", f"{run.lag(0.99):.0f}", f"{run.lags_ms[-1]:.0f}"
