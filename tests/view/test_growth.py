"""Twice the blocks take about twice the time, wide or deep, and depth never breaks anything."""

from collections.abc import Callable

import pytest
from tests.growing import assert_linear
from tests.view.telling import called, delegated, thought, untimed

from thinkaloud.canon import Event
from thinkaloud.transcript import Turn
from thinkaloud.view import ThinkingStep, gateway, plain, thinking_block, view

SIZE = 2000
MOST = 3.0
"""What is spread over so much memory takes longer to reach; with its square it would take four times."""


def wide(n: int) -> Turn:
    """Many thoughts and tools, one after the other."""
    events: list[Event] = []
    for at in range(0, n, 2):
        events += [*thought(at, "A thought of some words."), *called(at + 1, "find", "{}", "ok")]
    return untimed(*events)


def deep(n: int) -> Turn:
    """Assistants that call assistants."""
    return untimed(*(e for at in range(n) for e in delegated(at, "A", "task", at - 1 if at else None)))


@pytest.mark.parametrize("shape", [wide, deep])
@pytest.mark.parametrize("look", [view, thinking_block, gateway, plain])
def test_twice_the_blocks_take_about_twice_the_time(
    look: Callable[[Turn], object], shape: Callable[[int], Turn]
) -> None:
    """A turn of many steps stays cheap to show."""

    def work(size: int) -> Callable[[], object]:
        turn = shape(size)
        return lambda: look(turn)

    assert_linear(work, SIZE, MOST)


def test_ten_thousand_levels_are_built_without_recursion() -> None:
    """R124: nesting has no limit."""
    turn = deep(10_000)
    found = thinking_block(turn)
    assert found is not None
    depth, steps = 0, found.steps
    while steps:
        assert isinstance(steps[0], ThinkingStep)
        depth, steps = depth + 1, steps[0].child_steps
    assert depth == 10_000
    panel = view(turn)
    assert panel is not None
    assert panel.tool_count_deep == 10_000
    assert len(plain(turn)) == 10_000
