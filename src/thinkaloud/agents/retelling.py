"""One reply of a model, retold as part of a run: its blocks get the numbers they have in the turn.

A dialect knows tools and nothing else. Here a call that means an assistant becomes one, and its arguments
become the task that is in them.
"""

import msgspec

from thinkaloud.agents.agent import Agent
from thinkaloud.canon import (
    BlockEnded,
    BlockGrew,
    BlockReclassified,
    BlockSealed,
    BlockStarted,
    Event,
    Kind,
    NoticeGiven,
    SummaryWritten,
    ToolFinished,
    TurnEnded,
    TurnFailed,
    TurnStarted,
    Usage,
    UsageReported,
    merge_usage,
)


class _TaskArguments(msgspec.Struct):
    task: str


_task_decoder = msgspec.json.Decoder(_TaskArguments)


class ReplyMapper:
    """Takes a reply's events one by one; `end` is the one that closed it."""

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
        """Its blocks, by the numbers they have in the turn."""
        return tuple(self._numbers.values())

    def feed(self, event: Event, next_block: int) -> list[Event]:
        """What an event of the reply is in the run; `next_block` is the number that a new block gets."""
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
                self.usage = merge_usage(self.usage, event.usage)
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
            return events  # half of its arguments is no task that anybody could read
        try:
            task = _task_decoder.decode(arguments).task
        except msgspec.MsgspecError:
            task = arguments  # written in another shape, and still what the model wants done
        return [BlockGrew(number, task), *events] if task else events

    def _reclassify(self, event: BlockReclassified, next_block: int) -> BlockReclassified:
        new_block = event.into
        if new_block is not None:
            self._numbers[new_block] = new_block = next_block
        return msgspec.structs.replace(event, block=self._numbers[event.block], into=new_block)
