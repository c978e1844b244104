"""A run of an agent: one turn, with its entries as they happen, and methods to control it.

Leaving `Run.entries` early stops everything, down to the deepest assistant. A turn that waits for an approval
can be resumed from its entries, in this process or in another one.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Collection
from typing import Protocol

import msgspec

from thinkaloud.agents.loop import GRACE_S, AgentLoop, ApprovalDecision, cancel_tasks, wait_until_done
from thinkaloud.agents.reply import TRUSTED_FINISHES, ReplyFailed
from thinkaloud.agents.spec import Agent, LimitReached
from thinkaloud.agents.summaries import Summaries, prompt_for
from thinkaloud.agents.watchers import TurnWatcher
from thinkaloud.client.api import BatchSink, ask, open_events
from thinkaloud.client.follow import Clock, monotonic_clock
from thinkaloud.client.http import Client
from thinkaloud.client.prepared_request import Options, PreparedRequest, parse_thinking
from thinkaloud.core.canon import (
    BlockEnded,
    Entry,
    Event,
    Finish,
    Kind,
    NoticeGiven,
    Refused,
    ReplyEnded,
    ToolFinished,
    TurnEnded,
    TurnFailed,
    TurnStarted,
    Usage,
    Wording,
)
from thinkaloud.core.canon.requests import ThinkingLevel
from thinkaloud.core.catalog import Catalog
from thinkaloud.core.context import Step
from thinkaloud.core.transcript import (
    Approval,
    Block,
    BlockStatus,
    Turn,
    apply,
    events_to_end_blocks,
    events_to_end_turn,
)
from thinkaloud.core.transcript.reducer import STOPPED_ERROR

ANSWER_NOW = NoticeGiven.of(
    "answer_now", Wording("The thinking was stopped, and the model was asked to answer now.")
)
_TICK_S = 1.0
_SUMMARY_TOKENS = 100
_ENDS = (TurnEnded, TurnFailed)


class ByteSink(Protocol):
    """Gets the bytes of a model's response after the entries that were read from them."""

    def __call__(self, data: bytes, *, ended: bool) -> None:
        """Take bytes. `ended` tells that the response has ended with them, or before."""


class RunContext(msgspec.Struct, frozen=True, kw_only=True):
    """The environment of a run: the catalog, the HTTP client and the clock."""

    catalog: Catalog | None = None
    client: Client | None = None
    clock: Clock = msgspec.field(default_factory=monotonic_clock)
    silence_notice_s: float = 30.0
    """A notice is given when the model has sent nothing for this long."""
    byte_sink: ByteSink | None = None
    """Gets the responses to the run's own requests, byte for byte. It is called for each read of a response,
    without bytes where they are not the run's own."""


