"""Several gateways on one PostgreSQL, in this process, with a simulated provider."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import aiohttp
from tests.postgres_server import shared_server
from tests.server.caller import SCRIPT, Caller, catalog_with, client_without_retries, quick_settings
from tests.store.engines import migrated_template

from thinkaloud.agents.builtin_tools import builtin_tools
from thinkaloud.agents.toolbox import Toolbox
from thinkaloud.agents.tools import Tool
from thinkaloud.gateway.server.gateway import Gateway, Settings
from thinkaloud.gateway.server.run import start_server
from thinkaloud.gateway.store.engine.postgres import PostgresConfig, PostgresDatabase, open_postgres
from thinkaloud.simulators import Simulator, run_simulator

LEASE_S = 3.0


def node_settings(**values: Any) -> Settings:
    """Settings of gateways that notice each other's end within seconds."""
    return quick_settings(**({"lease_s": LEASE_S, "sweep_s": 0.5} | values))


class Cluster:
    """The address of the database, and a way to start gateways on it."""

    def __init__(self, url: str, name: str, simulator: Simulator, stack: AsyncExitStack) -> None:
        self.url = url
        self.name = name
        """The name of the database."""
        self._simulator = simulator
        self._stack = stack

    async def start_node(
        self,
        tools: Sequence[Tool] = (),
        url: str = "",
        settings: Settings | None = None,
        pool_url: str = "",
    ) -> Caller:
        """Start a gateway that runs until the cluster ends."""
        return await self._stack.enter_async_context(self.node(tools, url, settings, pool_url))

    @asynccontextmanager
    async def node(
        self,
        tools: Sequence[Tool] = (),
        url: str = "",
        settings: Settings | None = None,
        pool_url: str = "",
    ) -> AsyncIterator[Caller]:
        """Run a gateway."""
        async with (
            open_postgres(url or self.url, PostgresConfig(pool_url=pool_url)) as database,
            Gateway(
                database,
                catalog_with(self._simulator),
                settings=settings or node_settings(),
                client=client_without_retries(),
                toolbox=Toolbox(builtin_tools() | {tool.definition.name: tool for tool in tools}),
            ) as gateway,
            start_server(gateway) as server,
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http,
        ):
            shared: Any = database
            yield Caller(server.url, http, gateway, self._simulator, shared)

    def execute(self, statement: str) -> list[Any]:
        """Run a statement as the administrator of the database."""
        return shared_server().execute(statement, self.name)


@asynccontextmanager
async def start_cluster(script: list[Any] | None = None) -> AsyncIterator[Cluster]:
    """A new database and a provider, without gateways yet."""
    name = shared_server().new_database(migrated_template())
    try:
        async with (
            run_simulator("vllm", script=SCRIPT if script is None else script) as simulator,
            AsyncExitStack() as stack,
        ):
            yield Cluster(shared_server().url(name), name, simulator, stack)
    finally:
        shared_server().drop_database(name)


def postgres_of(caller: Caller) -> PostgresDatabase:
    """Return the database of a gateway."""
    database: Any = caller.database
    assert isinstance(database, PostgresDatabase)
    return database
