"""Previews: first words, newest line, and word counts."""

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wcwidth import iter_graphemes

from thinkaloud.core.view import columns_of, count_words, preview, tail
from thinkaloud.core.view.text import plain_line

MARKED = st.lists(
    st.sampled_from(
        [
            "**",
            "*",
            "`",
            "```py",
            "# ",
            "- ",
            "> ",
            "\n",
            " ",
            "a",
            "B",
            "2",
            "[x](y)",
            "[",
            "]",
            "(",
            ")",
            "漢",
            "👩‍💻",
        ]
    ),
    max_size=60,
).map("".join)
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Let me analyze this step by step. First, I need to", "Let me analyze this step by step…"),
        ("Short thought", "Short thought"),
        ("  \n\n  spread\n over\t lines ", "spread over lines"),
        ("**Bold** and *thin* and `code`", "Bold and thin and code"),
        ("## Plan\n\n- first\n- second", "Plan first second"),
        ("> quoted\n1. kept", "quoted 1. kept"),
        ("```python\nprint(1)\n```", "print(1)"),
        ("see [the page](https://example.org) now", "see the page now"),
        ("2**10 and 2 * 3 and snake_case", "2**10 and 2 * 3 and snake_case"),
        ("**太字**の説明", "太字の説明"),
        ("a\n---\nb", "a b"),
        ("bell\x07 and \x1b[31mred", "bell and [31mred"),
        ("left\u202eright", "leftright"),
        ("", ""),
        (" \n ", ""),
    ],
)
def test_preview_is_the_first_words_in_one_plain_line(text: str, expected: str) -> None:
    """R069, R090: first words, about forty columns, without marks."""
    assert preview(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("first line\nsecond line", "second line"),
        ("first line\nsecond line\n\n", "second line"),
        ("first\n```\n", "first"),
        ("- an item\n- **another** item", "another item"),
        ("a rather long line whose end matters", "…whose end matters"),
        ("", ""),
    ],
)
def test_tail_is_the_end_of_the_newest_line(text: str, expected: str) -> None:
    """The newest line shows what the model thinks now."""
    assert tail(text, 20) == expected


GROWING = """The user asked for **Friday**, so I check the dates.

A. 8 − 3 = 5
| day | ferry |
|---|---|
| Mon | yes |
See [the docs](https://example.org/ferries) for `more`.
"""


def test_tail_of_a_growing_text_is_never_a_fragment() -> None:
    """The last line that can be read stays until the next one can be, and no mark of markdown is seen."""
    tails = [tail(GROWING[:size]) for size in range(len(GROWING) + 1)]
    shown = [line for line in tails if line]
    assert min(map(len, shown)) >= 10
    assert not any(mark in line for line in shown for mark in ("|", "[", "]", "(", "*", "`", "http"))
    assert tails[tails.index(shown[0]) :] == shown, "what can be read stays until something else can"
    assert shown[-1] == "See the docs for more."
    assert "day · ferry" in shown


def test_tail_of_short_lines_is_one_that_is_whole() -> None:
    assert [tail("Hm"), tail("Hm."), tail("OK\nA"), tail("1.\n---\n")] == ["", "Hm.", "OK", ""]


def test_tail_of_a_line_longer_than_the_window() -> None:
    assert tail("word " * 10_000, 20) == "…word word word word"
    assert tail("漢" * 10_000, 9) == "…漢漢漢漢"


@given(MARKED | ANY_TEXT, st.integers(0, 60))
def test_preview_fits_and_is_idempotent(text: str, columns: int) -> None:
    """R090: never wider than requested, and the preview of a preview is itself."""
    line = preview(text, columns)
    assert columns_of(line) <= columns
    assert len(line.splitlines()) <= 1
    assert preview(line, columns) == line


@given(MARKED | ANY_TEXT, st.integers(0, 60))
def test_tail_fits_in_one_line(text: str, columns: int) -> None:
    line = tail(text, columns)
    assert columns_of(line) <= columns
    assert len(line.splitlines()) <= 1


@given(st.lists(st.sampled_from(["👨‍👩‍👧‍👦", "🇧🇷", "e\u0301", "漢", "ab", " "]), max_size=80).map("".join))
def test_preview_never_splits_a_grapheme(text: str) -> None:
    whole = list(iter_graphemes(" ".join(text.split())))
    start = list(iter_graphemes(preview(text, 12).removesuffix("…")))
    end = list(iter_graphemes(tail(text, 12).removeprefix("…")))
    assert start == whole[: len(start)]
    assert end == whole[len(whole) - len(end) :]


@given(MARKED)
def test_plain_line_is_idempotent(text: str) -> None:
    assert plain_line(plain_line(text)) == plain_line(text)


@pytest.mark.parametrize("short", [preview, tail])
@pytest.mark.parametrize("piece", ["word ", "x", "\n", "*", "[", "漢", "`a`\n"])
def test_preview_time_does_not_grow_with_the_text(short: object, piece: str) -> None:
    assert callable(short)
    small, large = piece * 2_000, piece * 400_000
    assert _seconds(short, large) < 20 * _seconds(short, small) + 0.005


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", 0),
        (" \n\t", 0),
        ("one", 1),
        ("I need to find recent docs.", 6),
        ("well-known don't e.g. 4.2s", 4),
        ("a — b … c", 3),
        ("- item\n# 1", 2),
        ("漢字かな", 4),
        ("使用 Python 语言。", 5),
        ("안녕 세상", 2),
        ("não é só isso", 4),
    ],
)
def test_count_words_of_texts(text: str, words: int) -> None:
    """R080, R128: in scripts without spaces each character counts as one word."""
    assert count_words(text) == words


def _seconds(short: object, text: str) -> float:
    assert callable(short)
    took = []
    for _ in range(5):
        start = process_time()
        short(text, 40)
        took.append(process_time() - start)
    return min(took)
