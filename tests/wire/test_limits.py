"""Every limit: what is just within it is read, one more is a fault that names it, in every cut alike."""

import tracemalloc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import repeat
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.chunks import SPLIT_POINTS, all_splits, split_at
from tests.wire.aws_encoder import encode_message
from tests.wire.decode import Decoded, decode_all, expected_frames

from thinkaloud.canon import LimitExceeded
from thinkaloud.wire import (
    DEFAULT_LIMITS,
    AwsEventStreamDecoder,
    Decoder,
    Frame,
    Framing,
    JsonArrayDecoder,
    JsonDecoder,
    MeteredDecoder,
    NdjsonDecoder,
    SseDecoder,
    TextDecoder,
    WireLimitExceeded,
    WireLimits,
)

MIB = 1024 * 1024
BOM = b"\xef\xbb\xbf"


class LimitCase(NamedTuple):
    """What just fits and its frames, one more of the same and the frames that are kept, and the fault."""

    framing: Framing
    limits: WireLimits
    within_limit: bytes
    frames_within: list[bytes]
    over_limit: bytes
    frames_before_fault: list[bytes]
    fault: str


LIMIT_CASES = {
    "sse line": LimitCase(
        *(SseDecoder, WireLimits(line_bytes=10)),
        *(b"data: a\n\ndata: 1234\n\n", [b"a", b"1234"]),
        *(b"data: a\n\ndata: 12345\n\n", [b"a"]),
        "a line in bytes is over the limit of 10",
    ),
    "sse line with crlf": LimitCase(
        *(SseDecoder, WireLimits(line_bytes=10)),
        *(b"data:a\r\n\r\ndata:12345\r\n\r\n", [b"a", b"12345"]),
        *(b"data:a\r\n\r\ndata:123456\r\n\r\n", [b"a"]),
        "a line in bytes is over the limit of 10",
    ),
    "sse line that is not finished": LimitCase(
        *(SseDecoder, WireLimits(line_bytes=10)),
        *(b"data: a\n\n: 34567890", [b"a"]),
        *(b"data: a\n\n: 345678901", [b"a"]),
        "a line in bytes is over the limit of 10",
    ),
    "sse line after a byte-order mark": LimitCase(
        *(SseDecoder, WireLimits(line_bytes=10)),
        *(BOM + b"data: 1234\n\n", [b"1234"]),
        *(BOM + b"data: 12345\n\n", []),
        "a line in bytes is over the limit of 10",
    ),
    "sse event": LimitCase(
        *(SseDecoder, WireLimits(event_bytes=10)),
        *(b"data: a\n\ndata: 1234\ndata: 123456\n\n", [b"a", b"1234\n123456"]),
        *(b"data: a\n\ndata: 1234\ndata: 1234567\n\n", [b"a"]),
        "an event in bytes is over the limit of 10",
    ),
    "sse event of empty lines": LimitCase(
        *(SseDecoder, WireLimits(event_lines=3)),
        *(b"data: a\n\ndata\ndata:\ndata\n\n", [b"a", b"\n\n"]),
        *(b"data: a\n\ndata\ndata:\ndata\ndata\n\n", [b"a"]),
        "an event in lines is over the limit of 3",
    ),
    "ndjson line": LimitCase(
        *(NdjsonDecoder, WireLimits(line_bytes=10)),
        *(b'{"a":1}\n{"b":1234}\n', [b'{"a":1}', b'{"b":1234}']),
        *(b'{"a":1}\n{"b":12345}\n', [b'{"a":1}']),
        "a line in bytes is over the limit of 10",
    ),
    "ndjson line that is not finished": LimitCase(
        *(NdjsonDecoder, WireLimits(line_bytes=10)),
        *(b'{"a":1}\n{"b":1234}', [b'{"a":1}', b'{"b":1234}']),
        *(b'{"a":1}\n{"b":12345}', [b'{"a":1}']),
        "a line in bytes is over the limit of 10",
    ),
    "ndjson line after a byte-order mark": LimitCase(
        *(NdjsonDecoder, WireLimits(line_bytes=10)),
        *(BOM + b'{"b":1234}\n', [b'{"b":1234}']),
        *(BOM + b'{"b":12345}\n', []),
        "a line in bytes is over the limit of 10",
    ),
    "json body": LimitCase(
        *(JsonDecoder, WireLimits(event_bytes=10)),
        *(b'{"a":1234}', [b'{"a":1234}']),
        *(b'{"a":12345}', []),
        "a JSON body in bytes is over the limit of 10",
    ),
    "array element": LimitCase(
        *(JsonArrayDecoder, WireLimits(event_bytes=10)),
        *(b'[{"a":1}, {"b":1234}]', [b'{"a":1}', b'{"b":1234}']),
        *(b'[{"a":1}, {"b":12345}]', [b'{"a":1}']),
        "an array element in bytes is over the limit of 10",
    ),
    "array element that is not finished": LimitCase(
        *(JsonArrayDecoder, WireLimits(event_bytes=10)),
        *(b'[{"a":1}, {"b":"2345', [b'{"a":1}']),
        *(b'[{"a":1}, {"b":"23456', [b'{"a":1}']),
        "an array element in bytes is over the limit of 10",
    ),
    "aws message": LimitCase(
        *(AwsEventStreamDecoder, WireLimits(event_bytes=26)),
        *(encode_message(b"a") + encode_message(b"1234567890"), [b"a", b"1234567890"]),
        *(encode_message(b"a") + encode_message(b"12345678901"), [b"a"]),
        "an AWS message in bytes is over the limit of 26",
    ),
    "the whole response": LimitCase(
        *(lambda limits: MeteredDecoder(SseDecoder(limits), limits), WireLimits(response_bytes=18)),
        *(b"data: a\n\ndata: b\n\n", [b"a", b"b"]),
        *(b"data: a\n\ndata: b\n\n\n", [b"a", b"b"]),
        "the response in bytes is over the limit of 18",
    ),
    "the whole response, cut in an event": LimitCase(
        *(lambda limits: MeteredDecoder(NdjsonDecoder(limits), limits), WireLimits(response_bytes=15)),
        *(b'{"a":1}\n{"b":2}', [b'{"a":1}', b'{"b":2}']),
        *(b'{"a":1}\n{"b":2}\n', [b'{"a":1}']),
        "the response in bytes is over the limit of 15",
    ),
}
ADVICE = "; raise it in Limits if you trust the sender"


