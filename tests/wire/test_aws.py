"""AWS event stream: valid messages become frames, and the first invalid byte ends the stream."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.chunks import SPLIT_POINTS, all_splits, split_at
from tests.wire.aws_encoder import (
    encode_event,
    encode_header,
    encode_message,
    encode_text_header,
    with_checksum,
    with_length,
)
from tests.wire.decode import Decoded, decode_all, expected_frames

from thinkaloud.core.wire import AwsEventStreamDecoder, Frame

PRELUDE_FAULT = "an AWS event-stream prelude does not match its checksum"
MESSAGE_FAULT = "an AWS event-stream message does not match its checksum"
HEADER_FAULT = "an AWS event-stream header cannot be decoded: "

HELLO = encode_event("contentBlockDelta", b'{"delta":1}')
HELLO_FRAME = Frame(b'{"delta":1}', "contentBlockDelta")

EVERY_KIND_OF_HEADER = (
    encode_header("true", 0),
    encode_header("false", 1),
    encode_header("byte", 2, b"\x07"),
    encode_header("short", 3, b"\x00\x07"),
    encode_header("integer", 4, b"\x00\x00\x00\x07"),
    encode_header("long", 5, b"\x00\x00\x00\x00\x00\x00\x00\x07"),
    encode_header("bytes", 6, with_length(b"\x00\x01:event-type")),
    encode_text_header("text", "é💭"),
    encode_header("timestamp", 8, b"\x00\x00\x01\x8c\x00\x00\x00\x00"),
    encode_header("uuid", 9, bytes(range(16))),
    encode_text_header(":event-type", "last"),
)


def flip_bit(data: bytes, index: int) -> bytes:
    """Return the data with one bit flipped."""
    return data[:index] + bytes([data[index] ^ 1]) + data[index + 1 :]


CASES: dict[str, tuple[bytes, Decoded]] = {
    # bytes from the protocol's own examples, which also check the encoder of these tests
    "the empty message": (bytes.fromhex("00000010 00000000 05c248eb 7d98c8ff"), expected_frames(b"")),
    "a payload without headers": (
        bytes.fromhex("0000001d 00000000 fd528c5a 7b27666f6f273a27626172277d c3653936"),
        expected_frames(b"{'foo':'bar'}"),
    ),
    "an event": (HELLO, Decoded([HELLO_FRAME])),
    "several": (HELLO + encode_message(b"x") + HELLO, Decoded([HELLO_FRAME, Frame(b"x"), HELLO_FRAME])),
    "every kind of header": (encode_message(b"{}", *EVERY_KIND_OF_HEADER), Decoded([Frame(b"{}", "last")])),
    "an exception type is the event name": (
        encode_message(
            b'{"message":"slow down"}',
            encode_text_header(":event-type", "ignored"),
            encode_text_header(":exception-type", "throttlingException"),
            encode_text_header(":message-type", "exception"),
        ),
        Decoded([Frame(b'{"message":"slow down"}', "throttlingException")]),
    ),
    "an error code is the event name": (
        encode_message(
            b"",
            encode_text_header(":error-code", "InternalFailure"),
            encode_text_header(":message-type", "error"),
        ),
        Decoded([Frame(b"", "InternalFailure")]),
    ),
    "an event type that is not a string is ignored": (
        encode_message(b"x", encode_header(":event-type", 0)),
        expected_frames(b"x"),
    ),
    "cut off": (HELLO + HELLO[:-1], Decoded([HELLO_FRAME])),
    "cut off in the prelude": (HELLO + HELLO[:11], Decoded([HELLO_FRAME])),
    "nothing": (b"", expected_frames()),
    "a wrong length": (HELLO + flip_bit(HELLO, 3) + HELLO, Decoded([HELLO_FRAME], PRELUDE_FAULT)),
    "a wrong length of headers": (HELLO + flip_bit(HELLO, 7), Decoded([HELLO_FRAME], PRELUDE_FAULT)),
    "a wrong prelude checksum": (HELLO + flip_bit(HELLO, 8), Decoded([HELLO_FRAME], PRELUDE_FAULT)),
    "a wrong header": (HELLO + flip_bit(HELLO, 14) + HELLO, Decoded([HELLO_FRAME], MESSAGE_FAULT)),
    "a wrong payload": (HELLO + flip_bit(HELLO, -5), Decoded([HELLO_FRAME], MESSAGE_FAULT)),
    "a wrong message checksum": (HELLO + flip_bit(HELLO, -1), Decoded([HELLO_FRAME], MESSAGE_FAULT)),
    "shorter than the minimum length": (
        with_checksum(struct.pack(">II", 15, 0)) + b"12345",
        Decoded([], PRELUDE_FAULT),
    ),
    "headers longer than the message": (
        with_checksum(with_checksum(struct.pack(">II", 20, 5)) + b"1234"),
        Decoded([], PRELUDE_FAULT),
    ),
}

UNREADABLE_HEADERS: dict[str, bytes] = {
    "a name that extends beyond the headers": b"\x09abc",
    "a name without a value": b"\x03abc",
    "a name that is not utf-8": b"\x01\xff\x00",
    "text that is not utf-8": encode_header("a", 7, with_length(b"\xff")),
    "text without its length": encode_header("a", 7, b"\x00"),
    "text that extends beyond the headers": encode_header("a", 7, b"\x00\x09abc"),
    "bytes that extend beyond the headers": encode_header("a", 6, b"\x00\x09abc"),
    "a number that extends beyond the headers": encode_header("a", 5, b"\x00"),
    "an undefined type": encode_header("a", 10, with_length(b"abc")),
}


@pytest.mark.parametrize("name", CASES)
def test_aws_frames_do_not_depend_on_chunking(name: str) -> None:
    data, expected = CASES[name]
    for reads in all_splits(data):
        assert decode_all(AwsEventStreamDecoder(), reads) == expected, reads


@given(st.sampled_from(list(CASES.values())), SPLIT_POINTS)
def test_aws_frames_with_random_chunks(case: tuple[bytes, Decoded], split_points: list[int]) -> None:
    data, expected = case
    assert decode_all(AwsEventStreamDecoder(), split_at(data, split_points)) == expected


@pytest.mark.parametrize("name", UNREADABLE_HEADERS)
def test_aws_malformed_header_is_a_fault(name: str) -> None:
    for reads in all_splits(HELLO + encode_message(b"{}", UNREADABLE_HEADERS[name]) + HELLO):
        result = decode_all(AwsEventStreamDecoder(), reads)
        assert result.frames == [HELLO_FRAME]
        assert result.fault.startswith(HEADER_FAULT)


@given(st.lists(st.tuples(st.text(max_size=9), st.binary(max_size=40)), max_size=4), SPLIT_POINTS)
def test_aws_encoded_events_are_decoded(events: list[tuple[str, bytes]], split_points: list[int]) -> None:
    data = b"".join(encode_event(name, payload) for name, payload in events)
    expected = [Frame(payload, name) for name, payload in events]
    assert decode_all(AwsEventStreamDecoder(), split_at(data, split_points)) == Decoded(expected)


@given(st.integers(0, len(HELLO) - 1))
def test_aws_checksum_detects_any_flipped_bit(index: int) -> None:
    assert decode_all(AwsEventStreamDecoder(), [flip_bit(HELLO, index)]).frames == []


def test_aws_message_is_returned_with_its_last_byte() -> None:
    decoder = AwsEventStreamDecoder()
    assert decoder.feed(HELLO[:-1]) == []
    assert decoder.feed(HELLO[-1:] + HELLO[:20]) == [HELLO_FRAME]
    assert decoder.feed(HELLO[20:]) == [HELLO_FRAME]
