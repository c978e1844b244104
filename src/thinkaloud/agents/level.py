"""One agent at work in a run: it asks its model, has its calls run, and asks again, until there is an answer.

What to do next follows from the turn so far and from nothing else, so that a run can go on where another
process left it. An assistant is a level of its own, below the call that gave it its task.
"""

import asyncio
import logging
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import msgspec

from thinkaloud.agents.agent import Agent
from thinkaloud.agents.limits import LimitReached, exceeded
from thinkaloud.agents.prepare import prepare_reply
from thinkaloud.agents.replying import GOES_ON, EventSink, ReplyFailed, ReplyRunner
from thinkaloud.agents.tools import Came, call
from thinkaloud.canon import (
    ApprovalAsked,
    ApprovalSettled,
    Finish,
    Kind,
    Refused,
    ToolFinished,
    TurnFailed,
)
from thinkaloud.canon.requests import Level as Effort
from thinkaloud.canon.requests import UserMessage
from thinkaloud.catalog import Catalog
from thinkaloud.client.prepare import PreparedRequest
from thinkaloud.context import Step, replies_of
from thinkaloud.dialects import bodies
from thinkaloud.transcript import PAUSED, Approval, Block, Reply, given_up

logger = logging.getLogger(__name__)

DENIED = "Nobody let this run, so it did not. Go on without it."
HURRIED = "It was not run: a person asked for the answer now. Answer with what there is."
IDLE = "The assistant was given nothing to do. Call it again, with a task in plain words."
CUT = "The assistant was cut off in its answer: it may not say more at once."
SPEECHLESS = "The assistant came to its end without an answer."
GRACE_S = 0.5
"""So long a tool may take to notice that it was cancelled; then it is left to itself."""


class Settled(msgspec.Struct, frozen=True):
    """What a person decided about a call, and who that was."""

    granted: bool
    by: str = ""


class Desk(EventSink, Protocol):
    """What a level needs of its run."""

    @property
    def catalog(self) -> Catalog | None:
        """Where models are found."""

    async def settled(self, block: int) -> Settled:
        """Wait until a person has decided about a call."""


