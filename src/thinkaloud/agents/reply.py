"""Requests one reply of an agent's model and appends its events to the turn.

`ReplyMapper` renumbers the blocks of the reply. A dialect knows only tools, so here a call of an assistant
becomes an assistant call, with the task as its text. If a turn has only one reply, the reply ends the turn,
as without an agent. Every other reply ends with `ReplyEnded`, also after a failure, to count its usage.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol

import msgspec

from thinkaloud.agents.spec import Agent
from thinkaloud.client.api import NOT_HONOURED, BatchSink, EventBatch
from thinkaloud.client.output import output_problem
from thinkaloud.client.prepared_request import PreparedRequest
from thinkaloud.core.canon import (
    BlockEnded,
    BlockGrew,
    BlockReclassified,
    BlockSealed,
    BlockStarted,
    Event,
    Finish,
    Kind,
    NoticeGiven,
    ProviderFault,
    Refused,
    ReplyEnded,
    SummaryWritten,
    ToolFinished,
    TurnEnded,
    TurnFailed,
    TurnStarted,
    Usage,
    UsageReported,
    Wording,
)
from thinkaloud.core.transcript import PAUSE_TURN, BlockStatus, Turn

BAD_OUTPUT = "bad_output"
"""The code of the notice that an answer does not have the requested shape."""


class _TaskArguments(msgspec.Struct):
    task: str


_task_decoder = msgspec.json.Decoder(_TaskArguments)


class ReplyMapper:
    """Maps the events of a reply to events of the turn. `end` is the event that closed the reply."""

    def __init__(self, agent: Agent, parent: int | None) -> None:
        self._agent = agent
        self._parent = parent
        self._numbers: dict[int, int] = {}
        self._tasks: dict[int, list[str]] = {}
        self.started = TurnStarted()
        self.usage = Usage()
        self.end: TurnEnded | TurnFailed | None = None

    @property
    def blocks(self) -> tuple[int, ...]:
        """The numbers of its blocks in the turn."""
        return tuple(self._numbers.values())

    def renumbered(self, grown: BlockGrew) -> BlockGrew | None:
        """Return the event with the number that its block has in the turn; None for the text of a task."""
        if grown.block in self._tasks:
            return None
        number = self._numbers[grown.block]
        return grown if number == grown.block else BlockGrew(number, grown.text)

    def feed(self, event: Event, next_block: int) -> list[Event]:
        """Map one event. `next_block` is the number of a new block in the turn."""
        match event:
            case BlockStarted():
                return [self._start_block(event, next_block)]
            case BlockGrew() if event.block in self._tasks:
                self._tasks[event.block].append(event.text)
                return []
            case BlockEnded() if event.block in self._tasks:
                return self._end_task(event)
            case BlockReclassified():
                return [self._reclassify(event, next_block)]
            case BlockGrew() | BlockSealed() | BlockEnded() | ToolFinished():
                return [msgspec.structs.replace(event, block=self._numbers[event.block])]
        return self._map_turn_event(event)

    def _map_turn_event(self, event: Event) -> list[Event]:
        match event:
            case TurnStarted():
                self.started = event
            case UsageReported():
                self.usage = self.usage.merge(event.usage)
            case TurnEnded() | TurnFailed():
                self.end = event
            case NoticeGiven() if self._parent is not None and event.block is None:
                return [msgspec.structs.replace(event, block=self._parent)]
            case SummaryWritten() if self._parent is not None:
                return []
            case _:
                return [event]
        return [event] if self._parent is None and not isinstance(event, TurnEnded | TurnFailed) else []

    def _start_block(self, event: BlockStarted, number: int) -> BlockStarted:
        self._numbers[event.block] = number
        renumbered = msgspec.structs.replace(event, block=number, parent=self._parent)
        assistant = self._agent.assistant(event.name) if event.kind is Kind.TOOL_CALL else None
        if assistant is None:
            return renumbered
        self._tasks[event.block] = []
        return msgspec.structs.replace(
            renumbered, kind=Kind.ASSISTANT_CALL, name=assistant.name, assistant_id=assistant.id
        )

    def _end_task(self, event: BlockEnded) -> list[Event]:
        number, arguments = self._numbers[event.block], "".join(self._tasks.pop(event.block))
        events: list[Event] = [msgspec.structs.replace(event, block=number)]
        if event.interrupted:
            return events  # incomplete arguments contain no complete task
        try:
            task = _task_decoder.decode(arguments).task
        except msgspec.MsgspecError:
            task = arguments  # not the expected JSON, but still the model's task
        return [BlockGrew(number, task), *events] if task else events

    def _reclassify(self, event: BlockReclassified, next_block: int) -> BlockReclassified:
        new_block = event.into
        if new_block is not None:
            self._numbers[new_block] = new_block = next_block
        return msgspec.structs.replace(event, block=self._numbers[event.block], into=new_block)


TRUSTED_FINISHES = (Finish.TOOL_CALLS, Finish.STOP, Finish.UNKNOWN)
"""After any other finish the calls of a reply may be incomplete or refused, so they are not run."""


class ReplyFailed(Exception):
    """A reply failed before or during its stream."""

    def __init__(self, failure: TurnFailed) -> None:
        super().__init__(failure.message or failure.code)
        self.failure = failure


def failure_of(fault: ProviderFault | Refused) -> TurnFailed:
    """Return the end of a turn whose request failed."""
    if isinstance(fault, Refused):
        return TurnFailed.of("refused", fault.wording)
    return TurnFailed.of(fault.code, fault.wording, status=fault.status, after_ms=fault.after_ms)


class EventSink(Protocol):
    """The turn to which a reply is appended."""

    @property
    def turn(self) -> Turn:
        """The turn so far."""

    @property
    def now_ms(self) -> Callable[[], int]:
        """Returns the time on the run's clock."""

    def emit(self, event: Event, at_ms: int | None = None) -> None:
        """Stamp an event and append it to the turn."""

    @property
    def pass_on(self) -> Callable[..., None]:
        """Passes on the bytes of a read, after their events. `ended`: the end of the response is in them."""

    async def send(self, prepared: PreparedRequest, sink: BatchSink) -> None:
        """Send a request and pass the events of its response to `sink` as they arrive, to the end."""


