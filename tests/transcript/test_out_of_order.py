"""Invalid entries are refused and leave the turn unchanged."""

import copy

import pytest
from tests.transcript.turn_builders import (
    SIGNATURE,
    answer,
    finished_tool_call,
    thought,
    tool_call,
    with_joined_text,
)

from thinkaloud.core.canon import (
    ApprovalAsked,
    ApprovalSettled,
    BlockEnded,
    BlockGrew,
    BlockReclassified,
    BlockSealed,
    BlockStarted,
    Entry,
    Event,
    Finish,
    Kind,
    NoticeGiven,
    OutOfOrder,
    ReplyEnded,
    ThinkaloudError,
    ToolFinished,
    TurnEnded,
    TurnFailed,
    TurnStarted,
)
from thinkaloud.core.transcript import Turn, apply, fold

OPEN_BLOCK: list[Event] = [BlockStarted(0, Kind.REASONING), BlockGrew(0, "hm")]
ENDED_TURN: list[Event] = [*answer(0, "yes"), TurnEnded(Finish.STOP)]
FAILED_TURN: list[Event] = [TurnFailed("cut_off")]
OPEN_CALL: list[Event] = [BlockStarted(1, Kind.TOOL_CALL)]
CANNOT_WAIT = "block 0 cannot wait for approval"

