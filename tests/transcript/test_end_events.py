"""A live turn can be ended from outside at any point, and no text is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.dialects.recordings import RECORDINGS
from tests.dialects.turn_checks import assert_valid_turn
from tests.transcript.test_properties import STEPS, Step, generate_turn
from tests.transcript.turn_builders import answer, block, thought, tool_call

from thinkaloud.core.canon import (
    BlockEnded,
    BlockStarted,
    Event,
    Finish,
    Kind,
    ReplyEnded,
    ToolFinished,
    TurnEnded,
    TurnFailed,
    TurnStarted,
)
from thinkaloud.core.transcript import (
    BlockStatus,
    Ending,
    Turn,
    events_to_end_blocks,
    events_to_end_turn,
    fold,
)
from thinkaloud.core.transcript.reducer import STOPPED_ERROR

CANCELLED = TurnEnded(Finish.CANCELLED)
CONNECTION_LOST = TurnFailed("cut_off", "The gateway stopped.")


@pytest.mark.parametrize("name", RECORDINGS)
@pytest.mark.parametrize("end", [CANCELLED, CONNECTION_LOST], ids=["cancelled", "lost"])
def test_any_prefix_of_a_recording_can_be_closed(name: str, end: TurnEnded | TurnFailed) -> None:
    """The text is kept; a turn that has ended needs no closing events."""
    events = RECORDINGS[name].events()
    for count in range(1, len(events) + 1):
        live = fold(events[:count])
        texts = [block.text for block in live.blocks]
        ends = events_to_end_turn(live, end)
        assert bool(ends) == (count < len(events))
        turn = assert_valid_turn([*events[:count], *ends])
        assert [block.text for block in turn.blocks] == texts
        assert turn.outcome is not None
        if ends:
            expected_ending = Ending.CANCELLED if end is CANCELLED else Ending.CUT_OFF
            assert turn.outcome.ending is expected_ending


@given(STEPS, st.integers(0, 60), st.sampled_from([CANCELLED, CONNECTION_LOST]))
def test_any_prefix_of_a_random_turn_can_be_closed(
    steps: list[Step], place: int, end: TurnEnded | TurnFailed
) -> None:
    turn = fold(generate_turn(steps).events[:place])
    running = [block.number for block in turn.blocks if block.status is BlockStatus.RUNNING]
    fold(events_to_end_turn(turn, end), turn)
    assert not turn.live
    assert all(
        turn.blocks[number].status in (BlockStatus.INTERRUPTED, BlockStatus.ERROR) for number in running
    )
    assert events_to_end_turn(turn, end) == []


def test_a_turn_that_has_not_started_starts_before_it_ends() -> None:
    assert events_to_end_turn(Turn(), CANCELLED) == [TurnStarted(), CANCELLED]


def test_closing_interrupts_only_open_blocks() -> None:
    live = fold([TurnStarted(), *thought(0, "Hm."), *answer(1, "So")[:-1], BlockStarted(2, Kind.TOOL_CALL)])
    ends = events_to_end_turn(live, CANCELLED)
    assert ends == [BlockEnded(2, interrupted=True), BlockEnded(1, interrupted=True), CANCELLED]
    assert live.live  # the turn itself is unchanged


def test_closing_gives_running_calls_an_error() -> None:
    """A call whose reply has not ended is not running yet and stays as it is."""
    live = fold(
        [TurnStarted(), *tool_call(0), *tool_call(1), ReplyEnded(Finish.TOOL_CALLS), ToolFinished(0, "4")]
    )
    assert events_to_end_turn(live, CANCELLED) == [ToolFinished(1, error=STOPPED_ERROR), CANCELLED]
    live = fold([TurnStarted(), *tool_call(0)])
    assert events_to_end_turn(live, CANCELLED) == [CANCELLED]


def test_closing_an_assistant_call_ends_only_its_blocks() -> None:
    events: list[Event] = [
        *(TurnStarted(), *block(0, Kind.ASSISTANT_CALL), *block(1, Kind.ASSISTANT_CALL), *tool_call(2)),
        *(ReplyEnded(Finish.TOOL_CALLS), *block(3, Kind.ASSISTANT_CALL, parent=0)),
        *(*block(4, Kind.TOOL_CALL, parent=0), ReplyEnded(Finish.TOOL_CALLS, parent=0)),
        *(BlockStarted(5, Kind.TEXT, parent=1), BlockStarted(6, Kind.REASONING, parent=3)),
    ]
    live = fold(events)
    below = [
        BlockEnded(6, interrupted=True),
        ToolFinished(4, error=STOPPED_ERROR),
        ToolFinished(3, error=STOPPED_ERROR),
    ]
    assert events_to_end_blocks(live, 0) == below
    beside: list[Event] = [BlockEnded(5, interrupted=True)]
    unfinished_calls = [ToolFinished(number, error=STOPPED_ERROR) for number in (2, 1, 0)]
    assert events_to_end_blocks(live) == [below[0], *beside, *below[1:], *unfinished_calls]
    assert events_to_end_blocks(live, 4) == []