class Run:
    """One run of an agent. `turn` is the turn so far."""

    def __init__(
        self,
        agent: Agent,
        history: tuple[Step, ...],
        *,
        context: RunContext | None = None,
        first_request: PreparedRequest | None = None,
        turn: Turn | None = None,
    ) -> None:
        """Start a turn after `history`, or resume `turn`. The caller may have prepared `first_request`."""
        self.turn = turn or Turn()
        self._context = context or RunContext()
        self.now_ms = self._context.clock
        """The time on the run's clock."""
        self.pass_on: ByteSink = self._context.byte_sink or _discard_bytes
        """Passes on the bytes of a read, after their events."""
        self._loop = AgentLoop(self, agent, history, first_request=first_request)
        self._client_tool_names = [tool.name for tool in agent.client_tools]
        self._sink: Callable[[Entry], None] = _discard_entry
        self._summaries = Summaries(write=self._summary if agent.summary_model else None)
        self._summary_model = agent.summary_model
        self._watcher = TurnWatcher(
            silent_s=self._context.silence_notice_s, budget_tokens=_budget_tokens(agent)
        )
        self._decisions: dict[int, asyncio.Future[ApprovalDecision]] = {}
        self._work_task: asyncio.Task[None] | None = None
        self._answer_now_requested = False
        self._summary_tasks: set[asyncio.Task[None]] = set()
        self._ticker: asyncio.TimerHandle

    @property
    def catalog(self) -> Catalog | None:
        """The catalog in which models are looked up."""
        return self._context.catalog

    async def execute(self, sink: Callable[[Entry], None]) -> None:
        """Run the turn to its end; `sink` gets each entry when it happens.

        Faults before the first entry are raised. A cancel stops everything under way. `sink` must not raise:
        an entry is part of the turn by then.
        """
        self._sink = sink
        self._ticker = asyncio.get_running_loop().call_later(_TICK_S, self._tick)
        task = asyncio.create_task(self._run())
        try:
            await wait_until_done(task)
            task.result()
        finally:
            self._ticker.cancel()
            if self._summary_tasks or not task.done():
                await cancel_tasks([task, *self._summary_tasks], 2 * GRACE_S)

    async def entries(self) -> AsyncGenerator[Entry, None]:
        """Yield the entries while they happen; leaving early stops everything under way."""
        waiting: deque[Entry] = deque()
        changed = asyncio.Event()

        def sink(entry: Entry) -> None:
            waiting.append(entry)
            changed.set()

        running = asyncio.create_task(self.execute(sink))
        running.add_done_callback(lambda _: changed.set())
        try:
            while waiting or not running.done():
                while waiting:
                    yield waiting.popleft()
                changed.clear()
                if not running.done():
                    await changed.wait()
            running.result()
        finally:
            running.cancel()
            await asyncio.wait((running,))

    def decide(self, block: int, *, granted: bool, by: str = "") -> None:
        """Approve or deny a waiting call. Also possible before `execute` resumes a waiting turn."""
        if block not in _blocks_awaiting_approval(self.turn) or self._decision_future(block).done():
            raise Refused(
                "Block {block} is not waiting for an approval, or no longer is. Reload the turn.", block=block
            )
        self._decision_future(block).set_result(ApprovalDecision(granted, by))

    def answer_now(self) -> None:
        """Stop thinking, tools and assistants, and ask the model to answer with what it has."""
        answering = any(
            not block.blank
            for block in self.turn.own_blocks(Kind.TEXT)
            if block.status is BlockStatus.RUNNING
        )
        if self._work_task is None or self._work_task.done() or not self.turn.live:
            raise Refused("The turn is not running, so there is nothing to answer now. Ask again instead.")
        if answering or self._answer_now_requested or self._loop.answer_now:
            raise Refused("The model is already answering. Wait for it, or cancel the turn.")
        self._answer_now_requested = True
        self._work_task.cancel()

    def emit(self, event: Event, at_ms: int | None = None) -> None:
        """Append an event; before an end, the last summary; afterwards, the notices of the watchers."""
        if type(event) in _ENDS:
            if line := self._summaries.last(self.turn):
                self.emit(line)
            self.append(event, at_ms)
            return
        entry = self.append(event, at_ms)
        for notice in self._watcher.feed(self.turn, entry):
            self.emit(notice)
        if type(event) is TurnStarted and self._loop.answer_now:
            self.emit(ANSWER_NOW)

    def append(self, event: Event, at_ms: int | None = None) -> Entry:
        """Stamp an event, apply it to the turn and pass it to the sink. Every entry of a run is made here."""
        entry = Entry(self.turn.seq + 1, event, self._context.clock() if at_ms is None else at_ms)
        apply(self.turn, entry)
        self._sink(entry)
        return entry

    async def send(self, prepared: PreparedRequest, sink: BatchSink) -> None:
        """Send a request and pass the events of its response to `sink` as they arrive, to the end."""
        keep_bytes = self._context.byte_sink is not None
        async with open_events(prepared, client=self._context.client, keep_bytes=keep_bytes) as events:
            await events.deliver(sink)

    async def wait_for_decision(self, block: int) -> ApprovalDecision:
        """Wait until a person has approved or denied a call."""
        return await self._decision_future(block)

    def _decision_future(self, block: int) -> asyncio.Future[ApprovalDecision]:
        return self._decisions.setdefault(block, asyncio.get_running_loop().create_future())

    async def _run(self) -> None:
        self._emit_all(events_to_resume(self.turn, self._client_tool_names))
        try:
            await self._work()
        except LimitReached as limit_error:
            start: list[Event] = [TurnStarted()] if self.turn.seq < 0 else []
            notice = NoticeGiven.of(limit_error.code, limit_error.wording)
            self._emit_all(
                [*start, *events_to_end_blocks(self.turn), notice, TurnEnded(Finish.LENGTH, limit_error.code)]
            )
        except ReplyFailed as failure:
            self._emit_all(events_to_end_turn(self.turn, failure.failure))
        if self.turn.live:
            last = self._loop.replies[-1]
            calls_left = (
                any(self.turn.blocks[number].awaiting_result for number in last.calls)
                and last.finish in TRUSTED_FINISHES
            )
            self.emit(TurnEnded(Finish.TOOL_CALLS if calls_left else last.finish, last.said))

    async def _work(self) -> None:
        while True:
            self._work_task = asyncio.create_task(self._loop.work())
            try:
                return await self._work_task
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if not self._answer_now_requested or (task is not None and task.cancelling()):
                    raise
                self._answer_now_requested, self._loop.answer_now = False, True
                if self.turn.live and self.turn.seq >= 0:
                    self._emit_all([*events_to_end_blocks(self.turn), ANSWER_NOW])

    def _emit_all(self, events: list[Event]) -> None:
        for event in events:
            self.emit(event)

    def _tick(self) -> None:
        """Emit what depends on the clock: the silence notice and the summaries. Runs every second."""
        self._ticker = asyncio.get_running_loop().call_later(_TICK_S, self._tick)
        now_ms = self._context.clock()
        self._emit_if_live(self._summaries.feed(self.turn, now_ms))
        if not any(not future.done() for future in self._decisions.values()):
            self._emit_if_live(self._watcher.silence_notice(now_ms))
        if self._summaries.due(self.turn, now_ms):
            task = asyncio.create_task(self._write_summary(now_ms))
            self._summary_tasks.add(task)
            task.add_done_callback(self._summary_tasks.discard)

    async def _write_summary(self, now_ms: int) -> None:
        self._emit_if_live(await self._summaries.write_line(self.turn, now_ms))

    def _emit_if_live(self, event: Event | None) -> None:
        if event is not None and self.turn.live and self.turn.seq >= 0:
            self.emit(event)

    async def _summary(self, thinking: str) -> str:
        options = Options(
            max_tokens=_SUMMARY_TOKENS, catalog=self._context.catalog, client=self._context.client
        )
        model = self._summary_model
        return (
            await ask(prompt_for(thinking), model=model, thinking=ThinkingLevel.OFF, options=options)
        ).answer


