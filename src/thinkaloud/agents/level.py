"""One agent at work in a run: it asks its model, has its calls run, and asks again, until there is an answer.

What to do next follows from the turn so far and from nothing else, so that a run can go on where another
process left it. An assistant is a level of its own, below the call that gave it its task.
"""

import asyncio
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import msgspec

from thinkaloud.agents.agent import Agent
from thinkaloud.agents.limits import LimitReached, exceeded
from thinkaloud.agents.replying import GOES_ON, PAUSED, ReplyFailed, Replying, Teller
from thinkaloud.agents.tools import Came, call
from thinkaloud.canon import ApprovalAsked, ApprovalSettled, Finish, Kind, ToolFinished
from thinkaloud.canon.requests import Level as Effort
from thinkaloud.canon.requests import UserMessage
from thinkaloud.catalog import Catalog
from thinkaloud.client.prompting import Options, Prepared, need_key, prepare
from thinkaloud.context import Conversation, Step, replies_of
from thinkaloud.transcript import Approval, Block, Reply, given_up

DENIED = "A person was asked whether this may run, and said no. Go on without it."
SPEECHLESS = "The assistant came to its end without an answer."
GRACE_S = 0.5
"""So long a tool may take to notice that it was cancelled; then it is left to itself."""


class Settled(msgspec.Struct, frozen=True):
    """What a person decided about a call, and who that was."""

    granted: bool
    by: str = ""


class Desk(Teller, Protocol):
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
        first: Prepared | None = None,
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
        self._stay_within_limits()
        ready = await asyncio.to_thread(self._prepared)
        await Replying(self._desk, self._agent, self._parent, ready).run()

    def _over(self) -> bool:
        turn, replies = self._desk.turn, self.replies
        if not turn.live or not replies:
            return not turn.live
        last = replies[-1]
        if last.finish is Finish.CANCELLED or last.said == PAUSED:
            return False
        if not last.calls or last.finish not in GOES_ON:
            return True
        return not self._open_calls() and any(turn.blocks[number].awaited for number in last.calls)

    def _open_calls(self) -> list[Block]:
        """The calls that are ours to run, and have not come back."""
        blocks = self._desk.turn.blocks
        calls = [blocks[number] for number in self.replies[-1].calls] if self.replies else []
        return [block for block in calls if block.awaited and not self._agent.is_client_tool(block.name)]

    def _stay_within_limits(self) -> None:
        for level in self._up():
            turn, parent = self._desk.turn, level._parent
            spent = [reply for reply in turn.replies if parent is None or turn.within(reply.parent, parent)]
            if what := exceeded(level._agent.limits, spent):
                raise LimitReached(level, what, level._agent.name, level._agent.limits)

    def _up(self) -> Iterator["Level"]:
        """This level, and those it works for."""
        level: Level | None = self
        while level is not None:
            yield level
            level = level._above

    def _prepared(self) -> Prepared:
        """The next request. What could not be honoured is told of once."""
        agent, first = self._agent, not self.replies
        if first and self._first is not None and not self.hurried:
            return self._first
        conversation = Conversation(
            (*self._before, *replies_of(self._desk.turn, self._parent)), agent.system, agent.offered
        )
        options = Options(
            tools=agent.offered,
            tool_choice="none" if self.hurried and agent.offered else "",
            max_tokens=agent.max_tokens,
            context_mode=agent.context_mode,
            catalog=self._desk.catalog,
        )
        thinking = Effort.OFF if self.hurried else agent.thinking
        ready = prepare(conversation, model=agent.model, thinking=thinking, options=options)
        need_key(ready.route)
        return ready if first or self.hurried else msgspec.structs.replace(ready, notes=())

    async def _answer(self, block: Block) -> None:
        came = await (self._delegate(block) if block.kind is Kind.ASSISTANT_CALL else self._use(block))
        self._desk.tell(ToolFinished(block.number, came.result, came.error))

    async def _use(self, block: Block) -> Came:
        tool = self._agent.tool(block.name)
        if tool is None:
            names = ", ".join(one.name for one in self._agent.offered) or "none"
            return Came(error=f"There is no tool called {block.name!r}. Those there are: {names}.")
        if tool.approval and not await self._let_run(block):
            return Came(error=DENIED)
        return await call(tool, block.text)

    async def _let_run(self, block: Block) -> bool:
        if block.approval is Approval.NOT_ASKED:
            self._desk.tell(ApprovalAsked(block.number))
        if block.approval is Approval.ASKED:
            with self._clocks_stopped():
                settled = await self._desk.settled(block.number)
            self._desk.tell(ApprovalSettled(block.number, settled.granted, settled.by))
        return block.approval is Approval.GRANTED

    async def _delegate(self, block: Block) -> Came:
        """Let an assistant work on a call. That it fails is a result like any other."""
        assistant = next(one for one in self._agent.assistants if (one.id, one.name) == _who(block))
        alone = msgspec.structs.replace(assistant, client_tools=())
        level = Level(self._desk, alone, (UserMessage(block.text),), above=self, parent=block.number)
        try:
            await level.work()
        except LimitReached as reached:
            if reached.whose is not level:
                raise
            return level._given_up(block, str(reached))
        except ReplyFailed as failed:
            return level._given_up(block, str(failed))
        answer = level.answer
        return Came(answer) if answer.strip() else Came(error=SPEECHLESS)

    def _given_up(self, call_block: Block, why: str) -> Came:
        for event in given_up(self._desk.turn, call_block.number):
            self._desk.tell(event)
        return Came(self.answer, why)

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
        if self._waiting == 1 and self._timer is not None and (when := self._timer.when()) is not None:
            self._left_s = when - asyncio.get_running_loop().time()
            self._timer.reschedule(None)

    def _start_clock(self) -> None:
        self._waiting -= 1
        if not self._waiting and self._timer is not None and self._agent.limits.seconds is not None:
            self._timer.reschedule(asyncio.get_running_loop().time() + self._left_s)


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
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks, timeout=GRACE_S)
