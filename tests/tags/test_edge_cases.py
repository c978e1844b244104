"""Edge cases of `<think>` tags."""

import json

import pytest
from tests.chunks import all_splits
from tests.tags.text_runs import TextRuns, answer, join_pieces, split_text, thought

import thinkaloud
from thinkaloud.core.canon import BlockEnded, BlockStarted, Event, Kind
from thinkaloud.core.dialects.tags.profiles import PROFILES, TagProfile
from thinkaloud.core.dialects.tags.splitter import make_splitter
from thinkaloud.core.transcript import Ending, Turn

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


def test_splitter_streams_reasoning_and_answer() -> None:
    """R016: each feed returns all text that is decided by then."""
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


def test_opening_and_closing_tags_delimit_reasoning() -> None:
    """R017."""
    assert_splits_to("<think>a</think>b", [thought("a"), answer("b")])
    assert_splits_to(
        "a<think>b</think>c", [answer("a"), thought("b"), answer("c")], PROFILES["think_anywhere"]
    )


@pytest.mark.parametrize("length", range(1, len("<think>")))
def test_partial_opening_tag_is_held_back_and_released(length: int) -> None:
    """R018: the next character, or the end of the text, releases the characters unchanged."""
    unfinished = "<think>"[:length]
    split = make_splitter(THINK)
    assert split.feed(unfinished) == []
    assert join_pieces(split.feed("!")) == [answer(unfinished + "!")]
    assert_splits_to(unfinished, [answer(unfinished)])


@pytest.mark.parametrize("length", range(1, len("</think>")))
def test_partial_closing_tag_is_held_back_and_released(length: int) -> None:
    """R018: inside reasoning as well."""
    unfinished = "</think>"[:length]
    split = make_splitter(THINK)
    assert join_pieces(split.feed("<think>a" + unfinished)) == [thought("a")]
    assert join_pieces(split.feed("!")) == [thought(unfinished + "!")]
    assert_splits_to("<think>a" + unfinished, [thought("a" + unfinished)])


def test_tag_after_a_false_tag_start() -> None:
    """R018: of `<<think>` and `</</think>` only the first characters are released as text."""
    assert_splits_to("<think></</think>b", [thought("</"), answer("b")])
    assert_splits_to("<<think>a</think>", [answer("<"), thought("a")], PROFILES["think_anywhere"])


def test_unclosed_tag_makes_the_rest_reasoning() -> None:
    """R019: the rest of the text is reasoning, and its block ends."""
    assert_splits_to("<think>cut of", [thought("cut of")])
    events = events_of("<think>cut of")
    started = [event.block for event in events if isinstance(event, BlockStarted)]
    ended = [event.block for event in events if isinstance(event, BlockEnded)]
    assert started == ended == [0]


def test_lone_closing_tag_is_text() -> None:
    """R020."""
    assert_splits_to("a</think>b", [answer("a</think>b")])
    assert_splits_to("</think>b", [answer("</think>b")])
    assert_splits_to("<think>a</think>b</think>c", [thought("a"), answer("b</think>c")])


def test_profile_that_starts_inside_needs_no_opening_tag() -> None:
    """R020: only the profile decides this, never the text."""
    assert_splits_to("a</think>b", [thought("a"), answer("b")], PROFILES["think_inside"])


def test_nested_tags_are_reasoning_text() -> None:
    """R021: nested tags are counted, so that the reasoning ends with its own closing tag."""
    assert_splits_to("<think>a<think>b</think>c</think>d", [thought("a<think>b</think>c"), answer("d")])
    assert_splits_to(
        "<think><think><think>a</think></think></think>b",
        [thought("<think><think>a</think></think>"), answer("b")],
    )


def test_text_after_nested_tag_is_reclassified_as_answer() -> None:
    """R021: if the outer tag is never closed, the text after the last closing tag is the answer."""
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


def test_first_close_profile_ends_at_the_first_closing_tag() -> None:
    """R021: `first_close` is for models that quote tags and never nest them."""
    quoting = TagProfile("quoting", nesting="first_close")
    assert_splits_to(
        "<think>a<think>b</think>c</think>d", [thought("a<think>b"), answer("c</think>d")], quoting
    )


