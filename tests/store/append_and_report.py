"""Appends to the logs of a database, and says after each commit how far it is. For the test of power cuts.

`python -m tests.store.append_and_report FILE normal|full` prints the number of each commit when it is
acknowledged, as a gateway shows entries to readers then.
"""

import asyncio
import os
import sys
from functools import partial
from pathlib import Path

from benchmarks.event_log import insert_running_turns

from thinkaloud.gateway.store.engine.database import Batch
from thinkaloud.gateway.store.engine.sqlite import open_database

COMMITS = 40
TURNS = 3
CHECKPOINTS = (12, 29)
"""Commits after which the write-ahead log is copied into the file."""


def entry_line(commit: int, turn: int) -> bytes:
    """Return what a commit appends to a turn."""
    return b'{"seq":%d,"turn":%d,"text":"%b"}' % (commit, turn, b"word " * 60)


async def append_all(path: Path, *, full_sync: bool) -> None:
    """Append in one commit after the other."""
    async with open_database(path, full_sync=full_sync) as database:
        await database.write(partial(insert_running_turns, count=TURNS))
        for commit in range(COMMITS):
            batches = [
                Batch(turn, 0, commit, commit, entry_line(commit, turn)) for turn in range(1, TURNS + 1)
            ]
            assert await database.append(batches) == ()
            os.write(1, b"committed %d\n" % commit)
            if commit in CHECKPOINTS:
                await database.checkpoint()
    os.write(1, b"closed\n")


if __name__ == "__main__":
    asyncio.run(append_all(Path(sys.argv[1]), full_sync=sys.argv[2] == "full"))
