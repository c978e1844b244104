"""Measures the price of `thinkaloud serve --sync full`: how long a commit takes that waits for the disk.

A commit has one row for each of 50 turns. Run it on the disk of your database:
`python -m benchmarks.full_sync FOLDER`.
"""

import asyncio
import statistics
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from benchmarks.event_log import insert_running_turns
from thinkaloud.gateway.store.engine.database import Batch
from thinkaloud.gateway.store.engine.sqlite import open_database

TURNS = 50
COMMITS = 200
ROW_BYTES = 400
"""What a turn says within the 50 ms between two commits."""


async def measure_commits(folder: Path, *, full_sync: bool) -> list[float]:
    """Return the milliseconds of each commit, sorted."""
    durations_ms = []
    async with open_database(folder / f"{full_sync}.db", full_sync=full_sync) as database:
        await database.write(partial(insert_running_turns, count=TURNS))
        for seq in range(COMMITS):
            batches = [Batch(turn, 0, seq, seq, b"x" * ROW_BYTES) for turn in range(1, TURNS + 1)]
            started_s = time.perf_counter()
            await database.append(batches)
            durations_ms.append((time.perf_counter() - started_s) * 1000)
    return sorted(durations_ms)


def main(parent: str | None) -> None:
    """Print the median and the slowest hundredth of both settings."""
    with tempfile.TemporaryDirectory(dir=parent) as folder:
        for full_sync in (False, True):
            commits_ms = asyncio.run(measure_commits(Path(folder), full_sync=full_sync))
            median_ms, p99_ms = statistics.median(commits_ms), commits_ms[int(COMMITS * 0.99)]
            name = "full" if full_sync else "normal"
            print(f"--sync {name}: {median_ms:.1f} ms a commit, {p99_ms:.1f} ms at the 99th percentile")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