INVALID_SEQUENCES: dict[str, tuple[list[Event], Event, str]] = {
    "it grows before it starts": ([], BlockGrew(0, "a"), "block 0 has not started"),
    "it grows after it ended": (thought(0, "a"), BlockGrew(0, "b"), "block 0 has ended"),
    "it grows after it was interrupted": (
        [*OPEN_BLOCK, BlockEnded(0, interrupted=True)],
        BlockGrew(0, "b"),
        "block 0 has ended",
    ),
    "it ends before it starts": ([], BlockEnded(0), "block 0 has not started"),
    "it ends twice": (thought(0, "a"), BlockEnded(0), "block 0 has ended"),
    "an unknown block grows": (OPEN_BLOCK, BlockGrew(1, "a"), "block 1 has not started"),
    "a block below zero grows": (OPEN_BLOCK, BlockGrew(-1, "a"), "block -1 has not started"),
    "an unknown block is sealed": (OPEN_BLOCK, BlockSealed(1, SIGNATURE), "block 1 has not started"),
    "an unknown tool returns": (OPEN_BLOCK, ToolFinished(1, "4"), "block 1 has not started"),
    "a number is skipped": (OPEN_BLOCK, BlockStarted(2, Kind.TEXT), "block 2 started, but the next one is 1"),
    "a number is used twice": (
        OPEN_BLOCK,
        BlockStarted(0, Kind.TEXT),
        "block 0 started, but the next one is 1",
    ),
    "a parent is unknown": (OPEN_BLOCK, BlockStarted(1, Kind.TEXT, parent=4), "block 4 has not started"),
    "a block is its own parent": (
        OPEN_BLOCK,
        BlockStarted(1, Kind.TEXT, parent=1),
        "block 1 has not started",
    ),
    "an unknown block is reclassified": (
        OPEN_BLOCK,
        BlockReclassified(1, Kind.TEXT),
        "block 1 has not started",
    ),
    "more is moved than there is": (
        OPEN_BLOCK,
        BlockReclassified(0, Kind.TEXT, tail=3, into=1),
        "block 0 cannot move 3 characters to block 1",
    ),
    "nothing is moved": (
        OPEN_BLOCK,
        BlockReclassified(0, Kind.TEXT, tail=0, into=1),
        "block 0 cannot move 0 characters to block 1",
    ),
    "less than nothing is moved": (
        OPEN_BLOCK,
        BlockReclassified(0, Kind.TEXT, tail=-1, into=1),
        "block 0 cannot move -1 characters to block 1",
    ),
    "text is moved into an existing block": (
        OPEN_BLOCK,
        BlockReclassified(0, Kind.TEXT, tail=1, into=0),
        "block 0 cannot move 1 characters to block 0",
    ),
    "text is moved past the next number": (
        OPEN_BLOCK,
        BlockReclassified(0, Kind.TEXT, tail=1, into=2),
        "block 0 cannot move 1 characters to block 2",
    ),
    "text is moved nowhere": (
        OPEN_BLOCK,
        BlockReclassified(0, Kind.TEXT, tail=1),
        "block 0 cannot move 1 characters to block None",
    ),
    "the turn ends while a block is open": (
        [*answer(0, "a"), BlockStarted(1, Kind.TEXT), BlockStarted(2, Kind.TEXT)],
        TurnEnded(Finish.STOP),
        r"the turn ended while blocks \[1, 2\] were open",
    ),
    "the turn fails while a block is open": (
        OPEN_BLOCK,
        TurnFailed("cut_off"),
        r"the turn ended while blocks \[0\] were open",
    ),
    "a turn ends twice": (ENDED_TURN, TurnEnded(Finish.STOP), "comes after the turn ended"),
    "a turn that failed ends": (FAILED_TURN, TurnEnded(Finish.STOP), "comes after the turn ended"),
    "a turn starts again after its end": (ENDED_TURN, TurnStarted(), "comes after the turn ended"),
    "a seal comes after the end": (ENDED_TURN, BlockSealed(0, SIGNATURE), "comes after the turn ended"),
    "a notice comes after the end": (ENDED_TURN, NoticeGiven("late"), "comes after the turn ended"),
    "a block grows after the end": (ENDED_TURN, BlockGrew(0, "a"), "comes after the turn ended"),
    "a reply ends after the end": (ENDED_TURN, ReplyEnded(Finish.STOP), "comes after the turn ended"),
    "a reply ends while a block of it is open": (
        [*answer(0, "a"), *OPEN_CALL],
        ReplyEnded(Finish.TOOL_CALLS),
        r"a reply ended while its blocks \[1\] were open",
    ),
    "an assistant's reply ends while a block of it is open": (
        [*tool_call(0), ReplyEnded(Finish.TOOL_CALLS), BlockStarted(1, Kind.TEXT, parent=0)],
        ReplyEnded(Finish.STOP, parent=0),
        r"a reply ended while its blocks \[1\] were open",
    ),
    "the reply of an unknown call ends": (
        tool_call(0),
        ReplyEnded(Finish.STOP, parent=1),
        "block 1 has not started",
    ),
    "an unknown call waits": ([], ApprovalAsked(0), "block 0 has not started"),
    "a thought waits for an approval": (thought(0, "a"), ApprovalAsked(0), CANNOT_WAIT),
    "a call waits before it is complete": (
        [BlockStarted(0, Kind.TOOL_CALL)],
        ApprovalAsked(0),
        CANNOT_WAIT,
    ),
    "a call waits after it returned": (finished_tool_call(0), ApprovalAsked(0), CANNOT_WAIT),
    "an interrupted call waits": (
        [BlockStarted(0, Kind.TOOL_CALL), BlockEnded(0, interrupted=True)],
        ApprovalAsked(0),
        CANNOT_WAIT,
    ),
    "a call waits twice": ([*tool_call(0), ApprovalAsked(0)], ApprovalAsked(0), CANNOT_WAIT),
    "a call waits again": (
        [*tool_call(0), ApprovalAsked(0), ApprovalSettled(0, True)],
        ApprovalAsked(0),
        CANNOT_WAIT,
    ),
    "a call that does not wait is approved": (
        tool_call(0),
        ApprovalSettled(0, True),
        "block 0 is not waiting for approval",
    ),
    "a call is approved twice": (
        [*tool_call(0), ApprovalAsked(0), ApprovalSettled(0, False)],
        ApprovalSettled(0, True),
        "block 0 is not waiting for approval",
    ),
}


@pytest.mark.parametrize("name", INVALID_SEQUENCES)
def test_invalid_entry_is_refused_and_leaves_the_turn_unchanged(name: str) -> None:
    earlier_events, event, error_text = INVALID_SEQUENCES[name]
    turn = fold(earlier_events)
    copied_turn = copy.deepcopy(turn)
    with pytest.raises(OutOfOrder, match=error_text):
        apply(turn, Entry(turn.seq + 1, event))
    assert with_joined_text(turn) == with_joined_text(copied_turn)


@pytest.mark.parametrize("seq", [4, 5])
def test_entry_sequence_must_increase(seq: int) -> None:
    turn = apply(Turn(), Entry(5, TurnStarted()))
    with pytest.raises(OutOfOrder, match=f"entry {seq} comes after entry 5"):
        apply(turn, Entry(seq, NoticeGiven("again")))


def test_negative_entry_sequence_is_refused() -> None:
    with pytest.raises(OutOfOrder):
        apply(Turn(), Entry(-1, TurnStarted()))


def test_out_of_order_is_not_a_thinkaloud_error() -> None:
    """Code that catches `ThinkaloudError` does not hide this bug."""
    assert not issubclass(OutOfOrder, ThinkaloudError)
