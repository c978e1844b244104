"""This gateway among those that share its database: its lease, and the turns that others have left behind.

While the lease is renewed, nobody takes its turns over. When it has run out, another gateway ends its turns
within about a second; see `gateway/store/log/nodes.py` for when a gateway is taken for dead.

A gateway whose lease has run out sends nothing more of its turns to clients that cannot come back, until it
has asked which of them are still its own: it may have stood still for minutes without noticing.
"""

import asyncio
import logging
import os
import socket
import sys
import time
from collections import deque
from collections.abc import Iterable
from contextlib import aclosing, suppress
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import Connection

from thinkaloud.agents.run import waits_for_approval
from thinkaloud.gateway.store.engine.database import FailureLog, NotSaved
from thinkaloud.gateway.store.log import nodes
from thinkaloud.gateway.store.log.recovery import (
    ClaimedTurn,
    Reaper,
    RecoveredTurns,
    end_abandoned,
    leftover_turns,
    recover,
)
from thinkaloud.gateway.store.queries import sessions
from thinkaloud.gateway.store.queries.values import new_id

if TYPE_CHECKING:
    from thinkaloud.gateway.server.gateway import Gateway

logger = logging.getLogger(__name__)

_RETRIES_PER_LEASE = 45
"""A renewal that failed is tried again this often: several failures in a row are no gap, see `nodes`."""
_RENEWALS_KEPT = 100
_LOOK_S = 0.5
"""How often the leases of the other gateways are looked at."""
_RETRIES_PER_LOOK = 5
"""How much sooner it is tried again after a failure."""
_RETRY_GROWTH = 0.25
"""A turn that cannot be ended waits for this share of the time since its first failure.

So it is tried often while the database fails now and then, and ever less often if it is damaged.
"""
_LONGEST_RETRY_S = 60.0
_LEAVE_TIMEOUT_S = 2.0


def _now_s() -> float:
    """Return a time that goes on while the machine is suspended, as the time of the database does."""
    if sys.platform == "linux":
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


class Phase(StrEnum):
    """Where a gateway is between its start and its end. Only a ready one starts turns."""

    STARTING = "starting"
    """It still ends the turns of an earlier process."""
    READY = "ready"
    STOPPING = "stopping"


class _Retry(NamedTuple):
    """When a turn that could not be ended is tried again, and when it failed first."""

    at_s: float
    since_s: float


