"""The agent loop: asks the model, runs its tool calls, and asks again until there is an answer.

The next step depends only on the turn so far, so another process can resume a run. An assistant has its own
loop below the call that gave it its task.
"""

import asyncio
import logging
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import msgspec

from thinkaloud.agents.reply import TRUSTED_FINISHES, EventSink, ReplyFailed, ReplyRunner, failure_of
from thinkaloud.agents.spec import Agent, LimitReached, exceeded_limit
from thinkaloud.agents.tools import ToolOutcome, call_tool
from thinkaloud.client.prepared_request import Options, PreparedRequest, prepare, require_key
from thinkaloud.core.canon import ApprovalAsked, ApprovalSettled, Finish, Kind, Refused, ToolFinished
from thinkaloud.core.canon.requests import ThinkingLevel, UserMessage, options_of
from thinkaloud.core.catalog import Catalog
from thinkaloud.core.context import Context, Step, replies_of
from thinkaloud.core.dialects import build_request
from thinkaloud.core.transcript import PAUSE_TURN, Approval, Block, Reply, events_to_end_blocks

logger = logging.getLogger(__name__)

DENIED = "The user did not approve this call, so it was not run. Continue without it."
SKIPPED_FOR_ANSWER = "The call was not run: the user asked for the answer now. Answer with what you have."
NO_TASK = "The assistant got no task. Call it again with a task in plain words."
CUT_OFF = "The assistant's answer was cut off at its maximum length."
NO_ANSWER = "The assistant ended without an answer."
GRACE_S = 0.5
"""How long a cancelled tool may take to end. After that the run no longer waits for it."""


class ApprovalDecision(msgspec.Struct, frozen=True):
    """A person's decision about a tool call."""

    granted: bool
    by: str = ""


class RunPort(EventSink, Protocol):
    """The part of a run that a loop uses."""

    @property
    def catalog(self) -> Catalog | None:
        """The catalog in which models are looked up."""

    async def wait_for_decision(self, block: int) -> ApprovalDecision:
        """Wait until a person has approved or denied a call."""


def prepare_reply(
    agent: Agent, steps: tuple[Step, ...], *, catalog: Catalog | None = None
) -> PreparedRequest:
    """Prepare the request for an agent's next reply. A missing key is refused before anything is sent."""
    conversation = Context(steps, agent.system, agent.tool_definitions)
    options = Options(**options_of(agent), catalog=catalog)
    prepared = prepare(conversation, model=agent.model, options=options)
    require_key(prepared.route)
    return prepared


