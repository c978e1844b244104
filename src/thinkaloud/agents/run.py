"""A run of an agent: one turn, told entry by entry while it happens, and the ways to steer it.

`Run.entries` tells it; leaving it early stops all that is under way, down to the deepest assistant. A turn
that was left waiting for an approval goes on from its entries, in this process or in another.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Collection

import msgspec

from thinkaloud.agents.agent import Agent
from thinkaloud.agents.level import GRACE_S, Level, Settled, put_down
from thinkaloud.agents.limits import LimitReached
from thinkaloud.agents.replying import GOES_ON, ReplyFailed
from thinkaloud.agents.summaries import Summaries, prompt_for
from thinkaloud.agents.watching import Watch
from thinkaloud.canon import (
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
)
from thinkaloud.canon.requests import Level as Effort
from thinkaloud.catalog import Catalog
from thinkaloud.client import steady_clock
from thinkaloud.client.api import Clock, EventBatch, ask, send
from thinkaloud.client.http import Client
from thinkaloud.client.prepare import Options, PreparedRequest, parse_thinking
from thinkaloud.context import Step
from thinkaloud.transcript import Approval, Block, Status, Turn, apply, given_up, stopped
from thinkaloud.transcript.stopping import STOPPED

ANSWER_NOW = NoticeGiven("answer_now", "The thinking was stopped, and the model was asked to answer now.")
_TICK_S = 1.0
_SUMMARY_TOKENS = 100
_ENDS = (TurnEnded, TurnFailed)


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """What a run has around it: where models are found, how they are reached, what time it is."""

    catalog: Catalog | None = None
    client: Client | None = None
    clock: Clock = msgspec.field(default_factory=steady_clock)
    silent_s: float = 30.0
    """After so long without a word a notice says so."""


class Run:
    """One run; `turn` is the turn so far."""

    def __init__(
        self,
        agent: Agent,
        before: tuple[Step, ...],
        *,
        around: Surroundings | None = None,
        first: PreparedRequest | None = None,
        turn: Turn | None = None,
    ) -> None:
        """Begin a turn after these steps, with its first request if that is ready; or go on with a turn."""
        self.turn = turn or Turn()
        self._around = around or Surroundings()
        self._top = Level(self, agent, before, first=first)
        self._theirs = [tool.name for tool in agent.client_tools]
        self._sink: Callable[[Entry], None] = _nowhere
        self._summaries = Summaries(write=self._summary if agent.summary_model else None)
        self._summary_model = agent.summary_model
        self._watch = Watch(silent_s=self._around.silent_s, budget_tokens=_budget(agent))
        self._settled: dict[int, asyncio.Future[Settled]] = {}
        self._working: asyncio.Task[None] | None = None
        self._hurry = False
        self._writing: set[asyncio.Task[None]] = set()

    @property
    def catalog(self) -> Catalog | None:
        """Where models are found."""
        return self._around.catalog

    async def execute(self, sink: Callable[[Entry], None]) -> None:
        """Run the turn to its end; `sink` gets each entry when it happens.

        Faults before the first entry are raised. A cancel stops everything under way. `sink` must not raise:
        an entry is part of the turn by then.
        """
        self._sink = sink
        tasks = [asyncio.create_task(self._run()), asyncio.create_task(self._tick())]
        try:
            await asyncio.wait(tasks[:1])
            tasks[0].result()
        finally:
            await put_down([*tasks, *self._writing], 2 * GRACE_S)

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

    def settle(self, block: int, *, granted: bool, by: str = "") -> None:
        """Let a call run that waits for it, or not; also before a turn that was left waiting goes on."""
        if block not in _waiting(self.turn) or self._decision(block).done():
            raise Refused(f"Block {block} of this turn does not wait for an approval, or does no more.")
        self._decision(block).set_result(Settled(granted, by))

    def answer_now(self) -> None:
        """Stop thinking, tools and assistants, and have the model answer with what there is."""
        answering = any(
            not block.blank for block in self.turn.top(Kind.TEXT) if block.status is Status.RUNNING
        )
        if self._working is None or self._working.done() or not self.turn.live:
            raise Refused("Nothing is under way that could be hurried.")
        if answering or self._hurry or self._top.hurried:
            raise Refused("The model is answering already. Wait for it, or stop the turn.")
        self._hurry = True
        self._working.cancel()

    def now_ms(self) -> int:
        """The time on the run's clock."""
        return self._around.clock()

    def emit(self, event: Event, at_ms: int | None = None) -> None:
        """Append an event, the summary that is due before an end, and what the watchers notice."""
        if type(event) in _ENDS and (line := self._summaries.last(self.turn)):
            self.emit(line)
        entry = self.append(event, at_ms)
        for notice in self._watch.feed(self.turn, entry) if self.turn.live else ():
            self.emit(notice)
        if type(event) is TurnStarted and self._top.hurried:
            self.emit(ANSWER_NOW)

    def append(self, event: Event, at_ms: int | None = None) -> Entry:
        """Stamp an event, apply it to the turn and hand it on: the one place where a run grows."""
        entry = Entry(self.turn.seq + 1, event, self._around.clock() if at_ms is None else at_ms)
        apply(self.turn, entry)
        self._sink(entry)
        return entry

    def send(self, prepared: PreparedRequest) -> AsyncGenerator[EventBatch, None]:
        """Send a request."""
        return send(prepared, client=self._around.client)

    async def settled(self, block: int) -> Settled:
        """Wait until a person has decided about a call."""
        return await self._decision(block)

    def _decision(self, block: int) -> asyncio.Future[Settled]:
        return self._settled.setdefault(block, asyncio.get_running_loop().create_future())

    async def _run(self) -> None:
        self._emit_all(left_behind(self.turn, self._theirs))
        try:
            await self._work()
        except LimitReached as reached:
            begun: list[Event] = [TurnStarted()] if self.turn.seq < 0 else []
            notice = NoticeGiven(reached.code, str(reached))
            self._emit_all([*begun, *given_up(self.turn), notice, TurnEnded(Finish.LENGTH, reached.code)])
        except ReplyFailed as failed:
            self._emit_all(stopped(self.turn, failed.failed))
        if self.turn.live:
            last = self._top.replies[-1]
            left = any(self.turn.blocks[number].awaited for number in last.calls) and last.finish in GOES_ON
            self.emit(TurnEnded(Finish.TOOL_CALLS if left else last.finish, last.said))

    async def _work(self) -> None:
        while True:
            self._working = asyncio.create_task(self._top.work())
            try:
                return await self._working
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if not self._hurry or (task is not None and task.cancelling()):
                    raise
                self._hurry, self._top.hurried = False, True
                if self.turn.live and self.turn.seq >= 0:
                    self._emit_all([*given_up(self.turn), ANSWER_NOW])

    def _emit_all(self, events: list[Event]) -> None:
        for event in events:
            self.emit(event)

    async def _tick(self) -> None:
        """What is due by the clock: that nothing comes, and what is being thought."""
        while True:
            await asyncio.sleep(_TICK_S)
            now_ms = self._around.clock()
            self._emit_if_live(self._summaries.feed(self.turn, now_ms))
            if not any(not future.done() for future in self._settled.values()):
                self._emit_if_live(self._watch.silent(now_ms))
            if self._summaries.due(self.turn, now_ms):
                writing = asyncio.create_task(self._write_summary(now_ms))
                self._writing.add(writing)
                writing.add_done_callback(self._writing.discard)

    async def _write_summary(self, now_ms: int) -> None:
        self._emit_if_live(await self._summaries.asked(self.turn, now_ms))

    def _emit_if_live(self, event: Event | None) -> None:
        if event is not None and self.turn.live and self.turn.seq >= 0:
            self.emit(event)

    async def _summary(self, thinking: str) -> str:
        options = Options(
            max_tokens=_SUMMARY_TOKENS, catalog=self._around.catalog, client=self._around.client
        )
        model = self._summary_model
        return (await ask(prompt_for(thinking), model=model, thinking=Effort.OFF, options=options)).answer


