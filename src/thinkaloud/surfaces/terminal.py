"""Text from a model made safe for a terminal: whoever writes to one goes through here, last.

Control characters and whole escape sequences are taken out, also when they are cut over several deltas;
tab and newline stay. A sequence that never ends cannot swallow the rest: the end of the line or a
few thousand characters end it.
"""

import re
from enum import Enum, auto

_UNSAFE_CHARACTERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""C0 but tab and newline, DEL, C1, and marks that reorder or break the line."""
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
    """Cleans one stream of text."""

    def __init__(self) -> None:
        self._state = _CleanerState.TEXT
        self._sequence_length = 0

    def feed(self, text: str) -> str:
        """What of this text may be shown."""
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
        """Step through a sequence: 1 when the character belongs to it, 0 when it is text again."""
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
    """A whole text made safe."""
    return TerminalCleaner().feed(text)


def clean_json(text: str) -> str:
    """JSON made safe without changing what it says: what a terminal could act on is escaped."""
    return _UNSAFE_CHARACTERS.sub(lambda unsafe: f"\\u{ord(unsafe.group()):04x}", text)