class GatewayNode:
    """The identity and the lease of one gateway process."""

    def __init__(self, gateway: "Gateway") -> None:
        self.id = new_id("gtw")
        self._name = f"{socket.gethostname()}:{os.getpid()}"
        self._gateway = gateway
        self._lease_s = gateway.settings.lease_s
        self._renewed_at_s = _now_s()
        self._renewed = True
        self._reached_ms: deque[int] = deque(maxlen=_RENEWALS_KEPT)
        """When the lease was renewed, by the clock of the database."""
        self._gaps = self._settled_gaps = 0
        """How often the lease had run out when it was renewed; after how many of them turns were checked."""
        self._lease_changed = asyncio.Event()
        self._question_failures = FailureLog(logger, "looking for turns that were taken over")
        self._leftover: frozenset[int] = frozenset()
        self._unfinished: dict[int, _Retry] = {}
        """Turns of this gateway that it does not run and could not end yet, by their keys."""
        self._sweep_s = gateway.settings.sweep_s
        self._look_s = self._sweep_s if gateway.database.exclusive else min(self._sweep_s, _LOOK_S)
        self._swept_at_s = _now_s()
        self._sweep_failures = FailureLog(logger, "looking for forgotten turns")
        self._end_failures = FailureLog(logger, "ending turns without a writer")

    @property
    def lease_left_s(self) -> float:
        """How long the lease still lasts; infinite where no other gateway can take turns over."""
        if self._gateway.database.exclusive:
            return float("inf")
        return self._renewed_at_s + self._lease_s - _now_s()

    @property
    def holds_turns(self) -> bool:
        """Whether the turns that run here are certainly still this gateway's own."""
        if self._gateway.database.exclusive:
            return True
        return self.lease_left_s > 0 and self._gaps == self._settled_gaps

    async def wait_until_turns_held(self, timeout_s: float) -> bool:
        """Wait until the lease holds again and lost turns are given up; False if the time is over first."""
        if not self.holds_turns:
            self._lease_changed.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout_s):
                    await self._lease_changed.wait()
        return self.holds_turns

    @property
    def lease_renewed(self) -> bool:
        """Whether the last renewal of the lease has succeeded."""
        return self._renewed

    async def join(self) -> RecoveredTurns:
        """Become known to the other gateways, and end the turns of those that have stopped."""
        if not self._gateway.database.exclusive:
            self._reached_ms.append(await self._gateway.database.write_urgent(self._renew))
            self._renewed_at_s = _now_s()
        recovered = await recover(self._gateway.database, self._reaper(), now_ms=self._gateway.now_ms())
        self._put_off(recovered.unfinished)
        if recovered.error is not None:
            logger.warning("a turn could not be ended and is tried again: %s", recovered.error)
        return recovered

    async def leave(self) -> None:
        """End the lease, so that others need not wait for it."""
        if self._gateway.database.exclusive:
            return
        try:
            async with asyncio.timeout(_LEAVE_TIMEOUT_S):
                await self._gateway.database.write_urgent(partial(nodes.leave, node=self.id))
        except (NotSaved, TimeoutError) as error:
            logger.warning("the lease could not be ended and runs out by itself: %s", error)

    async def keep_lease(self) -> None:
        """Renew the lease until cancelled, and give up turns that another gateway has taken over."""
        failures = FailureLog(logger, "the renewal of the lease of this gateway")
        question = asyncio.create_task(self._give_up_lost_turns())
        try:
            while True:
                attempts = nodes.RENEWALS_PER_LEASE if self._renewed else _RETRIES_PER_LEASE
                await asyncio.sleep(self._lease_s / attempts)
                asked_at_s = _now_s()
                with failures.attempt():
                    self._reached_ms.append(await self._gateway.database.write_urgent(self._renew))
                self._renewed = not failures.failing
                if self._renewed:
                    if self.lease_left_s <= 0:
                        self._gaps += 1  # others may have taken turns over
                    self._renewed_at_s = asked_at_s
                    if question.done():
                        question = asyncio.create_task(self._give_up_lost_turns())
        finally:
            question.cancel()

    async def _give_up_lost_turns(self) -> None:
        """Stop turns that another gateway has taken over. The lease does not wait for this question."""
        running, gaps = self._gateway.turns.running_epochs, self._gaps
        lost: list[int] = []
        with self._question_failures.attempt():  # each commit tells it too
            if running:
                lost = await self._gateway.database.read(
                    partial(nodes.lost_turns, node=self.id, running=running)
                )
        if self._question_failures.failing:
            return
        for key in lost:
            self._gateway.turns.give_up(key)
        self._settled_gaps = gaps
        self._lease_changed.set()

    async def end_abandoned_turns(self) -> None:
        """End turns without a writer until cancelled, and resume those that wait for an approval."""
        wait_s = self._look_s
        while True:
            await asyncio.sleep(wait_s)
            wait_s = await self.look()

    async def look(self) -> float:
        """End the turns that have no writer now. Return how long to wait before the next look."""
        # The half: a clock with long ticks may say that the sleep was a little shorter.
        if _now_s() - self._swept_at_s >= self._sweep_s - self._look_s / 2:
            self._swept_at_s = _now_s()
            with self._sweep_failures.attempt():  # the turns of a dead gateway do not wait for it
                await self._sweep()
        with self._end_failures.attempt():
            await self._end_abandoned()
        return self._retry_wait_s() if self._end_failures.failing else self._look_s

    def _retry_wait_s(self) -> float:
        """Return how long to wait after a failure: never longer than without one."""
        next_retry_s = min((retry.at_s for retry in self._unfinished.values()), default=0.0)
        return min(self._look_s, max(self._shortest_retry_s, next_retry_s - _now_s()))

    @property
    def _shortest_retry_s(self) -> float:
        return self._look_s / _RETRIES_PER_LOOK

    def _put_off(self, keys: Iterable[int]) -> None:
        """Try later to end these turns again: soon at first, and ever less often."""
        now_s = _now_s()
        for key in keys:
            since_s = self._unfinished[key].since_s if key in self._unfinished else now_s
            wait_s = max(self._shortest_retry_s, (now_s - since_s) * _RETRY_GROWTH)
            self._unfinished[key] = _Retry(now_s + min(wait_s, _LONGEST_RETRY_S), since_s)

    async def _end_abandoned(self) -> None:
        gateway, now_s = self._gateway, _now_s()
        due = {key for key, retry in self._unfinished.items() if retry.at_s <= now_s}
        reaper = self._reaper(frozenset(due.difference(gateway.turns.running_epochs)))
        waiting: list[ClaimedTurn] = []
        error: BaseException | None = None
        async with aclosing(end_abandoned(gateway.database, reaper, now_ms=gateway.now_ms())) as recovered:
            async for some in recovered:
                self._put_off(some.unfinished)
                error = error or some.error
                waiting += some.waiting
                for turn_id in some.ended:
                    logger.warning("turn %s had no writer any more and was ended", turn_id)
        await self.resume(waiting)
        if due:  # those that were ended, run again or have another writer need no further try
            for key in due - await self._turns_not_running():
                del self._unfinished[key]
        if error is not None:
            raise error
        if self._unfinished:
            raise NotSaved("{count} turns could not be ended yet.", count=len(self._unfinished))

    async def resume(self, waiting: Iterable[ClaimedTurn]) -> None:
        """Resume turns that wait for an approval. One that fails is tried again, and keeps nothing waiting.

        A gateway that stops leaves them to the others, or to its next start.
        """
        if self._gateway.phase is Phase.STOPPING:
            return
        for turn in waiting:
            try:
                await self._gateway.turns.resume(turn.id)
            except Exception as error:  # any: the other turns go on, and so does the start of the gateway
                if turn.key not in self._unfinished:
                    trace = None if isinstance(error, NotSaved) else error
                    message = "turn %s waits for approval and could not be resumed: %s Retrying."
                    logger.warning(message, turn.id, error, exc_info=trace)
                self._put_off([turn.key])

    async def _turns_not_running(self) -> frozenset[int]:
        """Return the turns of this gateway that are stored as running, and do not run."""
        running = tuple(self._gateway.turns.running_epochs)
        return await self._gateway.database.read(partial(leftover_turns, node=self.id, running=running))

    async def _sweep(self) -> None:
        """Find turns that this gateway has forgotten. Delete what imports and other gateways have left."""
        gateway = self._gateway
        # A turn that has just been started is stored before it runs: it is left over if it is so twice.
        leftover = await self._turns_not_running()
        twice, self._leftover = self._leftover & leftover, leftover
        for key in twice.difference(gateway.turns.running_epochs):
            self._unfinished.setdefault(key, _Retry(_now_s(), _now_s()))
        # An import that failed could perhaps not be deleted then, because the disk was full.
        if await gateway.database.read(sessions.old_imports):
            await gateway.database.write(sessions.drop_old_imports)
        if not gateway.database.exclusive:
            await gateway.database.write(nodes.forget_old)

    def _renew(self, conn: Connection) -> int:
        return nodes.renew_lease(conn, self.id, self._name, int(self._lease_s * 1000))

    def _reaper(self, leftover: frozenset[int] = frozenset()) -> Reaper:
        return Reaper(
            node=self.id,
            lease_ms=int(self._lease_s * 1000),
            reached_ms=tuple(self._reached_ms),
            leftover=leftover,
            waits=waits_for_approval,
        )
