"""The effect of each event on the turn."""

import pytest
from tests.transcript.turn_builders import SIGNATURE, answer, block, sealed_thought, thought, timed_turn

from thinkaloud.core.canon import (
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
from thinkaloud.core.transcript import Block, BlockStatus, Ending, Outcome, Turn, apply, fold

MESSAGE = Seal("openai_chat", SealForm.MESSAGE, '{"role":"assistant"}', "gpt")


def test_turn_started_sets_dialect_model_and_time() -> None:
    turn = timed_turn((7, TurnStarted("openai_chat", "gpt")))
    assert turn == Turn("openai_chat", "gpt", seq=0, started_ms=7)
    assert turn.live


def test_block_started_sets_all_fields() -> None:
    """R030, R088: blocks are numbered in the order in which they started."""
    turn = timed_turn(
        (1, BlockStarted(0, Kind.ASSISTANT_CALL, "Checker", "c1", "a1")),
        (2, BlockStarted(1, Kind.REASONING, parent=0, provenance=Provenance.SUMMARY)),
    )
    assert turn.blocks == [
        Block(0, Kind.ASSISTANT_CALL, "Checker", "c1", "a1", started_ms=1),
        Block(1, Kind.REASONING, parent=0, provenance=Provenance.SUMMARY, started_ms=2),
    ]


def test_interleaved_text_goes_to_its_own_block() -> None:
    """R031: interleaved text and reasoning go each to their own block."""
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
def test_block_ended_sets_status(interrupted: bool, status: BlockStatus) -> None:
    turn = timed_turn((1, BlockStarted(0, Kind.TEXT)), (5, BlockEnded(0, interrupted)))
    assert (turn.blocks[0].status, turn.blocks[0].duration_ms) == (status, 4)


def test_seals_keep_their_order_and_may_follow_the_block_end() -> None:
    """R033: a seal belongs to its block, even if it arrives after the block ended."""
    late = Seal("gemini", SealForm.SIGNATURE, "bGF0ZQ==", "gemini-3")
    turn = fold([*sealed_thought(0), BlockSealed(0, late)])
    assert turn.blocks[0].seals == [SIGNATURE, late]
    assert turn.blocks[0].status is BlockStatus.DONE


CALL = BlockStarted(0, Kind.TOOL_CALL, "add", "c1")


def test_tool_result_after_block_end() -> None:
    turn = timed_turn((1, CALL), (2, BlockEnded(0)), (9, ToolFinished(0, "4")))
    assert (turn.blocks[0].status, turn.blocks[0].result) == (BlockStatus.DONE, "4")
    assert turn.blocks[0].duration_ms == 8


def test_tool_error_after_block_end() -> None:
    turn = fold([CALL, BlockEnded(0), ToolFinished(0, error="no such file")])
    assert (turn.blocks[0].status, turn.blocks[0].error) == (BlockStatus.ERROR, "no such file")
    assert turn.blocks[0].result == ""


def test_tool_result_before_block_end() -> None:
    script: list[tuple[int | None, Event]] = [(1, CALL), (3, ToolFinished(0, "4")), (4, BlockEnded(0))]
    running, ended = timed_turn(*script[:2]).blocks[0], timed_turn(*script).blocks[0]
    assert (running.status, running.result, running.duration_ms) == (BlockStatus.RUNNING, "4", None)
    assert (ended.status, ended.result, ended.duration_ms) == (BlockStatus.DONE, "4", 3)


def test_tool_error_before_block_end() -> None:
    turn = fold([CALL, ToolFinished(0, error="no"), BlockEnded(0)])
    assert (turn.blocks[0].status, turn.blocks[0].error) == (BlockStatus.ERROR, "no")


def test_tool_result_after_interrupted_block() -> None:
    turn = fold([CALL, BlockEnded(0, interrupted=True), ToolFinished(0, "4")])
    assert turn.blocks[0].status is BlockStatus.DONE


def test_reclassify_whole_block() -> None:
    turn = fold([*answer(0, "hm"), BlockReclassified(0, Kind.REASONING)])
    assert (turn.reasoning, turn.answer) == ("hm", "")


def test_reclassify_open_block() -> None:
    turn = fold([BlockStarted(0, Kind.TEXT), BlockReclassified(0, Kind.REASONING), BlockGrew(0, "so")])
    assert turn.reasoning == "so"


def test_reclassify_tail_into_new_block() -> None:
    """R021: the text after the last closing tag moves to a new text block that is already ended."""
    turn = timed_turn(
        *((1, event) for event in thought(0, "first ", "then 💭 yes")),
        (6, BlockReclassified(0, Kind.TEXT, tail=5, into=1)),
    )
    assert (turn.reasoning, turn.answer) == ("first then ", "💭 yes")
    moved = Block(1, Kind.TEXT, status=BlockStatus.DONE, started_ms=6, ended_ms=6, pieces=["💭 yes"])
    assert turn.blocks[1] == moved


def test_reclassify_tail_of_full_length() -> None:
    turn = fold([*thought(0, "yes"), BlockReclassified(0, Kind.TEXT, tail=3, into=1)])
    assert (turn.reasoning, turn.answer) == ("", "yes")


def test_reclassified_tail_keeps_its_parent() -> None:
    called = [BlockStarted(0, Kind.ASSISTANT_CALL), *block(1, Kind.REASONING, "a, b", parent=0)]
    turn = fold([*called, BlockReclassified(1, Kind.TEXT, tail=1, into=2)])
    assert [child.text for child in turn.children(turn.blocks[0])] == ["a, ", "b"]
    assert turn.answer == ""


def test_reclassified_tail_takes_the_next_number() -> None:
    turn = fold([*thought(0, "ab"), BlockReclassified(0, Kind.TEXT, tail=1, into=1), *answer(2, "c")])
    assert turn.answer == "bc"


def test_last_summary_wins() -> None:
    turn = fold([SummaryWritten("Looking", "provider"), SummaryWritten("Looked", "model")])
    assert turn.summary == "Looked"


def test_notice_only_adds_to_notices() -> None:
    notice = NoticeGiven("rerouted", "Another model answers.")
    assert fold([notice]) == Turn(seq=0, notices=[notice])


def test_usage_reports_are_merged() -> None:
    """R004: a count that is never reported stays unknown, and an unknown count replaces none."""
    first, second = Usage(input=10, output=1, cache_read=4), Usage(output=7, reasoning=0)
    turn = fold([UsageReported(first), UsageReported(second)])
    assert turn.usage == Usage(input=10, output=7, reasoning=0, cache_read=4)
    assert turn.usage.cache_write is None


def test_turn_ended_sets_outcome_message_and_time() -> None:
    turn = timed_turn(
        *((1, event) for event in answer(0, "yes")), (8, TurnEnded(Finish.STOP, "end_turn", MESSAGE))
    )
    assert turn.outcome == Outcome(Ending.ANSWERED, "end_turn")
    assert (turn.message, turn.ended_ms, turn.live) == (MESSAGE, 8, False)


def test_turn_failed_keeps_earlier_blocks() -> None:
    turn = timed_turn(
        *((1, event) for event in thought(0, "hm")),
        (8, TurnFailed("overloaded_error", "Try again later.")),
    )
    assert turn.outcome == Outcome(Ending.FAILED, "overloaded_error", "Try again later.")
    assert (turn.reasoning, turn.ended_ms, turn.message) == ("hm", 8, None)


def test_entry_sequence_may_have_gaps() -> None:
    turn = apply(apply(Turn(), Entry(3, TurnStarted())), Entry(10, SummaryWritten("x")))
    assert turn.seq == 10


def test_apply_works_in_place_and_fold_continues_a_turn() -> None:
    turn = Turn()
    assert apply(turn, Entry(0, BlockStarted(0, Kind.TEXT))) is turn
    assert fold([BlockGrew(0, "a"), BlockEnded(0)], turn) is turn
    assert (turn.answer, turn.seq) == ("a", 2)
