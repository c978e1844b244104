"""Live turns: each asks its model, writes what is told to the log, and comes to exactly one end.

A run belongs to nobody who reads it and goes on when they leave. What ends it from outside (a cancel, a
limit, a stop of the gateway) closes the connection to the provider first, and then says so in the log.
"""

import asyncio
import hashlib
import logging
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

import msgspec
from sqlalchemy import Connection

from thinkaloud.canon import (
    BlockGrew,
    Entry,
    Event,
    Finish,
    Kind,
    LimitExceeded,
    ProviderFault,
    Refused,
    ToolFinished,
    TurnEnded,
    TurnFailed,
    TurnStarted,
)
from thinkaloud.client import steady_clock
from thinkaloud.client.prompting import Prepared, told
from thinkaloud.server.bodies import NewTurn
from thinkaloud.server.preparing import asked_now, look_up, model_of, prepared
from thinkaloud.server.refusals import TooMany, Unavailable
from thinkaloud.server.tracing import turn_span
from thinkaloud.store import ids, turns
from thinkaloud.store.database import NotSaved
from thinkaloud.store.folding import INTERRUPTED, state_of
from thinkaloud.store.log import EventLog
from thinkaloud.store.recovering import LEASE_MS, renew
from thinkaloud.store.rows import Session, State, TurnRow
from thinkaloud.store.turns import Asked, Started
from thinkaloud.transcript import Turn, apply, stopped

if TYPE_CHECKING:
    from thinkaloud.server.gateway import Gateway

logger = logging.getLogger(__name__)

_canonical = msgspec.json.Encoder(order="deterministic").encode
_entry = msgspec.json.Decoder(Entry)

CANCELLED = TurnEnded(Finish.CANCELLED)
STOPPED = TurnFailed(
    INTERRUPTED,
    "The gateway was stopped before this turn was over. What was said until then is kept; ask again.",
)
_LAST_S = 5.0
"""So long an ended turn may take to be kept; where the disk takes nothing, the next start does it."""


class Runs:
    """All turns that this gateway runs."""

    def __init__(self, gateway: "Gateway") -> None:
        self._gateway = gateway
        self._writer = ids.new("gtw")
        self._live: dict[int, Run] = {}
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
            model = model_of(asked, context, gateway.settings.model)
            ready = await asyncio.to_thread(prepared, asked, context, said, model, gateway.catalog)
            begun = Asked(
                messages=said,
                model=model,
                agent=context.agent.id if context.agent else "",
                provider=ready.route.provider.name,
                prefix=ready.built.prefix,
                idempotency_key=idempotency_key,
                request_hash=digest,
            )
            started = await gateway.database.write(lambda conn: self._keep(conn, session, begun))
            if started.new:
                self._begin(started.turn, ready)
        return started

    async def cancel(self, turn: TurnRow) -> bool:
        """End a turn because somebody wants it to end; False where it does not run here."""
        run = self._live.get(turn.key)
        if run is None:
            return False
        run.end(CANCELLED)
        await asyncio.wait((run.task,), timeout=_LAST_S)
        return True

    async def settled(self, turn: int) -> None:
        """Wait until a turn that is over is kept, if it ran here."""
        if (run := self._live.get(turn)) is not None:
            await asyncio.wait((run.task,))

    async def stop(self, grace_s: float) -> None:
        """Let the live turns end by themselves for a while; then end them."""
        if self._live:
            await asyncio.wait([run.task for run in self._live.values()], timeout=grace_s)
        for run in tuple(self._live.values()):
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

    def _begin(self, row: TurnRow, ready: Prepared) -> None:
        run = self._live[row.key] = Run(self._gateway, row, ready)
        run.task.add_done_callback(lambda _: self._live.pop(row.key))


