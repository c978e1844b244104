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

from thinkaloud.agents.prepare import prepare_reply
from thinkaloud.agents.reply import TRUSTED_FINISHES, EventSink, ReplyFailed, ReplyRunner
from thinkaloud.agents.spec import Agent, LimitReached, exceeded_limit
from thinkaloud.agents.tools import ToolOutcome, call_tool
from thinkaloud.canon import (
    ApprovalAsked,
    ApprovalSettled,
    Finish,
    Kind,
    Refused,
    ToolFinished,
    TurnFailed,
)
from thinkaloud.canon.requests import ThinkingLevel as Effort
from thinkaloud.canon.requests import UserMessage
from thinkaloud.catalog import Catalog
from thinkaloud.client.prepare import PreparedRequest
from thinkaloud.context import Step, replies_of
from thinkaloud.dialects import build_request
from thinkaloud.transcript import PAUSE_TURN, Approval, Block, Reply, events_to_end_blocks

logger = logging.getLogger(__name__)

DENIED = "Nobody let this run, so it did not. Go on without it."
SKIPPED_FOR_ANSWER = "It was not run: a person asked for the answer now. Answer with what there is."
NO_TASK = "The assistant was given nothing to do. Call it again, with a task in plain words."
CUT_OFF = "The assistant was cut off in its answer: it may not say more at once."
NO_ANSWER = "The assistant came to its end without an answer."
GRACE_S = 0.5
"""So long a tool may take to notice that it was cancelled; then it is left to itself."""


class ApprovalDecision(msgspec.Struct, frozen=True):
    """What a person decided about a call, and who that was."""

    granted: bool
    by: str = ""


class RunPort(EventSink, Protocol):
    """What a level needs of its run."""

    @property
    def catalog(self) -> Catalog | None:
        """Where models are found."""

    async def wait_for_decision(self, block: int) -> ApprovalDecision:
        """Wait until a person has decided about a call."""