def waits(turn: Turn) -> bool:
    """Whether a live turn is waiting for a person to let a call run: it can go on whenever they do."""
    return turn.live and bool(_waiting(turn))


def _waiting(turn: Turn) -> list[int]:
    return [block.number for block in turn.blocks if block.approval is Approval.ASKED and block.awaited]


def left_behind(turn: Turn, theirs: Collection[str] = ()) -> list[Event]:
    """The events that a turn is owed when whoever ran it is gone, before it can go on.

    Half a reply is given up and asked for again. A tool that was at work may have done what it was called
    for, so it is not run twice: its call comes to nothing, and the model is told so. An assistant goes on,
    a call that waits for an approval waits on, and tools of `theirs` are left to the client.
    """
    if turn.seq < 0 or not turn.live:
        return []
    until = {reply.parent: reply.until for reply in turn.replies}
    half = [block for block in reversed(turn.blocks) if block.number >= until.get(block.parent, 0)]
    calls = [turn.blocks[number] for reply in turn.replies for number in reply.calls]
    begun = [call for call in calls if not _can_wait(call, theirs)]
    usage = Usage() if turn.replies else turn.usage
    levels = dict.fromkeys(block.parent for block in half)
    return [
        *(BlockEnded(block.number, interrupted=True) for block in half if block.status is Status.RUNNING),
        *(ReplyEnded(Finish.CANCELLED, usage=usage, parent=level) for level in levels),
        *(ToolFinished(block.number, error=STOPPED) for block in (*half, *begun) if block.awaited),
    ]


def _can_wait(call: Block, theirs: Collection[str]) -> bool:
    """Whether nothing was done for a call that could be done twice."""
    to_client = call.parent is None and call.name in theirs
    return call.kind is Kind.ASSISTANT_CALL or call.approval is Approval.ASKED or to_client


def _nowhere(entry: Entry) -> None:
    """The sink of a run that is not executed yet."""


def _budget(agent: Agent) -> int | None:
    return parse_thinking(agent.thinking).budget_tokens