class ReplyRunner:
    """Requests one reply and appends it to the turn."""

    def __init__(self, sink: EventSink, agent: Agent, parent: int | None, prepared: PreparedRequest) -> None:
        self._sink = sink
        self._agent = agent
        self._parent = parent
        self._prepared = prepared
        self._mapper = ReplyMapper(agent, parent)
        self._last_ms: int | None = None

    async def run(self) -> None:
        """Run the reply to its end. Raises `ReplyFailed`; the original error if the turn has no entry yet."""
        try:
            await self._sink.send(self._prepared, self._append)
        except (ProviderFault, Refused) as fault:
            if self._sink.turn.seq < 0:
                raise
            self._fail(failure_of(fault))
        except asyncio.CancelledError:
            if isinstance(self._mapper.end, TurnEnded):
                # The reply is complete; only the connection was still open.
                self._close(self._mapper.end)
            elif self._sink.turn.seq >= 0:
                self._interrupt()
            raise
        end = self._mapper.end
        if isinstance(end, TurnEnded):
            self._close(end)
        else:
            self._fail(
                end or TurnFailed.of("cut_off", Wording("The reply stopped before its end. Ask again."))
            )

    def _append(self, batch: EventBatch) -> None:
        """Append the events of one read. This is called where their bytes arrive."""
        sink, turn = self._sink, self._sink.turn
        self._last_ms = at_ms = sink.now_ms()
        for original in batch.events:
            if type(original) is BlockGrew and (grown := self._mapper.renumbered(original)):
                sink.emit(grown, at_ms)  # nearly every event is this one
                continue
            for event in self._mapper.feed(original, len(turn.blocks)):
                if type(event) is TurnStarted:
                    if turn.seq < 0:  # the turn starts with its first reply only
                        sink.emit(event, at_ms - batch.waited_ms)
                elif not self._repeats(event):
                    sink.emit(event, at_ms)
        if self._parent is None:
            sink.pass_on(batch.data, ended=self._mapper.end is not None)
        else:
            sink.pass_on(b"", ended=False)

    def _repeats(self, event: Event) -> bool:
        """Whether the turn has it already: counts of a later reply are its own, and a note is given once."""
        turn = self._sink.turn
        if type(event) is NoticeGiven:
            return event.code == NOT_HONOURED and event in turn.notices
        return type(event) is UsageReported and bool(turn.replies)

    def _close(self, end: TurnEnded) -> None:
        turn, continues = self._sink.turn, self._continues(end)
        if not continues and (problem := self._output_problem()):
            self._sink.emit(NoticeGiven.of(BAD_OUTPUT, problem, self._parent), self._last_ms)
        if self._parent is None and not turn.replies and not continues:
            self._sink.emit(end, self._last_ms)
        else:
            self._end_reply(ReplyEnded(end.finish, end.said, end.message))

    def _output_problem(self) -> Wording | None:
        """Return why the answer does not have the shape that the agent asked for; None if it has."""
        blocks = [self._sink.turn.blocks[number] for number in self._mapper.blocks]
        text = "".join(block.text for block in blocks if block.kind is Kind.TEXT)
        if self._agent.output_schema is None or not text.strip():
            return None
        return output_problem(text, self._agent.output_schema)

    def _continues(self, end: TurnEnded) -> bool:
        """Whether the run continues after this reply."""
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
