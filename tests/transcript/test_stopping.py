"""A turn that is stopped from outside, wherever it stands: legal, over, and nothing of it lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.dialects.legality import assert_legal
from tests.dialects.recorded import RECORDINGS
from tests.transcript.scripts import answer, thought
from tests.transcript.test_properties import WISHES, Wish, teller

from thinkaloud.canon import BlockEnded, BlockStarted, Finish, Kind, TurnEnded, TurnFailed, TurnStarted
from thinkaloud.transcript import Ending, Status, fold, stopped

CANCELLED = TurnEnded(Finish.CANCELLED)
LOST = TurnFailed("cut_off", "The gateway stopped.")


@pytest.mark.parametrize("name", RECORDINGS)
@pytest.mark.parametrize("end", [CANCELLED, LOST], ids=["cancelled", "lost"])
def test_any_beginning_of_a_recording_can_be_stopped(name: str, end: TurnEnded | TurnFailed) -> None:
    """What was said stands; a turn that is over has nothing to stop."""
    events = RECORDINGS[name].events()
    for place in range(1, len(events) + 1):
        live = fold(events[:place])
        texts = [block.text for block in live.blocks]
        ends = stopped(live, end)
        assert bool(ends) == (place < len(events))
        turn = assert_legal([*events[:place], *ends])
        assert [block.text for block in turn.blocks] == texts
        assert turn.outcome is not None
        if ends:
            wanted = Ending.CANCELLED if end is CANCELLED else Ending.CUT_OFF
            assert turn.outcome.ending is wanted


@given(WISHES, st.integers(0, 60), st.sampled_from([CANCELLED, LOST]))
def test_any_beginning_of_any_story_can_be_stopped(
    wishes: list[Wish], place: int, end: TurnEnded | TurnFailed
) -> None:
    turn = fold(teller(wishes).events[:place])
    running = [block.number for block in turn.blocks if block.status is Status.RUNNING]
    fold(stopped(turn, end), turn)
    assert not turn.live
    assert all(turn.blocks[number].status in (Status.INTERRUPTED, Status.ERROR) for number in running)
    assert stopped(turn, end) == []


def test_only_what_is_open_is_interrupted() -> None:
    live = fold([TurnStarted(), *thought(0, "Hm."), *answer(1, "So")[:-1], BlockStarted(2, Kind.TOOL_CALL)])
    ends = stopped(live, CANCELLED)
    assert ends == [BlockEnded(2, interrupted=True), BlockEnded(1, interrupted=True), CANCELLED]
    assert live.live  # the turn itself was not touched