class Run:
    """One live turn, from the request to the rows that stay of it."""

    def __init__(self, gateway: "Gateway", row: TurnRow, ready: Prepared) -> None:
        self.row = row
        self._gateway = gateway
        self._limits = gateway.settings.limits
        self._ready = ready
        self._writer = gateway.log.writer(row.key, row.epoch)
        self._clock = steady_clock()
        self._began_ms = self._clock()
        self._turn = Turn()
        self._left = self._limits.said_chars_per_turn
        self._thought: dict[int, int] = {}
        self._end: TurnEnded | TurnFailed | None = None
        self._state = State.INTERRUPTED
        self._asking = asyncio.create_task(self._ask(), name=f"thinkaloud-asking-{row.id}")
        self.task = asyncio.create_task(self._run(), name=f"thinkaloud-turn-{row.id}")

    def end(self, end: TurnEnded | TurnFailed) -> None:
        """Bring the turn to this end, unless it has one."""
        if self._end is None and self._turn.live:
            self._end = end
            self._asking.cancel()

    async def _run(self) -> None:
        self._gateway.metrics.turn_started()
        try:
            route = self._ready.route
            with turn_span(model=route.model_id, provider=route.provider.name) as span:
                await asyncio.wait((self._asking,))
                await self._finish()
                span.ended(self._turn)
            await self._writer.close()
        except Exception:
            logger.exception("what turn %s came to could not be kept", self.row.id)
        finally:
            self._gateway.metrics.turn_ended(self._state)

    async def _ask(self) -> None:
        async with aclosing(told(self._ready, client=self._gateway.client, clock=self._clock)) as said:
            async for entry in said:
                self._take(entry)
                if type(entry.event) is BlockGrew or type(entry.event) is ToolFinished:
                    self._measure(entry.event)
                if self._writer.lost:
                    return

    def _take(self, entry: Entry) -> None:
        apply(self._turn, entry)
        self._writer.append(entry)
        if not self._turn.live:
            self._state = state_of(entry.event)

    def _measure(self, event: BlockGrew | ToolFinished) -> None:
        limits = self._limits
        said = len(event.text if isinstance(event, BlockGrew) else event.result)
        if isinstance(event, BlockGrew) and self._turn.blocks[event.block].kind is Kind.REASONING:
            thought = self._thought[event.block] = self._thought.get(event.block, 0) + said
            if thought > limits.reasoning_chars_per_block:
                raise _too_long("One thought", "reasoning_chars_per_block", limits.reasoning_chars_per_block)
        self._left -= said
        if self._left < 0:
            raise _too_long("The turn", "said_chars_per_turn", limits.said_chars_per_turn)

    async def _finish(self) -> None:
        """Write the one end, where the provider has not told one."""
        error = None if self._asking.cancelled() else self._asking.exception()
        if isinstance(error, NotSaved):
            # What was told last is in no log. Once the disk takes the rest, the turn ends after that.
            await self._writer.flush()
            self._turn = await turn_so_far(self._gateway.log, self.row.key)
        if self._writer.lost or not self._turn.live:
            return
        events: list[Event] = stopped(self._turn, self._end or self._failure(error))
        if self._turn.seq < 0:
            route = self._ready.route
            self._take(Entry(0, TurnStarted(route.provider.dialect, route.model_id), self._began_ms))
        at_ms = self._clock()
        for event in events:
            self._take(Entry(self._turn.seq + 1, event, at_ms))

    def _failure(self, error: BaseException | None) -> TurnFailed:
        match error:
            case ProviderFault():
                return TurnFailed(error.code, str(error))
            case Refused():
                return TurnFailed("refused", str(error))
            case NotSaved():
                return TurnFailed(
                    "not_saved",
                    "Nothing could be saved for so long that the memory for it was full, so the turn was "
                    "ended. What is here was said; make room on the disk, then ask again.",
                )
        logger.error("turn %s failed by a mistake of the gateway", self.row.id, exc_info=error)
        return TurnFailed(
            "internal",
            f"The gateway made a mistake ({type(error).__name__}), and the turn could not go on. "
            f"What was said stands; ask again. Its log says more under {self.row.id}.",
        )


async def turn_so_far(log: EventLog, turn: int) -> Turn:
    """A turn as far as readers can see it, from its log."""
    lines: list[bytes] = []
    while True:
        span = await log.read(turn, len(lines) - 1)
        lines += span.lines
        if span.over or not span.lines:
            return await asyncio.to_thread(_folded, lines)


def _folded(lines: list[bytes]) -> Turn:
    turn = Turn()
    for line in lines:
        apply(turn, _entry.decode(line))
    return turn


def _too_long(what: str, limit: str, most: int) -> LimitExceeded:
    return LimitExceeded(
        f"{what} is longer than the {most:,} characters that are taken (limit {limit}), so the connection "
        "was closed. What was said until then stands."
    )
