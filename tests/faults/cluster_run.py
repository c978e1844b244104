"""Three gateway processes on one PostgreSQL server, each behind a proxy of its own to the database.

    readers ─▶ links (proxy) ─▶ any gateway ─▶ its database proxy ─▶ PostgreSQL

Requests and readers go to any gateway that runs, and come back to any.
"""

import asyncio
import random
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import aiohttp
from tests.faults.database_proxy import DatabaseProxy, run_database_proxy
from tests.faults.fault_proxy import FaultProxy, run_proxy
from tests.faults.fault_run import FaultRun, GatewaySetup, LiveTurn, Load
from tests.gateway.forked_gateway import ForkedGateway
from tests.gateway.gateway_process import Caller, GatewayProcess
from tests.patience import PATIENCE_S
from tests.postgres_server import PostgresServer

from thinkaloud.gateway.server.gateway import Settings

NODES = 3
LEASE_S = 4.0
NODE_SETTINGS = Settings(lease_s=LEASE_S, sweep_s=1.0, heartbeat_s=2.0, grace_s=0.5)
_ROWS_OF_OLD_WRITERS = (
    "SELECT count(*) FROM log JOIN turns ON turns.key = log.turn "
    "WHERE turns.state <> 'running' AND NOT log.packed"
)
"""A turn that has ended has one compressed log. Another row was added by a writer that had lost it."""


class AnyGateway(GatewayProcess):
    """Stands for all gateways of a cluster: its address is that of any that runs."""

    def __init__(self, home: Path, nodes: list[GatewayProcess]) -> None:
        self.home = home
        self.nodes = nodes
        self.asleep: set[GatewayProcess] = set()
        """Gateways that are alive and do not answer."""
        self.dice = random.Random(0)

    @property
    def awake(self) -> list[GatewayProcess]:
        """The gateways that answer."""
        return [node for node in self.nodes if node.alive and node.url and node not in self.asleep]

    @property
    def url(self) -> str:
        """The address of any gateway that answers."""
        return self.dice.choice(self.awake).url

    @property
    def pid(self) -> int:
        """The process of the first gateway that answers."""
        return self.awake[0].pid


class ClusterRun(FaultRun):
    """A scenario on several gateways."""

    def __init__(
        self,
        caller: Caller,
        links: FaultProxy,
        server: PostgresServer,
        proxies: list[DatabaseProxy],
        load: Load,
    ) -> None:
        super().__init__(caller, links, links, load)
        self.server = server
        self.proxies = proxies

    @property
    def cluster(self) -> AnyGateway:
        """The gateways."""
        assert isinstance(self.gateway, AnyGateway)
        return self.gateway

    async def start_turns(self, models: Sequence[str] = ()) -> list[LiveTurn]:
        """Start turns when all gateways are ready: the last round may have left one without its database."""
        async with asyncio.timeout(PATIENCE_S):
            while not all([await self._ready(node) for node in self.cluster.awake]):
                await asyncio.sleep(0.1)
        return await super().start_turns(models)

    async def _ready(self, node: GatewayProcess) -> bool:
        async with self.caller.http.get(f"{node.url}/readyz") as response:
            return response.ok

    def pick_node(self) -> GatewayProcess:
        """Return one of the gateways that run."""
        return self.dice.choice(self.cluster.awake)

    def proxy_of(self, node: GatewayProcess) -> DatabaseProxy:
        """Return the proxy between a gateway and the database."""
        return self.proxies[self.cluster.nodes.index(node)]


@asynccontextmanager
async def start_cluster_run(
    home: Path, provider: str, setup: GatewaySetup, load: Load
) -> AsyncIterator[ClusterRun]:
    """Start three gateways on a new server. At the end all must stop in order."""
    server = await asyncio.to_thread(PostgresServer)
    database = await asyncio.to_thread(server.new_database)
    try:
        async with AsyncExitStack() as stack:
            proxies = [
                await stack.enter_async_context(run_database_proxy(server.socket)) for _ in range(NODES)
            ]
            start_node = ForkedGateway if setup.forked else GatewayProcess
            nodes = [
                start_node(
                    home / f"node-{number}",
                    provider,
                    settings=setup.settings or NODE_SETTINGS,
                    variables={"THINKALOUD_DATABASE": server.url(database, "127.0.0.1", proxy.port)},
                )
                for number, proxy in enumerate(proxies)
            ]
            cluster = AnyGateway(home, nodes)
            connector = aiohttp.TCPConnector(limit=0, force_close=True, family=socket.AF_INET)
            http = await stack.enter_async_context(aiohttp.ClientSession(connector=connector))
            links = await stack.enter_async_context(run_proxy(lambda: cluster.url))
            try:
                await asyncio.gather(*(node.start() for node in nodes))
                run = ClusterRun(Caller(cluster, http), links, server, proxies, load)
                yield run
                run.note_memory()
                run.measured.faults += links.faults + sum(proxy.faults for proxy in proxies)
                await _stop_in_order(run, nodes)
                late = await asyncio.to_thread(server.execute, _ROWS_OF_OLD_WRITERS, database)
                run.expect(late == [(0,)], "fenced", f"{late[0][0]} rows of writers that had lost the turn")
            finally:
                for node in nodes:
                    if node.alive:
                        await node.kill()
    finally:
        await asyncio.to_thread(server.close)


async def _stop_in_order(run: ClusterRun, nodes: list[GatewayProcess]) -> None:
    for node in nodes:
        code = await node.stop()
        run.expect(code == 0, "stopped", f"{node.home.name} ended with exit code {code}")
        run.expect("Traceback" not in node.errors, "stopped", f"the log of {node.home.name} has a traceback")
