"""AWS event stream: length-prefixed binary messages with headers and two checksums.

A message is `total length, headers length, crc of those eight bytes, headers, payload, crc of all`;
numbers are big-endian. A checksum that does not match ends the stream: nothing after it can be trusted.
"""

import struct
import zlib
from functools import lru_cache

from thinkaloud.wire.frames import LIMITS, BrokenFrame, Frame, Limits, TooLarge

_PRELUDE = struct.Struct(">III")
_SMALLEST = 16
_BYTES, _STRING = 6, 7
_MOST_REMEMBERED = 256
"""Longer headers are read each time, so that what is remembered stays small."""
_FIXED_SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""Bytes of a header value by its type: true, false, byte, short, integer, long, timestamp, uuid."""


def prelude_is_sound(data: bytes) -> bool:
    """Whether these bytes begin a message: its first checksum says so."""
    return len(data) >= _PRELUDE.size and zlib.crc32(data[:8]) == _PRELUDE.unpack_from(data)[2]


class AwsEventStream:
    """Decodes one event stream; a frame's event is the message's event or exception type."""

    def __init__(self, limits: Limits = LIMITS) -> None:
        self._most = limits.event
        self._held: list[bytes] = []
        self._size = 0
        self._wanted = _PRELUDE.size

    def feed(self, data: bytes) -> list[Frame]:
        """The messages that these bytes complete."""
        self._held.append(data)
        self._size += len(data)
        if self._size < self._wanted:
            return []
        return self._read(b"".join(self._held))

    def close(self) -> list[Frame]:
        """Nothing: a message that did not end is cut off."""
        return []

    def _read(self, data: bytes) -> list[Frame]:
        frames: list[Frame] = []
        at = 0
        while len(data) - at >= _PRELUDE.size:
            total, headers, crc = _PRELUDE.unpack_from(data, at)
            if zlib.crc32(data[at : at + 8]) != crc or total < _SMALLEST + headers:
                raise BrokenFrame("an AWS event-stream prelude does not match its checksum", frames)
            if total > self._most:
                raise TooLarge("an AWS message in bytes", self._most, frames)
            if len(data) - at < total:
                self._wanted = total
                break
            frames.append(_message(data[at : at + total], headers, frames))
            at += total
            self._wanted = _PRELUDE.size
        self._held = [data[at:]]
        self._size = len(data) - at
        return frames


def _message(data: bytes, headers_length: int, frames: list[Frame]) -> Frame:
    if zlib.crc32(data[:-4]) != int.from_bytes(data[-4:], "big"):
        raise BrokenFrame("an AWS event-stream message does not match its checksum", frames)
    payload_at = _PRELUDE.size + headers_length
    headers = data[_PRELUDE.size : payload_at]
    try:
        event = _known_event(headers) if len(headers) <= _MOST_REMEMBERED else _event(headers)
    except (KeyError, IndexError, struct.error, UnicodeDecodeError) as error:
        raise BrokenFrame(f"an AWS event-stream header cannot be read: {error!r}", frames) from error
    return Frame(data[payload_at:-4], event)


def _event(data: bytes) -> str:
    """What kind of message its headers say it is."""
    headers = _headers(data)
    return headers.get(":exception-type") or headers.get(":error-code") or headers.get(":event-type", "")


_known_event = lru_cache(maxsize=64)(_event)
"""A stream sends the same few headers again and again, byte for byte."""


def _headers(data: bytes) -> dict[str, str]:
    """The headers that hold strings; others are stepped over."""
    headers: dict[str, str] = {}
    at = 0
    while at < len(data):
        name_end = at + 1 + data[at]
        name, kind = data[at + 1 : name_end].decode(), data[name_end]
        at = name_end + 1
        if kind in (_BYTES, _STRING):
            (size,) = struct.unpack_from(">H", data, at)
            at += 2
        else:
            size = _FIXED_SIZES[kind]
        if kind == _STRING:
            headers[name] = data[at : at + size].decode()
        at += size
    if at > len(data):
        raise IndexError("a value goes on beyond the headers")
    return headers
