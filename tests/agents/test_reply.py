"""One reply of a model: its events are appended to the turn, and other tasks run in between."""

import asyncio
from collections.abc import AsyncGenerator

from tests.event_loop import in_event_loop

from thinkaloud.agents.reply import ReplyRunner
from thinkaloud.agents.spec import Agent
from thinkaloud.client import prepare
from thinkaloud.client.api import EventBatch
from thinkaloud.client.prepared_request import PreparedRequest
from thinkaloud.core.canon import (
    BlockEnded,
    BlockGrew,
    BlockStarted,
    Entry,
    Event,
    Finish,
    Kind,
    TurnEnded,
    TurnStarted,
)
from thinkaloud.core.transcript import Turn, apply

BLOCKS = 50


class SlowTurn:
    """A turn with a clock that goes 10 ms with each look. It notes in which round of the loop events came."""

    def __init__(self) -> None:
        self.turn = Turn()
        self.rounds = 0
        self.rounds_of_events: list[int] = []
        self._now_ms = 0

    def now_ms(self) -> int:
        self._now_ms += 10
        return self._now_ms

    def emit(self, event: Event, at_ms: int | None = None) -> None:
        apply(self.turn, Entry(self.turn.seq + 1, event, at_ms))
        self.rounds_of_events.append(self.rounds)

    def pass_on(self, data: bytes, *, ended: bool) -> None:
        """Take no bytes."""

    async def send(self, prepared: PreparedRequest) -> AsyncGenerator[EventBatch, None]:
        events: list[Event] = [TurnStarted()]
        for block in range(BLOCKS):
            events += [BlockStarted(block, Kind.TEXT), BlockGrew(block, "x"), BlockEnded(block)]
        yield EventBatch([*events, TurnEnded(Finish.STOP)], 0, b"")

    async def count_rounds(self) -> None:
        while True:
            self.rounds += 1
            await asyncio.sleep(0)


@in_event_loop
async def test_other_tasks_run_while_a_long_batch_of_events_is_appended() -> None:
    sink = SlowTurn()
    counting = asyncio.create_task(sink.count_rounds())
    await ReplyRunner(
        sink, Agent(name="A", model="vllm/qwen3-8b"), None, prepare("x", model="vllm/qwen3-8b")
    ).run()
    counting.cancel()
    assert len(sink.turn.blocks) == BLOCKS
    assert not sink.turn.live
    assert len(set(sink.rounds_of_events)) > BLOCKS / 2
