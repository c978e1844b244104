"""Server-sent events by the WHATWG rules.

A byte-order mark at the start, comments, unknown fields, several `data:` lines, and all three line
ends are handled; an event without its closing blank line is unfinished and dropped at the end.
"""

from thinkaloud.wire.frames import LIMITS, Frame, Limits, TooLarge
from thinkaloud.wire.lines import Lines


class Sse:
    """Decodes one event stream."""

    def __init__(self, limits: Limits = LIMITS) -> None:
        self._limits = limits
        self._lines = Lines()
        self._event = ""
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[Frame]:
        """The events that these bytes complete."""
        frames = self._read(self._lines.feed(data))
        if self._lines.held_bytes > self._limits.line:
            raise TooLarge("a line in bytes", self._limits.line, frames)
        return frames

    def close(self) -> list[Frame]:
        """Nothing: an event that was not closed by a blank line does not count."""
        return []

    def _read(self, lines: list[bytes]) -> list[Frame]:
        frames: list[Frame] = []
        longest = self._limits.line
        for line in lines:
            if len(line) > longest:
                raise TooLarge("a line in bytes", longest, frames)
            if not line:
                if self._data:
                    frames.append(self._dispatch())
                self._event = ""
            elif line[:5] == b"data:":
                self._add(line[6:] if line[5:6] == b" " else line[5:], frames)
            elif line[:6] == b"event:":
                self._event = line[6:].removeprefix(b" ").decode(errors="replace")
            elif line == b"data":
                self._add(b"", frames)
            elif line == b"event":
                self._event = ""
        return frames

    def _dispatch(self) -> Frame:
        data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
        self._data = []
        self._size = 0
        return Frame(data, self._event)

    def _add(self, data: bytes, frames: list[Frame]) -> None:
        self._data.append(data)
        self._size += len(data)
        if self._size > self._limits.event:
            raise TooLarge("an event in bytes", self._limits.event, frames)
        if len(self._data) > self._limits.lines:
            raise TooLarge("an event in lines", self._limits.lines, frames)