@pytest.mark.parametrize("name", LIMIT_CASES)
def test_what_is_just_within_a_limit_is_read(name: str) -> None:
    row = LIMIT_CASES[name]
    for reads in all_splits(row.within_limit):
        assert decode_all(row.framing(row.limits), reads) == expected_frames(*row.frames_within), reads


@pytest.mark.parametrize("name", LIMIT_CASES)
def test_one_more_is_a_fault_that_names_the_limit_and_keeps_what_came_before(name: str) -> None:
    row = LIMIT_CASES[name]
    expected = Decoded([Frame(data) for data in row.frames_before_fault], row.fault + ADVICE)
    for reads in all_splits(row.over_limit):
        assert decode_all(row.framing(row.limits), reads) == expected, reads


@given(st.sampled_from(list(LIMIT_CASES.values())), SPLIT_POINTS)
def test_the_verdict_is_the_same_in_any_cut(row: LimitCase, split_points: list[int]) -> None:
    assert decode_all(row.framing(row.limits), split_at(row.within_limit, split_points)).fault == ""
    assert (
        decode_all(row.framing(row.limits), split_at(row.over_limit, split_points)).fault
        == row.fault + ADVICE
    )


def test_a_large_limit_is_written_with_its_thousands() -> None:
    with pytest.raises(LimitExceeded, match="over the limit of 1,048,576;") as raised:
        JsonDecoder(WireLimits(event_bytes=MIB)).feed(bytes(MIB + 1))
    assert raised.value.code == "limit_exceeded"


def test_the_defaults_are_far_above_what_providers_send() -> None:
    assert (
        DEFAULT_LIMITS.line_bytes,
        DEFAULT_LIMITS.event_bytes,
        DEFAULT_LIMITS.event_lines,
        DEFAULT_LIMITS.response_bytes,
    ) == (16 * MIB, 32 * MIB, 10_000, 512 * MIB)


ENDLESS: dict[str, tuple[Framing, bytes, bytes]] = {
    "an sse line": (SseDecoder, b"data: ", bytes(MIB)),
    "an sse event": (SseDecoder, b"", b"data: " + b"x" * (MIB - 7) + b"\n"),
    "an ndjson line": (NdjsonDecoder, b"{", bytes(MIB)),
    "a json body": (JsonDecoder, b"{", bytes(MIB)),
    "an array element": (JsonArrayDecoder, b'[{"a":"', bytes(MIB)),
    "an aws message": (AwsEventStreamDecoder, encode_message(bytes(2 * MIB))[:12], bytes(MIB)),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_memory_is_bounded_when_a_sender_never_comes_to_the_end(name: str) -> None:
    """What is held is the limit and the read that went over it, and once again when they are joined."""
    framing, start, piece = ENDLESS[name]
    with pytest.raises(WireLimitExceeded), assert_peak_memory(4 * MIB):
        feed_all(framing(WireLimits(line_bytes=MIB, event_bytes=MIB)), [start, *repeat(piece, 64)])


def test_text_is_passed_on_and_not_held() -> None:
    with assert_peak_memory(4 * MIB):
        feed_all(TextDecoder(), repeat(bytes(MIB), 16))


def feed_all(decoder: Decoder, reads: Iterable[bytes]) -> None:
    for read in reads:
        decoder.feed(read)


@contextmanager
def assert_peak_memory(max_bytes: int) -> Iterator[None]:
    """Fails when more than so many bytes are taken at any moment inside."""
    tracemalloc.start()
    try:
        yield
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak <= max_bytes, f"{peak:,} bytes were held"
