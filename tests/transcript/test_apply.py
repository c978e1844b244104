"""Every kind of event changes the turn in one way, and only there."""

import pytest
from tests.transcript.turn_builders import SIGNATURE, answer, block, sealed_thought, thought, timed_turn

from thinkaloud.canon import (
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
    Provenance,
    Seal,
    SealForm,
    SummaryWritten,
    ToolFinished,
    TurnEnded,
    TurnFailed,
    TurnStarted,
    Usage,
    UsageReported,
)
from thinkaloud.transcript import Block, BlockStatus, Ending, Outcome, Turn, apply, fold

MESSAGE = Seal("openai_chat", SealForm.MESSAGE, '{"role":"assistant"}', "gpt")


def test_a_turn_starts_with_its_dialect_model_and_moment() -> None:
    turn = timed_turn((7, TurnStarted("openai_chat", "gpt")))
    assert turn == Turn("openai_chat", "gpt", seq=0, started_ms=7)
    assert turn.live


def test_a_block_starts_with_all_that_is_known_of_it() -> None:
    """R030, R088: blocks stand in the order in which they began, each with a number of its own."""
    turn = timed_turn(
        (1, BlockStarted(0, Kind.ASSISTANT_CALL, "Checker", "c1", "a1")),
        (2, BlockStarted(1, Kind.REASONING, parent=0, provenance=Provenance.SUMMARY)),
    )
    assert turn.blocks == [
        Block(0, Kind.ASSISTANT_CALL, "Checker", "c1", "a1", started_ms=1),
        Block(1, Kind.REASONING, parent=0, provenance=Provenance.SUMMARY, started_ms=2),
    ]


def test_blocks_grow_side_by_side() -> None:
    """R031: text and thought that come in turn go each to its own block."""
    turn = fold(
        [
            BlockStarted(0, Kind.REASONING),
            BlockStarted(1, Kind.TEXT),
            *(BlockGrew(0, "a"), BlockGrew(1, "x"), BlockGrew(0, "b"), BlockGrew(1, "y")),
        ]
    )
    assert (turn.reasoning, turn.answer) == ("ab", "xy")


@pytest.mark.parametrize(
    ("interrupted", "status"), [(False, BlockStatus.DONE), (True, BlockStatus.INTERRUPTED)]
)
def test_a_block_ends_by_itself_or_is_interrupted(interrupted: bool, status: BlockStatus) -> None:
    turn = timed_turn((1, BlockStarted(0, Kind.TEXT)), (5, BlockEnded(0, interrupted)))
    assert (turn.blocks[0].status, turn.blocks[0].duration_ms) == (status, 4)


def test_seals_are_kept_in_order_and_may_come_late() -> None:
    """R033: a seal belongs to its block, even when it comes after the block ended."""
    late = Seal("gemini", SealForm.SIGNATURE, "bGF0ZQ==", "gemini-3")
    turn = fold([*sealed_thought(0), BlockSealed(0, late)])
    assert turn.blocks[0].seals == [SIGNATURE, late]
    assert turn.blocks[0].status is BlockStatus.DONE


CALL = BlockStarted(0, Kind.TOOL_CALL, "add", "c1")


def test_a_tool_may_come_back_after_its_block_ended() -> None:
    turn = timed_turn((1, CALL), (2, BlockEnded(0)), (9, ToolFinished(0, "4")))
    assert (turn.blocks[0].status, turn.blocks[0].result) == (BlockStatus.DONE, "4")
    assert turn.blocks[0].duration_ms == 8


def test_a_tool_may_come_back_with_an_error() -> None:
    turn = fold([CALL, BlockEnded(0), ToolFinished(0, error="no such file")])
    assert (turn.blocks[0].status, turn.blocks[0].error) == (BlockStatus.ERROR, "no such file")
    assert turn.blocks[0].result == ""


def test_a_tool_may_come_back_before_its_block_ends() -> None:
    script: list[tuple[int | None, Event]] = [(1, CALL), (3, ToolFinished(0, "4")), (4, BlockEnded(0))]
    running, ended = timed_turn(*script[:2]).blocks[0], timed_turn(*script).blocks[0]
    assert (running.status, running.result, running.duration_ms) == (BlockStatus.RUNNING, "4", None)
    assert (ended.status, ended.result, ended.duration_ms) == (BlockStatus.DONE, "4", 3)


def test_a_tool_may_come_back_with_an_error_before_its_block_ends() -> None:
    turn = fold([CALL, ToolFinished(0, error="no"), BlockEnded(0)])
    assert (turn.blocks[0].status, turn.blocks[0].error) == (BlockStatus.ERROR, "no")


