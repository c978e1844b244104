"""Memory of a gateway over many short turns: what stays when all of them are over and deleted.

`python -m benchmarks.churn [--minutes M] [--rate R] [--trace]` runs a gateway and a provider, each a process.
Turns of a few chunks are started at a steady rate. Half of them have two readers, of which one breaks off and
resumes; the others are asked by clients of the compatible endpoints. Sessions are searched and deleted. After
each minute the gateway process collects garbage, returns free memory to the system, and writes down its
resident memory, that of SQLite, and the number of its objects by type. `--trace` tells where memory that
stays was allocated.
"""

import argparse
import asyncio
import ctypes
import gc
import itertools
import json
import os
import signal
import tempfile
import time
import tracemalloc
from collections import Counter
from ctypes.util import find_library
from http import HTTPStatus
from pathlib import Path
from typing import Any

import aiohttp

from benchmarks.report import machine, table
from benchmarks.serve import CATALOG, running_process
from thinkaloud.cli import main as run_thinkaloud

CHUNKS = 4
MODEL = f"bench/{CHUNKS}"
WARM_UP_MINUTES = 5
"""Caches fill at first: this time does not count."""
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_MIB = 1024 * 1024
_ASK = {"role": "user", "content": "Go."}
_MOST_TYPES = 15
_COMPATIBLE: tuple[tuple[str, dict[str, Any]], ...] = (
    ("/v1/chat/completions", {"messages": [_ASK], "stream": True}),
    ("/v1/chat/completions", {"messages": [_ASK]}),
    ("/v1/messages", {"messages": [_ASK], "max_tokens": 100, "stream": True}),
    ("/v1/responses", {"input": "Go.", "stream": True}),
)


def serve_with_probe(results: Path, *, trace: bool) -> None:
    """Run a gateway in this process, which adds a line to a file at each SIGUSR1."""
    trim = ctypes.CDLL(None).malloc_trim
    sqlite = ctypes.CDLL(find_library("sqlite3"))
    sqlite.sqlite3_memory_used.restype = ctypes.c_int64

    def write_state(_signal: int, _frame: object) -> None:
        gc.collect()
        trim(0)
        resident = int(Path("/proc/self/statm").read_text("utf-8").split()[1]) * _PAGE_BYTES
        objects = Counter(type(value).__qualname__ for value in gc.get_objects())
        state = {
            "resident": resident,
            "sqlite": sqlite.sqlite3_memory_used(),
            "objects": objects,
            "traced": _traced() if trace else {},
        }
        with results.open("a", encoding="utf-8") as file:
            print(json.dumps(state), file=file)

    if trace:
        tracemalloc.start()
    signal.signal(signal.SIGUSR1, write_state)
    run_thinkaloud(["serve", "--port", "0", "--log-format", "json"])


def _traced() -> dict[str, int]:
    """Return the allocated bytes of each line of code."""
    snapshot = tracemalloc.take_snapshot()
    return {str(line.traceback[0]): line.size for line in snapshot.statistics("lineno")}


