"""Reading a turn: its text, its own blocks, and those of its assistants."""

import pytest
from tests.transcript.turn_builders import answer, block, finished_tool_call, thought, tool_call

from thinkaloud.core.canon import (
    ApprovalAsked,
    ApprovalSettled,
    BlockEnded,
    BlockGrew,
    BlockStarted,
    Event,
    Finish,
    Kind,
    ReplyEnded,
    ToolFinished,
    TurnEnded,
    Usage,
    UsageReported,
)
from thinkaloud.core.transcript import PAUSE_TURN, Approval, Block, BlockStatus, Ending, Turn, fold, unfold


def test_block_text_is_joined_on_access() -> None:
    turn = fold([BlockStarted(0, Kind.TEXT), *(BlockGrew(0, letter) for letter in "abc")])
    assert turn.blocks[0].pieces == ["a", "b", "c"]
    assert turn.blocks[0].text == "abc"
    assert turn.blocks[0].pieces == ["abc"]
    fold([BlockGrew(0, "d")], turn)
    assert turn.blocks[0].text == "abcd"


def test_empty_block_text() -> None:
    assert Block(0, Kind.REASONING).text == ""


@pytest.mark.parametrize(
    ("pieces", "blank"),
    [
        ([], True),
        ([""], True),
        ([" ", "\n\t"], True),
        (["\u00a0"], True),
        ([" ", "a"], False),
        (["a", " "], False),
    ],
)
def test_block_blank(pieces: list[str], blank: bool) -> None:
    """R025."""
    assert Block(0, Kind.REASONING, pieces=pieces).blank is blank


@pytest.mark.parametrize(
    ("started_ms", "ended_ms", "duration_ms"), [(10, 40, 30), (0, 0, 0), (None, 40, None), (10, None, None)]
)
def test_block_duration_needs_both_timestamps(
    started_ms: int | None, ended_ms: int | None, duration_ms: int | None
) -> None:
    text_block = Block(0, Kind.TEXT, status=BlockStatus.DONE, started_ms=started_ms, ended_ms=ended_ms)
    assert text_block.duration_ms == duration_ms


def test_reasoning_and_answer_join_their_blocks() -> None:
    """R088: a turn may have any number of reasoning blocks."""
    turn = fold([*thought(0, "a"), *answer(1, "x"), *thought(2, "b"), *answer(3, "y")])
    assert (turn.reasoning, turn.answer) == ("ab", "xy")


def test_own_blocks_exclude_assistants() -> None:
    turn = fold(
        [
            BlockStarted(0, Kind.ASSISTANT_CALL, "Checker"),
            *block(1, Kind.REASONING, "inner", parent=0),
            BlockStarted(2, Kind.ASSISTANT_CALL, "Looker", parent=0),
            *block(3, Kind.TEXT, "deep", parent=2),
            *block(4, Kind.TEXT, "text", parent=0),
            *answer(5, "own"),
        ]
    )
    checker, _, looker, deep, text_block, own = turn.blocks
    assert (turn.reasoning, turn.answer) == ("", "own")
    assert turn.own_blocks() == [checker, own]
    assert turn.own_blocks(Kind.TEXT) == [own]
    assert turn.own_blocks(Kind.TEXT, Kind.ASSISTANT_CALL) == [checker, own]
    assert turn.children(checker) == [turn.blocks[1], looker, text_block]
    assert turn.children(looker) == [deep]
    assert turn.children(deep) == []


def test_empty_turn() -> None:
    turn = Turn()
    assert (turn.reasoning, turn.answer, turn.own_blocks(), turn.live) == ("", "", [], True)


REPLY_WITH_CALLS = ReplyEnded(Finish.TOOL_CALLS)
REPLY_WITH_ANSWER = ReplyEnded(Finish.STOP)


def assistant_call(number: int, parent: int | None = None) -> list[Event]:
    """Return the events of an assistant call without a result."""
    return block(number, Kind.ASSISTANT_CALL, "task", parent=parent)


def nested_replies() -> list[Event]:
    """Return a turn with two parallel assistants, one of which calls a third; each writes text in between."""
    return [
        *(*thought(0, "t0"), *answer(1, "t1"), *assistant_call(2), *assistant_call(3), REPLY_WITH_CALLS),
        *(*block(4, Kind.TEXT, "a4", parent=2), *block(5, Kind.TEXT, "b5", parent=3)),
        *(*assistant_call(6, parent=2), ReplyEnded(Finish.TOOL_CALLS, parent=2)),
        *(*block(7, Kind.TEXT, "c7", parent=6), ReplyEnded(Finish.STOP, parent=6), ToolFinished(6, "c7")),
        *(ReplyEnded(Finish.STOP, parent=3), ToolFinished(3, "b5")),
        *(*block(8, Kind.TEXT, "a8", parent=2), ReplyEnded(Finish.STOP, parent=2), ToolFinished(2, "a8")),
        *(*answer(9, "t9"), REPLY_WITH_ANSWER, TurnEnded(Finish.STOP)),
    ]


