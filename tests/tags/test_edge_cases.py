"""The edge cases that every reader of `<think>` tags gets wrong once."""

import pytest
from tests.chunks import all_splits
from tests.tags.text_runs import TextRuns, answer, join_pieces, split_text, thought

import thinkaloud
from thinkaloud.canon import BlockEnded, BlockStarted, Event, Kind
from thinkaloud.dialects.tags.profiles import PROFILES, TagProfile
from thinkaloud.dialects.tags.splitter import make_splitter
from thinkaloud.transcript import Ending, Turn

THINK = PROFILES["think"]


def assert_splits_to(text: str, expected: TextRuns, profile: TagProfile = THINK) -> None:
    for parts in all_splits(text):
        assert split_text(profile, parts) == expected, parts


def read_text(text: str, tags: str = "think") -> Turn:
    return thinkaloud.read(text.encode(), "text", tags=tags)


def events_of(text: str) -> list[Event]:
    reader = thinkaloud.Reader("text", tags="think")
    return [*reader.feed(text.encode()), *reader.close()]


def blocks_of(turn: Turn) -> list[tuple[Kind, str]]:
    return [(block.kind, block.text) for block in turn.blocks]


def test_thought_and_answer_part_while_the_text_still_comes() -> None:
    """R016: each feed gives at once all that it makes certain."""
    split = make_splitter(THINK)
    steps = [
        ("<thi", []),
        ("nk>", []),
        ("First", [thought("First")]),
        (" a plan.</", [thought(" a plan.")]),
        ("think", []),
        (">", []),
        ("Then an", [answer("Then an")]),
        (" answer", [answer(" answer")]),
    ]
    for text, expected in steps:
        assert join_pieces(split.feed(text)) == expected, text
    assert split.close() == []


def test_an_opening_tag_leads_into_the_thought_and_a_closing_tag_out_of_it() -> None:
    """R017."""
    assert_splits_to("<think>a</think>b", [thought("a"), answer("b")])
    assert_splits_to(
        "a<think>b</think>c", [answer("a"), thought("b"), answer("c")], PROFILES["think_anywhere"]
    )


@pytest.mark.parametrize("length", range(1, len("<think>")))
def test_what_begins_like_an_opening_tag_is_held_and_comes_out_unchanged(length: int) -> None:
    """R018: rejected characters are told as they came, by the next character or by the end."""
    unfinished = "<think>"[:length]
    split = make_splitter(THINK)
    assert split.feed(unfinished) == []
    assert join_pieces(split.feed("!")) == [answer(unfinished + "!")]
    assert_splits_to(unfinished, [answer(unfinished)])


@pytest.mark.parametrize("length", range(1, len("</think>")))
def test_what_begins_like_a_closing_tag_is_held_and_comes_out_unchanged(length: int) -> None:
    """R018: inside a thought as well."""
    unfinished = "</think>"[:length]
    split = make_splitter(THINK)
    assert join_pieces(split.feed("<think>a" + unfinished)) == [thought("a")]
    assert join_pieces(split.feed("!")) == [thought(unfinished + "!")]
    assert_splits_to("<think>a" + unfinished, [thought("a" + unfinished)])


def test_a_tag_may_begin_right_after_what_only_looked_like_one() -> None:
    """R018: of `<<think>` and `</</think>` only the first characters are let go."""
    assert_splits_to("<think></</think>b", [thought("</"), answer("b")])
    assert_splits_to("<<think>a</think>", [answer("<"), thought("a")], PROFILES["think_anywhere"])


def test_an_unclosed_thought_is_thought_to_the_end_and_its_block_ends() -> None:
    """R019: the rest is reasoning, and the end of the reasoning is told."""
    assert_splits_to("<think>cut of", [thought("cut of")])
    told_events = events_of("<think>cut of")
    started = [event.block for event in told_events if isinstance(event, BlockStarted)]
    ended = [event.block for event in told_events if isinstance(event, BlockEnded)]
    assert started == ended == [0]