class Level:
    """One agent, what was said to it before, and the call it works for."""

    def __init__(
        self,
        desk: Desk,
        agent: Agent,
        before: tuple[Step, ...],
        *,
        first: PreparedRequest | None = None,
        above: "Level | None" = None,
        parent: int | None = None,
    ) -> None:
        self.hurried = False
        """Whether to answer at once, without more thinking and without tools."""
        self._desk = desk
        self._agent = agent
        self._before = before
        self._first = first
        self._above = above
        self._parent = parent
        self._asking = 0
        self._timer: asyncio.Timeout | None = None
        self._waiting = 0
        self._left_s = 0.0

    @property
    def replies(self) -> list[Reply]:
        """Its replies so far."""
        return [reply for reply in self._desk.turn.replies if reply.parent == self._parent]

    @property
    def answer(self) -> str:
        """What it said last."""
        said = self._desk.turn.said_in(self.replies[-1]) if self.replies else []
        return "".join(block.text for block in said if block.kind is Kind.TEXT)

    async def work(self) -> None:
        """Go on until there is an answer, or until somebody else has to go on."""
        limits = self._agent.limits
        try:
            async with asyncio.timeout(limits.seconds) as self._timer:
                while not self._over():
                    await self._next()
        except TimeoutError:
            if self._timer is None or not self._timer.expired():
                raise
            raise LimitReached(self, "seconds", self._agent.name, limits) from None

    async def _next(self) -> None:
        if calls := self._open_calls():
            await _side_by_side([self._answer(block) for block in calls])
            return
        with self._within_limits():
            prepared = await self._next_request()
            await ReplyRunner(self._desk, self._agent, self._parent, prepared).run()

    def _over(self) -> bool:
        turn, replies = self._desk.turn, self.replies
        if not turn.live or not replies:
            return not turn.live
        last = replies[-1]
        broke_off = last.finish is Finish.CANCELLED and not last.said
        if broke_off or last.said == PAUSED:
            return False
        if not last.calls or last.finish not in GOES_ON:
            return True
        return not self._open_calls() and any(turn.blocks[number].awaited for number in last.calls)

    def _open_calls(self) -> list[Block]:
        """The calls that are ours to run, and have not come back."""
        blocks = self._desk.turn.blocks
        calls = [blocks[number] for number in self.replies[-1].calls] if self.replies else []
        return [block for block in calls if block.awaited and not self._agent.is_client_tool(block.name)]

    @contextmanager
    def _within_limits(self) -> Iterator[None]:
        """Ask for one reply more, unless that is too much for this level or one above it."""
        for level in self._up():
            turn, parent, limits = self._desk.turn, level._parent, level._agent.limits
            spent = [reply for reply in turn.replies if parent is None or turn.within(reply.parent, parent)]
            if what := exceeded(limits, spent, level._asking):
                raise LimitReached(level, what, level._agent.name, limits)
        for level in self._up():
            level._asking += 1
        try:
            yield
        finally:
            for level in self._up():
                level._asking -= 1

    def _up(self) -> Iterator["Level"]:
        """This level, and those it works for."""
        level: Level | None = self
        while level is not None:
            yield level
            level = level._above

    async def _next_request(self) -> PreparedRequest:
        """The next request. One that cannot be made fails like one that cannot be sent."""
        if self._first is not None and not self.replies and not self.hurried:
            return self._first
        try:
            return await asyncio.to_thread(self._prepared)
        except Refused as refused:
            if self._desk.turn.seq < 0:
                raise
            raise ReplyFailed(TurnFailed("refused", str(refused))) from None

    def _prepared(self) -> PreparedRequest:
        """A note that the turn has already is not repeated."""
        prepared = self._without_tools() if self.hurried else self._request()
        known = {notice.text for notice in self._desk.turn.notices if notice.block == self._parent}
        notes = tuple(note for note in prepared.notes if note not in known)
        return msgspec.structs.replace(prepared, notes=notes)

    def _without_tools(self) -> PreparedRequest:
        """A request for an answer now. Where tools cannot be forbidden they are offered, and then not run."""
        try:
            prepared = self._request(Effort.OFF, "none")
            bodies.write(prepared.route, prepared.request)
        except Refused:
            prepared = self._request(Effort.OFF)
        return prepared

    def _request(self, thinking: Effort | None = None, tool_choice: str = "") -> PreparedRequest:
        steps = (*self._before, *replies_of(self._desk.turn, self._parent))
        agent = self._agent if thinking is None else msgspec.structs.replace(self._agent, thinking=thinking)
        return prepare_reply(agent, steps, catalog=self._desk.catalog, tool_choice=tool_choice)

    async def _answer(self, block: Block) -> None:
        came = await self._came(block)
        if block.awaited:  # a tool that did not care to be stopped may come back when nobody waits any more
            self._desk.emit(ToolFinished(block.number, came.result, came.error))

    async def _came(self, block: Block) -> Came:
        if self.hurried:
            return Came(error=HURRIED)
        if block.kind is not Kind.ASSISTANT_CALL:
            return await self._use(block)
        came = await self._delegate(block)
        for event in given_up(self._desk.turn, block.number):
            self._desk.emit(event)
        return came

    async def _use(self, block: Block) -> Came:
        tool = self._agent.tool(block.name)
        if tool is None:
            names = ", ".join(one.name for one in self._agent.offered) or "none"
            return Came(error=f"There is no tool called {block.name!r}. Those there are: {names}.")
        if tool.approval and not await self._let_run(block):
            return Came(error=DENIED)
        try:
            return await call(tool, block.text)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            return Came(error=f"{block.name} was cancelled from within. Try again, or go on without it.")

    async def _let_run(self, block: Block) -> bool:
        if block.approval is Approval.NOT_ASKED:
            self._desk.emit(ApprovalAsked(block.number))
        if block.approval is Approval.ASKED:
            with self._clocks_stopped():
                settled = await self._desk.settled(block.number)
            self._desk.emit(ApprovalSettled(block.number, settled.granted, settled.by))
        return block.approval is Approval.GRANTED

    async def _delegate(self, block: Block) -> Came:
        """Let an assistant work on a call. That it fails is a result like any other."""
        assistant = next((one for one in self._agent.assistants if (one.id, one.name) == _who(block)), None)
        if assistant is None:
            return Came(error=f"There is no assistant called {block.name!r} any more. Go on without it.")
        if block.blank:
            return Came(error=IDLE)
        alone = msgspec.structs.replace(assistant, client_tools=())
        level = Level(self._desk, alone, (UserMessage(block.text),), above=self, parent=block.number)
        why = ""
        try:
            await level.work()
        except LimitReached as reached:
            if reached.whose is not level:
                raise
            why = str(reached)
        except ReplyFailed as failed:
            why = str(failed)
        return level._result(why)

    def _result(self, why_not: str) -> Came:
        """What it said last, and why that is not all it was to say."""
        said = self.answer if self.answer.strip() else ""
        cut = bool(self.replies) and self.replies[-1].finish is Finish.LENGTH
        return Came(said, why_not or (CUT if cut else "" if said else SPEECHLESS))

    @contextmanager
    def _clocks_stopped(self) -> Iterator[None]:
        """Time that a person takes is nobody's."""
        for level in self._up():
            level._stop_clock()
        try:
            yield
        finally:
            for level in self._up():
                level._start_clock()

    def _stop_clock(self) -> None:
        self._waiting += 1
        timer = self._timer
        if timer is not None and (when := timer.when()) is not None and not timer.expired():
            self._left_s = when - asyncio.get_running_loop().time()
            timer.reschedule(None)

    def _start_clock(self) -> None:
        self._waiting -= 1
        timer, limited = self._timer, self._agent.limits.seconds is not None
        if not self._waiting and timer is not None and limited and not timer.expired():
            timer.reschedule(asyncio.get_running_loop().time() + self._left_s)


def _who(block: Block) -> tuple[str, str]:
    return block.assistant_id, block.name


async def _side_by_side(works: Sequence[Coroutine[Any, Any, None]]) -> None:
    """Do all at once. When one raises, the others are cancelled; one that does not care is left behind."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in done:
            task.result()
    finally:
        await put_down(tasks, GRACE_S)


async def put_down(tasks: Sequence[asyncio.Task[None]], grace_s: float) -> None:
    """Cancel tasks, and give them a little time to end."""
    for task in tasks:
        task.cancel()
    _, late = await asyncio.wait(tasks, timeout=grace_s)
    if late:
        logger.warning("a tool goes on after it was stopped, and is left to itself")
