"""The gateway object: database, log, running turns, readers, catalog and client, opened and closed in order.

Before the gateway is ready, every turn that an earlier process left unfinished is ended. On stop, running
turns get a grace period, then they are ended, and readers are disconnected so that they reconnect to the
next process.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from thinkaloud.agents.builtin_tools import builtin_tools
from thinkaloud.agents.config import AgentFile, builtin_agents
from thinkaloud.agents.toolbox import Toolbox
from thinkaloud.client import TIMEOUTS, Client, Timeouts
from thinkaloud.client.config import ConfigFile
from thinkaloud.core.canon import Refused, reason_of
from thinkaloud.core.catalog import Catalog
from thinkaloud.core.export.spans import SpanOptions
from thinkaloud.gateway.server.files.process_pool import ProcessPool
from thinkaloud.gateway.server.http.errors import ServiceUnavailable
from thinkaloud.gateway.server.http.limits import GatewayLimits
from thinkaloud.gateway.server.http.request_parts import BodyMemory, expire_scope
from thinkaloud.gateway.server.metrics import Metrics
from thinkaloud.gateway.server.node import GatewayNode, Phase
from thinkaloud.gateway.server.streams.turn_stream import OpenStreams, ReaderSlots
from thinkaloud.gateway.server.turns.commands import CommandRouter
from thinkaloud.gateway.server.turns.preferences import PreferenceStore
from thinkaloud.gateway.server.turns.registry import TurnRegistry
from thinkaloud.gateway.server.turns.titles import TitleWriter
from thinkaloud.gateway.store.engine.coordination import Wakeup
from thinkaloud.gateway.store.engine.database import Database, FailureLog, NotSaved, Query
from thinkaloud.gateway.store.log import finish
from thinkaloud.gateway.store.log.event_log import EventLog, LogConfig
from thinkaloud.gateway.store.queries import users
from thinkaloud.gateway.store.queries.delete import erase_deleted, erase_once
from thinkaloud.gateway.store.queries.values import store_fact
from thinkaloud.gateway.store.rows import Owner
from thinkaloud.gateway.store.search import index as search_index
from thinkaloud.gateway.store.search.index import index_rest

logger = logging.getLogger(__name__)

DAY_S = 24 * 60 * 60
FIRST_ERASE_RETRY_S = 0.1
ERASE_RETRY_S = 2.0
ERASE_WARNING_S = 60.0


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
    erase_s: float = 0.5
    """How often it is checked whether something was deleted, here or by another process."""
    sweep_s: float = 5.0
    """How often turns without a writer are looked for and ended."""
    lease_s: float = 15.0
    """A gateway that has not renewed its lease for this long counts as dead, if others share its database.

    All of them must have the same.
    """
    timeouts: Timeouts = TIMEOUTS
    """How long to wait for providers."""
    full_sync: bool = False
    """Whether each commit waits for the disk itself. Then a power cut loses nothing that was committed."""
    grace_s: float = 10.0
    """How long running turns may continue after the gateway was asked to stop."""
    config_path: Path | None = None
    """The settings file of the user of this machine; None keeps their preferences in the database."""
    trace: SpanOptions = SpanOptions()
    """What the spans of running turns hold, if the process uses OpenTelemetry."""
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
        self.imports = ProcessPool(settings.limits.process, settings.limits.imports_per_user)
        self.exports = ProcessPool(settings.limits.process, settings.limits.exports_per_user)
        self._waiting_changes: set[asyncio.Timeout] = set()
        self._later_writes: set[asyncio.Task[None]] = set()
        self.streams = OpenStreams()
        self.reader_slots = ReaderSlots(settings.limits.readers_per_turn, self.metrics, self.streams)
        self.phase = Phase.STARTING
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

    @property
    def storage_waiting_s(self) -> float:
        """How long something has been waiting for the disk or the database."""
        return max(self.log.waiting_s, self.database.stuck_s)

    def refuse_new(self) -> None:
        """Refuse to begin anything while the storage does not respond, or the gateway stops."""
        if self.storage_waiting_s > self.settings.max_waiting_s:
            raise NotSaved("The storage does not respond, so nothing new is started; see /readyz.")
        if self.phase is not Phase.READY:
            raise ServiceUnavailable("The gateway is stopping and starts nothing new. Try again in a moment.")

    @asynccontextmanager
    async def storage_limit(self) -> AsyncIterator[None]:
        """Give up a change that waits for a disk which does not respond, instead of keeping its caller."""
        scope = asyncio.timeout(None)
        try:
            async with scope:
                self._waiting_changes.add(scope)
                try:
                    yield
                finally:
                    self._waiting_changes.discard(scope)
        except TimeoutError:
            if not scope.expired():
                raise
            raise ServiceUnavailable(
                "The storage does not respond. When it does, the change may still be made: look before you "
                "try again. /readyz tells whether it responds."
            ) from None

    async def _give_up_stuck_changes(self) -> None:
        while True:
            await asyncio.sleep(self.settings.max_waiting_s / 4)
            if self.database.stuck_s > self.settings.max_waiting_s:
                for scope in tuple(self._waiting_changes):
                    expire_scope(scope)

    def write_later(self, change: Query[Any]) -> None:
        """Make a change for which nobody waits: of a request that was cancelled, perhaps by a frozen disk."""
        task = asyncio.create_task(self._write_unattended(change))
        self._later_writes.add(task)
        task.add_done_callback(self._later_writes.discard)

    async def _write_unattended(self, change: Query[Any]) -> None:
        try:
            await self.database.write(change)
        except (NotSaved, Refused) as error:
            logger.warning("what a cancelled request left could not be deleted: %s", error)

    async def _cancel_later_writes(self) -> None:
        for task in tuple(self._later_writes):
            await _cancel_task(task)

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
            await self._erase_once()
            stack.push_async_callback(self._cancel_later_writes)
            stack.callback(self.imports.close)
            stack.callback(self.exports.close)
            if not self.client.opened:
                await stack.enter_async_context(self.client)
            stack.callback(self.titles.close)
            await stack.enter_async_context(self.toolbox)
            await stack.enter_async_context(self.log)
            if not self.database.exclusive:
                await stack.enter_async_context(self.database.listen(self._on_wakeup))
                self._run_in_background(stack, self.node.keep_lease())
                self._run_in_background(stack, self.commands.run())
            self._run_in_background(stack, self._disconnect_revoked())
            self._run_in_background(stack, self._erase_deleted())
            self._run_in_background(stack, self._give_up_stuck_changes())
            if self.settings.forget_timing_after_days is not None:
                self._run_in_background(
                    stack, self._forget_timing_daily(self.settings.forget_timing_after_days)
                )
            await self.node.resume(recovery.waiting)
            self._run_in_background(stack, self.node.end_abandoned_turns())
            self._exit_stack = stack.pop_all()
        self.phase = Phase.READY
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
        self.phase = Phase.STOPPING
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
        if not await self.database.read(search_index.index_current):
            logger.warning("the search index has another version and is being rebuilt")
            await self.database.write(search_index.rebuild_outdated_index)
        await index_rest(self.database)

    async def _check_writable(self) -> None:
        """Refuse to start on a full disk: the gateway would report that it is ready, and save nothing."""
        try:
            await self.database.write(partial(store_fact, name="started_ms", value=str(self.now_ms())))
        except NotSaved as error:
            raise Refused(
                "{reason} The gateway does not start, because it could save nothing. Free some disk "
                "space, or make the file writable.",
                reason=reason_of(error),
            ) from None

    async def _disconnect_revoked(self) -> None:
        """Disconnect the clients whose token was revoked, in this or another process."""
        failures = FailureLog(logger, "the check of the tokens of open streams")
        while True:
            await asyncio.sleep(self.settings.revoked_s)
            if not (token_hashes := self.streams.token_hashes):
                continue
            with failures.attempt():
                valid = await self.database.read(partial(users.valid_tokens, hashes=token_hashes))
                self.streams.disconnect(token_hashes - valid)

    async def _erase_once(self) -> None:
        """Erase what earlier versions left of deletions. If that fails, the gateway starts all the same."""
        try:
            erased = await erase_once(self.database)
        except Exception as error:
            # The traceback is logged unless it is known what the error means.
            trace = None if isinstance(error, NotSaved) else error
            logger.warning(
                "what was deleted earlier could not be erased; the next start tries again: %s",
                error,
                exc_info=trace,
            )
            return
        if not erased:
            logger.warning(
                "what was deleted earlier could not be erased, because another program reads the database; "
                "the next start tries again"
            )

    async def _erase_deleted(self) -> None:
        """Erase the words of what was deleted, in this or another process."""
        pause_s, failing_since_s = self.settings.erase_s, 0.0
        failures = FailureLog(logger, "the erasure of deleted words")
        while True:
            await asyncio.sleep(pause_s)
            started_s = time.monotonic()
            erased = False
            with failures.attempt():
                erased = await erase_deleted(self.database)
            now_s = time.monotonic()
            if erased:
                # A large database gets as much time without this work as with it.
                pause_s, failing_since_s = max(self.settings.erase_s, now_s - started_s), 0.0
                continue
            # A short read is over at the next attempt. Attempts hold up the writer, so a long read gets few.
            pause_s = min(2 * pause_s, ERASE_RETRY_S) if failing_since_s else FIRST_ERASE_RETRY_S
            failing_since_s = failing_since_s or now_s
            if now_s - failing_since_s > ERASE_WARNING_S and not failures.failing:
                failing_since_s = now_s
                logger.warning(
                    "deleted words are still in the files, because somebody reads the database for long"
                )

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
