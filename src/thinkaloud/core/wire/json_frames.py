"""JSON framings: one value, one value per line (NDJSON), or the elements of a streamed array.

All three return one frame per value, so that a dialect reads streamed and whole responses alike.
A value that the end of the bytes cuts off is dropped.
"""

import re

import msgspec

from thinkaloud.core.canon import Wording
from thinkaloud.core.wire.frames import DEFAULT_LIMITS, BrokenFrame, Frame, WireLimitExceeded, WireLimits
from thinkaloud.core.wire.lines import BOM, LineSplitter

_OUTSIDE_STRING = re.compile(rb'["{}\[\]]')
_INSIDE_STRING = re.compile(rb'["\\]')
_STRING_OR_NON_JSON_NUMBER = re.compile(rb'"(?:[^"\\]++|\\.?)*+"?|-?Infinity|NaN', re.DOTALL)


def valid_json(data: bytes) -> bool:
    """Return whether the bytes are exactly one complete JSON value."""
    try:
        msgspec.json.decode(data, type=msgspec.Raw)
    except (msgspec.MsgspecError, RecursionError):
        return False
    return True


def replace_non_json_numbers(data: bytes) -> bytes:
    """Replace NaN and Infinity, which some servers write and JSON does not have, by null."""
    if b"NaN" not in data and b"Infinity" not in data:
        return data
    return _STRING_OR_NON_JSON_NUMBER.sub(lambda token: token[0] if token[0][:1] == b'"' else b"null", data)


def complete_json(data: bytes) -> bool:
    """Return whether the bytes are one complete value, be it with numbers that JSON does not have."""
    return valid_json(data) or ((repaired := replace_non_json_numbers(data)) != data and valid_json(repaired))


class JsonDecoder:
    """Decodes one value; it is buffered until the end and returned if it is complete."""

    def __init__(self, limits: WireLimits = DEFAULT_LIMITS) -> None:
        self._limit_bytes = limits.event_bytes
        self._chunks: list[bytes] = []
        self._buffered_bytes = 0
        self.unfinished = b""

    def feed(self, data: bytes) -> list[Frame]:
        """Buffer the bytes. Always returns no frames."""
        self._buffered_bytes += len(data)
        if self._buffered_bytes > self._limit_bytes:
            raise WireLimitExceeded(Wording("A JSON body"), "event_bytes", self._limit_bytes, [])
        self._chunks.append(data)
        return []

    def close(self) -> list[Frame]:
        """Return the value if it is complete."""
        body = b"".join(self._chunks).removeprefix(BOM).strip()
        if complete_json(body):
            return [Frame(body)]
        self.unfinished = body
        return []


class NdjsonDecoder:
    """Decodes one value per line; the last line needs no line end if its value is complete."""

    def __init__(self, limits: WireLimits = DEFAULT_LIMITS) -> None:
        self._limit_bytes = limits.line_bytes
        self._lines = LineSplitter(skip_space=True)
        self.unfinished = b""

    def feed(self, data: bytes) -> list[Frame]:
        """Return the lines that these bytes complete."""
        frames: list[Frame] = []
        for line in self._lines.feed(data):
            if len(line) > self._limit_bytes:
                raise WireLimitExceeded(Wording("A line"), "line_bytes", self._limit_bytes, frames)
            if line:
                frames.append(Frame(line))
        if self._lines.buffered_bytes > self._limit_bytes:
            raise WireLimitExceeded(Wording("A line"), "line_bytes", self._limit_bytes, frames)
        return frames

    def close(self) -> list[Frame]:
        """Return the last line if its value is complete."""
        line = self._lines.take_unfinished().strip()
        if line and complete_json(line):
            return [Frame(line)]
        self.unfinished = line
        return []


class JsonArrayDecoder:
    """Decodes the elements of one array, each when its last byte arrives; every byte is scanned once."""

    def __init__(self, limits: WireLimits = DEFAULT_LIMITS) -> None:
        self._limit_bytes = limits.event_bytes
        self._depth = 0
        self._in_string = False
        self._after_backslash = False
        self._ended = False
        self._chunks: list[bytes] = []
        self._buffered_bytes = 0
        self.unfinished = b""

    def feed(self, data: bytes) -> list[Frame]:
        """Return the elements that these bytes complete."""
        frames: list[Frame] = []
        start = position = 0
        if self._after_backslash and data:
            position, self._after_backslash = 1, False
        while (
            token := (_INSIDE_STRING if self._in_string else _OUTSIDE_STRING).search(data, position)
        ) is not None:
            position = token.end()
            byte = token.group()
            if byte == b"\\":
                # The escaped byte may be the first byte of the next read.
                self._after_backslash = position == len(data)
                position += 1
            elif byte == b'"':
                self._in_string = not self._in_string
            elif byte in b"{[":
                if self._depth == 1:
                    start = position - 1
                self._change_depth(+1, frames)
            else:
                self._change_depth(-1, frames)
                if self._depth == 1:
                    self._buffer(data[start:position], frames)
                    frames.append(self._take_element())
        if self._depth > 1:
            self._buffer(data[start:], frames)
        return frames

    def _change_depth(self, step: int, frames: list[Frame]) -> None:
        if self._ended and step > 0:
            raise BrokenFrame("a JSON array is followed by another value", frames)
        self._depth += step
        if self._depth < 0:
            raise BrokenFrame("a JSON array has more closing than opening brackets", frames)
        self._ended = self._depth == 0

    def close(self) -> list[Frame]:
        """Return nothing: an incomplete element is dropped."""
        self.unfinished = b"".join(self._chunks)
        return []

    def _take_element(self) -> Frame:
        data = b"".join(self._chunks)
        self._chunks.clear()
        self._buffered_bytes = 0
        return Frame(data)

    def _buffer(self, data: bytes, frames: list[Frame]) -> None:
        self._buffered_bytes += len(data)
        if self._buffered_bytes > self._limit_bytes:
            raise WireLimitExceeded(Wording("An array element"), "event_bytes", self._limit_bytes, frames)
        self._chunks.append(data)
