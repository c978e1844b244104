"""The gateway object: database, log, running turns, readers, catalog and client, opened and closed in order.

Before the gateway is ready, every turn that an earlier process left unfinished is ended. On stop, running
turns get a grace period, then they are ended, and readers are disconnected so that they reconnect to the
next process.
"""

import asyncio
import logging
import time
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from thinkaloud.agents.builtin_tools import builtin_tools
from thinkaloud.agents.config import AgentFile, builtin_agents
from thinkaloud.agents.toolbox import Toolbox
from thinkaloud.canon import Refused
from thinkaloud.catalog import Catalog
from thinkaloud.client import TIMEOUTS, Client, Timeouts
from thinkaloud.client.config import ConfigFile
from thinkaloud.server.commands import CommandRouter
from thinkaloud.server.limits import GatewayLimits
from thinkaloud.server.metrics import Metrics
from thinkaloud.server.node import GatewayNode
from thinkaloud.server.preferences import PreferenceStore
from thinkaloud.server.process_pool import ProcessPool
from thinkaloud.server.request_parts import BodyMemory
from thinkaloud.server.titles import TitleWriter
from thinkaloud.server.turn_stream import ReaderSlots
from thinkaloud.server.turns import TurnRegistry
from thinkaloud.store import finish, search, users
from thinkaloud.store.database import Database, NotSaved
from thinkaloud.store.facts import store_fact
from thinkaloud.store.index_slices import index_rest
from thinkaloud.store.log import EventLog
from thinkaloud.store.log_config import LogConfig
from thinkaloud.store.rows import Owner
from thinkaloud.store.wakeups import Wakeup

logger = logging.getLogger(__name__)

DAY_S = 24 * 60 * 60
SIMULTANEOUS_IMPORTS = 2
"""A turn takes ten times its size in memory while it is imported. Further imports wait."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a gateway."""

    limits: GatewayLimits = GatewayLimits()
    log_config: LogConfig = LogConfig()
    model: str = ""
    """The default model, used when neither turn, agent nor session names one."""
    title_model: str = ""
    """The model that writes the titles of sessions; empty to keep the first question as the title."""
    heartbeat_s: float = 15.0
    """Interval between heartbeats of a silent stream. Proxies close connections that are silent for 30 s."""
    send_timeout_s: float = 20.0
    """A reader that accepts no bytes for this long is disconnected."""
    max_waiting_s: float = 5.0
    """If an entry waits longer for the disk, the gateway is not ready and starts no turn."""
    revoked_s: float = 2.0
    """How often the tokens of open streams are checked."""
    sweep_s: float = 5.0
    """How often turns without a writer are looked for and ended."""
    lease_s: float = 15.0
    """A gateway that has not renewed its lease for this long counts as dead, if others share its database."""
    timeouts: Timeouts = TIMEOUTS
    """How long to wait for providers."""
    full_sync: bool = False
    """Whether each commit waits for the disk itself. Then a power cut loses nothing that was committed."""
    grace_s: float = 10.0
    """How long running turns may continue after the gateway was asked to stop."""
    config_path: Path | None = None
    """The settings file of the user of this machine; None keeps their preferences in the database."""
    forget_timing_after_days: int | None = None
    """Age at which the timing of a turn is dropped to make its log smaller. None keeps it forever."""


SETTINGS = Settings()


