"""Live turns: begun once for each request, steered by whoever owns them, and ended when the gateway stops."""

import asyncio
import hashlib
import logging
from functools import partial
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

import msgspec
from sqlalchemy import Connection

from thinkaloud.canon import Finish, ThinkaloudError, TurnEnded, TurnFailed
from thinkaloud.canon.requests import Level
from thinkaloud.context import ContextMode
from thinkaloud.server.bodies import NewTurn
from thinkaloud.server.live_turn import LiveTurn, Work, entries_so_far
from thinkaloud.server.preparing import agent_for, asked_now, look_up, prepared
from thinkaloud.server.refusals import Conflict, TooMany, Unavailable
from thinkaloud.store import ids, turns
from thinkaloud.store.database import NotSaved
from thinkaloud.store.folding import INTERRUPTED
from thinkaloud.store.recovering import LEASE_MS, give_up, renew, take_over
from thinkaloud.store.rows import Session, TurnRow
from thinkaloud.store.turns import Asked, Started

if TYPE_CHECKING:
    from thinkaloud.server.gateway import Gateway

logger = logging.getLogger(__name__)

_canonical = msgspec.json.Encoder(order="deterministic").encode
_encode = msgspec.json.Encoder().encode

CANCELLED = TurnEnded(Finish.CANCELLED)
STOPPED = TurnFailed(
    INTERRUPTED,
    "The gateway was stopped before this turn was over. What was said until then is kept; ask again.",
)
_LAST_S = 5.0
"""So long an ended turn may take to be kept; where the disk takes nothing, the next start does it."""


class Wishes(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was asked of a turn beside its messages, kept for whoever goes on with it."""

    thinking: Level | int | None = None
    max_tokens: int | None = None
    context_mode: ContextMode | None = None


class Runs:
    """All turns that this gateway runs."""

    def __init__(self, gateway: "Gateway") -> None:
        self._gateway = gateway
        self._writer = ids.new("gtw")
        self._live: dict[int, LiveTurn] = {}
        self._turnstiles: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()

    @property
    def live(self) -> int:
        """How many turns run."""
        return len(self._live)

    async def start(self, session: Session, asked: NewTurn, idempotency_key: str = "") -> Started:
        """Begin a turn, or find the one that this very request has begun before.

        One at a time for each session, so that what is sent to the model is what was said before it.
        """
        gateway, digest = self._gateway, hashlib.sha256(_canonical(asked)).digest()
        said = asked_now(asked, gateway.settings.limits)
        async with self._turnstiles.setdefault(session.key, asyncio.Lock()):
            known = await gateway.database.read(
                lambda conn: turns.repeated(conn, session, idempotency_key, digest)
            )
            if known is not None:
                return Started(known, new=False)
            if not gateway.ready:
                raise Unavailable("The gateway is stopping and begins no turn. Ask again in a moment.")
            context = await gateway.database.read(lambda conn: look_up(conn, session, asked.agent))
            agent = await agent_for(gateway, asked, context)
            before = (*context.steps, *said)
            ready = await asyncio.to_thread(prepared, agent, before, len(context.steps), gateway.catalog)
            begun = Asked(
                messages=said,
                model=agent.model,
                agent=context.agent,
                provider=ready.route.provider.name,
                prefix=ready.prefix,
                idempotency_key=idempotency_key,
                request_hash=digest,
                wishes=_encode(Wishes(asked.thinking, asked.max_tokens, asked.context_mode)).decode(),
            )
            started = await gateway.database.write(lambda conn: self._keep(conn, session, begun))
            if started.new:
                self._begin(started.turn, Work(agent, before, ready))
        return started

    async def go_on(self, turn: str) -> None:
        """Take up a turn that was left waiting for a person; one that cannot go on is ended and says why."""
        gateway, now_ms = self._gateway, self._gateway.now_ms()
        found = await gateway.database.write(lambda conn: take_over(conn, turn, self._writer, now_ms))
        if found is None:
            return
        row, session = found
        try:
            work = await self._taken_up(row, session)
        except ThinkaloudError as error:
            logger.warning("turn %s waited for an approval and cannot go on: %s", turn, error)
            await give_up(gateway.database, row.key, now_ms=now_ms, why=str(error))
        else:
            self._begin(row, work)

    async def _taken_up(self, row: TurnRow, session: Session) -> Work:
        gateway = self._gateway
        wishes = msgspec.json.decode(row.wishes, type=Wishes)
        asked = NewTurn(
            model=row.model,
            agent=row.agent,
            thinking=wishes.thinking,
            max_tokens=wishes.max_tokens,
            context_mode=wishes.context_mode,
        )
        known = await gateway.database.read(lambda conn: look_up(conn, session, row.agent, until=row))
        said = await gateway.database.read(lambda conn: turns.asked_of(conn, session.owner, row))
        agent, before = await agent_for(gateway, asked, known), (*known.steps, *said)
        ready = await asyncio.to_thread(prepared, agent, before, len(before), gateway.catalog)
        return Work(agent, before, ready, await entries_so_far(gateway.log, row.key))

    async def cancel(self, turn: TurnRow) -> bool:
        """End a turn because somebody wants it to end; False where it does not run here."""
        run = self._live.get(turn.key)
        if run is None:
            return False
        run.end(CANCELLED)
        await asyncio.wait((run.task,), timeout=_LAST_S)
        return True

    def live_turn(self, turn: TurnRow) -> LiveTurn:
        """A turn that runs here."""
        run = self._live.get(turn.key)
        if run is None:
            raise Conflict("This turn is over, or runs in another gateway.")
        return run

    async def settled(self, turn: int) -> None:
        """Wait until a turn that is over is kept, if it ran here."""
        if (run := self._live.get(turn)) is not None:
            await asyncio.wait((run.task,))

    async def stop(self, grace_s: float) -> None:
        """Let the live turns end by themselves for a while; then end them."""
        busy = [run.task for run in self._live.values() if not run.waits]
        if busy:
            await asyncio.wait(busy, timeout=grace_s)
        for run in tuple(self._live.values()):
            if run.waits:
                run.leave()
            else:
                run.end(STOPPED)
        if self._live:
            await asyncio.wait([run.task for run in self._live.values()], timeout=_LAST_S)
        for run in tuple(self._live.values()):
            logger.error("turn %s could not be kept; the next start does it", run.row.id)
            run.task.cancel()

    async def renew_for_ever(self) -> None:
        """Keep the lease on every live turn, as long as this gateway lives."""
        while True:
            await asyncio.sleep(LEASE_MS / 3000)
            if self._live:
                try:
                    lease = partial(renew, writer=self._writer, now_ms=self._gateway.now_ms())
                    await self._gateway.database.write(lease)
                except NotSaved as error:
                    logger.warning("the lease on live turns was not renewed: %s", error)

    def _keep(self, conn: Connection, session: Session, asked: Asked) -> Started:
        now_ms = self._gateway.now_ms()
        most = self._gateway.settings.limits.running_turns_per_user
        started = turns.start(
            conn, session, asked, now_ms=now_ms, writer=self._writer, lease_until_ms=now_ms + LEASE_MS
        )
        if started.new and turns.running_of(conn, session.owner.user) > most:
            raise TooMany(
                f"{most} of your turns run already, and no more are begun (limit running_turns_per_user). "
                "Wait until one is over, or cancel one."
            )
        return started

    def _begin(self, row: TurnRow, work: Work) -> None:
        run = self._live[row.key] = LiveTurn(self._gateway, row, work)
        run.task.add_done_callback(lambda _: self._live.pop(row.key))
