"""Reading a turn: its text, its own blocks, and those of its assistants."""

import pytest
from tests.transcript.scripts import answer, block, thought

from thinkaloud.canon import BlockGrew, BlockStarted, Kind
from thinkaloud.transcript import Block, Status, Turn, fold


def test_text_is_kept_in_pieces_until_somebody_asks() -> None:
    turn = fold([BlockStarted(0, Kind.TEXT), *(BlockGrew(0, letter) for letter in "abc")])
    assert turn.blocks[0].pieces == ["a", "b", "c"]
    assert turn.blocks[0].text == "abc"
    assert turn.blocks[0].pieces == ["abc"]
    fold([BlockGrew(0, "d")], turn)
    assert turn.blocks[0].text == "abcd"


def test_a_block_without_text_has_none() -> None:
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
def test_a_block_is_blank_when_nothing_in_it_can_be_read(pieces: list[str], blank: bool) -> None:
    """R025."""
    assert Block(0, Kind.REASONING, pieces=pieces).blank is blank


@pytest.mark.parametrize(
    ("started_ms", "ended_ms", "duration_ms"), [(10, 40, 30), (0, 0, 0), (None, 40, None), (10, None, None)]
)
def test_a_duration_needs_both_stamps(
    started_ms: int | None, ended_ms: int | None, duration_ms: int | None
) -> None:
    told = Block(0, Kind.TEXT, status=Status.DONE, started_ms=started_ms, ended_ms=ended_ms)
    assert told.duration_ms == duration_ms


def test_thoughts_and_answers_are_joined_with_nothing_in_between() -> None:
    """R088: any number of thoughts, each in its place."""
    turn = fold([*thought(0, "a"), *answer(1, "x"), *thought(2, "b"), *answer(3, "y")])
    assert (turn.reasoning, turn.answer) == ("ab", "xy")


def test_what_assistants_say_is_theirs() -> None:
    turn = fold(
        [
            BlockStarted(0, Kind.ASSISTANT_CALL, "Checker"),
            *block(1, Kind.REASONING, "inner", parent=0),
            BlockStarted(2, Kind.ASSISTANT_CALL, "Looker", parent=0),
            *block(3, Kind.TEXT, "deep", parent=2),
            *block(4, Kind.TEXT, "said", parent=0),
            *answer(5, "own"),
        ]
    )
    checker, _, looker, deep, said, own = turn.blocks
    assert (turn.reasoning, turn.answer) == ("", "own")
    assert turn.top() == [checker, own]
    assert turn.top(Kind.TEXT) == [own]
    assert turn.top(Kind.TEXT, Kind.ASSISTANT_CALL) == [checker, own]
    assert turn.children(checker) == [turn.blocks[1], looker, said]
    assert turn.children(looker) == [deep]
    assert turn.children(deep) == []


def test_a_turn_that_nothing_happened_in() -> None:
    turn = Turn()
    assert (turn.reasoning, turn.answer, turn.top(), turn.live) == ("", "", [], True)
