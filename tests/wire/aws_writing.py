"""Writes AWS event-stream messages, for tests that read them."""

import struct
import zlib


def message(payload: bytes = b"", *headers: bytes) -> bytes:
    """A sound message: lengths, their checksum, headers, payload, and the checksum of it all."""
    head = b"".join(headers)
    lengths = struct.pack(">II", 16 + len(head) + len(payload), len(head))
    return summed(summed(lengths) + head + payload)


def event(name: str, payload: bytes) -> bytes:
    """An event as Bedrock sends it."""
    kind = text_header(":message-type", "event")
    return message(payload, text_header(":event-type", name), kind)


def header(name: str, kind: int, value: bytes = b"") -> bytes:
    """A header with a value of this kind, written as it is."""
    return bytes([len(name.encode())]) + name.encode() + bytes([kind]) + value


def text_header(name: str, value: str) -> bytes:
    return header(name, 7, sized(value.encode()))


def sized(value: bytes) -> bytes:
    return struct.pack(">H", len(value)) + value


def summed(data: bytes) -> bytes:
    return data + struct.pack(">I", zlib.crc32(data))
