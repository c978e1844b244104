"""Splits Harmony text (gpt-oss, Muse): messages with a header that names their channel and recipient.

The channel `analysis` and messages to itself are reasoning, a message to a function is a tool call, and
everything else is answer. Text without a header is answer too, because some servers remove the headers.
"""

import re

from thinkaloud.core.canon import Kind
from thinkaloud.core.dialects.tags.markers import CallStarted, Piece, compile_markers

_HEADER_MARKERS = compile_markers(message=("<|message|>",))
_BODY_MARKERS = compile_markers(
    end=("<|end|>", "<|call|>", "<|return|>", "<|eom|>", "<|eot|>"), start=("<|start|>", "<|channel|>")
)
_HEADER_STARTS = ("<|start|>", "<|channel|>", "<|message|>", "to=")
_MAX_HEADER_START = 11
_MAX_HEADER = 512
_RECIPIENT = re.compile(r"to=(?:functions\.)?([^\s<]+)")
_REASONING_HEADER = re.compile(r"<\|channel\|>\s*analysis|to=self\b")


class HarmonySplitter:
    """Splits one text into reasoning, answer and tool calls."""

    def __init__(self) -> None:
        self._kind = Kind.TEXT
        self._between_messages = True  # at the start of the text or after a message: a header may follow
        self._header: str | None = None
        self._pending = ""

    def feed(self, text: str) -> list[Piece]:
        """Return the pieces that this text completes."""
        if not (self._between_messages or self._pending or self._header is not None or "<" in text):
            return [(self._kind, text)] if text else []
        pieces: list[Piece] = []
        self._read(self._pending + text, pieces)
        return pieces

    @property
    def inside(self) -> bool:
        """Whether the text is inside a message of the analysis channel."""
        return self._kind is Kind.REASONING

    @property
    def undecided(self) -> bool:
        """Whether text is held back that may be the start of a marker or a header."""
        return bool(self._pending or self._header)

    @property
    def inert(self) -> bool:
        """Return False: a header may follow any message."""
        return False

    def close(self) -> list[Piece]:
        """Return the pending text; an incomplete header is answer text."""
        pending = (self._header or "") + self._pending
        return [(self._kind, pending)] if pending else []

    def _read(self, text: str, pieces: list[Piece]) -> None:
        position: int | None = 0
        self._pending = ""
        while position is not None:
            if self._between_messages and not self._look_for_header(text, position):
                self._pending = text[position:]
                return
            read_next = self._read_body if self._header is None else self._read_header
            position = read_next(text, position, pieces)

    def _read_body(self, text: str, position: int, pieces: list[Piece]) -> int | None:
        """Read a message up to its end marker; return the position after it, None at the end of the text."""
        marker = _BODY_MARKERS.find(text, position)
        end = _BODY_MARKERS.unfinished_start(text, position) if marker is None else marker.start()
        if end > position:
            pieces.append((self._kind, text[position:end]))
        self._pending = text[end:] if marker is None else ""
        if marker is None:
            return None
        self._kind = Kind.TEXT
        self._between_messages = marker.lastgroup == "end"
        self._header = None if self._between_messages else marker.group()
        return marker.end()

    def _read_header(self, text: str, position: int, pieces: list[Piece]) -> int | None:
        """Read a header up to its message. A header over the maximum length is answer text after all."""
        header = self._header or ""
        limit = position + _MAX_HEADER + 1 - len(header)
        marker = _HEADER_MARKERS.find(text, position, limit + _MAX_HEADER_START - 1)
        if marker is not None:
            self._start_message(header + text[position : marker.start()], pieces)
            return marker.end()
        end = _HEADER_MARKERS.unfinished_start(text, position)
        if end >= limit:
            self._header = None
            pieces.append((Kind.TEXT, header + text[position:limit]))
            return limit
        self._header, self._pending = header + text[position:end], text[end:]
        return None

    def _look_for_header(self, text: str, position: int) -> bool:
        """Decide whether a header or plain text follows a message; return False while that is undecided."""
        window = text[position : position + _MAX_HEADER + 1]
        text_start = position + len(window) - len(window.lstrip())
        fits_header = text_start - position <= _MAX_HEADER
        start = text[text_start : text_start + _MAX_HEADER_START]
        if fits_header and any(
            header_start.startswith(start) and header_start != start for header_start in _HEADER_STARTS
        ):
            return False
        self._between_messages = False
        self._header = "" if fits_header and start.startswith(_HEADER_STARTS) else None
        return True

    def _start_message(self, header: str, pieces: list[Piece]) -> None:
        self._header = None
        recipient = _RECIPIENT.search(header)
        if _REASONING_HEADER.search(header):
            self._kind = Kind.REASONING
        elif recipient is not None and recipient.group(1) not in ("user", "all"):
            self._kind = Kind.TOOL_CALL
            pieces.append(CallStarted(recipient.group(1)))
        else:
            self._kind = Kind.TEXT
