"""This gateway among those that share its database: its lease, and the turns that others have left behind.

While the lease is renewed, nobody takes its turns over. A gateway ends turns of others only if it has held
its own lease without a gap for as long as a lease lasts. So after an outage of the database, when no lease
could be renewed, all gateways have the time to come back before anybody is taken for dead.

A gateway whose lease has run out sends nothing more of its turns to clients that cannot come back, until it
has asked which of them are still its own: it may have stood still for minutes without noticing.
"""

import asyncio
import logging
import os
import socket
import sys
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from thinkaloud.agents.run import waits_for_approval
from thinkaloud.store import ids, nodes, sessions
from thinkaloud.store.database import FailureLog, NotSaved
from thinkaloud.store.recovery import Reaper, RecoveredTurns, end_abandoned, leftover_turns, recover

if TYPE_CHECKING:
    from thinkaloud.server.gateway import Gateway

logger = logging.getLogger(__name__)

_RENEWALS_PER_LEASE = 3
_LONGEST_GAP = 1.5 / _RENEWALS_PER_LEASE
"""Of a lease: between two renewals, if none failed and the process did not stand still."""
_LEAVE_TIMEOUT_S = 2.0


def _now_s() -> float:
    """Return a time that goes on while the machine is suspended, as the time of the database does."""
    if sys.platform == "linux":
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


class GatewayNode:
    """The identity and the lease of one gateway process."""

    def __init__(self, gateway: "Gateway") -> None:
        self.id = ids.new("gtw")
        self._name = f"{socket.gethostname()}:{os.getpid()}"
        self._gateway = gateway
        self._lease_s = gateway.settings.lease_s
        self._renewed_at_s = self._steady_since_s = _now_s()
        self._renewed = True
        self._gaps = self._settled_gaps = 0
        """How often the lease had run out when it was renewed; after how many of them turns were checked."""
        self._lease_changed = asyncio.Event()
        self._question_failures = FailureLog(logger, "looking for turns that were taken over")
        self._leftover: frozenset[int] = frozenset()

    @property
    def lease_left_s(self) -> float:
        """How long the lease still lasts; infinite where no other gateway can take turns over."""
        if self._gateway.database.exclusive:
            return float("inf")
        return self._renewed_at_s + self._lease_s - _now_s()

    @property
    def holds_turns(self) -> bool:
        """Whether the turns that run here are certainly still this gateway's own."""
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
            await self._gateway.database.write_urgent(self._renew)
            self._renewed_at_s = self._steady_since_s = _now_s()
        return await recover(self._gateway.database, self._reaper(), now_ms=self._gateway.now_ms())

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
                await asyncio.sleep(self._lease_s / _RENEWALS_PER_LEASE)
                asked_at_s = _now_s()
                with failures.attempt():
                    await self._gateway.database.write_urgent(self._renew)
                self._renewed = not failures.failing
                if self._renewed:
                    if asked_at_s - self._renewed_at_s > _LONGEST_GAP * self._lease_s:
                        self._steady_since_s = _now_s()  # others may have had no chance to renew theirs
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
        failures = FailureLog(logger, "ending turns without a writer")
        while True:
            await asyncio.sleep(self._gateway.settings.sweep_s)
            with failures.attempt():
                await self._sweep()

    async def _sweep(self) -> None:
        gateway, running = self._gateway, tuple(self._gateway.turns.running_epochs)
        # A turn that has just been started is stored before it runs: it is left over if it is so twice.
        leftover = await gateway.database.read(partial(leftover_turns, node=self.id, running=running))
        twice, self._leftover = self._leftover & leftover, leftover
        reaper = self._reaper(leftover=twice.difference(gateway.turns.running_epochs))
        swept = await end_abandoned(gateway.database, reaper, now_ms=gateway.now_ms())
        for turn_id in swept.ended:
            logger.warning("turn %s had no writer any more and was ended", turn_id)
        for turn_id in swept.waiting:
            await gateway.turns.resume(turn_id)
        # An import that failed could perhaps not be deleted then, because the disk was full.
        if await gateway.database.read(sessions.old_imports):
            await gateway.database.write(sessions.drop_old_imports)
        if not gateway.database.exclusive:
            await gateway.database.write(nodes.forget_old)

    def _renew(self, conn: Connection) -> None:
        nodes.renew_lease(conn, self.id, self._name, int(self._lease_s * 1000))

    def _reaper(self, leftover: frozenset[int] = frozenset()) -> Reaper:
        steady = self.lease_left_s > 0 and _now_s() - self._steady_since_s > self._lease_s
        return Reaper(
            node=self.id,
            expired=steady,
            running=tuple(self._gateway.turns.running_epochs),
            leftover=leftover,
            waits=waits_for_approval,
        )
