"""Folding takes the same time per entry, however long the turn is."""

from collections.abc import Callable

import pytest
from tests.linear_time import ATTEMPTS, Work, assert_linear, fastest_seconds
from tests.transcript.turn_builders import SIGNATURE, block

from thinkaloud.core.canon import (
    BlockEnded,
    BlockGrew,
    BlockSealed,
    BlockStarted,
    Entry,
    Event,
    Finish,
    Kind,
    ReplyEnded,
    ToolFinished,
    TurnEnded,
    Usage,
    UsageReported,
)
from thinkaloud.core.transcript import Callbacks, Turn, apply, fold

END = TurnEnded(Finish.STOP)


def deltas(count: int) -> list[Event]:
    return [BlockStarted(0, Kind.TEXT), *[BlockGrew(0, "word")] * count, BlockEnded(0), END]


def small_blocks(count: int) -> list[Event]:
    return [event for index in range(count) for event in block(index, Kind.TEXT, "a")] + [END]


def blocks_that_stay_open(count: int) -> list[Event]:
    starts = [
        BlockStarted(index, Kind.TOOL_CALL, parent=index - 1 if index else None) for index in range(count)
    ]
    ends = [BlockEnded(index) for index in reversed(range(count))]
    return [*starts, *ends, *(ToolFinished(index, "4") for index in range(count)), END]


def seals(count: int) -> list[Event]:
    return [BlockStarted(0, Kind.REASONING), *[BlockSealed(0, SIGNATURE)] * count, BlockEnded(0), END]


def counts(count: int) -> list[Event]:
    return [*[UsageReported(Usage(output=1))] * count, END]


def small_replies(count: int) -> list[Event]:
    ends = [ReplyEnded(Finish.STOP)]
    return [event for index in range(count) for event in [*block(index, Kind.TEXT, "a"), *ends]]


def replies_of_assistants(count: int) -> list[Event]:
    """Many assistants of one reply each, which the turn called one after the other."""
    events: list[Event] = []
    for call in range(0, count, 2):
        text = call + 1
        events += [BlockStarted(call, Kind.TOOL_CALL), BlockStarted(text, Kind.TEXT, parent=call)]
        events += [BlockEnded(text), ReplyEnded(Finish.STOP, parent=call), BlockEnded(call)]
    return events


def fold_work(script: Callable[[int], list[Event]], turns: int = 1) -> Work:
    def work(size: int) -> Callable[[], object]:
        entries = [Entry(seq, event) for seq, event in enumerate(script(size))]

        def run() -> None:
            for _ in range(turns):
                turn = Turn()
                for entry in entries:
                    apply(turn, entry)

        return run

    return work


@pytest.mark.parametrize(
    ("script", "size"),
    [
        pytest.param(deltas, 50_000, id="deltas"),
        pytest.param(small_blocks, 10_000, id="small blocks"),
        pytest.param(blocks_that_stay_open, 10_000, id="blocks that stay open"),
        pytest.param(seals, 20_000, id="seals"),
        pytest.param(counts, 10_000, id="counts"),
        pytest.param(small_replies, 3_000, id="small replies"),
        pytest.param(replies_of_assistants, 6_000, id="replies of assistants"),
    ],
)
def test_folding_takes_linear_time(script: Callable[[int], list[Event]], size: int) -> None:
    """S18."""
    assert_linear(fold_work(script), size)


def test_delta_cost_does_not_depend_on_turn_length() -> None:
    """A hundred thousand deltas take the same time in one turn as in ten or a hundred turns."""
    ratios = []
    for _ in range(ATTEMPTS):
        times = [fastest_seconds(fold_work(deltas, turns), 100_000 // turns) for turns in (1, 10, 100)]
        ratios.append(max(times) / min(times))
        if ratios[-1] < 1.5:
            return
    raise AssertionError(f"the slowest delta takes at least {min(ratios):.2f} times as long as the fastest")


def long_blocks(count: int) -> list[Event]:
    return [event for index in range(count) for event in block(index, Kind.TEXT, "a" * 1000)]


@pytest.mark.parametrize("script", [small_replies, long_blocks])
def test_answer_takes_linear_time(script: Callable[[int], list[Event]]) -> None:
    """S18: in the number of replies, and in the number of texts of one reply."""

    def work(size: int) -> Callable[[], object]:
        turn = fold(script(size))
        return lambda: turn.answer

    assert_linear(work, 1_500)


class SilentHandler:
    """Ignores all callbacks."""

    def on_text(self, text: str) -> None: ...
    def on_reasoning(self, reasoning: str) -> None: ...
    def on_reasoning_end(self) -> None: ...
    def on_tool_start(self, name: str, arguments: str) -> None: ...
    def on_tool_end(self, name: str, result: str, error: str) -> None: ...
    def on_complete(self, result: Turn) -> None: ...


@pytest.mark.parametrize("text", ["word", "\n"])
def test_callbacks_take_linear_time(text: str) -> None:
    """White space is held back until visible text follows, which must stay linear as well."""

    def work(size: int) -> Callable[[], object]:
        callbacks = Callbacks(SilentHandler())
        callbacks.feed(BlockStarted(0, Kind.REASONING))

        def run() -> None:
            for _ in range(size):
                callbacks.feed(BlockGrew(0, text))

        return run

    assert_linear(work, 20_000)
