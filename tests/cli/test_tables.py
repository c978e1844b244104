"""Tables and the pager count what a terminal shows: lines that fit its width."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkaloud.cli.output.pager import _screen_lines
from thinkaloud.cli.output.table import BOLD_END, BOLD_START, marked_bold, table_lines
from thinkaloud.core.view.text import columns_of

ROWS = [("name", "what it does"), ("one", "a text that is longer than the terminal is wide")]
SESSIONS = [
    ("session", "used", "model", "title"),
    ("ses_n-z3eZkF", "2026-11-17 04:43", "builtin/solver", "How much is 17 times 3, and why?"),
    ("ses_0123abcd", "2026-11-16 21:00", "-", "資料の要約"),
]


def test_table_is_wrapped_at_words_below_its_last_column() -> None:
    assert table_lines(ROWS, 30) == [
        "name  what it does",
        "one   a text that is longer",
        "      than the terminal is",
        "      wide",
    ]


def test_table_is_not_wrapped_outside_a_terminal() -> None:
    assert table_lines(ROWS, None)[1] == "one   a text that is longer than the terminal is wide"


def test_narrow_table_wraps_its_last_column_then_the_widest() -> None:
    assert table_lines(SESSIONS, 70) == [
        "session       used              model           title",
        "ses_n-z3eZkF  2026-11-17 04:43  builtin/solver  How much is 17 times",
        "                                                3, and why?",
        "ses_0123abcd  2026-11-16 21:00  -               資料の要約",
    ]
    assert table_lines(SESSIONS, 62)[:3] == [
        "session       used             model           title",
        "ses_n-z3eZkF  2026-11-17       builtin/solver  How much is 17",
        "              04:43                            times 3, and",
    ]


def test_table_without_room_becomes_a_list_of_names_and_values() -> None:
    assert table_lines(SESSIONS, 34) == [
        "ses_n-z3eZkF",
        "  used   2026-11-17 04:43",
        "  model  builtin/solver",
        "  title  How much is 17 times 3,",
        "         and why?",
        "ses_0123abcd",
        "  used   2026-11-16 21:00",
        "  model  -",
        "  title  資料の要約",
    ]


def test_rows_without_a_header_are_lists_too() -> None:
    assert table_lines([("ses_n-z3eZkF", "answer", "How much is it?")], 24, header=False) == [
        "ses_n-z3eZkF",
        "  answer",
        "  How much is it?",
    ]


def test_bold_words_take_no_room() -> None:
    bold = marked_bold("two words")
    assert bold == f"{BOLD_START}two{BOLD_END} {BOLD_START}words{BOLD_END}"
    assert table_lines([("a", bold)], 12, header=False) == [f"a  {bold}"]


CELLS = st.text(" abcdefg\u8cc7\U0001f9d1\n", max_size=40)


@pytest.mark.parametrize("columns", [20, 40, 80])
@given(rows=st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=4))
def test_table_lines_fit_and_end_without_spaces(columns: int, rows: list[tuple[str, str, str]]) -> None:
    for line in table_lines([("one", "two", "three"), *rows], columns):
        assert columns_of(line) <= columns
        assert line == line.rstrip()


def test_pager_counts_wrapped_lines_and_no_colours() -> None:
    assert _screen_lines("\x1b[1m" + "a" * 10 + "\x1b[22m\n\n" + "b" * 11 + "\n", 10) == 4
