"""Lines broken between words, before a terminal would break them within one; each part keeps its margin.

Text comes in pieces. A word is held back until it is whole, since only then one knows on which line it fits.
"""

import re

from thinkaloud.view import columns_of
from thinkaloud.view.plain_lines import PREFIX

NARROWEST = 24
"""Columns beside the margin. Where there are fewer, broken words are the smaller evil."""

_WIDE = "\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6"
"""Scripts without spaces: a line may be broken before any character."""
_PARTS = re.compile(rf"\n|[ \t]*(?:[{_WIDE}]|[^\s{_WIDE}]+)|[ \t]+|\s")
_WHOLE = re.compile(rf"[\n{_WIDE}]\Z")
_MARK = PREFIX.strip()


class Wrapper:
    """Wraps one stream of text to so many columns."""

    def __init__(self, columns: int) -> None:
        self._columns = columns - 1  # some terminals break a line that is exactly full
        self._held = ""
        self._column = 0
        self._margin: str | None = None  # None until a line has its first word

    def feed(self, text: str) -> str:
        """What of the text so far can be written."""
        parts = _PARTS.findall(self._held + text)
        self._held = parts.pop() if parts and not _WHOLE.search(parts[-1]) else ""
        return "".join(map(self._place, parts))

    def flush(self) -> str:
        """What was held back, though it may go on."""
        held, self._held = self._held, ""
        return self._place(held) if held else ""

    def _place(self, part: str) -> str:
        if part == "\n":
            self._column, self._margin = 0, None
            return part
        word = part.lstrip(" \t")
        if self._margin is None:
            if word and (self._column or word != _MARK):
                spaces = part[: len(part) - len(word)]
                self._margin = (_MARK if self._column else "") + spaces
        elif not self._fits(part):
            self._column = len(self._margin) + columns_of(word)
            return f"\n{self._margin}{word}"
        self._column += columns_of(part)
        return part

    def _fits(self, part: str) -> bool:
        room = self._columns - len(self._margin or "")
        return room < NARROWEST or self._column + columns_of(part) <= self._columns


def wrapped(text: str, columns: int | None) -> str:
    """A whole text, wrapped where it is known how wide the lines are."""
    if columns is None:
        return text
    wrapper = Wrapper(columns)
    return wrapper.feed(text) + wrapper.flush()
