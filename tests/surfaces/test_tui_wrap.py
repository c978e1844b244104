"""Soft wrap: the same rows however the text arrives, nothing lost, nothing over the edge."""

from collections import deque
from collections.abc import Generator

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from tests.chunks import SPLIT_POINTS, split_at

from thinkaloud.surfaces.tui.text import wrap
from thinkaloud.surfaces.tui.text.wrap import WrappedText, wrap_rows

FAMILY = "👨\u200d👩\u200d👧"
GRAPHEMES = ["a", "b", "word", " ", "  ", "\n", "漢", "é", "e\u0301", "❤\ufe0f", FAMILY, "—", "🇧🇷", "\t"]
texts = st.lists(st.sampled_from(GRAPHEMES), max_size=60).map("".join)
columns = st.integers(2, 14)


def wrapped(text: str, width: int) -> WrappedText:
    rows = WrappedText(width)
    rows.append(text)
    return rows


def test_wrap_breaks_between_words_and_cuts_long_ones() -> None:
    assert wrap_rows("one two three", 8) == ["one two ", "three"]
    assert wrap_rows("one two    three", 7) == ["one two    ", "three"]  # spaces hang over the edge
    assert wrap_rows("a internationalization", 8) == ["a ", "internat", "ionaliza", "tion"]
    assert wrap_rows("  two\n\n  three", 7) == ["  two\n", "\n", "  three"]


def test_wrap_breaks_beside_wide_characters_and_splits_none() -> None:
    assert wrap_rows("漢字漢字a", 5) == ["漢字", "漢字a"]
    assert wrap_rows(f"ab{FAMILY}cd", 4) == [f"ab{FAMILY}", "cd"]


@settings(max_examples=200, deadline=None)
@given(texts, columns, SPLIT_POINTS)
def test_wrap_does_not_depend_on_how_the_text_is_cut(text: str, width: int, points: list[int]) -> None:
    rows = WrappedText(width)
    for piece in split_at(text, points):
        rows.append(piece)
    assert rows.rows == wrapped(text, width).rows


@settings(max_examples=200, deadline=None)
@given(texts, columns)
def test_wrap_loses_nothing_and_fits(text: str, width: int) -> None:
    rows = wrapped(text, width).rows
    assert "".join(rows) == text.replace("\t", wrap.TAB)
    assert all(cell_len(row.rstrip("\n ")) <= width for row in rows)


@settings(max_examples=100, deadline=None)
@given(texts, columns)
def test_fast_and_slow_wrap_have_one_rule(text: str, width: int) -> None:
    text = text.encode("ascii", "ignore").decode().replace("\t", " ")
    slow = [
        row
        for line in wrap._LINES.findall(text)
        for row in ([line] if line == "\n" else wrap._wrap_wide_line(line, width))
    ]
    assert slow == wrap_rows(text, width)


@settings(max_examples=50, deadline=None)
@given(texts, columns, columns, texts)
def test_rewrap_is_wrap_even_if_text_arrives_meanwhile(text: str, old: int, new: int, more: str) -> None:
    text = "some words\n" * wrap._SLICE_ROWS + text
    rows = wrapped(text, old)
    steps = rows.rewrap(new)
    next(steps)
    rows.append(more)
    finished: list[WrappedText] = []

    def finish() -> Generator[None, None, None]:
        finished.append((yield from steps))

    deque(finish(), maxlen=0)
    assert finished[0].rows == wrapped(text + more, new).rows


def test_append_changes_only_the_last_row() -> None:
    rows = wrapped("word " * 50_000, 78)
    before = list(rows.rows)
    first_changed = rows.append("more")
    assert first_changed == len(before) - 1
    assert rows.rows[:first_changed] == before[:first_changed]


def test_characters_of_the_fast_path_take_one_column() -> None:
    characters = [chr(code) for code in range(0x3000) if wrap._SINGLE_COLUMN_TEXT.fullmatch(chr(code))]
    assert len(characters) > 1000
    assert [character for character in characters if cell_len(character) != 1] == ["\n"]
