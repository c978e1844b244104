"""Harmony and its kin (gpt-oss, Muse): messages with a header that names their channel and recipient.

`analysis` or a message to itself is thought, a message to a function is a call of that tool, everything
else is answer. Text that does not begin like a header is answer too, so that a server which has
already taken the headers out is read right.
"""

import re

from thinkaloud.canon import Kind
from thinkaloud.dialects.markers import markers
from thinkaloud.dialects.pieces import Called, Piece

_HEADER = markers(message=("<|message|>",))
_BODY = markers(end=("<|end|>", "<|call|>", "<|return|>", "<|eom|>"), start=("<|start|>", "<|channel|>"))
_BEGINNINGS = ("<|start|>", "<|channel|>", "<|message|>", "to=")
_LONGEST_BEGINNING = 11
_LONGEST_HEADER = 512
_RECIPIENT = re.compile(r"to=(?:functions\.)?([^\s<]+)")
_THOUGHT = re.compile(r"<\|channel\|>\s*analysis|to=self\b")


class Harmony:
    """Splits one text into thought, answer and calls."""

    def __init__(self) -> None:
        self._kind = Kind.TEXT
        self._between = True  # at the very start, or after a message ended: a header may follow
        self._header: str | None = None
        self._held = ""

    def feed(self, text: str) -> list[Piece]:
        """The pieces that this text completes."""
        if not (self._between or self._held or self._header is not None or "<" in text):
            return [(self._kind, text)] if text else []
        pieces: list[Piece] = []
        self._read(self._held + text, pieces)
        return pieces

    def close(self) -> list[Piece]:
        """What was held back; a header that never came to its message is answer after all."""
        held = (self._header or "") + self._held
        return [(self._kind, held)] if held else []

    def _read(self, text: str, pieces: list[Piece]) -> None:
        at: int | None = 0
        self._held = ""
        while at is not None:
            if self._between and not self._look(text, at):
                self._held = text[at:]
                return
            read = self._read_body if self._header is None else self._read_header
            at = read(text, at, pieces)

    def _read_body(self, text: str, at: int, pieces: list[Piece]) -> int | None:
        """Tell a message up to the mark that ends it; where to go on, None when the text is used up."""
        mark = _BODY.find(text, at)
        end = _BODY.begun(text, at) if mark is None else mark.start()
        if end > at:
            pieces.append((self._kind, text[at:end]))
        self._held = text[end:] if mark is None else ""
        if mark is None:
            return None
        self._kind = Kind.TEXT
        self._between = mark.lastgroup == "end"
        self._header = None if self._between else mark.group()
        return mark.end()

    def _read_header(self, text: str, at: int, pieces: list[Piece]) -> int | None:
        """Gather a header up to its message. One that is longer than any is none, and so is answer."""
        header = self._header or ""
        over = at + _LONGEST_HEADER + 1 - len(header)
        mark = _HEADER.find(text, at, over + _LONGEST_BEGINNING - 1)
        if mark is not None:
            self._open(header + text[at : mark.start()], pieces)
            return mark.end()
        end = _HEADER.begun(text, at)
        if end >= over:
            self._header = None
            pieces.append((Kind.TEXT, header + text[at:over]))
            return over
        self._header, self._held = header + text[at:end], text[end:]
        return None

    def _look(self, text: str, at: int) -> bool:
        """Find out what comes after a message, a header or plain text; False while that is not clear."""
        window = text[at : at + _LONGEST_HEADER + 1]
        begins = at + len(window) - len(window.lstrip())
        room = begins - at <= _LONGEST_HEADER
        start = text[begins : begins + _LONGEST_BEGINNING]
        if room and any(mark.startswith(start) and mark != start for mark in _BEGINNINGS):
            return False
        self._between = False
        self._header = "" if room and start.startswith(_BEGINNINGS) else None
        return True

    def _open(self, header: str, pieces: list[Piece]) -> None:
        self._header = None
        recipient = _RECIPIENT.search(header)
        if _THOUGHT.search(header):
            self._kind = Kind.REASONING
        elif recipient is not None and recipient.group(1) not in ("user", "all"):
            self._kind = Kind.TOOL_CALL
            pieces.append(Called(recipient.group(1)))
        else:
            self._kind = Kind.TEXT