class AgentLoop:
    """The loop of one agent. `history` is the conversation so far; `parent` is the call it works for."""

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
        """Whether to answer immediately, without thinking and tools."""
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
        """The replies of this agent so far."""
        return [reply for reply in self._port.turn.replies if reply.parent == self._parent]

    @property
    def answer(self) -> str:
        """The text of its last reply."""
        blocks = self._port.turn.blocks_of(self.replies[-1]) if self.replies else []
        return "".join(block.text for block in blocks if block.kind is Kind.TEXT)

    async def work(self) -> None:
        """Run until there is an answer, or until the caller has to run a tool."""
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
        """Return the calls of the last reply that this loop runs and that have no result yet."""
        blocks = self._port.turn.blocks
        calls = [blocks[number] for number in self.replies[-1].calls] if self.replies else []
        return [
            block for block in calls if block.awaiting_result and not self._agent.is_client_tool(block.name)
        ]

    @contextmanager
    def _within_limits(self) -> Iterator[None]:
        """Count one more pending reply. Raises `LimitReached` if this loop or a caller is at its limit."""
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
        """Yield this loop and the loops of its callers."""
        loop: AgentLoop | None = self
        while loop is not None:
            yield loop
            loop = loop._caller

    async def _next_request(self) -> PreparedRequest:
        """Return the next request. A request that is refused fails like one that cannot be sent."""
        if self._first_request is not None and not self.replies and not self.answer_now:
            return self._first_request
        try:
            return await asyncio.to_thread(self._prepare_request)
        except Refused as refused:
            if self._port.turn.seq < 0:
                raise
            raise ReplyFailed(failure_of(refused)) from None

    def _prepare_request(self) -> PreparedRequest:
        return self._request_without_tools() if self.answer_now else self._build_request(self._agent)

    def _request_without_tools(self) -> PreparedRequest:
        """Prepare a request for an immediate answer.

        Some models cannot forbid tools. They get the tools anyway, and the calls are not run.
        """
        thoughtless = msgspec.structs.replace(self._agent, thinking=ThinkingLevel.OFF)
        try:
            prepared = self._build_request(msgspec.structs.replace(thoughtless, tool_choice="none"))
            build_request(prepared.route, prepared.request)
        except Refused:
            prepared = self._build_request(thoughtless)
        return prepared

    def _build_request(self, agent: Agent) -> PreparedRequest:
        steps = (*self._history, *replies_of(self._port.turn, self._parent))
        return prepare_reply(agent, steps, catalog=self._port.catalog)

    async def _run_call(self, block: Block) -> None:
        outcome = await self._call_outcome(block)
        # A tool that ignored its cancellation may return after the call was closed.
        if block.awaiting_result:
            self._port.emit(ToolFinished(block.number, outcome.result, outcome.error, outcome.images))

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
            return ToolOutcome(error=f"There is no tool {block.name!r}. Use one of these: {names}.")
        if tool.approval and not await self._approved(block):
            return ToolOutcome(error=DENIED)
        try:
            return await call_tool(tool, block.text)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            return ToolOutcome(error=f"{block.name} cancelled itself. Try again, or continue without it.")

    async def _approved(self, block: Block) -> bool:
        if block.approval is Approval.NOT_ASKED:
            self._port.emit(ApprovalAsked(block.number))
        if block.approval is Approval.ASKED:
            with self._timers_paused():
                decision = await self._port.wait_for_decision(block.number)
            self._port.emit(ApprovalSettled(block.number, decision.granted, decision.by))
        return block.approval is Approval.GRANTED

    async def _delegate(self, block: Block) -> ToolOutcome:
        """Run an assistant for a call. Its failure is the error of the call and does not end the turn."""
        assistant = next(
            (
                candidate
                for candidate in self._agent.assistants
                if (candidate.id, candidate.name) == _assistant_identity(block)
            ),
            None,
        )
        if assistant is None:
            return ToolOutcome(error=f"The assistant {block.name!r} no longer exists. Continue without it.")
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
        """Return its last reply as the result of the call, with the error if it is incomplete."""
        answer = self.answer if self.answer.strip() else ""
        truncated = bool(self.replies) and self.replies[-1].finish is Finish.LENGTH
        return ToolOutcome(answer, error or (CUT_OFF if truncated else "" if answer else NO_ANSWER))

    @contextmanager
    def _timers_paused(self) -> Iterator[None]:
        """Pause the time limits of all loops while a person decides."""
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
    """Run all concurrently. If one raises, the others are cancelled; one that ignores it is abandoned."""
    tasks = [asyncio.create_task(coroutine) for coroutine in coroutines]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in done:
            task.result()
    finally:
        await cancel_tasks(tasks, GRACE_S)


async def wait_until_done(task: asyncio.Task[Any]) -> None:
    """Wait until a task is done, however it ends. As `asyncio.wait`, which costs several times as much."""
    if task.done():
        return
    done = asyncio.get_running_loop().create_future()

    def on_done(_: object) -> None:
        if not done.done():
            done.set_result(None)

    task.add_done_callback(on_done)
    try:
        await done
    finally:
        task.remove_done_callback(on_done)


async def cancel_tasks(tasks: Sequence[asyncio.Task[None]], grace_s: float) -> None:
    """Cancel tasks and wait up to `grace_s` for them to end."""
    for task in tasks:
        task.cancel()
    _, unfinished = await asyncio.wait(tasks, timeout=grace_s)
    if unfinished:
        logger.warning("a tool ignored its cancellation and is still running")
