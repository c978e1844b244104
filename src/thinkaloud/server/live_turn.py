"""One live turn of the gateway: a run of its agent, written to the log, that comes to exactly one end.

It belongs to nobody who reads it and goes on when they leave. What ends it from outside (a cancel, a limit, a
stop of the gateway) stops the run first, and then says so in the log. A turn that waits for a person is not
ended by a stop: it is left as it stands, and goes on with the next start.
"""

import asyncio
import logging
from contextlib import aclosing
from typing import TYPE_CHECKING

import msgspec

from thinkaloud.agents.agent import Agent
from thinkaloud.agents.run import Run, Surroundings, waits
from thinkaloud.canon import (
    BlockGrew,
    Entry,
    Event,
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
from thinkaloud.client.prompting import Prepared
from thinkaloud.context import Step
from thinkaloud.server.tracing import turn_span
from thinkaloud.store.database import NotSaved
from thinkaloud.store.folding import state_of
from thinkaloud.store.log import EventLog
from thinkaloud.store.rows import State, TurnRow
from thinkaloud.transcript import Turn, apply, stopped

if TYPE_CHECKING:
    from thinkaloud.server.gateway import Gateway

logger = logging.getLogger(__name__)

_entry = msgspec.json.Decoder(Entry)


class Work(msgspec.Struct, frozen=True):
    """What a turn is to do: who answers, to what, and with which first request; or what it goes on from."""

    agent: Agent
    before: tuple[Step, ...]
    first: Prepared
    told: tuple[Entry, ...] = ()


class LiveTurn:
    """One live turn, from the request to the rows that stay of it."""

    def __init__(self, gateway: "Gateway", row: TurnRow, work: Work) -> None:
        self.row = row
        self._gateway = gateway
        self._limits = gateway.settings.limits
        self._route = work.first.route
        self._writer = gateway.log.writer(row.key, row.epoch, len(work.told) - 1)
        self._clock = steady_clock()
        self._began_ms = self._clock()
        self._turn = _folded(work.told)
        around = Surroundings(catalog=gateway.catalog, client=gateway.client, clock=self._clock)
        self._work = Run(
            work.agent,
            work.before,
            around=around,
            first=None if work.told else work.first,
            turn=_folded(work.told),
        )
        self._left = self._limits.said_chars_per_turn
        self._thought: dict[int, int] = {}
        self._end: TurnEnded | TurnFailed | None = None
        self._state = State.INTERRUPTED
        self._left_waiting = False
        self._asking = asyncio.create_task(self._ask(), name=f"thinkaloud-asking-{row.id}")
        self.task = asyncio.create_task(self._run(), name=f"thinkaloud-turn-{row.id}")

    @property
    def waits(self) -> bool:
        """Whether it waits for a person to let a call run."""
        return waits(self._turn)

    def end(self, end: TurnEnded | TurnFailed) -> None:
        """Bring the turn to this end, unless it has one."""
        if self._end is None and self._turn.live:
            self._end = end
            self._asking.cancel()

    def leave(self) -> None:
        """Let a turn that waits go, without an end."""
        self._left_waiting = True
        self._asking.cancel()

    def settle(self, block: int, *, granted: bool, by: str) -> None:
        """Let a call run that waits for it, or not."""
        self._work.settle(block, granted=granted, by=by)

    def answer_now(self) -> None:
        """Stop thinking, and answer with what there is."""
        self._work.answer_now()

    async def _run(self) -> None:
        self._gateway.metrics.turn_started()
        try:
            with turn_span(model=self._route.model_id, provider=self._route.provider.name) as span:
                await asyncio.wait((self._asking,))
                if self._left_waiting:
                    self._state = State.RUNNING
                else:
                    await self._finish()
                span.ended(self._turn)
            await (self._writer.leave() if self._left_waiting else self._writer.close())
        except Exception:
            logger.exception("what turn %s came to could not be kept", self.row.id)
        finally:
            self._gateway.metrics.turn_ended(self._state)

    async def _ask(self) -> None:
        async with aclosing(self._work.entries()) as said:
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
            started = TurnStarted(self._route.provider.dialect, self._route.model_id)
            self._take(Entry(0, started, self._began_ms))
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


async def told_so_far(log: EventLog, turn: int) -> tuple[Entry, ...]:
    """The entries of a turn as far as readers can see them."""
    lines: list[bytes] = []
    while True:
        span = await log.read(turn, len(lines) - 1)
        lines += span.lines
        if span.over or not span.lines:
            return await asyncio.to_thread(_decoded, lines)


def _decoded(lines: list[bytes]) -> tuple[Entry, ...]:
    return tuple(_entry.decode(line) for line in lines)


async def turn_so_far(log: EventLog, turn: int) -> Turn:
    """A turn as far as readers can see it, from its log."""
    return await asyncio.to_thread(_folded, await told_so_far(log, turn))


def _folded(entries: tuple[Entry, ...]) -> Turn:
    turn = Turn()
    for entry in entries:
        apply(turn, entry)
    return turn


def _too_long(what: str, limit: str, most: int) -> LimitExceeded:
    return LimitExceeded(
        f"{what} is longer than the {most:,} characters that are taken (limit {limit}), so the connection "
        "was closed. What was said until then stands."
    )
