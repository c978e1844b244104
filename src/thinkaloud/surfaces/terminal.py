"""Text from a model made safe for a terminal: whoever writes to one goes through here, last.

Control characters and whole escape sequences are taken out, also when they are cut over several deltas;
tab and newline stay. A sequence that never ends cannot swallow the rest: the end of the line or a
few thousand characters end it.
"""

import re
from enum import Enum, auto

_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""C0 but tab and newline, DEL, C1, and marks that reorder or break the line."""
_STRING_STARTS = "]PX^_"
_STRING_STARTS_8BIT = "\x90\x98\x9d\x9e\x9f"
_LONGEST_SEQUENCE = 4096


class _In(Enum):
    TEXT = auto()
    ESCAPE = auto()
    CONTROL = auto()
    STRING = auto()
    STRING_ESCAPE = auto()


class Cleaner:
    """Cleans one stream of text."""

    def __init__(self) -> None:
        self._in = _In.TEXT
        self._length = 0

    def feed(self, text: str) -> str:
        """What of this text may be shown."""
        if self._in is _In.TEXT and not _UNSAFE.search(text):
            return text
        shown: list[str] = []
        at = 0
        while at < len(text):
            if self._in is _In.TEXT:
                at = self._show(text, at, shown)
            else:
                at += self._skip(text[at])
        return "".join(shown)

    def _show(self, text: str, at: int, shown: list[str]) -> int:
        unsafe = _UNSAFE.search(text, at)
        if unsafe is None:
            shown.append(text[at:])
            return len(text)
        shown.append(text[at : unsafe.start()])
        self._length = 0
        mark = unsafe.group()
        if mark == "\x1b":
            self._in = _In.ESCAPE
        elif mark == "\x9b":
            self._in = _In.CONTROL
        elif mark in _STRING_STARTS_8BIT:
            self._in = _In.STRING
        return unsafe.end()

    def _skip(self, mark: str) -> int:
        """Step through a sequence: 1 when the character belongs to it, 0 when it is text again."""
        self._length += 1
        if mark == "\n" or self._length > _LONGEST_SEQUENCE:
            self._in = _In.TEXT
            return 0
        match self._in:
            case _In.ESCAPE:
                return self._after_escape(mark)
            case _In.CONTROL:
                if not " " <= mark <= "?":
                    self._in = _In.TEXT
                return int(" " <= mark <= "~")
            case _In.STRING_ESCAPE:
                self._in = _In.TEXT if mark == "\\" else _In.STRING
                return 1
            case _:
                if mark in "\x07\x9c":
                    self._in = _In.TEXT
                elif mark == "\x1b":
                    self._in = _In.STRING_ESCAPE
                return 1

    def _after_escape(self, mark: str) -> int:
        if mark == "[":
            self._in = _In.CONTROL
        elif mark in _STRING_STARTS:
            self._in = _In.STRING
        elif not " " <= mark <= "/":
            self._in = _In.TEXT
            return int("0" <= mark <= "~")
        return 1


def clean(text: str) -> str:
    """A whole text made safe."""
    return Cleaner().feed(text)


def clean_json(text: str) -> str:
    """JSON made safe without changing what it says: what a terminal could act on is escaped."""
    return _UNSAFE.sub(lambda unsafe: f"\\u{ord(unsafe.group()):04x}", text)
