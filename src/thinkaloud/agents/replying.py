"""One reply of an agent's model within a run: asked for, retold, and brought to its end.

The only reply of a turn ends the turn itself, as if no agent had been there. Any other ends by `ReplyEnded`,
also when it broke off, so that what it took is counted.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Protocol

import msgspec

from thinkaloud.agents.agent import Agent
from thinkaloud.agents.retelling import ReplyMapper
from thinkaloud.canon import (
    BlockEnded,
    Event,
    Finish,
    ProviderFault,
    Refused,
    ReplyEnded,
    TurnEnded,
    TurnFailed,
    TurnStarted,
    UsageReported,
)
from thinkaloud.client.api import EventBatch
from thinkaloud.client.prepare import PreparedRequest
from thinkaloud.transcript import PAUSE_TURN, BlockStatus, Turn

TRUSTED_FINISHES = (Finish.TOOL_CALLS, Finish.STOP, Finish.UNKNOWN)
"""After any other end of a reply its calls are not to be trusted: they were cut, or refused."""


class ReplyFailed(Exception):
    """A reply broke off, or could not be had."""

    def __init__(self, failure: TurnFailed) -> None:
        super().__init__(failure.message or failure.code)
        self.failure = failure


class EventSink(Protocol):
    """A turn, and how it grows."""

    @property
    def turn(self) -> Turn:
        """The turn so far."""

    def now_ms(self) -> int:
        """The time on the run's clock."""

    def emit(self, event: Event, at_ms: int | None = None) -> None:
        """Stamp an event and append it to the turn."""

    def send(self, prepared: PreparedRequest) -> AsyncGenerator[EventBatch, None]:
        """Send a request."""


class ReplyRunner:
    """Asks for one reply and appends it to the turn."""

    def __init__(self, sink: EventSink, agent: Agent, parent: int | None, prepared: PreparedRequest) -> None:
        self._sink = sink
        self._agent = agent
        self._parent = parent
        self._prepared = prepared
        self._mapper = ReplyMapper(agent, parent)
        self._last_ms: int | None = None

    async def run(self) -> None:
        """Retell the reply to its end. Raises `ReplyFailed`, or the fault itself if nothing was told yet."""
        try:
            async with aclosing(self._sink.send(self._prepared)) as batches:
                async for batch in batches:
                    self._append(batch)
        except (ProviderFault, Refused) as fault:
            if self._sink.turn.seq < 0:
                raise
            code = fault.code if isinstance(fault, ProviderFault) else "refused"
            self._fail(TurnFailed(code, str(fault)))
        except asyncio.CancelledError:
            if isinstance(self._mapper.end, TurnEnded):  # only its connection was still open
                self._close(self._mapper.end)
            elif self._sink.turn.seq >= 0:
                self._interrupt()
            raise
        end = self._mapper.end
        if isinstance(end, TurnEnded):
            self._close(end)
        else:
            self._fail(end or TurnFailed("cut_off", "The reply stopped without an end."))

    def _append(self, batch: EventBatch) -> None:
        sink, turn = self._sink, self._sink.turn
        self._last_ms = at_ms = sink.now_ms()
        for original in batch.events:
            for event in self._mapper.feed(original, len(turn.blocks)):
                if type(event) is TurnStarted:
                    if turn.seq < 0:  # the turn starts with its first reply only
                        sink.emit(event, at_ms - batch.waited_ms)
                elif not (type(event) is UsageReported and turn.replies):
                    sink.emit(event, at_ms)

    def _close(self, end: TurnEnded) -> None:
        turn = self._sink.turn
        if self._parent is None and not turn.replies and not self._continues(end):
            self._sink.emit(end, self._last_ms)
        else:
            self._end_reply(ReplyEnded(end.finish, end.said, end.message))

    def _continues(self, end: TurnEnded) -> bool:
        """Whether the run has something to do once this reply is over."""
        if end.said == PAUSE_TURN:
            return True
        calls = (self._sink.turn.blocks[number] for number in self._mapper.blocks)
        own_calls = (
            block for block in calls if block.awaiting_result and not self._agent.is_client_tool(block.name)
        )
        return end.finish in TRUSTED_FINISHES and any(own_calls)

    def _fail(self, failure: TurnFailed) -> None:
        if self._parent is not None or self._sink.turn.replies:
            self._interrupt()
        raise ReplyFailed(failure)

    def _interrupt(self) -> None:
        for number in self._mapper.blocks:
            if self._sink.turn.blocks[number].status is BlockStatus.RUNNING:
                self._sink.emit(BlockEnded(number, interrupted=True))
        self._end_reply(ReplyEnded(Finish.CANCELLED))

    def _end_reply(self, ended: ReplyEnded) -> None:
        started, route = self._mapper.started, self._prepared.route
        complete = msgspec.structs.replace(
            ended,
            usage=self._mapper.usage,
            dialect=started.dialect or route.provider.dialect,
            model=started.model or route.model_id,
            provider=route.provider.name,
            prefix=self._prepared.prefix,
            parent=self._parent,
        )
        self._sink.emit(complete)
