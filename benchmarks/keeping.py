"""How fast the log takes what live turns say, how soon readers have it, and what a turn costs on disk.

Writers say a word at a fixed rate; every turn has a reader who takes the lines as they are
committed. Beside it run the writers alone, and a bare SQLite that is given the same lines in the same groups.
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
from benchmarks.words import words
from thinkaloud.canon import (
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
from thinkaloud.store.log import PACE, EventLog
from thinkaloud.store.rows import State
from thinkaloud.store.schema import sessions, turns, users, workspaces
from thinkaloud.store.sqlite import Sqlite, opened

TITLE = "Keeping live turns"
RATE = 80
PIECES = words(5_000, seed=5)
START: list[Event] = [TurnStarted("openai_chat", "m"), BlockStarted(0, Kind.REASONING)]
END: list[Event] = [BlockEnded(0), TurnEnded(Finish.STOP)]
MOST_CORES = 0.6
MOST_P99_MS = 100

Say = Callable[[int, Entry], None]


class Found(NamedTuple):
    """What one run came to; `lags_ms` is from the saying of an entry to its reader, sorted."""

    entries: int
    seconds: float
    cores: float
    lags_ms: list[float]

    def lag(self, share: float) -> float:
        return self.lags_ms[int(len(self.lags_ms) * share)]


def piece(stream: int, tick: int) -> str:
    """What a stream says at a tick: every stream something else."""
    return PIECES[(stream * 977 + tick) % len(PIECES)]


async def speak(streams: int, seconds: float, say: Say) -> None:
    """All writers at once, each at its own moment of the tick."""

    async def one(stream: int) -> None:
        begin = time.perf_counter() + stream / streams / RATE
        seq = 0
        for event in START:
            say(stream, Entry(seq, event, 0))
            seq += 1
        for tick in range(int(RATE * seconds)):
            await asyncio.sleep(max(0.0, begin + tick / RATE - time.perf_counter()))
            say(stream, Entry(seq, BlockGrew(0, piece(stream, tick)), time.time_ns() // 1_000_000))
            seq += 1
        for event in END:
            say(stream, Entry(seq, event, 0))
            seq += 1

    await asyncio.gather(*(one(stream) for stream in range(streams)))


async def timed(work: Awaitable[None]) -> tuple[float, float]:
    """Seconds on the wall and cores of the processor."""
    wall, processor = time.perf_counter(), time.process_time()
    await work
    taken = time.perf_counter() - wall
    return taken, (time.process_time() - processor) / taken


async def alone(streams: int, seconds: float) -> Found:
    """The writers, with nobody who listens."""
    said = 0

    def say(stream: int, entry: Entry) -> None:
        nonlocal said
        said += 1

    taken, cores = await timed(speak(streams, seconds, say))
    return Found(said, taken, cores, [])


async def bare(streams: int, seconds: float, folder: Path) -> Found:
    """A table, a thread and a timer: the least that makes the same lines durable. Nobody reads."""
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
        taken, waiting = waiting, {}
        rows = [
            (turn, written + place, b"\n".join(lines)) for place, (turn, lines) in enumerate(taken.items())
        ]
        written += len(rows)
        await asyncio.to_thread(commit, rows)

    async def save_for_ever() -> None:
        while True:
            await asyncio.sleep(PACE.every_s)
            await save()

    def say(stream: int, entry: Entry) -> None:
        waiting.setdefault(stream, []).append(msgspec.json.encode(entry))

    saving = asyncio.create_task(save_for_ever())
    taken, cores = await timed(speak(streams, seconds, say))
    saving.cancel()
    await asyncio.gather(saving, return_exceptions=True)
    await save()
    count = sum(lines.count(b"\n") + 1 for (lines,) in db.execute("SELECT lines FROM log"))
    db.close()
    return Found(count, taken, cores, [])


def begin(conn: Connection, count: int) -> None:
    """So many running turns, each in a session of its own."""
    conn.execute(insert(users), [{"id": "u", "name": "u", "created_ms": 0}])
    conn.execute(insert(workspaces), [{"id": "w", "name": "w", "created_ms": 0}])
    made = range(1, count + 1)
    rows = [{"id": f"s{n}", "user": 1, "workspace": 1, "created_ms": 0, "updated_ms": 0} for n in made]
    conn.execute(insert(sessions), rows)
    rows = [
        {"id": f"t{n}", "session": n, "position": 0, "created_ms": 0, "state": State.RUNNING} for n in made
    ]
    conn.execute(insert(turns), rows)


async def ours(streams: int, seconds: float, database: Sqlite) -> Found:
    """The log with a reader for each turn. Folding a finished turn is not part of it."""
    lags: list[float] = []
    said: dict[tuple[int, int], float] = {}
    heard = 0

    async def read(stream: int) -> None:
        nonlocal heard
        after, over = -1, False
        while not over:
            span = await log.read(stream + 1, after)
            now = time.perf_counter()
            lags.extend((now - said.pop((stream, span.first + at))) * 1000 for at in range(len(span.lines)))
            heard += len(span.lines)
            after, over = span.last, span.over
            if not over:
                await log.changed(stream + 1, after)

    def say(stream: int, entry: Entry) -> None:
        said[stream, entry.seq] = time.perf_counter()
        writers[stream].append(entry)

    async def everything() -> None:
        async with asyncio.TaskGroup() as group:
            for stream in range(streams):
                group.create_task(read(stream))
            await speak(streams, seconds, say)

    await database.write(lambda conn: begin(conn, streams))
    async with EventLog(database) as log:
        writers = [log.writer(stream + 1, 0) for stream in range(streams)]
        taken, cores = await timed(everything())
        for writer in writers:
            await writer.close()
    return Found(heard, taken, cores, sorted(lags))


def used_bytes(conn: Connection) -> int:
    """Of the file: pages that were freed are taken by the next turns."""
    sizes = {
        name: conn.exec_driver_sql(f"PRAGMA {name}").scalar_one()
        for name in ("page_count", "freelist_count", "page_size")
    }
    return int((sizes["page_count"] - sizes["freelist_count"]) * sizes["page_size"])


async def measured(streams: int, seconds: float) -> tuple[dict[str, Found], float]:
    """All three, and bytes on disk per byte of text."""
    found: dict[str, Found] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found["writers alone"] = await alone(streams, seconds)
        found["bare SQLite, no readers"] = await bare(streams, seconds, folder)
        async with opened(folder / "kept.db") as database:
            empty = await database.read(used_bytes)
            found["the log, a reader each"] = await ours(streams, seconds, database)
            used = await database.read(used_bytes) - empty
        ticks = range(int(RATE * seconds))
        text = sum(len(piece(stream, tick).encode()) for stream in range(streams) for tick in ticks)
        return found, used / text


def measure(streams: int, seconds: float) -> Section:
    """The answer, for the report."""
    found, cost = asyncio.run(measured(streams, seconds))
    expected = streams * (int(RATE * seconds) + len(START) + len(END))
    if any(run.entries != expected for run in found.values()):
        raise WrongAnswer(f"{[run.entries for run in found.values()]} entries came, {expected} were said")
    kept = found["the log, a reader each"]
    rows = [
        (name, f"{run.entries / run.seconds:,.0f}", f"{run.cores:.2f}", *_lags(run))
        for name, run in found.items()
    ]
    head = (f"{streams} turns × {RATE} deltas/s", "entries/s", "cores", "p50, ms", "p99, ms", "most, ms")
    kept_as = f"On disk when all was folded: {cost:.1f} bytes per byte of text, which came a word at a time."
    body = f"{table(head, rows)}\n\n{kept_as}"
    late = kept.seconds - seconds
    goals = (
        Goal(
            f"{streams} turns × {RATE} deltas/s are kept up with, at ≤ {MOST_CORES} core",
            f"{kept.entries / kept.seconds:,.0f} entries/s, {kept.cores:.2f} core",
            late < 1 and kept.cores <= MOST_CORES,
        ),
        Goal(
            f"from a provider's delta to durable to its reader: p99 ≤ {MOST_P99_MS} ms",
            f"{kept.lag(0.99):.0f} ms",
            kept.lag(0.99) <= MOST_P99_MS,
        ),
    )
    return Section(TITLE, body, goals)


def _lags(run: Found) -> tuple[str, str, str]:
    if not run.lags_ms:
        return "–", "–", "–"
    return f"{run.lag(0.5):.0f}", f"{run.lag(0.99):.0f}", f"{run.lags_ms[-1]:.0f}"
