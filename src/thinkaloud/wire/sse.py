"""Server-sent events, decoded by the WHATWG rules.

A byte-order mark, comments, unknown fields, several `data:` lines and all three line ends are handled. Unlike
a browser, the decoder returns the last event also without its closing blank line, if its data is complete,
because not every server sends that line.
"""

from thinkaloud.wire.frames import DEFAULT_LIMITS, Frame, WireLimitExceeded, WireLimits
from thinkaloud.wire.json_frames import complete_json
from thinkaloud.wire.lines import LineSplitter

_DONE = b"[DONE]"


class SseDecoder:
    """Decodes one event stream."""

    def __init__(self, limits: WireLimits = DEFAULT_LIMITS) -> None:
        self._limits = limits
        self._lines = LineSplitter()
        self._event = ""
        self._data_lines: list[bytes] = []
        self._data_bytes = 0

    def feed(self, data: bytes) -> list[Frame]:
        """Return the events that these bytes complete."""
        frames = self._parse(self._lines.feed(data))
        if self._lines.buffered_bytes > self._limits.line_bytes:
            raise WireLimitExceeded("A line", "line_bytes", self._limits.line_bytes, frames)
        return frames

    def close(self) -> list[Frame]:
        """Return the last event if its data is one complete JSON value or `[DONE]`; else it was cut off."""
        complete_lines, event = self._data_lines.copy(), self._event
        self._parse([self._lines.take_unfinished()])
        for data_lines in (self._data_lines, complete_lines):
            data = b"\n".join(data_lines)
            if data == _DONE or complete_json(data):
                return [Frame(data, event)]
        return []

    def _parse(self, lines: list[bytes]) -> list[Frame]:
        frames: list[Frame] = []
        max_line_bytes = self._limits.line_bytes
        for line in lines:
            if len(line) > max_line_bytes:
                raise WireLimitExceeded("A line", "line_bytes", max_line_bytes, frames)
            if not line:
                if self._data_lines:
                    frames.append(self._dispatch())
                self._event = ""
            elif line[:5] == b"data:":
                self._add_data(line[6:] if line[5:6] == b" " else line[5:], frames)
            elif line[:6] == b"event:":
                self._event = line[6:].removeprefix(b" ").decode(errors="replace")
            elif line == b"data":
                self._add_data(b"", frames)
            elif line == b"event":
                self._event = ""
        return frames

    def _dispatch(self) -> Frame:
        data = self._data_lines[0] if len(self._data_lines) == 1 else b"\n".join(self._data_lines)
        self._data_lines = []
        self._data_bytes = 0
        return Frame(data, self._event)

    def _add_data(self, data: bytes, frames: list[Frame]) -> None:
        self._data_lines.append(data)
        self._data_bytes += len(data)
        if self._data_bytes > self._limits.event_bytes:
            raise WireLimitExceeded("An event", "event_bytes", self._limits.event_bytes, frames)
        if len(self._data_lines) > self._limits.event_lines:
            raise WireLimitExceeded("An event", "event_lines", self._limits.event_lines, frames)