def test_blocks_of_reply() -> None:
    turn = fold(nested_replies())
    numbers_by_reply = [
        (reply.parent, [reply_block.number for reply_block in turn.blocks_of(reply)])
        for reply in turn.replies
    ]
    assert numbers_by_reply == [(None, [0, 1, 2, 3]), (2, [4, 6]), (6, [7]), (3, [5]), (2, [8]), (None, [9])]
    assert [reply.calls for reply in turn.replies] == [(2, 3), (6,), (), (), (), ()]
    assert [reply.until for reply in turn.replies] == [4, 7, 8, 8, 9, 10]


def test_blocks_of_reply_without_blocks() -> None:
    """It does not get the blocks of an equal reply before it."""
    turn = fold(
        [
            REPLY_WITH_ANSWER,
            *answer(0, "a"),
            REPLY_WITH_ANSWER,
            REPLY_WITH_ANSWER,
            REPLY_WITH_ANSWER,
            *answer(1, "b"),
            REPLY_WITH_ANSWER,
        ]
    )
    assert [[reply_block.text for reply_block in turn.blocks_of(reply)] for reply in turn.replies] == [
        *([], ["a"], [], [], ["b"])
    ]


def test_blocks_of_reply_that_is_not_folded_yet() -> None:
    turn = fold([*answer(0, "a"), REPLY_WITH_ANSWER, *answer(1, "b")])
    next_reply = fold([*answer(0, "a"), REPLY_WITH_ANSWER, *answer(1, "b"), REPLY_WITH_ANSWER]).replies[-1]
    assert [reply_block.text for reply_block in turn.blocks_of(next_reply)] == ["b"]


def test_within_includes_nested_blocks() -> None:
    turn = fold(nested_replies())
    assert [number for number in range(10) if turn.within(number, 2)] == [2, 4, 6, 7, 8]
    assert [number for number in range(10) if turn.within(number, 6)] == [6, 7]
    assert not turn.within(None, 2)


def test_answer_separates_replies_by_a_blank_line() -> None:
    """The text blocks of one reply are concatenated; a reply without text adds no blank line."""
    turn = fold(
        [
            *(*answer(0, "One "), *thought(1, "hm"), *answer(2, "moment."), *tool_call(3), REPLY_WITH_CALLS),
            *(
                ToolFinished(3, "4"),
                *thought(4, "so"),
                *tool_call(5),
                REPLY_WITH_CALLS,
                ToolFinished(5, "5"),
                REPLY_WITH_ANSWER,
            ),
            *(*answer(6, "Four."), *answer(7, "")),
        ]
    )
    assert turn.answer == "One moment.\n\nFour."
    assert fold(nested_replies()).answer == "t1\n\nt9"


def test_usage_of_replies_is_added() -> None:
    first = ReplyEnded(Finish.TOOL_CALLS, usage=Usage(input=10, output=5, reasoning=3))
    second = ReplyEnded(Finish.STOP, usage=Usage(input=20, output=7))
    turn = fold([UsageReported(Usage(input=10, output=5)), *tool_call(0), first])
    assert turn.usage == first.usage
    fold([ToolFinished(0, "4"), *answer(1, "a"), second], turn)
    assert turn.usage == Usage(input=30, output=12)


@pytest.mark.parametrize(
    ("stop_reason", "calls"),
    [("tool_use", (0,)), ("", (0,)), (PAUSE_TURN, ())],
    ids=["called", "no stop reason", "paused"],
)
def test_reply_calls_are_those_without_result(stop_reason: str, calls: tuple[int, ...]) -> None:
    """Calls without a result; a provider that pauses still runs its calls itself."""
    turn = fold([*tool_call(0), *finished_tool_call(1), ReplyEnded(Finish.UNKNOWN, stop_reason)])
    assert turn.replies[0].calls == calls


