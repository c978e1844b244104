"""Live turns on PostgreSQL beside SQLite: how late readers at another gateway are, and what it costs.

`python -m benchmarks.cluster [--seconds S]` needs PostgreSQL. A node is a process with an
event log, as in a gateway, without HTTP and provider. It appends 80 deltas a second to each of its turns, and
reads the turns of the next node, one reader each. The servers of both databases do not wait for the disk.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tests.postgres_server import PostgresServer

from benchmarks.event_log import insert_running_turns
from benchmarks.report import machine, table
from thinkaloud.core.canon import BlockGrew, BlockStarted, Entry, Kind, TurnStarted
from thinkaloud.gateway.store.engine.database import Database
from thinkaloud.gateway.store.engine.postgres import open_postgres
from thinkaloud.gateway.store.engine.sqlite import open_database
from thinkaloud.gateway.store.log.event_log import EventLog

DELTAS_PER_SECOND = 80
CASES = ((1, 200), (2, 100), (3, 67), (4, 50), (2, 200), (3, 200))
"""Nodes, and turns of each."""
_TICKS = os.sysconf("SC_CLK_TCK")
_WARM_UP_S = 1.0


class NodeResult(NamedTuple):
    """What one node measured: deltas that it wrote and read, how late they were, and its processor time."""

    written: int
    read: int
    lags_ms: list[float]
    cpu_s: float
    wall_s: float


async def run_node(database: Database, keys: range, foreign: range, seconds: float) -> NodeResult:
    """Write to some turns and read others until the time is over."""
    lags_ms: list[float] = []
    read = 0

    async def follow(log: EventLog, key: int) -> None:
        nonlocal read
        after = -1
        while True:
            span = await log.read(key, after)
            now_s = time.time()
            after = span.last
            read += len(span.lines)
            if now_s > measured_from_s:
                lags_ms.extend((now_s - _sent_s(line)) * 1000 for line in span.lines if b"#" in line)
            await log.wait_for_change(key, after, 1.0)

    async with AsyncExitStack() as stack:
        log = await stack.enter_async_context(EventLog(database))
        if log.follower is not None:
            await stack.enter_async_context(database.listen(log.follower.wake))
        writers = [log.writer(key, 0) for key in keys]
        for writer in writers:
            writer.append(Entry(0, TurnStarted("openai_chat", "demo"), 0))
            writer.append(Entry(1, BlockStarted(0, Kind.REASONING), 0))
        readers = [asyncio.create_task(follow(log, key)) for key in foreign]
        started_s, cpu_before_s = time.monotonic(), time.process_time()
        measured_from_s = time.time() + _WARM_UP_S
        seq = 1
        while (elapsed_s := time.monotonic() - started_s) < seconds:
            while seq - 1 < elapsed_s * DELTAS_PER_SECOND:
                seq += 1
                event = BlockGrew(0, f"word {time.time():.4f}#")
                for writer in writers:
                    writer.append(Entry(seq, event, 0))
            await asyncio.sleep(1 / DELTAS_PER_SECOND)
        wall_s, cpu_s = time.monotonic() - started_s, time.process_time() - cpu_before_s
        for reader in readers:
            reader.cancel()
        await asyncio.wait(readers)
    lags_ms.sort()
    sample = lags_ms[:: max(1, len(lags_ms) // 1_000)]
    return NodeResult((seq - 1) * len(keys), read, sample, cpu_s, wall_s)


def _sent_s(line: bytes) -> float:
    """Return when a delta was sent: the number before the mark in its text."""
    return float(line.partition(b"#")[0].rpartition(b" ")[2])


async def run_on_postgres(url: str, number: int, nodes: int, turns: int, seconds: float) -> NodeResult:
    """Run one node of several on PostgreSQL."""
    keys, foreign = (range(one * turns + 1, (one + 1) * turns + 1) for one in (number, (number + 1) % nodes))
    async with open_postgres(url) as database:
        return await run_node(database, keys, foreign, seconds)


async def run_on_sqlite(path: Path, turns: int, seconds: float) -> NodeResult:
    """Run the only node that SQLite allows."""
    async with open_database(path) as database:
        await database.write(partial(insert_running_turns, count=turns))
        return await run_node(database, range(1, turns + 1), range(1, turns + 1), seconds)


def measure_sqlite(turns: int, seconds: float) -> tuple[str, ...]:
    """Return the row of SQLite."""
    with tempfile.TemporaryDirectory() as folder:
        result = asyncio.run(run_on_sqlite(Path(folder) / "thinkaloud.db", turns, seconds))
    return _row("SQLite", 1, turns, [result], 0.0)


def measure_postgres(server: PostgresServer, nodes: int, turns: int, seconds: float) -> tuple[str, ...]:
    """Return the row of so many nodes, each a process of its own."""
    url = server.url(server.new_database())

    async def prepare() -> None:
        async with open_postgres(url) as database:
            await database.write(partial(insert_running_turns, count=nodes * turns))

    asyncio.run(prepare())
    server_cpu_s = _server_cpu_s(server)
    command = [sys.executable, "-m", "benchmarks.cluster", "--node"]
    processes = [
        subprocess.Popen([*command, json.dumps([url, number, nodes, turns, seconds])], stdout=subprocess.PIPE)
        for number in range(nodes)
    ]
    results = [NodeResult(*json.loads(process.communicate()[0])) for process in processes]
    return _row("PostgreSQL", nodes, turns, results, _server_cpu_s(server) - server_cpu_s)


def _server_cpu_s(server: PostgresServer) -> float:
    """Return the processor time of the server, with connections that are over."""
    pid = int((server.folder / "data" / "postmaster.pid").read_text("utf-8").split()[0])
    total = 0.0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text("utf-8").rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        if int(stat.parent.name) == pid:
            total += sum(map(int, fields[11:15]))
        elif int(fields[1]) == pid:
            total += sum(map(int, fields[11:13]))
    return total / _TICKS


def _row(
    engine: str, nodes: int, turns: int, results: list[NodeResult], server_cpu_s: float
) -> tuple[str, ...]:
    lags_ms = sorted(lag for result in results for lag in result.lags_ms)
    wall_s = max(result.wall_s for result in results)
    share = sum(result.read for result in results) / max(1, sum(result.written for result in results))
    return (
        engine,
        str(nodes),
        f"{nodes * turns}",
        f"{sum(result.written / result.wall_s for result in results):,.0f}",
        f"{share:.0%}",
        *(f"{lags_ms[int(len(lags_ms) * part)]:,.0f} ms" for part in (0.5, 0.99)),
        f"{sum(result.cpu_s / result.wall_s for result in results):.2f}",
        f"{server_cpu_s / wall_s:.2f}",
    )


def main() -> None:
    """Measure all cases and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--seconds", type=float, default=10.0, metavar="S", help="for each case (default: 10)"
    )
    parser.add_argument("--node", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.node:
        url, number, nodes, turns, seconds = json.loads(options.node)
        print(json.dumps(asyncio.run(run_on_postgres(url, number, nodes, turns, seconds))))
        return
    rows = [measure_sqlite(200, options.seconds)]
    server = PostgresServer()
    try:
        rows += [measure_postgres(server, nodes, turns, options.seconds) for nodes, turns in CASES]
    finally:
        server.close()
    head = ("database", "nodes", "turns", "deltas/s", "read", "p50", "p99", "cores of nodes", "of the server")
    print(f"{machine()}, load average {os.getloadavg()[0]:.0f} at the end\n\n{table(head, rows)}")


if __name__ == "__main__":
    main()
