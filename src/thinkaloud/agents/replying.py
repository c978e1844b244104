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
from thinkaloud.agents.retelling import Retelling
from thinkaloud.canon import (
    BlockEnded,
    Entry,
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
from thinkaloud.client.prompting import Prepared
from thinkaloud.transcript import PAUSED, Status, Turn

GOES_ON = (Finish.TOOL_CALLS, Finish.STOP, Finish.UNKNOWN)
"""After any other end of a reply its calls are not to be trusted: they were cut, or refused."""


class ReplyFailed(Exception):
    """A reply broke off, or could not be had."""

    def __init__(self, failed: TurnFailed) -> None:
        super().__init__(failed.message or failed.code)
        self.failed = failed


class Teller(Protocol):
    """A turn, and how it grows."""

    @property
    def turn(self) -> Turn:
        """The turn so far."""

    def tell(self, event: Event, at_ms: int | None = None) -> None:
        """Write an event into it."""

    def ask(self, ready: Prepared) -> AsyncGenerator[Entry, None]:
        """Send a request."""


class Replying:
    """One reply: whose it is, and what was asked."""

    def __init__(self, teller: Teller, agent: Agent, parent: int | None, ready: Prepared) -> None:
        self._teller = teller
        self._agent = agent
        self._parent = parent
        self._ready = ready
        self._reply = Retelling(agent, parent)
        self._last_ms: int | None = None

    async def run(self) -> None:
        """Retell the reply to its end. Raises `ReplyFailed`, or the fault itself if nothing was told yet."""
        try:
            async with aclosing(self._teller.ask(self._ready)) as stream:
                async for entry in stream:
                    self._retell(entry)
        except (ProviderFault, Refused) as fault:
            if self._teller.turn.seq < 0:
                raise
            code = fault.code if isinstance(fault, ProviderFault) else "refused"
            self._fail(TurnFailed(code, str(fault)))
        except asyncio.CancelledError:
            if isinstance(self._reply.end, TurnEnded):  # only its connection was still open
                self._close(self._reply.end)
            elif self._teller.turn.seq >= 0:
                self._break_off()
            raise
        end = self._reply.end
        if isinstance(end, TurnEnded):
            self._close(end)
        else:
            self._fail(end or TurnFailed("cut_off", "The reply stopped without an end."))

    def _retell(self, entry: Entry) -> None:
        turn, self._last_ms = self._teller.turn, entry.at_ms
        for event in self._reply.feed(entry.event, len(turn.blocks)):
            again = isinstance(event, TurnStarted) and turn.seq >= 0
            counted = isinstance(event, UsageReported) and turn.replies
            if not again and not counted:
                self._teller.tell(event, entry.at_ms)

    def _close(self, end: TurnEnded) -> None:
        turn = self._teller.turn
        if self._parent is None and not turn.replies and not self._goes_on(end):
            self._teller.tell(end, self._last_ms)
        else:
            self._end(ReplyEnded(end.finish, end.said, end.message))

    def _goes_on(self, end: TurnEnded) -> bool:
        """Whether the run has something to do once this reply is over."""
        if end.said == PAUSED:
            return True
        calls = (self._teller.turn.blocks[number] for number in self._reply.blocks)
        ours = (block for block in calls if block.awaited and not self._agent.is_client_tool(block.name))
        return end.finish in GOES_ON and any(ours)

    def _fail(self, failed: TurnFailed) -> None:
        if self._parent is not None or self._teller.turn.replies:
            self._break_off()
        raise ReplyFailed(failed)

    def _break_off(self) -> None:
        for number in self._reply.blocks:
            if self._teller.turn.blocks[number].status is Status.RUNNING:
                self._teller.tell(BlockEnded(number, interrupted=True))
        self._end(ReplyEnded(Finish.CANCELLED))

    def _end(self, ended: ReplyEnded) -> None:
        started, route = self._reply.started, self._ready.route
        whose = msgspec.structs.replace(
            ended,
            usage=self._reply.usage,
            dialect=started.dialect or route.provider.dialect,
            model=started.model or route.model_id,
            provider=route.provider.name,
            prefix=self._ready.built.prefix,
            parent=self._parent,
        )
        self._teller.tell(whose)
