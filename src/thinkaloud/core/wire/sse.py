"""Server-sent events, decoded by the WHATWG rules.

A byte-order mark, comments, unknown fields, several `data:` lines and all three line ends are handled. Unlike
a browser, the decoder returns the last event also without its closing blank line, if its data is complete,
because not every server sends that line. A line that carries JSON, markup or a sentence outside of any field
is returned too, as a frame with the event `STRAY_LINE`: proxies and servers report their failures so.
"""

import re

from thinkaloud.core.canon import Wording
from thinkaloud.core.wire.frames import DEFAULT_LIMITS, Frame, WireLimitExceeded, WireLimits
from thinkaloud.core.wire.json_frames import complete_json
from thinkaloud.core.wire.lines import LineSplitter

STRAY_LINE = "\nline"
"""The event of a frame that is a line outside of any field; no event on the wire can have this name."""
DONE = b"[DONE]"
_JSON_OR_MARKUP = re.compile(rb"\s*(?:(?!(?:id|retry):)\w+:\s*)?[{\[<]")


class SseDecoder:
    """Decodes one event stream."""

    def __init__(self, limits: WireLimits = DEFAULT_LIMITS) -> None:
        self._limits = limits
        self._lines = LineSplitter()
        self._event = ""
        self._data_lines: list[bytes] = []
        self._data_bytes = 0
        self.unfinished = b""

    def feed(self, data: bytes) -> list[Frame]:
        """Return the events that these bytes complete."""
        frames = self._parse(self._lines.feed(data))
        if self._lines.buffered_bytes > self._limits.line_bytes:
            raise WireLimitExceeded(Wording("A line"), "line_bytes", self._limits.line_bytes, frames)
        return frames

    def close(self) -> list[Frame]:
        """Return the last event if its data is complete JSON or `[DONE]`; else it was cut off."""
        complete_lines, event = self._data_lines.copy(), self._event
        last_line = self._lines.take_unfinished()
        frames = self._parse([last_line]) if last_line else []
        for data_lines in (self._data_lines, complete_lines):
            events = _split_events(data_lines)
            if all(_complete(data) for data in events):
                self.unfinished = b"" if data_lines is self._data_lines else b"".join(self._data_lines[-1:])
                return [*(Frame(data, event) for data in events), *frames]
        self.unfinished = b"\n".join(self._data_lines)
        return frames

    def _parse(self, lines: list[bytes]) -> list[Frame]:
        frames: list[Frame] = []
        max_line_bytes = self._limits.line_bytes
        for line in lines:
            if len(line) > max_line_bytes:
                raise WireLimitExceeded(Wording("A line"), "line_bytes", max_line_bytes, frames)
            if not line:
                if self._data_lines:
                    frames += self._dispatch()
                self._event = ""
            elif line[:5] == b"data:":
                self._add_data(line[6:] if line[5:6] == b" " else line[5:], frames)
            elif line[:6] == b"event:":
                self._event = line[6:].removeprefix(b" ").decode(errors="replace")
            elif line == b"data":
                self._add_data(b"", frames)
            elif line == b"event":
                self._event = ""
            elif _stray(line):
                frames.append(Frame(line, STRAY_LINE))
        return frames

    def _dispatch(self) -> list[Frame]:
        data_lines, self._data_lines = self._data_lines, []
        self._data_bytes = 0
        if len(data_lines) == 1:
            return [Frame(data_lines[0], self._event)]
        return [Frame(data, self._event) for data in _split_events(data_lines)]

    def _add_data(self, data: bytes, frames: list[Frame]) -> None:
        self._data_lines.append(data)
        self._data_bytes += len(data)
        if self._data_bytes > self._limits.event_bytes:
            raise WireLimitExceeded(Wording("An event"), "event_bytes", self._limits.event_bytes, frames)
        if len(self._data_lines) > self._limits.event_lines:
            raise WireLimitExceeded(Wording("An event"), "event_lines", self._limits.event_lines, frames)


def _stray(line: bytes) -> bool:
    """Return whether a line that is no known field carries something; other unknown fields are ignored."""
    return _JSON_OR_MARKUP.match(line) is not None or (b":" not in line and b" " in line.strip())


def _complete(data: bytes) -> bool:
    return data == DONE or complete_json(data)


def _split_events(data_lines: list[bytes]) -> list[bytes]:
    """Join the lines of an event, unless only each of them is JSON: then no blank line parted the events."""
    data = b"\n".join(data_lines)
    if len(data_lines) <= 1 or complete_json(data):
        return [data]
    lines = [line for line in data_lines if line]
    for line in lines:
        if not _complete(line) or not (line[:1] == b"{" or line == DONE):
            return [data]
    return lines or [data]
