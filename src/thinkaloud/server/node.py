"""This gateway among those that share its database: its lease, and the turns that others have left behind.

While the lease is renewed, nobody takes its turns over. A gateway ends turns of others only if it has held
its own lease without a gap for as long as a lease lasts. So after an outage of the database, when no lease
could be renewed, all gateways have the time to come back before anybody is taken for dead.
"""

import asyncio
import logging
import os
import socket
import time
from functools import partial
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from thinkaloud.agents.run import waits_for_approval
from thinkaloud.store import ids, nodes, sessions
from thinkaloud.store.database import NotSaved
from thinkaloud.store.recovery import Reaper, RecoveredTurns, end_abandoned, leftover_turns, recover

if TYPE_CHECKING:
    from thinkaloud.server.gateway import Gateway

logger = logging.getLogger(__name__)

_RENEWALS_PER_LEASE = 3
_LONGEST_GAP = 1.5 / _RENEWALS_PER_LEASE
"""Of a lease: between two renewals, if none failed and the process did not stand still."""
_LEAVE_TIMEOUT_S = 2.0


class GatewayNode:
    """The identity and the lease of one gateway process."""

    def __init__(self, gateway: "Gateway") -> None:
        self.id = ids.new("gtw")
        self._name = f"{socket.gethostname()}:{os.getpid()}"
        self._gateway = gateway
        self._lease_s = gateway.settings.lease_s
        self._renewed_at_s = self._steady_since_s = time.monotonic()
        self._renewed = True
        self._leftover: frozenset[int] = frozenset()

    @property
    def lease_left_s(self) -> float:
        """How long the lease still lasts; infinite where no other gateway can take turns over."""
        if self._gateway.database.exclusive:
            return float("inf")
        return self._renewed_at_s + self._lease_s - time.monotonic()

    @property
    def lease_renewed(self) -> bool:
        """Whether the last renewal of the lease has succeeded."""
        return self._renewed

    async def join(self) -> RecoveredTurns:
        """Become known to the other gateways, and end the turns of those that have stopped."""
        if not self._gateway.database.exclusive:
            await self._gateway.database.write_urgent(self._renew)
            self._renewed_at_s = self._steady_since_s = time.monotonic()
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
        question = asyncio.create_task(self._give_up_lost_turns())
        while True:
            await asyncio.sleep(self._lease_s / _RENEWALS_PER_LEASE)
            asked_at_s = time.monotonic()
            try:
                await self._gateway.database.write_urgent(self._renew)
            except NotSaved as error:
                if self._renewed:
                    logger.warning("the lease of this gateway cannot be renewed: %s Retrying.", error)
                self._renewed = False
            except Exception:
                self._renewed = False
                logger.exception("the lease of this gateway could not be renewed; retrying")
            else:
                self._renewed = True
                if asked_at_s - self._renewed_at_s > _LONGEST_GAP * self._lease_s:
                    self._steady_since_s = time.monotonic()  # others may have had no chance to renew theirs
                self._renewed_at_s = asked_at_s
                if question.done():
                    question = asyncio.create_task(self._give_up_lost_turns())

    async def _give_up_lost_turns(self) -> None:
        """Stop turns that another gateway has taken over. The lease does not wait for this question."""
        running = self._gateway.turns.running_epochs
        if not running:
            return
        try:
            lost = await self._gateway.database.read(partial(nodes.lost_turns, node=self.id, running=running))
        except NotSaved:
            return  # the next renewal asks again, and each commit tells it too
        except Exception:
            logger.exception("turns that were taken over could not be found; retrying")
            return
        for key in lost:
            self._gateway.turns.give_up(key)

    async def end_abandoned_turns(self) -> None:
        """End turns without a writer until cancelled, and resume those that wait for an approval."""
        while True:
            await asyncio.sleep(self._gateway.settings.sweep_s)
            try:
                await self._sweep()
            except NotSaved as error:
                if self._renewed:  # otherwise it is known that the database is away
                    logger.warning("turns without a writer could not be ended: %s", error)
            except Exception:
                logger.exception("turns without a writer could not be ended; retrying")

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
        now_s = time.monotonic()
        steady = self.lease_left_s > 0 and now_s - self._steady_since_s > self._lease_s
        return Reaper(
            node=self.id,
            expired=steady,
            running=tuple(self._gateway.turns.running_epochs),
            leftover=leftover,
            waits=waits_for_approval,
        )
