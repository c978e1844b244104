"""The thinking time of a turn, computed from timestamps."""

import pytest
from tests.transcript.turn_builders import timed_turn

from thinkaloud.core.canon import (
    BlockEnded,
    BlockStarted,
    Event,
    Finish,
    Kind,
    ToolFinished,
    TurnEnded,
    TurnStarted,
)
from thinkaloud.core.transcript import ThinkingTime, thinking_time
from thinkaloud.core.transcript.timing import MAX_GAP_MS, ReplayTimeline

Script = list[tuple[int | None, Event]]

START, END = TurnStarted(), TurnEnded(Finish.STOP)


def span(
    number: int, kind: Kind, start_ms: int | None, end_ms: int | None, parent: int | None = None
) -> Script:
    return [(start_ms, BlockStarted(number, kind, parent=parent)), (end_ms, BlockEnded(number))]


def thought(number: int, start_ms: int | None, end_ms: int | None) -> Script:
    return span(number, Kind.REASONING, start_ms, end_ms)


def answer(number: int, start_ms: int | None, end_ms: int | None) -> Script:
    return span(number, Kind.TEXT, start_ms, end_ms)


TOOL: Script = [*span(1, Kind.TOOL_CALL, 1500, 1600), (9000, ToolFinished(1, "4"))]
ASSISTANT: Script = [
    (2000, BlockStarted(1, Kind.ASSISTANT_CALL)),
    *span(2, Kind.REASONING, 2000, 8000, parent=1),
    (8000, BlockEnded(1)),
]

TABLE: dict[str, tuple[Script, ThinkingTime | None]] = {
    "one thought": (
        [(0, START), *thought(0, 800, 5000), *answer(1, 5000, 6000), (6000, END)],
        ThinkingTime(4200),
    ),
    "thoughts are added up": (
        [
            (0, START),
            *thought(0, 500, 1500),
            *TOOL,
            *thought(2, 9000, 9300),
            *answer(3, 9300, 9900),
            (9900, END),
        ],
        ThinkingTime(1300),
    ),
    "thoughts of assistants do not count": (
        [(0, START), *thought(0, 1000, 2000), *ASSISTANT, *answer(3, 8000, 9000), (9000, END)],
        ThinkingTime(1000),
    ),
    "just long enough to be measured": (
        [(0, START), *thought(0, 4000, 4050), *answer(1, 4050, 5000), (5000, END)],
        ThinkingTime(50),
    ),
    "one burst counts from the request to the first text": (
        [(0, START), *thought(0, 4000, 4049), *answer(1, 4049, 5000), (5000, END)],
        ThinkingTime(4049, approximate=True),
    ),
    "several bursts are one": (
        [(0, START), *thought(0, 4000, 4020), *thought(1, 4020, 4040), *answer(2, 4040, 5000), (5000, END)],
        ThinkingTime(4040, approximate=True),
    ),
    "one burst before a call counts up to the call": (
        [(0, START), *thought(0, 1480, 1500), *TOOL, *answer(2, 9000, 9500), (9500, END)],
        ThinkingTime(1500, approximate=True),
    ),
    "one burst without text counts up to the end": (
        [(0, START), *thought(0, 4000, 4000), (4010, END)],
        ThinkingTime(4010, approximate=True),
    ),
    "a clock that goes back measures nothing": (
        [(0, START), *thought(0, 800, 700), *answer(1, 900, 1000), (1000, END)],
        ThinkingTime(900, approximate=True),
    ),
    "all at once is unknown": ([(9, START), *thought(0, 9, 9), *answer(1, 9, 9), (9, END)], None),
    "a burst without the time of the request is unknown": (
        [*thought(0, 4000, 4010), *answer(1, 4010, 5000), (5000, END)],
        None,
    ),
    "a burst without any later time is unknown": (
        [(0, START), *thought(0, 4000, 4010), (None, END)],
        None,
    ),
    "text without a timestamp is skipped": (
        [(0, START), *thought(0, 30, 40), *answer(1, None, None), (100, END)],
        ThinkingTime(100, approximate=True),
    ),
    "no timestamps": ([(None, START), *thought(0, None, None), (None, END)], None),
    "no start time": ([(0, START), *thought(0, None, 5000), (5000, END)], None),
    "no end time": ([(0, START), *thought(0, 800, None), (5000, END)], None),
    "one of two thoughts without timestamps": (
        [(0, START), *thought(0, 800, 5000), *thought(1, None, None), (5000, END)],
        None,
    ),
    "no thought": ([(0, START), *answer(0, 1, 2), (2, END)], None),
    "nothing": ([], None),
}


@pytest.mark.parametrize("name", TABLE)
def test_thinking_time_table(name: str) -> None:
    """R079: only reasoning counts, not tools; it is marked approximate if it arrived in one burst."""
    script, time = TABLE[name]
    assert thinking_time(timed_turn(*script)) == time


def test_thinking_time_of_live_reasoning() -> None:
    """R079: a running timer while the reasoning streams."""
    turn = timed_turn((0, START), *thought(0, 100, 1100), (2000, BlockStarted(1, Kind.REASONING)))
    assert thinking_time(turn, now_ms=2500) == ThinkingTime(1500)
    assert thinking_time(turn, now_ms=1000) == ThinkingTime(1000)
    assert thinking_time(turn) is None


def test_thinking_time_of_live_turn_is_never_approximate() -> None:
    """R079: while more reasoning may follow, a short time is not an estimate."""
    turn = timed_turn((0, START), *thought(0, 4000, 4010))
    assert thinking_time(turn) == ThinkingTime(10)
    assert thinking_time(turn, now_ms=9000) == ThinkingTime(10)


def test_replay_cuts_gaps_and_never_goes_back() -> None:
    timeline = ReplayTimeline()
    due_ms = [timeline.add(at_ms) for at_ms in (None, 100, 140, None, 140 + 2 * MAX_GAP_MS, 90, 95)]
    cut_ms = 40 + MAX_GAP_MS
    assert due_ms == [0, 0, 40, 40, cut_ms, cut_ms, cut_ms + 5]
