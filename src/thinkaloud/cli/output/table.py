"""Tables for the terminal: columns as wide as their cells, and narrower where the terminal is.

Where a terminal has no room for all columns, cells are wrapped at words, those of the last column first.
Where not even single words have room, each row becomes a list of names and values. Outside of a terminal
nothing is wrapped. No line ends with spaces.
"""

import re
import shutil
import sys
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import TextIO

from thinkaloud.cli.output.console import colours_wanted, in_users_language
from thinkaloud.core.canon import Wording
from thinkaloud.core.view.text import columns_of, graphemes
from thinkaloud.surfaces.terminal import clean

Row = Sequence[str]
_GAP = "  "
_LEAST_COLUMNS = 12
"""The least room that wrapped cells get, if they have longer words."""
_LAST_COLUMNS = 20
"""The room below which the last column, which is text, takes some from the others."""
_LONGEST_WORD = 28
"""Longer words, such as addresses, may be broken."""
_BOLD, _NORMAL = "\x1b[1m", "\x1b[22m"
BOLD_START, BOLD_END = "\x02", "\x03"
"""Marks around a bold part of a cell. Text that was cleaned contains neither."""
_MARKS = re.compile(f"[{BOLD_START}{BOLD_END}]")


def print_columns(rows: Sequence[Row], header: Sequence[Wording] = ()) -> None:
    """Print a table, below a header if there is one; in a terminal, it fits the width."""
    bold = colours_wanted(_output())
    if header:
        rows = [[in_users_language(name) for name in header], *rows]
    for line in table_lines(rows, terminal_columns(), header=bool(header)):
        print(_with_bold(line) if bold else _MARKS.sub("", line))


def terminal_columns() -> int | None:
    """Return the width of the terminal; None if the output goes elsewhere."""
    return shutil.get_terminal_size().columns if _output().isatty() else None


def _output() -> TextIO:
    """Return the real output: `paged` collects what is printed, and may show it on a terminal."""
    return sys.__stdout__ or sys.stdout


def marked_bold(text: str) -> str:
    """Return a text whose words are printed in bold where that is wanted."""
    return re.sub(r"\S+", lambda word: f"{BOLD_START}{word[0]}{BOLD_END}", text)


def table_lines(rows: Sequence[Row], columns: int | None, *, header: bool = True) -> list[str]:
    """Return the lines of a table for so many columns of a terminal; None does not limit them."""
    cleaned = [_clean_row(row) for row in rows]
    widths = _widest(cleaned, _width)
    if columns is not None and _total(widths) > columns:
        least = _widest(cleaned, _word_room)
        if _total(least) > columns:
            return _list_lines(cleaned, columns, header=header)
        widths = _shrunk(widths, least, columns - len(_GAP) * (len(widths) - 1))
    lines: list[str] = []
    for row in cleaned:
        lines += _row_lines(row, widths)
    return lines


def _clean_row(row: Row) -> Row:
    return [_clean_marked(cell) for cell in row]


def _clean_marked(cell: str) -> str:
    """Return a clean cell; the marks for bold stay, which `clean` would remove."""
    parts = re.split(f"([{BOLD_START}{BOLD_END}])", cell)
    for index in range(0, len(parts), 2):  # the marks stand at the odd places
        parts[index] = clean(parts[index]).replace("\n", " ")
    return "".join(parts)


def _widest(rows: Sequence[Row], measure: Callable[[str], int]) -> list[int]:
    """Return the widest cell of each column."""
    return [max(map(measure, cells)) for cells in zip(*rows, strict=True)]


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def _shrunk(widths: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """Return widths that fit the room: the last column gives first, then the widest, down to their least."""
    last = max(least[-1], min(widths[-1], _LAST_COLUMNS), room - sum(widths[:-1]))
    shrunk = [*widths[:-1], min(widths[-1], last)]
    while sum(shrunk) > room:
        wider = (index for index in range(len(shrunk)) if shrunk[index] > least[index])
        shrunk[max(wider, key=shrunk.__getitem__)] -= 1
    return shrunk


def _row_lines(cells: Row, widths: Sequence[int]) -> list[str]:
    wrapped = [wrapped_cell(cell, width) for cell, width in zip(cells, widths, strict=True)]
    lines = []
    for parts in zip_longest(*wrapped, fillvalue=""):
        padded = [part + " " * (width - _width(part)) for part, width in zip(parts, widths, strict=True)]
        lines.append(_GAP.join(padded).rstrip())
    return lines


def _list_lines(rows: Sequence[Row], columns: int, *, header: bool) -> list[str]:
    """Return each row as its first cell, and below it the names and values of the others."""
    starts = [""] * (len(rows[0]) - 1)
    margin = len(_GAP)
    if header:
        starts = [f"{_GAP}{name}" for name in rows[0][1:]]
        margin += max(map(_width, starts), default=margin)
        rows = rows[1:]
    lines: list[str] = []
    for first, *others in rows:
        lines += [part.rstrip() for part in wrapped_cell(first, columns)]
        for name, cell in zip(starts, others, strict=True):
            start = name
            for part in wrapped_cell(cell, max(1, columns - margin)):
                lines.append(f"{start}{' ' * (margin - _width(start))}{part}".rstrip())
                start = ""  # the name stands before the first line only
    return lines


def wrapped_cell(text: str, width: int) -> list[str]:
    """Return a cell wrapped at words, and inside words that are too long; always at least one line."""
    if _width(text) <= width:
        return [text]
    lines = [""]
    for word in text.split():
        first, *others = _broken(word, width)
        joined = f"{lines[-1]} {first}" if lines[-1] else first
        if _width(joined) <= width:
            lines[-1] = joined
        else:
            lines.append(first)
        lines += others
    return lines


def _broken(word: str, width: int) -> list[str]:
    """Return a word, in pieces if it is too long for a line."""
    if _width(word) <= width:
        return [word]
    pieces, piece = [], ""
    for cluster in graphemes(word):
        if piece and _width(piece + cluster) > width:
            pieces.append(piece)
            piece = ""
        piece += cluster
    return [*pieces, piece]


def _word_room(cell: str) -> int:
    """Return the least width at which a cell can be read."""
    longest = max(map(_width, cell.split(" ")))
    return min(_width(cell), max(_LEAST_COLUMNS, min(longest, _LONGEST_WORD)))


def _width(text: str) -> int:
    return columns_of(_MARKS.sub("", text))


def _with_bold(line: str) -> str:
    return line.replace(BOLD_START, _BOLD).replace(BOLD_END, _NORMAL)
