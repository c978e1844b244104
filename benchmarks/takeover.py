"""How long after its lease the turns of a dead gateway end, while the database fails the survivors.

`python -m benchmarks.takeover [--rounds N] [FAULT ...]` needs PostgreSQL. Each round adds a gateway that is
dead, with turns that it has left behind, and waits until gateways in this process have ended all of them.
Times are by the clock of the database. The database is asked each 10 ms which turns still run.
"""

import argparse
import asyncio
import itertools
import os
import random
import statistics
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, NamedTuple

import psycopg
from tests.faults.database_proxy import KINDS, DatabaseProxy, run_database_proxy
from tests.postgres_server import PostgresServer

from benchmarks.report import machine, table
from thinkaloud.core.canon import BlockGrew, BlockStarted, Entry, Event, Kind, TurnStarted
from thinkaloud.core.catalog import builtin_catalog
from thinkaloud.gateway.server.gateway import Gateway, Settings
from thinkaloud.gateway.store.engine.database import NotSaved
from thinkaloud.gateway.store.engine.postgres import PostgresDatabase, open_postgres
from thinkaloud.gateway.store.log.archive import encode_entry

LEASE_S = 4.0
SETTINGS = Settings(lease_s=LEASE_S)
WRITES = ("write", "write_urgent", "append")
_LEAD_S = 1.0
"""How long before the end of its lease the dead gateway is added."""
_EVENTS: list[Event] = [
    TurnStarted("openai_chat", "m"),
    BlockStarted(0, Kind.REASONING),
    BlockGrew(0, "one two three " * 50),
]
_LOG = b"\n".join(encode_entry(Entry(seq, event, 0)) for seq, event in enumerate(_EVENTS))
_ADD_NODE = (
    "INSERT INTO nodes (id, name, started_ms, lease_until_ms) VALUES (%(node)s, '', 0, "
    "extract(epoch FROM clock_timestamp()) * 1000 + %(lead_ms)s) RETURNING lease_until_ms"
)
_ADD_TURNS = (
    'WITH opened AS (INSERT INTO sessions (id, "user", workspace, created_ms, updated_ms) '
    "SELECT %(node)s || n, 1, 1, 0, 0 FROM generate_series(1, %(turns)s) AS n RETURNING key, id), "
    "begun AS (INSERT INTO turns (id, session, position, created_ms, state, writer) "
    "SELECT id, key, 0, 0, 'running', %(node)s FROM opened RETURNING key) "
    "INSERT INTO log (turn, first_seq, last_seq, entries) SELECT key, 0, 2, %(entries)s FROM begun"
)
_RUNNING = (
    "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint), "
    "(SELECT count(*) FROM turns WHERE state = 'running')"
)


class Survivor(NamedTuple):
    """A gateway, its database, and the proxy in between."""

    database: PostgresDatabase
    proxy: DatabaseProxy


Fault = Callable[[list[Survivor]], Awaitable[None]]


async def none(survivors: list[Survivor]) -> None:
    """No fault."""


def failing_writes(every: int, *, lost: bool) -> Fault:
    """Every so many writes of a survivor fail: they are not carried out, or only not acknowledged."""

    async def fail(survivors: list[Survivor]) -> None:
        for survivor in survivors:
            numbers = itertools.count(random.randrange(every))
            for name in WRITES:
                wrap(survivor.database, name, numbers)

    def wrap(database: PostgresDatabase, name: str, numbers: Iterator[int]) -> None:
        write = getattr(database, name)

        async def write_sometimes(change: Any) -> Any:
            fails = next(numbers) % every == 0
            if fails and not lost:
                raise NotSaved("The connection was lost.")
            result = await write(change)
            if fails:
                raise NotSaved("The connection was lost.")
            return result

        setattr(database, name, write_sometimes)

    return fail


async def resets(survivors: list[Survivor]) -> None:
    """Connections of one or more kinds are reset at any moment, ten times a second on average."""
    while True:
        random.choice(survivors).proxy.reset(random.sample(KINDS, random.randrange(1, 4)))
        await asyncio.sleep(random.uniform(0.0, 0.2))