class Churn:
    """Clients that use a gateway in all the common ways, at a steady rate."""

    def __init__(self, web: aiohttp.ClientSession, rate: float) -> None:
        self._web = web
        self._rate = rate
        self._running: set[asyncio.Task[None]] = set()
        self.turns = 0
        self.refused = 0

    async def run(self, seconds: float) -> None:
        """Start turns until the time is over, wait for their ends, and delete all sessions."""
        end_s = time.monotonic() + seconds
        for number in itertools.count():
            if time.monotonic() > end_s:
                break
            task = asyncio.create_task(self._turn(number))
            self._running.add(task)
            task.add_done_callback(self._running.discard)
            await asyncio.sleep(1 / self._rate)
            if number % 100 == 99:
                await self._delete_sessions(keep=20)
        await asyncio.gather(*self._running)
        await self._delete_sessions(keep=0)
        self.turns += number

    async def _turn(self, number: int) -> None:
        try:
            await self._ask(number)
        except aiohttp.ClientResponseError as error:
            # On a busy machine the gateway refuses new work, or the session was deleted as an old one.
            if error.status not in (HTTPStatus.NOT_FOUND, HTTPStatus.SERVICE_UNAVAILABLE):
                raise
            self.refused += 1

    async def _ask(self, number: int) -> None:
        if number % 2:
            path, body = _COMPATIBLE[number // 2 % len(_COMPATIBLE)]
            async with self._web.post(path, json={"model": MODEL, **body}) as response:
                response.raise_for_status()
                await response.read()
            return
        session = await self._post("/api/sessions", {"model": MODEL})
        turn = await self._post(f"/api/sessions/{session}/turns", {"prompt": "Go."})
        await asyncio.gather(self._read(turn), self._read_twice(turn))
        await self._get(f"/api/sessions/{session}")
        if number % 10 == 0:
            await self._get("/api/search?q=quick")
            await self._get("/api/figures")

    async def _read(self, turn: str, **headers: str) -> None:
        async with self._web.get(f"/api/turns/{turn}/events", headers=headers) as stream:
            await stream.read()

    async def _read_twice(self, turn: str) -> None:
        """Break off after the first entry, and resume."""
        async with self._web.get(f"/api/turns/{turn}/events") as stream:
            async for line in stream.content:
                if line.startswith(b"id:"):
                    break
        await self._read(turn, **{"Last-Event-ID": "0"})

    async def _delete_sessions(self, keep: int) -> None:
        """Delete all but some of the newest sessions."""
        while True:
            page = await self._get("/api/sessions?limit=200")
            old = page["items"][keep:]
            for session in old:
                async with self._web.delete(f"/api/sessions/{session['id']}") as response:
                    await response.read()
            if not old:
                return

    async def _post(self, path: str, body: dict[str, Any]) -> str:
        async with self._web.post(path, json=body) as response:
            response.raise_for_status()
            created: dict[str, str] = await response.json()
            return created["id"]

    async def _get(self, path: str) -> dict[str, Any]:
        async with self._web.get(path) as response:
            response.raise_for_status()
            value: dict[str, Any] = await response.json()
            return value


async def read_state(pid: int, results: Path, count: int) -> dict[str, Any]:
    """Ask the gateway process for its state, the one with this number."""
    os.kill(pid, signal.SIGUSR1)
    while True:
        lines = results.read_text("utf-8").splitlines(keepends=True) if results.exists() else []
        if len(lines) > count and lines[count].endswith("\n"):
            state: dict[str, Any] = json.loads(lines[count])
            return state
        await asyncio.sleep(0.1)


async def measure(url: str, pid: int, results: Path, minutes: int, rate: float) -> list[dict[str, Any]]:
    """Return the state of the gateway after each minute of turns."""
    states = []
    async with aiohttp.ClientSession(url, connector=aiohttp.TCPConnector(limit=0)) as web:
        churn = Churn(web, rate)
        for minute in range(minutes):
            await churn.run(60.0)
            states.append(await read_state(pid, results, minute) | {"turns": churn.turns})
            resident_mib, sqlite_mib = (states[-1][name] / _MIB for name in ("resident", "sqlite"))
            print(
                f"minute {minute + 1}: {churn.turns:,} turns, {resident_mib:.2f} MiB, "
                f"{sqlite_mib:.2f} of them in SQLite, {churn.refused} requests refused",
                flush=True,
            )
    return states


def slope(values: list[float]) -> float:
    """Return the growth from one value to the next, by least squares."""
    middle, mean = (len(values) - 1) / 2, sum(values) / len(values)
    above = sum((number - middle) * (value - mean) for number, value in enumerate(values))
    return above / sum((number - middle) ** 2 for number in range(len(values)))


def growth(states: list[dict[str, Any]], field: str) -> list[tuple[str, str, str]]:
    """Return what has grown most from the first to the last state."""
    before, after = Counter(states[0][field]), Counter(states[-1][field])
    grown = Counter({name: count - before[name] for name, count in after.items()})
    return [
        (name, f"{before[name]:,}", f"{more:+,}") for name, more in grown.most_common(_MOST_TYPES) if more
    ]


def main() -> None:
    """Measure, and print the growth in an hour and what has grown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--minutes", type=int, default=35, help="at least 8 (default: 35)")
    parser.add_argument("--rate", type=float, default=5.0, help="turns a second (default: 5)")
    parser.add_argument("--trace", action="store_true", help="tell where memory was allocated")
    parser.add_argument("--gateway", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.gateway:
        serve_with_probe(options.gateway, trace=options.trace)
        return
    traced = ["--trace"] if options.trace else []
    with (
        tempfile.TemporaryDirectory() as home,
        running_process("-m", "benchmarks.serve", "provide") as (_, port),
    ):
        (Path(home) / "catalog.toml").write_text(CATALOG.format(port=port), "utf-8")
        results = Path(home) / "states"
        serve = ("-m", "benchmarks.churn", "--gateway", str(results), *traced)
        with running_process(*serve, env={"THINKALOUD_HOME": home}) as (pid, url):
            states = asyncio.run(measure(url, pid, results, options.minutes, options.rate))
    counted = states[WARM_UP_MINUTES:]
    per_hour_mib = slope([state["resident"] / _MIB for state in counted]) * 60
    print(f"\n{machine()}: {per_hour_mib:+.2f} MiB an hour, {states[-1]['turns']:,} turns\n")
    print(table(("type", "after the warm-up", "since then"), growth(counted, "objects")))
    if options.trace:
        print("\n" + table(("line", "after the warm-up", "since then"), growth(counted, "traced")))


if __name__ == "__main__":
    main()
