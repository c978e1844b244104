"""JSON on the wire: one value, one value a line, or an array that comes in pieces.

All three give a frame per value, so that a dialect reads a streamed answer and a whole one alike.
A value that is cut off by the end of the bytes is not a frame.
"""

import re

import msgspec

from thinkaloud.wire.frames import LIMITS, BrokenFrame, Frame, Limits, TooLarge
from thinkaloud.wire.lines import BOM, Lines

_OUTSIDE = re.compile(rb'["{}\[\]]')
_INSIDE = re.compile(rb'["\\]')


def complete(data: bytes) -> bool:
    """Whether the bytes are one whole JSON value."""
    try:
        msgspec.json.decode(data, type=msgspec.Raw)
    except (msgspec.MsgspecError, RecursionError):
        return False
    return True


class Json:
    """One value: held until the end, then given if it is whole."""

    def __init__(self, limits: Limits = LIMITS) -> None:
        self._most = limits.event
        self._held: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[Frame]:
        """Hold more of the value."""
        self._size += len(data)
        if self._size > self._most:
            raise TooLarge("a JSON body in bytes", self._most, [])
        self._held.append(data)
        return []

    def close(self) -> list[Frame]:
        """The value, if all of it came."""
        body = b"".join(self._held).removeprefix(BOM).strip()
        return [Frame(body)] if complete(body) else []


class Ndjson:
    """A value a line; the last line may go without its end if it is whole."""

    def __init__(self, limits: Limits = LIMITS) -> None:
        self._most = limits.line
        self._lines = Lines()

    def feed(self, data: bytes) -> list[Frame]:
        """The lines that these bytes complete."""
        frames: list[Frame] = []
        for line in self._lines.feed(data):
            if len(line) > self._most:
                raise TooLarge("a line in bytes", self._most, frames)
            if not line.isspace() and line:
                frames.append(Frame(line))
        if self._lines.held_bytes > self._most:
            raise TooLarge("a line in bytes", self._most, frames)
        return frames

    def close(self) -> list[Frame]:
        """The last line, if all of it came."""
        line = self._lines.rest().strip()
        return [Frame(line)] if line and complete(line) else []


class JsonArray:
    """The elements of one array, each as soon as its last byte is there; every byte is looked at once."""

    def __init__(self, limits: Limits = LIMITS) -> None:
        self._most = limits.event
        self._depth = 0
        self._inside = False
        self._escaped = False
        self._ended = False
        self._held: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[Frame]:
        """The elements that these bytes complete."""
        frames: list[Frame] = []
        start = at = 0
        if self._escaped and data:
            at, self._escaped = 1, False
        while (mark := (_INSIDE if self._inside else _OUTSIDE).search(data, at)) is not None:
            at = mark.end()
            byte = mark.group()
            if byte == b"\\":
                self._escaped = at == len(data)
                at += 1
            elif byte == b'"':
                self._inside = not self._inside
            elif byte in b"{[":
                if self._depth == 1:
                    start = at - 1
                self._nest(+1, frames)
            else:
                self._nest(-1, frames)
                if self._depth == 1:
                    self._hold(data[start:at], frames)
                    frames.append(self._element())
        if self._depth > 1:
            self._hold(data[start:], frames)
        return frames

    def _nest(self, step: int, frames: list[Frame]) -> None:
        if self._ended and step > 0:
            raise BrokenFrame("a JSON array is followed by another value", frames)
        self._depth += step
        if self._depth < 0:
            raise BrokenFrame("a JSON array closes more than it opens", frames)
        self._ended = self._depth == 0

    def close(self) -> list[Frame]:
        """Nothing: an element that did not end is cut off."""
        return []

    def _element(self) -> Frame:
        data = b"".join(self._held)
        self._held.clear()
        self._size = 0
        return Frame(data)

    def _hold(self, data: bytes, frames: list[Frame]) -> None:
        self._size += len(data)
        if self._size > self._most:
            raise TooLarge("an array element in bytes", self._most, frames)
        self._held.append(data)
