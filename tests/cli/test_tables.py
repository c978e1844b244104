"""Tables and the pager count what a terminal shows: lines that fit its width."""

from thinkaloud.cli.console import table_lines
from thinkaloud.cli.pager import _screen_lines

ROWS = [("name", "what it does"), ("one", "a text that is longer than the terminal is wide")]


def test_table_is_wrapped_at_words_below_its_last_column() -> None:
    assert table_lines(ROWS, 30) == [
        "name  what it does",
        "one   a text that is longer",
        "      than the terminal is",
        "      wide",
    ]


def test_table_is_not_wrapped_outside_a_terminal() -> None:
    assert table_lines(ROWS, None)[1] == "one   a text that is longer than the terminal is wide"


def test_pager_counts_wrapped_lines_and_no_colours() -> None:
    assert _screen_lines("\x1b[1m" + "a" * 10 + "\x1b[22m\n\n" + "b" * 11 + "\n", 10) == 4
