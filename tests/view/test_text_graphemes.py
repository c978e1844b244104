"""Cutting texts by columns and grapheme clusters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wcwidth import iter_graphemes, width

from thinkaloud.core.view.text import (
    ELLIPSIS,
    columns_of,
    first_code_points,
    first_columns,
    first_graphemes,
    last_code_points,
    last_columns,
    one_line,
)

FAMILY = "👨‍👩‍👧‍👦"
FLAG = "🇧🇷"
ACCENTED = "e\u0301"

# Pieces that a careless cut would split, beside plain ones.
PIECES = st.sampled_from(
    ["a", "word", " ", "漢", "字", FAMILY, FLAG, ACCENTED, "❤️", "한", "क्ष", "é", ".", "-"]
)
TEXTS = st.lists(PIECES, max_size=60).map("".join)
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)


@pytest.mark.parametrize(
    ("text", "columns"),
    [("abc", 3), ("漢字", 4), (FAMILY, 2), (FLAG, 2), (ACCENTED, 1), ("a\x07b", 2), ("", 0)],
)
def test_columns_of_counts_terminal_columns(text: str, columns: int) -> None:
    assert columns_of(text) == columns


@pytest.mark.parametrize(
    ("line", "columns", "expected"),
    [
        ("short", 40, "short"),
        ("exactly ten", 11, "exactly ten"),
        ("one two three four", 12, "one two…"),
        ("one two, three", 9, "one two…"),
        ("unbreakable", 6, "unbre…"),
        ("a unbreakablylongword", 12, "a unbreakab…"),
        ("漢字漢字", 5, "漢字…"),
        (FAMILY * 3, 4, FAMILY + "…"),
        (FLAG * 3, 5, FLAG * 2 + "…"),
        ("word", 1, "…"),
        ("word", 0, ""),
        ("word", -5, ""),
        ("", 10, ""),
    ],
)
def test_first_columns_of_a_line(line: str, columns: int, expected: str) -> None:
    """R069, R090: first words, cut between words unless that drops more than half."""
    assert first_columns(line, columns) == expected


@pytest.mark.parametrize(
    ("line", "columns", "expected"),
    [
        ("short", 40, "short"),
        ("one two three four", 12, "…three four"),
        ("one two, three four", 12, "…three four"),
        ("unbreakable", 6, "…kable"),
        ("漢字漢字", 5, "…漢字"),
        (FAMILY * 3, 4, "…" + FAMILY),
        ("word", 0, ""),
        ("", 10, ""),
    ],
)
def test_last_columns_of_a_line(line: str, columns: int, expected: str) -> None:
    assert last_columns(line, columns) == expected


def test_partial_lines_get_an_ellipsis_even_if_they_fit() -> None:
    assert first_columns("one two", 40, partial=True) == "one two…"
    assert last_columns("one two", 40, partial=True) == "…one two"


@given(TEXTS, st.integers(-1, 50), st.booleans())
def test_columns_are_not_exceeded_and_graphemes_not_split(text: str, columns: int, more: bool) -> None:
    """R090: no cut splits an emoji, a flag, an accented letter or a wide character."""
    line = " ".join(text.split())
    whole = list(iter_graphemes(line))
    for shortened in (first_columns(line, columns, partial=more), last_columns(line, columns, partial=more)):
        assert columns_of(shortened) <= max(0, columns)
        assert width(shortened) <= max(0, columns)
    start = list(iter_graphemes(first_columns(line, columns, partial=more).removesuffix(ELLIPSIS)))
    end = list(iter_graphemes(last_columns(line, columns, partial=more).removeprefix(ELLIPSIS)))
    assert start == whole[: len(start)]
    assert end == whole[len(whole) - len(end) :]


@given(ANY_TEXT, st.integers(0, 30))
def test_one_line_stays_within_its_columns(text: str, columns: int) -> None:
    assert columns_of(one_line(text, columns)) <= columns
    assert len(one_line(text, columns).splitlines()) <= 1


@given(TEXTS, st.integers(0, 80))
def test_code_point_windows_hold_whole_graphemes(text: str, size: int) -> None:
    whole = list(iter_graphemes(text))
    start, end = (
        list(iter_graphemes(first_code_points(text, size))),
        list(iter_graphemes(last_code_points(text, size))),
    )
    assert start == whole[: len(start)]
    assert end == whole[len(whole) - len(end) :]
    assert len(first_code_points(text, size)) <= size
    assert len(last_code_points(text, size)) <= size


@given(TEXTS, st.integers(1, 30))
def test_first_graphemes_counts_graphemes(text: str, limit: int) -> None:
    """R122, R123: the first grapheme clusters, and “…” only if the text continues."""
    whole = list(iter_graphemes(text))
    shortened = first_graphemes(text, limit)
    assert shortened == (text if len(whole) <= limit else "".join(whole[:limit]) + ELLIPSIS)


def test_endless_grapheme_is_left_out() -> None:
    endless = "a" + "\u0301" * 100_000
    assert first_graphemes(endless, 5) == ELLIPSIS
    assert first_code_points(endless, 50) == ""
    assert last_code_points(endless, 50) == ""
    assert one_line(endless, 10) == ""