def test_a_closing_tag_that_closes_nothing_is_text() -> None:
    """R020."""
    assert_splits_to("a</think>b", [answer("a</think>b")])
    assert_splits_to("</think>b", [answer("</think>b")])
    assert_splits_to("<think>a</think>b</think>c", [thought("a"), answer("b</think>c")])


def test_a_model_that_begins_inside_a_thought_needs_no_opening_tag() -> None:
    """R020: only its profile can say so; the text alone never does."""
    assert_splits_to("a</think>b", [thought("a"), answer("b")], PROFILES["think_inside"])


def test_tags_within_a_thought_are_words_of_it() -> None:
    """R021: inner tags are counted, so that the thought ends with its own tag."""
    assert_splits_to("<think>a<think>b</think>c</think>d", [thought("a<think>b</think>c"), answer("d")])
    assert_splits_to(
        "<think><think><think>a</think></think></think>b",
        [thought("<think><think>a</think></think>"), answer("b")],
    )


def test_the_answer_after_an_inner_tag_is_given_back() -> None:
    """R021: if the outer tag never closes, what follows the last closing tag was the answer."""
    assert_splits_to("<think>a<think>b</think>c", [thought("a<think>b</think>"), answer("c")])
    assert_splits_to("<think>a<think>b</think>", [thought("a<think>b</think>")])
    assert_splits_to("<think>a<think>b</think>c</thi", [thought("a<think>b</think>"), answer("c</thi")])
    assert_splits_to(
        "<think><think><think>a</think>b</think>c<think>d",
        [thought("<think><think>a</think>b</think>"), answer("c<think>d")],
    )
    assert blocks_of(read_text("<think>a<think>b</think>c")) == [
        (Kind.REASONING, "a<think>b</think>"),
        (Kind.TEXT, "c"),
    ]


def test_the_first_closing_tag_can_be_made_to_count() -> None:
    """R021: `first_close` is for models that quote tags and never nest them."""
    quoting = TagProfile("quoting", nesting="first_close")
    assert_splits_to(
        "<think>a<think>b</think>c</think>d", [thought("a<think>b"), answer("c</think>d")], quoting
    )


def test_an_empty_thought_is_no_block() -> None:
    """R024."""
    assert_splits_to("<think></think>a", [answer("a")])
    assert blocks_of(read_text("<think></think>a")) == [(Kind.TEXT, "a")]


@pytest.mark.parametrize("blank", [" ", "\n\n", "\t \n"])
def test_a_thought_of_white_space_is_none(blank: str) -> None:
    """R025: there is nothing in it to read, and a turn of nothing else is empty."""
    turn = read_text(f"<think>{blank}</think>a")
    assert all(block.blank for block in turn.own_blocks(Kind.REASONING))
    assert turn.answer == "a"
    nothing = read_text(f"<think>{blank}</think>")
    assert nothing.outcome is not None
    assert nothing.outcome.ending is Ending.EMPTY


def test_a_thought_without_an_answer_is_no_failure() -> None:
    """R026."""
    turn = read_text("<think>a plan</think>")
    assert blocks_of(turn) == [(Kind.REASONING, "a plan")]
    assert turn.outcome is not None
    assert turn.outcome.ending is Ending.REASONING_ONLY


def test_a_thought_that_must_be_the_answer_is_one_even_with_white_space_behind_it() -> None:
    assert read_text("<think>all in here</think>\n", "nemotron_nonempty").answer == "all in here\n"
    assert read_text("<think>all in here</think>", "nemotron_nonempty").reasoning == ""
    assert blocks_of(read_text("plain", "nemotron_nonempty")) == [(Kind.TEXT, "plain")]


def test_a_quoted_call_goes_back_into_the_thought() -> None:
    turn = read_text("<think>say <tool_call> first</think>ok", "think_or_call")
    assert (turn.reasoning, turn.answer) == ("say <tool_call> first", "ok")


def test_a_closing_mark_makes_all_before_it_a_thought_where_the_profile_says_so() -> None:
    turn = read_text("stray<channel|>Hi.<channel|>", "gemma")
    assert (turn.reasoning, turn.answer) == ("stray", "Hi.")
    assert blocks_of(read_text("<channel|>Hi.", "gemma")) == [(Kind.TEXT, "Hi.")]
