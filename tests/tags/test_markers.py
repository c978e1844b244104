"""Finds complete markers, and unfinished markers at the end of a text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thinkaloud.core.dialects.tags.markers import Markers, compile_markers

TAGS = Markers({"open": ("<think>", "<think>\n"), "close": ("</think>",)})
SUFFIX = Markers({"open": ("<think:*>",)})
NOTHING = Markers({"open": ()})


@pytest.mark.parametrize(
    ("markers", "text", "position", "expected"),
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
def test_find_returns_the_next_marker_and_its_role(
    markers: Markers, text: str, position: int, expected: tuple[str, int, str] | None
) -> None:
    marker = markers.find(text, position)
    assert expected == (marker and (marker.lastgroup, marker.start(), marker.group()))


def test_match_requires_the_exact_position() -> None:
    assert TAGS.match("a<think>", 0) is None
    assert TAGS.match("a<think>", 1) is not None


@pytest.mark.parametrize(
    ("markers", "text", "unfinished_start"),
    [
        (TAGS, "", 0),
        (TAGS, "abc", 3),
        (TAGS, "abc<", 3),
        (TAGS, "abc</thi", 3),
        (TAGS, "a<<", 2),
        (TAGS, "a<think", 1),
        (TAGS, "a<think>", 1),  # a line end may follow, which makes the longer marker
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
def test_unfinished_marker_at_the_end_of_the_text(markers: Markers, text: str, unfinished_start: int) -> None:
    assert markers.unfinished_start(text, 0) == unfinished_start


def test_unfinished_start_ignores_text_before_the_start() -> None:
    assert TAGS.unfinished_start("a<thi", 2) == 5


@pytest.mark.parametrize(
    ("text", "position", "unfinished"),
    [
        ("a<think>", 1, True),
        ("a<think>", 0, False),
        ("<think>\n", 0, False),
        ("<think>x", 0, False),
        ("<", 0, True),
    ],
)
def test_unfinished_at_while_a_longer_marker_may_follow(text: str, position: int, unfinished: bool) -> None:
    assert TAGS.unfinished_at(text, position) is unfinished


@pytest.mark.parametrize(
    ("markers", "max_length", "first_characters"), [(TAGS, 8, "<"), (SUFFIX, 32, "<"), (NOTHING, 0, "")]
)
def test_markers_max_length_and_first_characters(
    markers: Markers, max_length: int, first_characters: str
) -> None:
    assert (markers.max_length, markers.first_characters) == (max_length, first_characters)


def test_markers_first_and_last_characters() -> None:
    markers = Markers({"open": ("[THINK]", "<think>"), "close": ("Here", "◁")})
    assert (markers.first_characters, markers.last_characters) == ("<H[◁", ">]e◁")


@pytest.mark.parametrize(
    ("markers", "text", "expected"),
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
def test_split_unfinished_marker(markers: Markers, text: str, expected: tuple[str, str]) -> None:
    assert markers.split_unfinished(text) == expected


def test_compiled_markers_are_cached() -> None:
    assert compile_markers(open=("<a>",), close=("</a>",)) is compile_markers(open=("<a>",), close=("</a>",))


MARK = st.text("<>a*.", min_size=1, max_size=5).filter(lambda mark: "*" not in mark)


@settings(max_examples=300)
@given(st.lists(MARK, min_size=1, max_size=4, unique=True), st.text("<>a*.", max_size=12))
def test_markers_are_found_like_plain_string_search(group: list[str], text: str) -> None:
    """Characters that are special in a regular expression are literal in a marker."""
    markers = Markers({"any": tuple(group)})
    first = min((index for marker in group if (index := text.find(marker)) >= 0), default=None)
    match = markers.find(text, 0)
    assert (match and match.start()) == first
    unfinished_start = (
        index
        for index in range(len(text))
        if any(_is_unfinished_marker(text[index:], marker) for marker in group)
    )
    position = next(unfinished_start, len(text))
    assert markers.unfinished_start(text, 0) == position
    assert match or markers.split_unfinished(text) == (text[:position], text[position:])


def _is_unfinished_marker(tail: str, marker: str) -> bool:
    return marker.startswith(tail) and marker != tail