class Gateway:
    """Everything that route handlers use. It is an async context manager."""

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
        self.client = client or Client(timeouts=settings.timeouts)
        self.toolbox = toolbox or Toolbox(builtin_tools())
        self.gateway_agents = gateway_agents or builtin_agents()
        """The agents that the operator configured, by name. All users may use them."""
        self.log = EventLog(database, settings.log_config, on_commit=self.metrics.committed)
        self.node = GatewayNode(self)
        self.turns = TurnRegistry(self)
        self.titles = TitleWriter(self)
        self.commands = CommandRouter(self)
        self.body_memory = BodyMemory(settings.limits.bodies_bytes)
        self.import_slots = asyncio.Semaphore(SIMULTANEOUS_IMPORTS)
        self.processes = ProcessPool()
        self.reader_slots = ReaderSlots(settings.limits.readers_per_turn, self.metrics)
        self.ready = False
        self.stopping = False
        self.preferences = PreferenceStore(
            None if settings.config_path is None else ConfigFile(settings.config_path)
        )
        self.local_owner = Owner(0, 0)
        """The local user and workspace. Set when the gateway is opened."""
        self._exit_stack = AsyncExitStack()
        self.metrics.add_gauge(
            "thinkaloud_unsaved_bytes",
            "Bytes held in memory because the disk accepts no writes.",
            lambda: self.log.unsaved_bytes,
        )

        if self.log.follower is not None:
            follower = self.log.follower
            self.metrics.add_gauge(
                "thinkaloud_followed_turns",
                "Turns of other gateways that have readers here.",
                lambda: follower.followed,
            )
            self.metrics.add_gauge(
                "thinkaloud_lease_seconds",
                "How long the lease of this gateway still lasts.",
                lambda: self.node.lease_left_s,
            )

    def now_ms(self) -> int:
        """Return the wall clock time."""
        return time.time_ns() // 1_000_000

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            now_ms = self.now_ms()
            await self._check_writable()
            self.local_owner = await self.database.write(lambda conn: users.ensure_local(conn, now_ms))
            self.preferences.local_owner = self.local_owner
            await self.database.write(self.preferences.adopt_stored)
            recovery = await self.node.join()
            stack.push_async_callback(self.node.leave)
            if recovery.ended:
                count = len(recovery.ended)
                turns = "1 unfinished turn was" if count == 1 else f"{count} unfinished turns were"
                logger.warning("%s marked interrupted", turns)
            await self._update_search_index()
            stack.callback(self.processes.close)
            if not self.client.opened:
                await stack.enter_async_context(self.client)
            stack.callback(self.titles.close)
            await stack.enter_async_context(self.toolbox)
            await stack.enter_async_context(self.log)
            self._run_in_background(stack, self.node.end_abandoned_turns())
            if not self.database.exclusive:
                await stack.enter_async_context(self.database.listen(self._on_wakeup))
                self._run_in_background(stack, self.node.keep_lease())
                self._run_in_background(stack, self.commands.run())
            self._run_in_background(stack, self._disconnect_revoked())
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
        """Refuse new turns, let running ones end, and close all streams. May be called twice."""
        self.ready, self.stopping = False, True
        await self.turns.stop(self.settings.grace_s)
        await self.reader_slots.close()

    def _on_wakeup(self, wakeup: Wakeup) -> None:
        if wakeup.replaced:
            self._on_failover()
        elif wakeup.commands:
            self.commands.wake(wakeup)
        elif self.log.follower is not None:
            self.log.follower.wake(wakeup)

    def _on_failover(self) -> None:
        """Let all readers come back. Those that have entries which are not in the database start again."""
        logger.warning("the database is another server now, after a failover; readers come back")
        assert self.log.follower is not None
        self.reader_slots.disconnect_all()
        self.log.follower.forget_all()

    @staticmethod
    def _run_in_background(stack: AsyncExitStack, coroutine: Coroutine[Any, Any, None]) -> None:
        stack.push_async_callback(_cancel_task, asyncio.create_task(coroutine))

    async def _update_search_index(self) -> None:
        """Rebuild the search index if another version of Thinkaloud wrote it."""
        if not await self.database.read(search.index_current):
            logger.warning("the search index has another version and is being rebuilt")
            await self.database.write(search.rebuild_outdated_index)
        await index_rest(self.database)

    async def _check_writable(self) -> None:
        """Refuse to start on a full disk: the gateway would report that it is ready, and save nothing."""
        try:
            await self.database.write(partial(store_fact, name="started_ms", value=str(self.now_ms())))
        except NotSaved as error:
            raise Refused(
                f"{error} The gateway does not start, because it could save nothing. Free some disk space, "
                "or make the file writable."
            ) from None

    async def _disconnect_revoked(self) -> None:
        """Disconnect the readers whose token was revoked, in this or another process."""
        while True:
            await asyncio.sleep(self.settings.revoked_s)
            if not (token_hashes := self.reader_slots.token_hashes):
                continue
            try:
                valid = await self.database.read(partial(users.valid_tokens, hashes=token_hashes))
            except NotSaved:  # the next round asks again; without a database no stream reads anything new
                continue
            except Exception:
                logger.exception("the tokens of open streams could not be checked; retrying")
            else:
                self.reader_slots.disconnect(token_hashes - valid)

    async def _forget_timing_daily(self, days: int) -> None:
        while True:
            before_ms = self.now_ms() - days * DAY_S * 1000
            try:
                count = 0
                while batch_count := await self.database.write(
                    partial(finish.drop_timing, before_ms=before_ms)
                ):
                    count += batch_count
                logger.info("dropped the timing of %d turns", count)
            except NotSaved as error:
                logger.warning("the timing of old turns could not be dropped: %s", error)
            await asyncio.sleep(DAY_S)


async def _cancel_task(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait((task,))