def test_empty_reasoning_creates_no_block() -> None:
    """R024."""
    assert_splits_to("<think></think>a", [answer("a")])
    assert blocks_of(read_text("<think></think>a")) == [(Kind.TEXT, "a")]


@pytest.mark.parametrize("blank", [" ", "\n\n", "\t \n"])
def test_white_space_reasoning_is_blank(blank: str) -> None:
    """R025: the block is blank, and a turn with only blank blocks is empty."""
    turn = read_text(f"<think>{blank}</think>a")
    assert all(block.blank for block in turn.own_blocks(Kind.REASONING))
    assert turn.answer == "a"
    nothing = read_text(f"<think>{blank}</think>")
    assert nothing.outcome is not None
    assert nothing.outcome.ending is Ending.EMPTY


def test_reasoning_without_answer_is_not_a_failure() -> None:
    """R026."""
    turn = read_text("<think>a plan</think>")
    assert blocks_of(turn) == [(Kind.REASONING, "a plan")]
    assert turn.outcome is not None
    assert turn.outcome.ending is Ending.REASONING_ONLY


def test_answer_from_thought_profile_turns_reasoning_into_answer() -> None:
    assert read_text("<think>all in here</think>\n", "nemotron_nonempty").answer == "all in here\n"
    assert read_text("<think>all in here</think>", "nemotron_nonempty").reasoning == ""
    assert blocks_of(read_text("plain", "nemotron_nonempty")) == [(Kind.TEXT, "plain")]


def test_quoted_tool_call_marker_is_reclassified_as_reasoning() -> None:
    turn = read_text("<think>say <tool_call> first</think>ok", "think_or_call")
    assert (turn.reasoning, turn.answer) == ("say <tool_call> first", "ok")


def test_lone_closing_marker_reclassifies_the_text_before_it() -> None:
    turn = read_text("stray<channel|>Hi.<channel|>", "gemma")
    assert (turn.reasoning, turn.answer) == ("stray", "Hi.")
    assert blocks_of(read_text("<channel|>Hi.", "gemma")) == [(Kind.TEXT, "Hi.")]


@pytest.mark.parametrize(
    ("text", "setting"),
    [
        ("Two.</think>Four.", "think_either"),
        ("Two.</think>Four.</think>", "think_either"),
        ("Write </think> to end, <think> to begin.", "think_either"),
        ("Write <think>, then </think>.", ""),
        ("<think>Two.</think>Four.</think>", ""),
        ("Two.</thin>", ""),
    ],
)
def test_lone_closing_tag_names_the_setting_in_a_notice(text: str, setting: str) -> None:
    """R020, K14: it stays in the answer."""
    for parts in all_splits(text.encode()):
        reader = thinkaloud.Reader("text", tags="think")
        turn = thinkaloud.fold([event for part in parts for event in reader.feed(part)] + reader.close())
        assert text.endswith(turn.answer)
        assert [notice.code for notice in turn.notices] == (["lone_closing_tag"] if setting else [])
        assert all(f"'{setting}'" in notice.text for notice in turn.notices)


@pytest.mark.parametrize(
    ("model", "prefilled"),
    [
        ("Qwen/Qwen3-235B-A22B-Thinking-2507", True),
        ("Qwen3-VL-8B-Thinking", True),
        ("Qwen/Qwen3-8B", False),
        ("zai-org/GLM-4.5", False),
        ("glm-4.5-air", False),
        ("llama-4", False),
    ],
)
def test_lone_closing_tag_ends_a_thought_where_the_template_opens_it(model: str, prefilled: bool) -> None:
    """K14: the template of Qwen3 Thinking contains the opening tag, that of GLM-4.5 does not."""
    choice = {"message": {"content": "Two.</think>Four."}, "finish_reason": "stop"}
    turn = thinkaloud.read(json.dumps({"model": model, "choices": [choice]}).encode())
    assert (turn.reasoning, turn.answer) == (("Two.", "Four.") if prefilled else ("", "Two.</think>Four."))
    assert len(turn.notices) == (not prefilled)