async def silence(survivors: list[Survivor]) -> None:
    """The network between one survivor and the database is silent, for two of each four seconds."""
    while True:
        survivors[0].proxy.silence()
        await asyncio.sleep(2.0)
        survivors[0].proxy.speak()
        await asyncio.sleep(2.0)


FAULTS: dict[str, Fault] = {
    "none": none,
    "every 2nd write fails": failing_writes(2, lost=False),
    "every 3rd write fails": failing_writes(3, lost=False),
    "every 5th write fails": failing_writes(5, lost=False),
    "every 2nd acknowledgement is lost": failing_writes(2, lost=True),
    "every 5th acknowledgement is lost": failing_writes(5, lost=True),
    "connections are reset": resets,
    "one network is silent": silence,
}


@asynccontextmanager
async def survivors_on(server: PostgresServer, count: int) -> AsyncIterator[tuple[str, list[Survivor]]]:
    """A new database, and gateways on it through a proxy each."""
    name = server.new_database()
    async with AsyncExitStack() as stack:
        survivors = []
        for _ in range(count):
            proxy = await stack.enter_async_context(run_database_proxy(server.socket))
            url = server.url(name, "127.0.0.1", proxy.port)
            database = await stack.enter_async_context(open_postgres(url))
            await stack.enter_async_context(Gateway(database, builtin_catalog(), settings=SETTINGS))
            survivors.append(Survivor(database, proxy))
        yield server.url(name), survivors


async def play_round(url: str, node: str, turns: int) -> list[float]:
    """Let a gateway die, and return how many seconds after its lease each of its turns ended."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        values = {"node": node, "turns": turns, "entries": _LOG, "lead_ms": int(_LEAD_S * 1000)}
        (lease_until_ms,) = await (await connection.execute(_ADD_NODE.encode(), values)).fetchone() or (0,)
        await connection.execute(_ADD_TURNS.encode(), values)
        ends_s: list[float] = []
        while len(ends_s) < turns:
            await asyncio.sleep(0.01)
            now_ms, running = await (await connection.execute(_RUNNING.encode())).fetchone() or (0, 0)
            ends_s += [(now_ms - lease_until_ms) / 1000] * (turns - running - len(ends_s))
        return ends_s


async def measure(
    server: PostgresServer, fault: Fault, rounds: int, turns: int, count: int
) -> list[list[float]]:
    """Return the ends of all turns in each round."""
    async with survivors_on(server, count) as (url, survivors):
        await asyncio.sleep(LEASE_S)  # each has renewed its lease some times
        failing = asyncio.ensure_future(fault(survivors))
        ends = []
        for number in range(rounds):
            ends.append(await play_round(url, f"dead-{number}-", turns))
            await asyncio.sleep(random.uniform(0.0, 1.0))  # at any moment between two looks
        failing.cancel()
        for survivor in survivors:
            survivor.proxy.speak()
            for name in WRITES:
                vars(survivor.database).pop(name, None)
    return ends


def main() -> None:
    """Measure all faults and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20, metavar="N", help="for each fault (default: 20)")
    parser.add_argument(
        "--turns", type=int, default=48, metavar="N", help="of each dead gateway (default: 48)"
    )
    parser.add_argument("--survivors", type=int, default=1, metavar="N", help="gateways (default: 1)")
    parser.add_argument("faults", nargs="*", choices=[[], *FAULTS], metavar="FAULT", help="default: all")
    options = parser.parse_args()
    server = PostgresServer()
    rows = []
    try:
        for name in options.faults or FAULTS:
            rounds = asyncio.run(
                measure(server, FAULTS[name], options.rounds, options.turns, options.survivors)
            )
            lasts_s = sorted(max(ends_s) for ends_s in rounds)
            middle_s = statistics.median(end_s for ends_s in rounds for end_s in ends_s)
            figures_s = middle_s, statistics.median(lasts_s), lasts_s[-1]
            figures = [f"{figure_s:.2f} s" for figure_s in figures_s]
            rows.append((name, str(len(rounds)), *figures, f"{os.getloadavg()[0]:.0f}"))
    finally:
        server.close()
    head = ("fault", "rounds", "turns p50", "last turn p50", "last turn max", "load")
    print(f"{machine()}\n\n{table(head, rows)}")


if __name__ == "__main__":
    main()
