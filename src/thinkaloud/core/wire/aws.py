"""AWS event stream: length-prefixed binary messages with headers and two checksums.

A message is: total length, headers length, CRC of those eight bytes, headers, payload, CRC of everything
before it. Numbers are big-endian. A checksum mismatch ends the stream, because the length of the broken
message, and with it the start of the next one, cannot be trusted. Bedrock's invoke streams put each frame of
the model's own format into a `chunk` message, as base64; such a frame is unwrapped.
"""

import struct
import zlib
from functools import lru_cache

import msgspec

from thinkaloud.core.canon import Wording, reason_of
from thinkaloud.core.wire.frames import DEFAULT_LIMITS, BrokenFrame, Frame, WireLimitExceeded, WireLimits

_PRELUDE = struct.Struct(">III")
_MIN_MESSAGE_BYTES = 16
_BYTES_TYPE, _STRING_TYPE = 6, 7
_MAX_CACHED_HEADER_BYTES = 256
"""Longer headers are not cached, so that the cache stays small."""
_FIXED_VALUE_BYTES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""Size of a header value by its type: true, false, byte, short, integer, long, timestamp, uuid."""


class _Chunk(msgspec.Struct):
    """The payload of a `chunk` message of an invoke stream."""

    bytes: bytes


_chunk_decoder = msgspec.json.Decoder(_Chunk)


def valid_prelude(data: bytes) -> bool:
    """Return whether the bytes start with a message prelude whose checksum matches."""
    return len(data) >= _PRELUDE.size and zlib.crc32(data[:8]) == _PRELUDE.unpack_from(data)[2]


class AwsEventStreamDecoder:
    """Decodes one event stream.

    `Frame.event` is the event or exception type of the message, and empty for an unwrapped frame.
    """

    def __init__(self, limits: WireLimits = DEFAULT_LIMITS) -> None:
        self._limit_bytes = limits.event_bytes
        self._chunks: list[bytes] = []
        self._buffered_bytes = 0
        self._needed_bytes = _PRELUDE.size
        self.unfinished = b""

    def feed(self, data: bytes) -> list[Frame]:
        """Return the messages that these bytes complete."""
        self._chunks.append(data)
        self._buffered_bytes += len(data)
        # Joining on every read would make a message in many small reads quadratic.
        if self._buffered_bytes < self._needed_bytes:
            return []
        return self._parse(b"".join(self._chunks))

    def close(self) -> list[Frame]:
        """Return nothing: an incomplete message is dropped."""
        self.unfinished = b"".join(self._chunks)
        return []

    def _parse(self, data: bytes) -> list[Frame]:
        frames: list[Frame] = []
        position = 0
        while len(data) - position >= _PRELUDE.size:
            message_length, headers_length, crc = _PRELUDE.unpack_from(data, position)
            if (
                zlib.crc32(data[position : position + 8]) != crc
                or message_length < _MIN_MESSAGE_BYTES + headers_length
            ):
                raise BrokenFrame("an AWS event-stream prelude does not match its checksum", frames)
            if message_length > self._limit_bytes:
                raise WireLimitExceeded(Wording("An AWS message"), "event_bytes", self._limit_bytes, frames)
            if len(data) - position < message_length:
                self._needed_bytes = message_length
                break
            frames.append(_parse_message(data[position : position + message_length], headers_length, frames))
            position += message_length
            self._needed_bytes = _PRELUDE.size
        self._chunks = [data[position:]]
        self._buffered_bytes = len(data) - position
        return frames


def _parse_message(data: bytes, headers_length: int, frames: list[Frame]) -> Frame:
    if zlib.crc32(data[:-4]) != int.from_bytes(data[-4:], "big"):
        raise BrokenFrame("an AWS event-stream message does not match its checksum", frames)
    payload_start = _PRELUDE.size + headers_length
    headers = data[_PRELUDE.size : payload_start]
    try:
        event = (
            _cached_event_type(headers) if len(headers) <= _MAX_CACHED_HEADER_BYTES else _event_type(headers)
        )
    except (KeyError, IndexError, struct.error, UnicodeDecodeError) as error:
        raise BrokenFrame(
            "an AWS event-stream header cannot be decoded: {reason}", frames, reason=repr(error)
        ) from error
    payload = data[payload_start:-4]
    return Frame(_unwrap_chunk(payload, frames)) if event == "chunk" else Frame(payload, event)


def _unwrap_chunk(payload: bytes, frames: list[Frame]) -> bytes:
    try:
        return _chunk_decoder.decode(payload).bytes
    except msgspec.DecodeError as error:
        raise BrokenFrame(
            "a chunk of an AWS event stream cannot be unwrapped: {reason}", frames, reason=reason_of(error)
        ) from error


def _event_type(data: bytes) -> str:
    """Return the exception type, error code or event type from the headers of a message."""
    headers = _parse_headers(data)
    return headers.get(":exception-type") or headers.get(":error-code") or headers.get(":event-type", "")


_cached_event_type = lru_cache(maxsize=64)(_event_type)
"""A stream repeats the same few headers byte for byte, so their parsing is cached."""


def _parse_headers(data: bytes) -> dict[str, str]:
    """Return the headers with string values; other headers are skipped."""
    headers: dict[str, str] = {}
    position = 0
    while position < len(data):
        name_end = position + 1 + data[position]
        name, value_type = data[position + 1 : name_end].decode(), data[name_end]
        position = name_end + 1
        if value_type in (_BYTES_TYPE, _STRING_TYPE):
            (size,) = struct.unpack_from(">H", data, position)
            position += 2
        else:
            size = _FIXED_VALUE_BYTES[value_type]
        if value_type == _STRING_TYPE:
            headers[name] = data[position : position + size].decode()
        position += size
    if position > len(data):
        raise IndexError("a value extends beyond the headers")
    return headers
