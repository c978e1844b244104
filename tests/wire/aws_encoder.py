"""Encodes AWS event-stream messages for tests."""

import struct
import zlib


def encode_message(payload: bytes = b"", *headers: bytes) -> bytes:
    """Encode a valid message: lengths, their checksum, headers, payload, and the final checksum."""
    header_bytes = b"".join(headers)
    lengths = struct.pack(">II", 16 + len(header_bytes) + len(payload), len(header_bytes))
    return with_checksum(with_checksum(lengths) + header_bytes + payload)


def encode_event(name: str, payload: bytes) -> bytes:
    """Encode an event as Bedrock sends it."""
    type_header = encode_text_header(":message-type", "event")
    return encode_message(payload, encode_text_header(":event-type", name), type_header)


def encode_header(name: str, value_type: int, value: bytes = b"") -> bytes:
    """Encode a header; `value` is the encoded value."""
    return bytes([len(name.encode())]) + name.encode() + bytes([value_type]) + value


def encode_text_header(name: str, value: str) -> bytes:
    return encode_header(name, 7, with_length(value.encode()))


def with_length(value: bytes) -> bytes:
    return struct.pack(">H", len(value)) + value


def with_checksum(data: bytes) -> bytes:
    return data + struct.pack(">I", zlib.crc32(data))
