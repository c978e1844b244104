"""Every limit: input at the limit is decoded, one byte or line more fails and names the limit."""

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

from thinkaloud.core.canon import LimitExceeded
from thinkaloud.core.wire import (
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
    """Input at the limit and over it, the frames of each, and the fault."""

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
        "A line is larger than the limit of 10 bytes. Raise WireLimits.line_bytes",
    ),
    "sse line with crlf": LimitCase(
        *(SseDecoder, WireLimits(line_bytes=10)),
        *(b"data:a\r\n\r\ndata:12345\r\n\r\n", [b"a", b"12345"]),
        *(b"data:a\r\n\r\ndata:123456\r\n\r\n", [b"a"]),
        "A line is larger than the limit of 10 bytes. Raise WireLimits.line_bytes",
    ),
    "sse line that is not finished": LimitCase(
        *(SseDecoder, WireLimits(line_bytes=10)),
        *(b"data: a\n\n: 34567890", [b"a"]),
        *(b"data: a\n\n: 345678901", [b"a"]),
        "A line is larger than the limit of 10 bytes. Raise WireLimits.line_bytes",
    ),
    "sse line after a byte-order mark": LimitCase(
        *(SseDecoder, WireLimits(line_bytes=10)),
        *(BOM + b"data: 1234\n\n", [b"1234"]),
        *(BOM + b"data: 12345\n\n", []),
        "A line is larger than the limit of 10 bytes. Raise WireLimits.line_bytes",
    ),
    "sse event": LimitCase(
        *(SseDecoder, WireLimits(event_bytes=10)),
        *(b"data: a\n\ndata: 1234\ndata: 123456\n\n", [b"a", b"1234\n123456"]),
        *(b"data: a\n\ndata: 1234\ndata: 1234567\n\n", [b"a"]),
        "An event is larger than the limit of 10 bytes. Raise WireLimits.event_bytes",
    ),
    "sse event of empty lines": LimitCase(
        *(SseDecoder, WireLimits(event_lines=3)),
        *(b"data: a\n\ndata\ndata:\ndata\n\n", [b"a", b"\n\n"]),
        *(b"data: a\n\ndata\ndata:\ndata\ndata\n\n", [b"a"]),
        "An event is larger than the limit of 3 lines. Raise WireLimits.event_lines",
    ),
    "ndjson line": LimitCase(
        *(NdjsonDecoder, WireLimits(line_bytes=10)),
        *(b'{"a":1}\n{"b":1234}\n', [b'{"a":1}', b'{"b":1234}']),
        *(b'{"a":1}\n{"b":12345}\n', [b'{"a":1}']),
        "A line is larger than the limit of 10 bytes. Raise WireLimits.line_bytes",
    ),
    "ndjson line that is not finished": LimitCase(
        *(NdjsonDecoder, WireLimits(line_bytes=10)),
        *(b'{"a":1}\n{"b":1234}', [b'{"a":1}', b'{"b":1234}']),
        *(b'{"a":1}\n{"b":12345}', [b'{"a":1}']),
        "A line is larger than the limit of 10 bytes. Raise WireLimits.line_bytes",
    ),
    "ndjson line after a byte-order mark": LimitCase(
        *(NdjsonDecoder, WireLimits(line_bytes=10)),
        *(BOM + b'{"b":1234}\n', [b'{"b":1234}']),
        *(BOM + b'{"b":12345}\n', []),
        "A line is larger than the limit of 10 bytes. Raise WireLimits.line_bytes",
    ),
    "ndjson line after white space, which does not count": LimitCase(
        *(NdjsonDecoder, WireLimits(line_bytes=10)),
        *(b" " * 20 + b'{"a":1}\n' + b"\t" * 20 + b'{"b":1234}\n', [b'{"a":1}', b'{"b":1234}']),
        *(b" " * 20 + b'{"a":1}\n' + b"\t" * 20 + b'{"b":12345}\n', [b'{"a":1}']),
        "A line is larger than the limit of 10 bytes. Raise WireLimits.line_bytes",
    ),
    "json body": LimitCase(
        *(JsonDecoder, WireLimits(event_bytes=10)),
        *(b'{"a":1234}', [b'{"a":1234}']),
        *(b'{"a":12345}', []),
        "A JSON body is larger than the limit of 10 bytes. Raise WireLimits.event_bytes",
    ),
    "array element": LimitCase(
        *(JsonArrayDecoder, WireLimits(event_bytes=10)),
        *(b'[{"a":1}, {"b":1234}]', [b'{"a":1}', b'{"b":1234}']),
        *(b'[{"a":1}, {"b":12345}]', [b'{"a":1}']),
        "An array element is larger than the limit of 10 bytes. Raise WireLimits.event_bytes",
    ),
    "array element that is not finished": LimitCase(
        *(JsonArrayDecoder, WireLimits(event_bytes=10)),
        *(b'[{"a":1}, {"b":"2345', [b'{"a":1}']),
        *(b'[{"a":1}, {"b":"23456', [b'{"a":1}']),
        "An array element is larger than the limit of 10 bytes. Raise WireLimits.event_bytes",
    ),
    "aws message": LimitCase(
        *(AwsEventStreamDecoder, WireLimits(event_bytes=26)),
        *(encode_message(b"a") + encode_message(b"1234567890"), [b"a", b"1234567890"]),
        *(encode_message(b"a") + encode_message(b"12345678901"), [b"a"]),
        "An AWS message is larger than the limit of 26 bytes. Raise WireLimits.event_bytes",
    ),
    "the whole response": LimitCase(
        *(lambda limits: MeteredDecoder(SseDecoder(limits), limits), WireLimits(response_bytes=18)),
        *(b"data: a\n\ndata: b\n\n", [b"a", b"b"]),
        *(b"data: a\n\ndata: b\n\n\n", [b"a", b"b"]),
        "The response is larger than the limit of 18 bytes. Raise WireLimits.response_bytes",
    ),
    "the whole response, cut in an event": LimitCase(
        *(lambda limits: MeteredDecoder(NdjsonDecoder(limits), limits), WireLimits(response_bytes=15)),
        *(b'{"a":1}\n{"b":2}', [b'{"a":1}', b'{"b":2}']),
        *(b'{"a":1}\n{"b":2}\n', [b'{"a":1}']),
        "The response is larger than the limit of 15 bytes. Raise WireLimits.response_bytes",
    ),
}
ADVICE = " if you trust the sender."