@pytest.mark.parametrize(
    ("events", "ending"),
    [
        ([*tool_call(0), REPLY_WITH_CALLS, TurnEnded(Finish.TOOL_CALLS)], Ending.CALLED_TOOLS),
        (
            [
                *finished_tool_call(0),
                REPLY_WITH_CALLS,
                *tool_call(1),
                REPLY_WITH_CALLS,
                TurnEnded(Finish.STOP),
            ],
            Ending.CALLED_TOOLS,
        ),
        (
            [
                *tool_call(0),
                REPLY_WITH_CALLS,
                ToolFinished(0, "4"),
                *thought(1, "a"),
                REPLY_WITH_ANSWER,
                TurnEnded(Finish.STOP),
            ],
            Ending.REASONING_ONLY,
        ),
        (
            [
                *(BlockStarted(0, Kind.TOOL_CALL), BlockEnded(0, interrupted=True)),
                *(ReplyEnded(Finish.CANCELLED), *thought(1, "a"), REPLY_WITH_ANSWER, TurnEnded(Finish.STOP)),
            ],
            Ending.REASONING_ONLY,
        ),
        (
            [
                *tool_call(0),
                ReplyEnded(Finish.UNKNOWN, PAUSE_TURN),
                *thought(1, "a"),
                REPLY_WITH_ANSWER,
                TurnEnded(Finish.STOP),
            ],
            Ending.REASONING_ONLY,
        ),
        (
            [*tool_call(0), REPLY_WITH_CALLS, *answer(1, "a"), REPLY_WITH_ANSWER, TurnEnded(Finish.STOP)],
            Ending.ANSWERED,
        ),
    ],
    ids=["pending", "pending in the last", "returned", "interrupted", "run by the provider", "answered"],
)
def test_outcome_of_several_replies(events: list[Event], ending: Ending) -> None:
    turn = fold(events)
    assert turn.outcome is not None
    assert turn.outcome.ending is ending


def test_approval_granted_or_denied() -> None:
    turn = fold([*tool_call(0), *tool_call(1), REPLY_WITH_CALLS, ApprovalAsked(0), ApprovalAsked(1)])
    assert [call_block.approval for call_block in turn.blocks] == [Approval.ASKED, Approval.ASKED]
    fold([ApprovalSettled(1, False, "Bo"), ApprovalSettled(0, True)], turn)
    assert [(call_block.approval, call_block.settled_by) for call_block in turn.blocks] == [
        *((Approval.GRANTED, ""), (Approval.DENIED, "Bo"))
    ]
    assert [call_block.awaiting_result for call_block in turn.blocks] == [True, True]


def test_unfold_places_results_after_nested_blocks() -> None:
    """The result of a call follows its nested blocks and precedes the next block of its caller."""
    unfolded_events = [entry.event for entry in unfold(fold(nested_replies()))]
    assert fold(unfolded_events).replies == fold(nested_replies()).replies
    last = {
        number: max(
            index for index, event in enumerate(unfolded_events) if getattr(event, "parent", None) == number
        )
        for number in (2, 3, 6)
    }
    result_index = {
        event.block: index for index, event in enumerate(unfolded_events) if isinstance(event, ToolFinished)
    }
    assert all(last[number] < result_index[number] for number in (2, 3, 6))
    assert max(result_index.values()) < unfolded_events.index(BlockStarted(9, Kind.TEXT))


@pytest.mark.parametrize(
    "events",
    [
        [REPLY_WITH_ANSWER, *answer(0, "a"), REPLY_WITH_ANSWER],
        [ReplyEnded(Finish.CANCELLED), ReplyEnded(Finish.CANCELLED), *answer(0, "a")],
        [
            *tool_call(0),
            REPLY_WITH_CALLS,
            ToolFinished(0, "4"),
            ReplyEnded(Finish.CANCELLED),
            *answer(1, "a"),
            REPLY_WITH_ANSWER,
        ],
        [*tool_call(0), REPLY_WITH_CALLS, ApprovalAsked(0)],
        [*tool_call(0), ApprovalAsked(0), ApprovalSettled(0, True, "Bo"), ToolFinished(0, "4")],
        [*tool_call(0), ApprovalAsked(0)],
        [*tool_call(0), REPLY_WITH_CALLS, *block(1, Kind.TEXT, "x", parent=0), ReplyEnded(parent=0)],
        [*assistant_call(0), *tool_call(1), ReplyEnded(parent=0), ToolFinished(1, "4")],
    ],
    ids=lambda events: " ".join(type(event).__name__ for event in events),
)
def test_unfold_keeps_replies_and_approvals(events: list[Event]) -> None:
    turn = fold(events)
    refolded = fold([entry.event for entry in unfold(turn)])
    refolded.seq = turn.seq
    assert refolded == turn
