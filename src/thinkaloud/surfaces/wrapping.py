"""Lines broken between words, before a terminal would break them within one; each part keeps its margin.

Text comes in pieces. A word is held back until it is whole, since only then one knows on which line it fits.
"""

import re

from thinkaloud.view import columns_of
from thinkaloud.view.plain_lines import THINK_PREFIX

MIN_WRAP_COLUMNS = 24
"""Columns beside the margin. Where there are fewer, broken words are the smaller evil."""

_WIDE_CHARACTERS = (
    "\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6"
)
"""Scripts without spaces: a line may be broken before any character."""
_WRAP_PARTS = re.compile(rf"\n|[ \t]*(?:[{_WIDE_CHARACTERS}]|[^\s{_WIDE_CHARACTERS}]+)|[ \t]+|\s")
_PART_END = re.compile(rf"[\n{_WIDE_CHARACTERS}]\Z")
_THINK_MARK = THINK_PREFIX.strip()


class LineWrapper:
    """Wraps one stream of text to so many columns."""

    def __init__(self, columns: int) -> None:
        self._columns = columns - 1  # some terminals break a line that is exactly full
        self._pending = ""
        self._column = 0
        self._margin: str | None = None  # None until a line has its first word

    def feed(self, text: str) -> str:
        """What of the text so far can be written."""
        parts = _WRAP_PARTS.findall(self._pending + text)
        self._pending = parts.pop() if parts and not _PART_END.search(parts[-1]) else ""
        return "".join(map(self._place_part, parts))

    def flush(self) -> str:
        """What was held back, though it may go on."""
        pending, self._pending = self._pending, ""
        return self._place_part(pending) if pending else ""

    def _place_part(self, part: str) -> str:
        if part == "\n":
            self._column, self._margin = 0, None
            return part
        word = part.lstrip(" \t")
        if self._margin is None:
            if word and (self._column or word != _THINK_MARK):
                spaces = part[: len(part) - len(word)]
                self._margin = (_THINK_MARK if self._column else "") + spaces
        elif not self._fits(part):
            self._column = len(self._margin) + columns_of(word)
            return f"\n{self._margin}{word}"
        self._column += columns_of(part)
        return part

    def _fits(self, part: str) -> bool:
        room = self._columns - len(self._margin or "")
        return room < MIN_WRAP_COLUMNS or self._column + columns_of(part) <= self._columns


def wrap_text(text: str, columns: int | None) -> str:
    """A whole text, wrapped where it is known how wide the lines are."""
    if columns is None:
        return text
    wrapper = LineWrapper(columns)
    return wrapper.feed(text) + wrapper.flush()