def waits_for_approval(turn: Turn) -> bool:
    """Whether a running turn waits for an approval. Such a turn can be resumed later."""
    return turn.live and bool(_blocks_awaiting_approval(turn))


def _blocks_awaiting_approval(turn: Turn) -> list[int]:
    return [
        block.number for block in turn.blocks if block.approval is Approval.ASKED and block.awaiting_result
    ]


def events_to_resume(turn: Turn, client_tools: Collection[str] = ()) -> list[Event]:
    """Return the events to append before a turn whose process stopped can be resumed.

    An incomplete reply is ended and requested again. A tool that was running may have had its effect, so it
    is not run again: its call gets an error for the model. An assistant continues, a call that waits for an
    approval keeps waiting, and calls of `client_tools` are left to the client.
    """
    if turn.seq < 0 or not turn.live:
        return []
    until = {reply.parent: reply.until for reply in turn.replies}
    unfinished = [block for block in reversed(turn.blocks) if block.number >= until.get(block.parent, 0)]
    calls = [turn.blocks[number] for reply in turn.replies for number in reply.calls]
    started_calls = [call for call in calls if not _can_wait(call, client_tools)]
    usage = Usage() if turn.replies else turn.usage
    parents = dict.fromkeys(block.parent for block in unfinished)
    return [
        *(
            BlockEnded(block.number, interrupted=True)
            for block in unfinished
            if block.status is BlockStatus.RUNNING
        ),
        *(ReplyEnded(Finish.CANCELLED, usage=usage, parent=parent) for parent in parents),
        *(
            ToolFinished(block.number, error=STOPPED_ERROR)
            for block in (*unfinished, *started_calls)
            if block.awaiting_result
        ),
    ]


def _can_wait(call: Block, client_tools: Collection[str]) -> bool:
    """Whether a call has had no effect yet that running it again would repeat."""
    to_client = call.parent is None and call.name in client_tools
    return call.kind is Kind.ASSISTANT_CALL or call.approval is Approval.ASKED or to_client


def _discard_entry(entry: Entry) -> None:
    """Ignore an entry: the sink of a run that is not executed yet."""


def _discard_bytes(data: bytes, *, ended: bool) -> None:
    """Ignore bytes: the sink of a run whose response nobody sends on."""


def _budget_tokens(agent: Agent) -> int | None:
    return parse_thinking(agent.thinking).budget_tokens