@pytest.mark.parametrize("name", LIMIT_CASES)
def test_input_at_the_limit_is_decoded(name: str) -> None:
    row = LIMIT_CASES[name]
    for reads in all_splits(row.within_limit):
        assert decode_all(row.framing(row.limits), reads) == expected_frames(*row.frames_within), reads


@pytest.mark.parametrize("name", LIMIT_CASES)
def test_input_over_the_limit_fails_with_the_earlier_frames(name: str) -> None:
    """S16."""
    row = LIMIT_CASES[name]
    expected = Decoded([Frame(data) for data in row.frames_before_fault], row.fault + ADVICE)
    for reads in all_splits(row.over_limit):
        assert decode_all(row.framing(row.limits), reads) == expected, reads


@given(st.sampled_from(list(LIMIT_CASES.values())), SPLIT_POINTS)
def test_limit_faults_do_not_depend_on_chunking(row: LimitCase, split_points: list[int]) -> None:
    assert decode_all(row.framing(row.limits), split_at(row.within_limit, split_points)).fault == ""
    assert (
        decode_all(row.framing(row.limits), split_at(row.over_limit, split_points)).fault
        == row.fault + ADVICE
    )


def test_limit_error_formats_thousands() -> None:
    with pytest.raises(LimitExceeded, match="the limit of 1,048,576 bytes") as raised:
        JsonDecoder(WireLimits(event_bytes=MIB)).feed(bytes(MIB + 1))
    assert raised.value.code == "limit_exceeded"


def test_default_wire_limits() -> None:
    assert (
        DEFAULT_LIMITS.line_bytes,
        DEFAULT_LIMITS.event_bytes,
        DEFAULT_LIMITS.event_lines,
        DEFAULT_LIMITS.response_bytes,
    ) == (16 * MIB, 32 * MIB, 10_000, 512 * MIB)


ENDLESS_INPUTS: dict[str, tuple[Framing, bytes, bytes]] = {
    "an sse line": (SseDecoder, b"data: ", bytes(MIB)),
    "an sse event": (SseDecoder, b"", b"data: " + b"x" * (MIB - 7) + b"\n"),
    "an ndjson line": (NdjsonDecoder, b"{", bytes(MIB)),
    "a json body": (JsonDecoder, b"{", bytes(MIB)),
    "an array element": (JsonArrayDecoder, b'[{"a":"', bytes(MIB)),
    "an aws message": (AwsEventStreamDecoder, encode_message(bytes(2 * MIB))[:12], bytes(MIB)),
}


@pytest.mark.parametrize("name", ENDLESS_INPUTS)
def test_memory_is_bounded_for_endless_input(name: str) -> None:
    """At most the limit and the read that exceeded it are held, and a second time while they are joined."""
    framing, start, piece = ENDLESS_INPUTS[name]
    with pytest.raises(WireLimitExceeded), assert_peak_memory(4 * MIB):
        feed_all(framing(WireLimits(line_bytes=MIB, event_bytes=MIB)), [start, *repeat(piece, 64)])


def test_text_is_not_buffered() -> None:
    with assert_peak_memory(4 * MIB):
        feed_all(TextDecoder(), repeat(bytes(MIB), 16))


def feed_all(decoder: Decoder, reads: Iterable[bytes]) -> None:
    for read in reads:
        decoder.feed(read)


@contextmanager
def assert_peak_memory(max_bytes: int) -> Iterator[None]:
    """Fail if more than `max_bytes` are allocated at any time inside the block."""
    tracemalloc.start()
    try:
        yield
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak <= max_bytes, f"{peak:,} bytes were allocated"