class AgentLoop:
    """One agent, what was said to it before, and the call it works for."""

    def __init__(
        self,
        port: RunPort,
        agent: Agent,
        history: tuple[Step, ...],
        *,
        first_request: PreparedRequest | None = None,
        caller: "AgentLoop | None" = None,
        parent: int | None = None,
    ) -> None:
        self.answer_now = False
        """Whether to answer at once, without more thinking and without tools."""
        self._port = port
        self._agent = agent
        self._history = history
        self._first_request = first_request
        self._caller = caller
        self._parent = parent
        self._pending_replies = 0
        self._timer: asyncio.Timeout | None = None
        self._pauses = 0
        self._remaining_s = 0.0

    @property
    def replies(self) -> list[Reply]:
        """Its replies so far."""
        return [reply for reply in self._port.turn.replies if reply.parent == self._parent]

    @property
    def answer(self) -> str:
        """What it said last."""
        blocks = self._port.turn.blocks_of(self.replies[-1]) if self.replies else []
        return "".join(block.text for block in blocks if block.kind is Kind.TEXT)

    async def work(self) -> None:
        """Go on until there is an answer, or until somebody else has to go on."""
        limits = self._agent.limits
        try:
            async with asyncio.timeout(limits.seconds) as self._timer:
                while not self._finished():
                    await self._step()
        except TimeoutError:
            if self._timer is None or not self._timer.expired():
                raise
            raise LimitReached(self, "seconds", self._agent.name, limits) from None

    async def _step(self) -> None:
        if calls := self._open_calls():
            await _run_concurrently([self._run_call(block) for block in calls])
            return
        with self._within_limits():
            prepared = await self._next_request()
            await ReplyRunner(self._port, self._agent, self._parent, prepared).run()

    def _finished(self) -> bool:
        turn, replies = self._port.turn, self.replies
        if not turn.live or not replies:
            return not turn.live
        last = replies[-1]
        interrupted = last.finish is Finish.CANCELLED and not last.said
        if interrupted or last.said == PAUSE_TURN:
            return False
        if not last.calls or last.finish not in TRUSTED_FINISHES:
            return True
        return not self._open_calls() and any(turn.blocks[number].awaiting_result for number in last.calls)

    def _open_calls(self) -> list[Block]:
        """The calls that are ours to run, and have not come back."""
        blocks = self._port.turn.blocks
        calls = [blocks[number] for number in self.replies[-1].calls] if self.replies else []
        return [
            block for block in calls if block.awaiting_result and not self._agent.is_client_tool(block.name)
        ]

    @contextmanager
    def _within_limits(self) -> Iterator[None]:
        """Ask for one reply more, unless that is too much for this level or one above it."""
        for loop in self._chain():
            turn, parent, limits = self._port.turn, loop._parent, loop._agent.limits
            spent = [reply for reply in turn.replies if parent is None or turn.within(reply.parent, parent)]
            if limit_name := exceeded_limit(limits, spent, loop._pending_replies):
                raise LimitReached(loop, limit_name, loop._agent.name, limits)
        for loop in self._chain():
            loop._pending_replies += 1
        try:
            yield
        finally:
            for loop in self._chain():
                loop._pending_replies -= 1

    def _chain(self) -> Iterator["AgentLoop"]:
        """This level, and those it works for."""
        loop: AgentLoop | None = self
        while loop is not None:
            yield loop
            loop = loop._caller

    async def _next_request(self) -> PreparedRequest:
        """The next request. One that cannot be made fails like one that cannot be sent."""
        if self._first_request is not None and not self.replies and not self.answer_now:
            return self._first_request
        try:
            return await asyncio.to_thread(self._prepare_request)
        except Refused as refused:
            if self._port.turn.seq < 0:
                raise
            raise ReplyFailed(TurnFailed("refused", str(refused))) from None

    def _prepare_request(self) -> PreparedRequest:
        """A note that the turn has already is not repeated."""
        prepared = self._request_without_tools() if self.answer_now else self._build_request()
        known = {notice.text for notice in self._port.turn.notices if notice.block == self._parent}
        notes = tuple(note for note in prepared.notes if note not in known)
        return msgspec.structs.replace(prepared, notes=notes)

    def _request_without_tools(self) -> PreparedRequest:
        """A request for an answer now. Where tools cannot be forbidden they are offered, and then not run."""
        try:
            prepared = self._build_request(Effort.OFF, "none")
            build_request(prepared.route, prepared.request)
        except Refused:
            prepared = self._build_request(Effort.OFF)
        return prepared

    def _build_request(self, thinking: Effort | None = None, tool_choice: str = "") -> PreparedRequest:
        steps = (*self._history, *replies_of(self._port.turn, self._parent))
        agent = self._agent if thinking is None else msgspec.structs.replace(self._agent, thinking=thinking)
        return prepare_reply(agent, steps, catalog=self._port.catalog, tool_choice=tool_choice)

    async def _run_call(self, block: Block) -> None:
        outcome = await self._call_outcome(block)
        if (
            block.awaiting_result
        ):  # a tool that did not care to be stopped may come back when nobody waits any more
            self._port.emit(ToolFinished(block.number, outcome.result, outcome.error))

    async def _call_outcome(self, block: Block) -> ToolOutcome:
        if self.answer_now:
            return ToolOutcome(error=SKIPPED_FOR_ANSWER)
        if block.kind is not Kind.ASSISTANT_CALL:
            return await self._run_tool(block)
        outcome = await self._delegate(block)
        for event in events_to_end_blocks(self._port.turn, block.number):
            self._port.emit(event)
        return outcome

    async def _run_tool(self, block: Block) -> ToolOutcome:
        tool = self._agent.tool(block.name)
        if tool is None:
            names = ", ".join(definition.name for definition in self._agent.tool_definitions) or "none"
            return ToolOutcome(error=f"There is no tool called {block.name!r}. Those there are: {names}.")
        if tool.approval and not await self._approved(block):
            return ToolOutcome(error=DENIED)
        try:
            return await call_tool(tool, block.text)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            return ToolOutcome(
                error=f"{block.name} was cancelled from within. Try again, or go on without it."
            )

    async def _approved(self, block: Block) -> bool:
        if block.approval is Approval.NOT_ASKED:
            self._port.emit(ApprovalAsked(block.number))
        if block.approval is Approval.ASKED:
            with self._timers_paused():
                decision = await self._port.wait_for_decision(block.number)
            self._port.emit(ApprovalSettled(block.number, decision.granted, decision.by))
        return block.approval is Approval.GRANTED

    async def _delegate(self, block: Block) -> ToolOutcome:
        """Let an assistant work on a call. That it fails is a result like any other."""
        assistant = next(
            (
                candidate
                for candidate in self._agent.assistants
                if (candidate.id, candidate.name) == _assistant_identity(block)
            ),
            None,
        )
        if assistant is None:
            return ToolOutcome(
                error=f"There is no assistant called {block.name!r} any more. Go on without it."
            )
        if block.blank:
            return ToolOutcome(error=NO_TASK)
        without_client_tools = msgspec.structs.replace(assistant, client_tools=())
        loop = AgentLoop(
            self._port, without_client_tools, (UserMessage(block.text),), caller=self, parent=block.number
        )
        error = ""
        try:
            await loop.work()
        except LimitReached as limit_error:
            if limit_error.loop is not loop:
                raise
            error = str(limit_error)
        except ReplyFailed as failure:
            error = str(failure)
        return loop._outcome(error)

    def _outcome(self, error: str) -> ToolOutcome:
        """What it said last, and why that is not all it was to say."""
        answer = self.answer if self.answer.strip() else ""
        truncated = bool(self.replies) and self.replies[-1].finish is Finish.LENGTH
        return ToolOutcome(answer, error or (CUT_OFF if truncated else "" if answer else NO_ANSWER))

    @contextmanager
    def _timers_paused(self) -> Iterator[None]:
        """Time that a person takes is nobody's."""
        for loop in self._chain():
            loop._pause_timer()
        try:
            yield
        finally:
            for loop in self._chain():
                loop._resume_timer()

    def _pause_timer(self) -> None:
        self._pauses += 1
        timer = self._timer
        if timer is not None and (deadline := timer.when()) is not None and not timer.expired():
            self._remaining_s = deadline - asyncio.get_running_loop().time()
            timer.reschedule(None)

    def _resume_timer(self) -> None:
        self._pauses -= 1
        timer, limited = self._timer, self._agent.limits.seconds is not None
        if not self._pauses and timer is not None and limited and not timer.expired():
            timer.reschedule(asyncio.get_running_loop().time() + self._remaining_s)


def _assistant_identity(block: Block) -> tuple[str, str]:
    return block.assistant_id, block.name


async def _run_concurrently(coroutines: Sequence[Coroutine[Any, Any, None]]) -> None:
    """Do all at once. When one raises, the others are cancelled; one that does not care is left behind."""
    tasks = [asyncio.create_task(coroutine) for coroutine in coroutines]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in done:
            task.result()
    finally:
        await cancel_tasks(tasks, GRACE_S)


async def cancel_tasks(tasks: Sequence[asyncio.Task[None]], grace_s: float) -> None:
    """Cancel tasks, and give them a little time to end."""
    for task in tasks:
        task.cancel()
    _, unfinished = await asyncio.wait(tasks, timeout=grace_s)
    if unfinished:
        logger.warning("a tool goes on after it was stopped, and is left to itself")
