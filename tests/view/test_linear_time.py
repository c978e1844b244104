"""The view takes linear time, for wide and for deep turns, and no depth breaks it."""

from collections.abc import Callable

import pytest
from tests.linear_time import assert_linear
from tests.view.turns import (
    answer_events,
    assistant_call_events,
    thought_events,
    tool_call_events,
    untimed_turn,
)

from thinkaloud.core.canon import Event, Finish, ReplyEnded
from thinkaloud.core.transcript import Turn
from thinkaloud.core.view import ThinkingStep, gateway_answer, plain_lines, thinking_block, view

SIZE = 2000
MOST = 3.0
"""What is spread over so much memory takes longer to reach; with its square it would take four times."""


def wide(n: int) -> Turn:
    """Return a turn with many thoughts and tools in sequence."""
    events: list[Event] = []
    for at in range(0, n, 2):
        events += [
            *thought_events(at, "A thought of some words."),
            *tool_call_events(at + 1, "find", "{}", "ok"),
        ]
    return untimed_turn(*events)


def deep(n: int) -> Turn:
    """Return a turn of assistants that call assistants."""
    return untimed_turn(
        *(e for at in range(n) for e in assistant_call_events(at, "A", "task", at - 1 if at else None))
    )


def replies(n: int) -> Turn:
    """Return a turn of many replies, each with a text."""
    return untimed_turn(
        *(e for at in range(n) for e in [*answer_events(at, "A text."), ReplyEnded(Finish.STOP)])
    )


@pytest.mark.parametrize("shape", [wide, deep, replies])
@pytest.mark.parametrize("render", [view, thinking_block, gateway_answer, plain_lines])
def test_view_takes_linear_time(render: Callable[[Turn], object], shape: Callable[[int], Turn]) -> None:
    """S18: twice the blocks take about twice the time."""

    def work(size: int) -> Callable[[], object]:
        turn = shape(size)
        return lambda: render(turn)

    assert_linear(work, SIZE, MOST)


def test_nesting_of_ten_thousand_levels_needs_no_recursion() -> None:
    """R124: nesting has no limit."""
    turn = deep(10_000)
    block = thinking_block(turn)
    assert block is not None
    depth, steps = 0, block.steps
    while steps:
        assert isinstance(steps[0], ThinkingStep)
        depth, steps = depth + 1, steps[0].child_steps
    assert depth == 10_000
    panel = view(turn)
    assert panel is not None
    assert panel.tool_count_deep == 10_000
    assert len(plain_lines(turn)) == 10_000
