"""Makes text from a model safe for a terminal and wraps lines between words.

All text for a terminal passes through here last. Control characters and whole escape sequences are removed,
even if a sequence is split over several deltas; tab and newline stay. A sequence that never ends cannot hide
the rest: the end of the line or 4,096 characters end it. The wrapper holds a word back until it is complete,
because only then its line is known.
"""

import re
from enum import Enum, auto

from thinkaloud.core.view import columns_of
from thinkaloud.core.view.plain import THINK_PREFIX

_UNSAFE_CHARACTERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""C0 without tab and newline, DEL, C1, and characters that reorder or break the line."""
_STRING_STARTS = "]PX^_"
_STRING_STARTS_8BIT = "\x90\x98\x9d\x9e\x9f"
_LONGEST_SEQUENCE = 4096


class _CleanerState(Enum):
    TEXT = auto()
    ESCAPE = auto()
    CONTROL = auto()
    STRING = auto()
    STRING_ESCAPE = auto()


class TerminalCleaner:
    """Removes control characters and escape sequences from one stream of text."""

    def __init__(self) -> None:
        self._state = _CleanerState.TEXT
        self._sequence_length = 0

    def feed(self, text: str) -> str:
        """Return the part of this text that is safe to show."""
        if self._state is _CleanerState.TEXT and not _UNSAFE_CHARACTERS.search(text):
            return text
        safe_parts: list[str] = []
        index = 0
        while index < len(text):
            if self._state is _CleanerState.TEXT:
                index = self._copy_safe(text, index, safe_parts)
            else:
                index += self._skip_sequence(text[index])
        return "".join(safe_parts)

    def _copy_safe(self, text: str, index: int, safe_parts: list[str]) -> int:
        unsafe = _UNSAFE_CHARACTERS.search(text, index)
        if unsafe is None:
            safe_parts.append(text[index:])
            return len(text)
        safe_parts.append(text[index : unsafe.start()])
        self._sequence_length = 0
        character = unsafe.group()
        if character == "\x1b":
            self._state = _CleanerState.ESCAPE
        elif character == "\x9b":
            self._state = _CleanerState.CONTROL
        elif character in _STRING_STARTS_8BIT:
            self._state = _CleanerState.STRING
        return unsafe.end()

    def _skip_sequence(self, character: str) -> int:
        """Consume a character of a sequence: return 1 if it belongs to it, 0 if it is text again."""
        self._sequence_length += 1
        if character == "\n" or self._sequence_length > _LONGEST_SEQUENCE:
            self._state = _CleanerState.TEXT
            return 0
        match self._state:
            case _CleanerState.ESCAPE:
                return self._after_escape(character)
            case _CleanerState.CONTROL:
                if not " " <= character <= "?":
                    self._state = _CleanerState.TEXT
                return int(" " <= character <= "~")
            case _CleanerState.STRING_ESCAPE:
                self._state = _CleanerState.TEXT if character == "\\" else _CleanerState.STRING
                return 1
            case _:
                if character in "\x07\x9c":
                    self._state = _CleanerState.TEXT
                elif character == "\x1b":
                    self._state = _CleanerState.STRING_ESCAPE
                return 1

    def _after_escape(self, character: str) -> int:
        if character == "[":
            self._state = _CleanerState.CONTROL
        elif character in _STRING_STARTS:
            self._state = _CleanerState.STRING
        elif not " " <= character <= "/":
            self._state = _CleanerState.TEXT
            return int("0" <= character <= "~")
        return 1


def clean(text: str) -> str:
    """Return a complete text without control characters and escape sequences."""
    return TerminalCleaner().feed(text)


def clean_json(text: str) -> str:
    """Return JSON with unsafe characters as \\u escapes, so that its content stays the same."""
    return _UNSAFE_CHARACTERS.sub(lambda unsafe: f"\\u{ord(unsafe.group()):04x}", text)


MIN_WRAP_COLUMNS = 24
"""With fewer columns beside the margin, lines are not wrapped: the result would be harder to read."""

_WIDE_CHARACTERS = (
    "\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6"
)
"""Characters of scripts without spaces: a line may break before each of them."""
_WRAP_PARTS = re.compile(rf"\n|[ \t]*(?:[{_WIDE_CHARACTERS}]|[^\s{_WIDE_CHARACTERS}]+)|[ \t]+|\s")
_PART_END = re.compile(rf"[\n{_WIDE_CHARACTERS}]\Z")
_THINK_MARK = THINK_PREFIX.strip()


class LineWrapper:
    """Wraps one stream of text to a number of columns; continuation lines keep the margin."""

    def __init__(self, columns: int) -> None:
        self._columns = columns - 1  # some terminals wrap a line that is exactly full
        self._pending = ""
        self._column = 0
        self._margin: str | None = None  # None until the line has its first word

    def feed(self, text: str) -> str:
        """Return the text that can be written; an incomplete last word is held back."""
        parts = _WRAP_PARTS.findall(self._pending + text)
        self._pending = ""
        if parts and not _PART_END.search(parts[-1]):
            self._pending = parts.pop()
        return "".join(map(self._place_part, parts))

    def flush(self) -> str:
        """Return the text that was held back."""
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
    """Return a complete text, wrapped if the width is known."""
    if columns is None:
        return text
    wrapper = LineWrapper(columns)
    return wrapper.feed(text) + wrapper.flush()
