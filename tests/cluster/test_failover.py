"""Failover of PostgreSQL to a replica, with streaming replication: gateways go on with the new primary."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress

import aiohttp
from tests.cluster.cluster import Cluster, node_settings
from tests.patience import PATIENCE_S
from tests.postgres_server import PostgresServer
from tests.server.caller import Caller, StreamResult, wait_until

from thinkaloud.gateway.store.log.event_log import LogConfig
from thinkaloud.simulators import run_simulator

SCRIPT = [{"thinking": "again and " * 2_000, "text": "never", "delay_ms": 10}] * 2
CACHE = LogConfig(retry_s=0.1)
NO_CACHE = LogConfig(retry_s=0.1, cached_bytes=0)


@contextmanager
def replicated_servers() -> Iterator[tuple[PostgresServer, PostgresServer]]:
    """A primary and its replica."""
    primary = PostgresServer()
    try:
        replica = PostgresServer(primary)
        try:
            yield primary, replica
        finally:
            replica.close()
    finally:
        primary.close()


@asynccontextmanager
async def cluster_on(primary: PostgresServer, replica: PostgresServer) -> AsyncIterator[Cluster]:
    """A cluster whose gateways know both servers, and use the one that accepts writes."""
    name = primary.new_database()
    hosts = f"{primary.folder},{replica.folder}"
    url = f"postgresql:///{name}?user=postgres&host={hosts}&target_session_attrs=read-write"
    async with run_simulator("vllm", script=SCRIPT) as simulator, AsyncExitStack() as stack:
        yield Cluster(url, name, simulator, stack)


class Reader:
    """Follows a turn over any number of connections, and starts again when it is told to."""

    def __init__(self, nodes: list[Caller], turn: str) -> None:
        self._nodes = nodes
        self._turn = turn
        self.result = StreamResult()
        self.resets = 0
        self.task = asyncio.create_task(self._follow())

    async def _follow(self) -> None:
        number = 0
        while "end" not in dict(self.result.events):
            number += 1
            node = self._nodes[number % len(self._nodes)]
            last = {"Last_Event_ID": str(max(self.result.entries))} if self.result.entries else {}
            with suppress(aiohttp.ClientError):  # cut by the gateway: it comes back
                async for _ in node.follow_stream(self._turn, part := StreamResult(), **last):
                    self._take(part)
                if part.status == 204:
                    return  # it was cut between the last entry and the end, and has everything
            await asyncio.sleep(0.05)

    def _take(self, part: StreamResult) -> None:
        """Add what one event brought."""
        if any(name == "reset" for name, _ in part.events):
            self.resets += 1
            self.result, part.events = StreamResult(), []
        assert not part.entries.keys() & self.result.entries.keys(), "an entry came twice"
        self.result.entries |= part.entries
        self.result.events += part.events
        part.entries, part.events = {}, []

    async def until(self, count: int) -> None:
        """Wait until it has this many entries."""
        async with asyncio.timeout(PATIENCE_S):
            while len(self.result.entries) < count:
                await asyncio.sleep(0.01)


async def fail_over(primary: PostgresServer, replica: PostgresServer) -> None:
    await asyncio.to_thread(primary.kill)
    await asyncio.to_thread(replica.promote)


def stop_replication(replica: PostgresServer) -> None:
    """Let a replica fall behind from now on, and wait until it receives nothing more."""
    replica.configure("primary_conninfo", "")
    deadline_s = time.monotonic() + PATIENCE_S
    while replica.execute("SELECT pid FROM pg_stat_wal_receiver"):
        assert time.monotonic() < deadline_s, "the replica still receives"
        time.sleep(0.02)


async def cancel(node: Caller, turn: str) -> None:
    """Cancel a turn, as a client does that tries again."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            async with node.http.post(f"{node.url}/api/turns/{turn}/cancel") as response:
                if response.status in (200, 202):
                    return
            await asyncio.sleep(0.1)


def test_failover_to_a_synchronous_replica_loses_nothing_and_resets_nobody() -> None:
    """Point 5: the turn goes on at its gateway, and what readers have received is stored."""

    async def story(primary: PostgresServer, replica: PostgresServer) -> None:
        primary.configure("synchronous_standby_names", "*")
        async with cluster_on(primary, replica) as cluster:
            settings = node_settings(lease_s=60.0, log_config=NO_CACHE)
            nodes = [await cluster.start_node(settings=settings) for _ in range(2)]
            turn = await nodes[0].start_turn(await nodes[0].create_session())
            readers = [Reader([nodes[0]], turn), Reader([nodes[1]], turn), Reader(nodes, turn)]
            await readers[1].until(10)
            await fail_over(primary, replica)
            await wait_until(lambda: nodes[0].gateway.log.saved)
            await readers[1].until(len(readers[1].result.entries) + 10)
            await cancel(nodes[1], turn)
            await asyncio.gather(*(reader.task for reader in readers))
            stored = await nodes[1].read_stream(turn)
            assert stored.state == "cancelled"
            assert all(reader.result.entries == stored.entries for reader in readers)
            assert [reader.resets for reader in readers] == [0, 0, 0]

    with replicated_servers() as servers:
        asyncio.run(story(*servers))


def test_failover_to_an_asynchronous_replica_saves_again_or_resets_and_never_splices() -> None:
    """Point 5: the replica lacks entries that readers have.

    A gateway that still has them saves them again. One that has not gives its turn up; readers start again.
    """

    async def story(primary: PostgresServer, replica: PostgresServer) -> None:
        async with cluster_on(primary, replica) as cluster:
            keeper = await cluster.start_node(settings=node_settings(lease_s=60.0, log_config=CACHE))
            loser = await cluster.start_node(settings=node_settings(lease_s=60.0, log_config=NO_CACHE))
            nodes = [keeper, loser]
            kept = await keeper.start_turn(await keeper.create_session())
            lost = await loser.start_turn(await loser.create_session())
            readers = [Reader([node], turn) for turn in (kept, lost) for node in nodes]
            for reader in readers:
                await reader.until(10)
            await asyncio.to_thread(stop_replication, replica)
            for reader in readers:
                await reader.until(len(reader.result.entries) + 20)
            await fail_over(primary, replica)
            await readers[0].until(len(readers[0].result.entries) + 10)
            await cancel(loser, kept)
            await asyncio.gather(*(reader.task for reader in readers))
            for turn, copies in ((kept, readers[:2]), (lost, readers[2:])):
                stored = await keeper.read_stream(turn)
                assert stored.state == ("cancelled" if turn == kept else "interrupted")
                assert list(stored.entries) == list(range(len(stored.entries)))
                assert all(reader.result.entries == stored.entries for reader in copies)
            assert readers[0].resets == 0
            # At the other gateway it may come back before its turn is saved again, and then starts again.
            assert readers[1].resets <= 1
            assert all(reader.resets == 1 for reader in readers[2:])

    with replicated_servers() as servers:
        asyncio.run(story(*servers))
