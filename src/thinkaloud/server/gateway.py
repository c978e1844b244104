"""The gateway as one value: database, log, live turns, readers, catalog, client; opened and closed in order.

Before it is ready every turn that an earlier process left behind has an end. When it stops, live turns get
some time to end by themselves; then they are ended, and readers are sent home to come back.
"""

import asyncio
import logging
import time
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from functools import partial
from types import TracebackType
from typing import Any, Self

import msgspec

from thinkaloud.agents.builtin_tools import builtin_tools
from thinkaloud.agents.config import AgentFile, builtin_agents
from thinkaloud.agents.run import waits_for_approval
from thinkaloud.agents.toolbox import Toolbox
from thinkaloud.catalog import Catalog
from thinkaloud.client import Client
from thinkaloud.server.limits import GatewayLimits
from thinkaloud.server.metrics import Metrics
from thinkaloud.server.turn_stream import ReaderSlots
from thinkaloud.server.turns import TurnRegistry
from thinkaloud.store import finish, search, users
from thinkaloud.store.database import Database, NotSaved
from thinkaloud.store.log import EventLog, LogConfig
from thinkaloud.store.recovery import recover
from thinkaloud.store.rows import Owner

logger = logging.getLogger(__name__)

DAY_S = 24 * 60 * 60


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What whoever runs a gateway may choose."""

    limits: GatewayLimits = GatewayLimits()
    pace: LogConfig = LogConfig()
    model: str = ""
    """Who answers where neither turn, agent nor session names a model."""
    heartbeat_s: float = 15.0
    """So often a silent stream says that it lives: proxies close what is silent for 30 s and more."""
    send_timeout_s: float = 20.0
    """So long a reader may take nothing before its connection is given up."""
    grace_s: float = 10.0
    """So long live turns may go on after the gateway was told to stop."""
    forget_timing_after_days: int | None = None
    """When the pace of old turns is forgotten, which makes their logs smaller; never, unless set."""


SETTINGS = Settings()


class Gateway:
    """Everything that routes work with; used as a context."""

    def __init__(
        self,
        database: Database,
        catalog: Catalog,
        *,
        settings: Settings = SETTINGS,
        client: Client | None = None,
        toolbox: Toolbox | None = None,
        gateway_agents: AgentFile | None = None,
    ) -> None:
        self.database = database
        self.catalog = catalog
        self.settings = settings
        self.metrics = Metrics()
        self.client = client or Client()
        self.toolbox = toolbox or Toolbox(builtin_tools())
        self.gateway_agents = gateway_agents or builtin_agents()
        """Agents of whoever runs the gateway, for everybody, by their names."""
        self.log = EventLog(database, settings.pace, on_commit=self.metrics.committed)
        self.turns = TurnRegistry(self)
        self.reader_slots = ReaderSlots(settings.limits.readers_per_turn, self.metrics)
        self.ready = False
        self.stopping = False
        self.local_owner = Owner(0, 0)
        """The user of this machine; known once the gateway is open."""
        self._exit_stack = AsyncExitStack()
        self.metrics.add_gauge(
            "thinkaloud_unsaved_bytes",
            "Bytes in memory because the disk took nothing.",
            lambda: self.log.unsaved_bytes,
        )

    def now_ms(self) -> int:
        """The time of day."""
        return time.time_ns() // 1_000_000

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            now_ms = self.now_ms()
            self.local_owner = await self.database.write(lambda conn: users.ensure_local(conn, now_ms))
            recovery = await recover(self.database, now_ms=now_ms, waits=waits_for_approval)
            if recovery.ended:
                logger.warning("%d turns were left behind and are interrupted now", len(recovery.ended))
            await self._update_search_index()
            if not self.client.opened:
                await stack.enter_async_context(self.client)
            await stack.enter_async_context(self.toolbox)
            await stack.enter_async_context(self.log)
            self._run_in_background(stack, self.turns.keep_leases())
            if self.settings.forget_timing_after_days is not None:
                self._run_in_background(
                    stack, self._forget_timing_daily(self.settings.forget_timing_after_days)
                )
            for turn_id in recovery.waiting:
                await self.turns.resume(turn_id)
            self._exit_stack = stack.pop_all()
        self.ready = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self.stop()
        finally:
            await self._exit_stack.aclose()

    async def stop(self) -> None:
        """Begin no more turns, let the live ones end, close every stream; a second call does no harm."""
        self.ready, self.stopping = False, True
        await self.turns.stop(self.settings.grace_s)
        await self.reader_slots.close()

    @staticmethod
    def _run_in_background(stack: AsyncExitStack, coroutine: Coroutine[Any, Any, None]) -> None:
        stack.push_async_callback(_cancel_task, asyncio.create_task(coroutine))

    async def _update_search_index(self) -> None:
        """Search knows everything that is kept: whatever an older version indexed otherwise is done again."""
        if not await self.database.read(search.index_current):
            logger.warning("the search index is of another version and is made anew")
            await self.database.write(search.rebuild_index)

    async def _forget_timing_daily(self, days: int) -> None:
        while True:
            before_ms = self.now_ms() - days * DAY_S * 1000
            try:
                count = 0
                while batch_count := await self.database.write(
                    partial(finish.drop_timing, before_ms=before_ms)
                ):
                    count += batch_count
                logger.info("the pace of %d turns was forgotten", count)
            except NotSaved as error:
                logger.warning("the pace of old turns could not be forgotten: %s", error)
            await asyncio.sleep(DAY_S)


async def _cancel_task(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait((task,))
