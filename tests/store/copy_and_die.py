"""Copies a SQLite file into PostgreSQL, and kills itself when some rows of a table are copied.

Run it as `python -m tests.store.copy_and_die FILE URL TABLE ROWS`.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from thinkaloud.gateway.store.engine import copy as database_copy
from thinkaloud.gateway.store.engine.postgres import open_postgres
from thinkaloud.gateway.store.engine.sqlite import open_sqlite_snapshot

RANGE_ROWS = 7


async def copy_and_die(file: str, url: str, fatal_table: str, rows: int) -> None:
    def show(table: str, done: int, of: int) -> None:
        if table == fatal_table and done >= rows:
            os.kill(os.getpid(), signal.SIGKILL)

    database_copy._RANGE_ROWS = RANGE_ROWS
    with open_sqlite_snapshot(Path(file)) as source:
        async with open_postgres(url) as target:
            await database_copy.copy_database(source, file, target, show)


if __name__ == "__main__":
    asyncio.run(copy_and_die(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
