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
        at, self._held = 0, ""
        while True:
            if self._between and not self._looks_decided(text, at):
                self._held = text[at:]
                return
            marks = _BODY if self._header is None else _HEADER
            mark = marks.find(text, at)
            end = marks.begun(text, at) if mark is None else mark.start()
            self._take(text[at:end], pieces)
            if mark is None:
                self._held = text[end:]
                return
            at = mark.end()
            self._turn(mark.lastgroup, mark.group(), pieces)

    def _looks_decided(self, text: str, at: int) -> bool:
        """Whether what comes after a message is clear: a header, or plain text."""
        start = text[at:].lstrip()
        undecided = not start or any(mark.startswith(start) and mark != start for mark in _BEGINNINGS)
        if undecided and len(text) - at <= _LONGEST_HEADER:
            return False
        self._between = False
        self._header = "" if start.startswith(_BEGINNINGS) else None
        return True

    def _take(self, text: str, pieces: list[Piece]) -> None:
        if self._header is None:
            if text:
                pieces.append((self._kind, text))
            return
        self._header += text
        if len(self._header) > _LONGEST_HEADER:
            pieces.append((Kind.TEXT, self._header))
            self._header = None

    def _turn(self, role: str | None, mark: str, pieces: list[Piece]) -> None:
        if role == "start":
            self._kind, self._header = Kind.TEXT, mark
        elif role == "end":
            self._kind, self._between = Kind.TEXT, True
        else:
            self._open(self._header or "", pieces)
            self._header = None

    def _open(self, header: str, pieces: list[Piece]) -> None:
        recipient = _RECIPIENT.search(header)
        if _THOUGHT.search(header):
            self._kind = Kind.REASONING
        elif recipient is not None and recipient.group(1) not in ("user", "all"):
            self._kind = Kind.TOOL_CALL
            pieces.append(Called(recipient.group(1)))
        else:
            self._kind = Kind.TEXT
