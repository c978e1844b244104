"""Two questions to a text: where is the next marker, and where may one have begun."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thinkaloud.dialects.tags.markers import Markers, compile_markers

TAGS = Markers({"open": ("<think>", "<think>\n"), "close": ("</think>",)})
SUFFIX = Markers({"open": ("<think:*>",)})
NOTHING = Markers({"open": ()})


@pytest.mark.parametrize(
    ("marks", "text", "at", "expected"),
    [
        (TAGS, "a<think>b", 0, ("open", 1, "<think>")),
        (TAGS, "a<think>\nb", 0, ("open", 1, "<think>\n")),
        (TAGS, "a</think><think>", 0, ("close", 1, "</think>")),
        (TAGS, "a</think><think>", 2, ("open", 9, "<think>")),
        (TAGS, "a<think", 0, None),
        (SUFFIX, "<think:a-1>", 0, ("open", 0, "<think:a-1>")),
        (SUFFIX, "<think:>", 0, None),
        (SUFFIX, "<think:a b>", 0, None),
        (SUFFIX, "<think:a<think:b>", 0, ("open", 8, "<think:b>")),
        (SUFFIX, f"<think:{'x' * 24}>", 0, ("open", 0, f"<think:{'x' * 24}>")),
        (SUFFIX, f"<think:{'x' * 25}>", 0, None),
        (NOTHING, "<think>", 0, None),
    ],
)
def test_the_next_marker_is_found_with_its_role(
    marks: Markers, text: str, at: int, expected: tuple[str, int, str] | None
) -> None:
    marker = marks.find(text, at)
    assert expected == (marker and (marker.lastgroup, marker.start(), marker.group()))


def test_a_marker_matches_only_where_it_stands() -> None:
    assert TAGS.match("a<think>", 0) is None
    assert TAGS.match("a<think>", 1) is not None


@pytest.mark.parametrize(
    ("marks", "text", "unfinished_start"),
    [
        (TAGS, "", 0),
        (TAGS, "abc", 3),
        (TAGS, "abc<", 3),
        (TAGS, "abc</thi", 3),
        (TAGS, "a<<", 2),
        (TAGS, "a<think", 1),
        (TAGS, "a<think>", 1),  # it may still get its line end
        (TAGS, "a<think>\n", 9),
        (TAGS, "a</think>", 9),
        (TAGS, "a<thinl", 7),
        (SUFFIX, "a<think:", 1),
        (SUFFIX, "a<think:op", 1),
        (SUFFIX, f"a<think:{'x' * 24}", 1),
        (SUFFIX, f"a<think:{'x' * 25}", 33),
        (SUFFIX, "a<think:x y", 11),
        (NOTHING, "a<think", 7),
    ],
)
def test_the_beginning_of_a_marker_is_seen_at_the_end(
    marks: Markers, text: str, unfinished_start: int
) -> None:
    assert marks.unfinished_start(text, 0) == unfinished_start


def test_a_beginning_counts_only_from_where_we_are() -> None:
    assert TAGS.unfinished_start("a<thi", 2) == 5


@pytest.mark.parametrize(
    ("text", "at", "unfinished"),
    [
        ("a<think>", 1, True),
        ("a<think>", 0, False),
        ("<think>\n", 0, False),
        ("<think>x", 0, False),
        ("<", 0, True),
    ],
)
def test_a_marker_is_unfinished_while_a_longer_one_may_come(text: str, at: int, unfinished: bool) -> None:
    assert TAGS.unfinished_at(text, at) is unfinished


@pytest.mark.parametrize(
    ("marks", "longest", "letters"), [(TAGS, 8, "<"), (SUFFIX, 32, "<"), (NOTHING, 0, "")]
)
def test_markers_know_their_longest_and_their_first_letters(
    marks: Markers, longest: int, letters: str
) -> None:
    assert (marks.max_length, marks.first_characters) == (longest, letters)


def test_every_first_and_last_letter_is_known() -> None:
    marks = Markers({"open": ("[THINK]", "<think>"), "close": ("Here", "◁")})
    assert (marks.first_characters, marks.last_characters) == ("<H[◁", ">]e◁")


@pytest.mark.parametrize(
    ("marks", "text", "parted"),
    [
        (TAGS, "abc", ("abc", "")),
        (TAGS, "a<b</thi", ("a<b", "</thi")),
        (TAGS, "a<thinl", ("a<thinl", "")),
        (SUFFIX, "a<think:op", ("a", "<think:op")),
        (Markers({"open": ("<|a<|b",)}), "x<|a<", ("x", "<|a<")),
        (Markers({"open": ("[a]", "<a>")}), "x[a<", ("x[a", "<")),
        (NOTHING, "a<think", ("a<think", "")),
    ],
)
def test_a_text_without_a_marker_is_parted_where_one_may_have_begun(
    marks: Markers, text: str, parted: tuple[str, str]
) -> None:
    assert marks.split_unfinished(text) == parted


def test_the_same_markers_are_made_once() -> None:
    assert compile_markers(open=("<a>",), close=("</a>",)) is compile_markers(open=("<a>",), close=("</a>",))


MARK = st.text("<>a*.", min_size=1, max_size=5).filter(lambda mark: "*" not in mark)


@settings(max_examples=300)
@given(st.lists(MARK, min_size=1, max_size=4, unique=True), st.text("<>a*.", max_size=12))
def test_markers_are_found_as_plain_search_finds_them(group: list[str], text: str) -> None:
    """Letters that mean something in a pattern mean themselves in a marker."""
    marks = Markers({"any": tuple(group)})
    first = min((index for marker in group if (index := text.find(marker)) >= 0), default=None)
    match = marks.find(text, 0)
    assert (match and match.start()) == first
    unfinished_start = (
        index
        for index in range(len(text))
        if any(_is_unfinished_marker(text[index:], marker) for marker in group)
    )
    position = next(unfinished_start, len(text))
    assert marks.unfinished_start(text, 0) == position
    assert match or marks.split_unfinished(text) == (text[:position], text[position:])


def _is_unfinished_marker(tail: str, marker: str) -> bool:
    return marker.startswith(tail) and marker != tail
