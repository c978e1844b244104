"""Soft wrap of text that only grows.

A row ends after the last word that fits; the spaces behind the word hang over the edge. A word that is longer
than a row is cut, and a line may break beside every wide character. Only the last row can change when text is
appended, so the cost of a delta does not depend on the length of the text, and the rows do not depend on how
the text was cut into deltas.
"""

import re
from collections.abc import Generator, Iterator
from functools import lru_cache

from rich.cells import get_character_cell_size, split_graphemes

TAB = "    "

_SINGLE_COLUMN = (
    "\n -~\u00a0-\u00ac\u00ae-\u02ff\u0370-\u0482\u2010-\u2027\u2030-\u205e"
    "\u2190-\u21ff\u2200-\u22ff\u2500-\u25fc"
)
_SINGLE_COLUMN_TEXT = re.compile(f"[{_SINGLE_COLUMN}]*")
"""Text in which every character takes one column; such text is wrapped by one regular expression."""
_LINES = re.compile("[^\\n]*\\n|[^\\n]+")

_SLICE_ROWS = 200


class WrappedText:
    """Text in rows of at most `columns`. A row that ends with a newline ends a line of the text."""

    def __init__(self, columns: int) -> None:
        self.columns = max(1, columns)
        self.rows: list[str] = []

    def append(self, text: str) -> int:
        """Append text and return the index of the first row that changed."""
        text = text.replace("\t", TAB)
        if self.rows and text and not self.rows[-1].endswith("\n"):
            text = self.rows.pop() + text
        first_changed = len(self.rows)
        self.rows.extend(wrap_rows(text, self.columns))
        return first_changed

    def rewrap(self, columns: int) -> Generator[None, None, "WrappedText"]:
        """Return the same text in other columns; text may be appended between the steps of the work."""
        other = WrappedText(columns)
        index = 0
        while index < len(self.rows) - 1:
            end = min(index + _SLICE_ROWS, len(self.rows) - 1)
            other.append("".join(self.rows[index:end]))
            index = end
            yield
        other.append("".join(self.rows[index:]))
        return other


def wrap_rows(text: str, columns: int) -> list[str]:
    """Return a text as rows of at most `columns`, without loss: the joined rows are the text."""
    if _SINGLE_COLUMN_TEXT.fullmatch(text):
        return _row_pattern(columns).findall(text)
    rows: list[str] = []
    for line in _LINES.findall(text):
        if _SINGLE_COLUMN_TEXT.fullmatch(line):
            rows += _row_pattern(columns).findall(line)
        else:
            rows += _wrap_wide_line(line, columns)
    return rows


@lru_cache(maxsize=64)
def _row_pattern(columns: int) -> re.Pattern[str]:
    whole_words = rf".{{0,{columns - 1}}}[^ \n](?= |$) *"
    return re.compile(rf"(?:{whole_words}|.{{{columns}}}|.+)\n?|\n", re.MULTILINE)


def _wrap_wide_line(line: str, columns: int) -> Iterator[str]:
    """Yield the rows of one line by the rule of `_row_pattern`, measured grapheme by grapheme."""
    content = line.removesuffix("\n")
    graphemes, _ = split_graphemes(content)
    characters = [content[start] for start, _, _ in graphemes]
    index = 0
    while index < len(graphemes):
        limit = index
        width = 0
        while limit < len(graphemes) and width + graphemes[limit][2] <= columns:
            width += graphemes[limit][2]
            limit += 1
        limit = max(limit, index + 1)
        end = limit
        while end > index and not _may_end(characters, end):
            end -= 1
        if end == index:
            end = limit
        else:
            while end < len(graphemes) and characters[end] == " ":
                end += 1
        row_end = graphemes[end][0] if end < len(graphemes) else len(line)
        yield line[graphemes[index][0] : row_end]
        index = end


def _may_end(characters: list[str], end: int) -> bool:
    """Return whether a row may end before this grapheme: behind a word, or beside a wide character.

    Only the first character of a grapheme counts: what follows it may arrive later.
    """
    if characters[end - 1] == " ":
        return False
    if end == len(characters) or characters[end] == " ":
        return True
    return get_character_cell_size(characters[end - 1]) > 1 or get_character_cell_size(characters[end]) > 1
