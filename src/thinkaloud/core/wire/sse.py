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
_EVENT_END = b"\n\n"
_PLAIN_START = b"data: "
_JSON_OR_MARKUP = re.compile(rb"\s*(?:(?!(?:id|retry):)\w+:\s*)?[{\[<]")


class SseDecoder:
    """Decodes one event stream."""

    def __init__(self, limits: WireLimits = DEFAULT_LIMITS) -> None:
        self._limits = limits
        self._lines = LineSplitter()
        self._event = ""
        self._data_lines: list[bytes] = []
        self._data_bytes = 0
        self._between_events = False
        self._plain_bytes = min(limits.line_bytes, limits.event_bytes)
        self.unfinished = b""

    def feed(self, data: bytes) -> list[Frame]:
        """Return the events that these bytes complete."""
        one_line = (
            self._between_events and data.startswith(_PLAIN_START) and data.find(b"\n") == len(data) - 2
        )
        if one_line and data.endswith(_EVENT_END) and b"\r" not in data and len(data) <= self._plain_bytes:
            return [Frame(data[6:-2])]  # nearly every read
        frames: list[Frame] = []
        if not self._between_events:
            end = data.find(_EVENT_END) + len(_EVENT_END)
            start = end if end >= len(_EVENT_END) else len(data)
            self._feed_lines(data[:start], frames)
            data = data[start:]
        if self._between_events:
            data = _take_plain_events(data, self._plain_bytes, frames)
        if data:
            self._feed_lines(data, frames)
        return frames

    def _feed_lines(self, data: bytes, frames: list[Frame]) -> None:
        self._parse(self._lines.feed(data), frames)
        if self._lines.buffered_bytes > self._limits.line_bytes:
            raise WireLimitExceeded(Wording("A line"), "line_bytes", self._limits.line_bytes, frames)
        self._between_events = self._lines.between_lines and not (self._data_lines or self._event)

    def close(self) -> list[Frame]:
        """Return the last event if its data is complete JSON or `[DONE]`; else it was cut off."""
        complete_lines, event = self._data_lines.copy(), self._event
        last_line = self._lines.take_unfinished()
        frames: list[Frame] = []
        if last_line:
            self._parse([last_line], frames)
        for data_lines in (self._data_lines, complete_lines):
            events = _split_events(data_lines)
            if all(_complete(data) for data in events):
                self.unfinished = b"" if data_lines is self._data_lines else b"".join(self._data_lines[-1:])
                return [*(Frame(data, event) for data in events), *frames]
        self.unfinished = b"\n".join(self._data_lines)
        return frames

    def _parse(self, lines: list[bytes], frames: list[Frame]) -> None:
        max_line_bytes = self._limits.line_bytes
        for line in lines:
            if not line:
                if self._data_lines:
                    self._dispatch(frames)
                self._event = ""
            elif len(line) > max_line_bytes:
                raise WireLimitExceeded(Wording("A line"), "line_bytes", max_line_bytes, frames)
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

    def _dispatch(self, frames: list[Frame]) -> None:
        data_lines, self._data_lines = self._data_lines, []
        self._data_bytes = 0
        if len(data_lines) == 1:
            frames.append(Frame(data_lines[0], self._event))
        else:
            frames += [Frame(data, self._event) for data in _split_events(data_lines)]

    def _add_data(self, data: bytes, frames: list[Frame]) -> None:
        self._data_lines.append(data)
        self._data_bytes += len(data)
        if self._data_bytes > self._limits.event_bytes:
            raise WireLimitExceeded(Wording("An event"), "event_bytes", self._limits.event_bytes, frames)
        if len(self._data_lines) > self._limits.event_lines:
            raise WireLimitExceeded(Wording("An event"), "event_lines", self._limits.event_lines, frames)


def _take_plain_events(data: bytes, max_bytes: int, frames: list[Frame]) -> bytes:
    """Append the events of one line of data each, as most servers write them, and return the rest.

    It is all of it if one is written in another way.
    """
    end = data.rfind(_EVENT_END) + len(_EVENT_END)
    count = data.count(_EVENT_END, 0, end)
    plain = data.count(_EVENT_END + _PLAIN_START, 0, end) == count - 1 and data.startswith(_PLAIN_START)
    if not plain or data.count(b"\n", 0, end) != 2 * count or b"\r" in data or len(data) > max_bytes:
        return data
    for event in data[len(_PLAIN_START) : end - len(_EVENT_END)].split(_EVENT_END + _PLAIN_START):
        frames.append(Frame(event))
    return data[end:]


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