def test_a_tool_may_come_back_after_it_was_given_up() -> None:
    turn = fold([CALL, BlockEnded(0, interrupted=True), ToolFinished(0, "4")])
    assert turn.blocks[0].status is BlockStatus.DONE


def test_a_whole_block_may_turn_out_to_be_of_another_kind() -> None:
    turn = fold([*answer(0, "hm"), BlockReclassified(0, Kind.REASONING)])
    assert (turn.reasoning, turn.answer) == ("hm", "")


def test_a_block_may_turn_out_to_be_of_another_kind_while_it_is_open() -> None:
    turn = fold([BlockStarted(0, Kind.TEXT), BlockReclassified(0, Kind.REASONING), BlockGrew(0, "so")])
    assert turn.reasoning == "so"


def test_the_end_of_a_block_may_become_a_block_of_its_own() -> None:
    """R021: what follows the last closing tag goes to the answer, in a block that has ended."""
    turn = timed_turn(
        *((1, event) for event in thought(0, "first ", "then 💭 yes")),
        (6, BlockReclassified(0, Kind.TEXT, tail=5, into=1)),
    )
    assert (turn.reasoning, turn.answer) == ("first then ", "💭 yes")
    moved = Block(1, Kind.TEXT, status=BlockStatus.DONE, started_ms=6, ended_ms=6, pieces=["💭 yes"])
    assert turn.blocks[1] == moved


def test_the_end_of_a_block_may_be_all_of_it() -> None:
    turn = fold([*thought(0, "yes"), BlockReclassified(0, Kind.TEXT, tail=3, into=1)])
    assert (turn.reasoning, turn.answer) == ("", "yes")


def test_the_end_of_an_assistants_block_stays_with_the_assistant() -> None:
    called = [BlockStarted(0, Kind.ASSISTANT_CALL), *block(1, Kind.REASONING, "a, b", parent=0)]
    turn = fold([*called, BlockReclassified(1, Kind.TEXT, tail=1, into=2)])
    assert [child.text for child in turn.children(turn.blocks[0])] == ["a, ", "b"]
    assert turn.answer == ""


def test_a_block_that_was_split_off_takes_the_next_number() -> None:
    turn = fold([*thought(0, "ab"), BlockReclassified(0, Kind.TEXT, tail=1, into=1), *answer(2, "c")])
    assert turn.answer == "bc"


def test_a_summary_is_kept_and_the_last_one_counts() -> None:
    turn = fold([SummaryWritten("Looking", "provider"), SummaryWritten("Looked", "model")])
    assert turn.summary == "Looked"


def test_a_notice_changes_nothing_else() -> None:
    notice = NoticeGiven("rerouted", "Another model answers.")
    assert fold([notice]) == Turn(seq=0, notices=[notice])


def test_usage_adds_to_what_is_known_and_never_forgets() -> None:
    """R004: a count that nobody reported stays unknown, and an unknown one replaces none."""
    first, second = Usage(input=10, output=1, cache_read=4), Usage(output=7, reasoning=0)
    turn = fold([UsageReported(first), UsageReported(second)])
    assert turn.usage == Usage(input=10, output=7, reasoning=0, cache_read=4)
    assert turn.usage.cache_write is None


def test_a_turn_ends_with_its_outcome_message_and_moment() -> None:
    turn = timed_turn(
        *((1, event) for event in answer(0, "yes")), (8, TurnEnded(Finish.STOP, "end_turn", MESSAGE))
    )
    assert turn.outcome == Outcome(Ending.ANSWERED, "end_turn")
    assert (turn.message, turn.ended_ms, turn.live) == (MESSAGE, 8, False)


def test_a_turn_fails_and_what_was_said_stands() -> None:
    turn = timed_turn(
        *((1, event) for event in thought(0, "hm")),
        (8, TurnFailed("overloaded_error", "Try again later.")),
    )
    assert turn.outcome == Outcome(Ending.FAILED, "overloaded_error", "Try again later.")
    assert (turn.reasoning, turn.ended_ms, turn.message) == ("hm", 8, None)


def test_numbers_of_entries_may_leave_gaps() -> None:
    turn = apply(apply(Turn(), Entry(3, TurnStarted())), Entry(10, SummaryWritten("x")))
    assert turn.seq == 10


def test_apply_works_in_place_and_fold_goes_on_where_a_turn_stands() -> None:
    turn = Turn()
    assert apply(turn, Entry(0, BlockStarted(0, Kind.TEXT))) is turn
    assert fold([BlockGrew(0, "a"), BlockEnded(0)], turn) is turn
    assert (turn.answer, turn.seq) == ("a", 2)
