"""Decoding takes linear time on input that a hostile sender would choose."""

from collections.abc import Callable

import pytest
from tests.chunks import one_by_one
from tests.linear_time import assert_linear
from tests.wire.aws_encoder import encode_message

from thinkaloud.core.wire import (
    AwsEventStreamDecoder,
    Framing,
    JsonArrayDecoder,
    JsonDecoder,
    MeteredDecoder,
    NdjsonDecoder,
    SseDecoder,
    TextDecoder,
    WireLimits,
)

NO_LIMITS = WireLimits(event_lines=10**9)
AWS_START = encode_message(bytes(10**6))[:12]
"""The prelude of a message that is longer than the data that follows."""


def single_read(data: bytes) -> list[bytes]:
    return [data]


def metered(limits: WireLimits) -> MeteredDecoder:
    return MeteredDecoder(TextDecoder(limits), limits)


# The framing, how the data is chunked, the repeated unit, the number of units, and the prefix.
ATTACKS: dict[str, tuple[Framing, Callable[[bytes], list[bytes]], bytes, int, bytes]] = {
    "sse: a long line byte by byte": (SseDecoder, one_by_one, b"x", 30_000, b"data: "),
    "sse: empty lines": (SseDecoder, single_read, b"\n", 300_000, b""),
    "sse: empty lines byte by byte": (SseDecoder, one_by_one, b"\n", 16_000, b""),
    "sse: carriage returns byte by byte": (SseDecoder, one_by_one, b"\r", 16_000, b""),
    "sse: tiny lines of data": (SseDecoder, single_read, b"data\n", 60_000, b""),
    "sse: tiny events byte by byte": (SseDecoder, one_by_one, b"data:\n\n", 3_000, b""),
    "sse: colons": (SseDecoder, single_read, b":\n", 100_000, b""),
    "sse: names": (SseDecoder, single_read, b"event: a\n", 40_000, b""),
    "ndjson: a long line byte by byte": (NdjsonDecoder, one_by_one, b"x", 30_000, b'{"a":"'),
    "ndjson: empty lines": (NdjsonDecoder, single_read, b"\n", 300_000, b""),
    "ndjson: tiny lines byte by byte": (NdjsonDecoder, one_by_one, b"{}\n", 6_000, b""),
    "json: byte by byte": (JsonDecoder, one_by_one, b"1,", 25_000, b"["),
    "json: nearly a value": (JsonDecoder, single_read, b'"\\"",', 300_000, b"["),
    "array: deep brackets": (JsonArrayDecoder, single_read, b"[", 30_000, b""),
    "array: deep brackets byte by byte": (JsonArrayDecoder, one_by_one, b"[", 30_000, b""),
    "array: elements": (JsonArrayDecoder, single_read, b"{},", 20_000, b"["),
    "array: a long element byte by byte": (JsonArrayDecoder, one_by_one, b"x", 50_000, b'[{"a":"'),
    "array: quotes": (JsonArrayDecoder, single_read, b'"', 40_000, b"[{"),
    "array: backslashes": (JsonArrayDecoder, single_read, b"\\", 120_000, b'[{"'),
    "array: backslashes byte by byte": (JsonArrayDecoder, one_by_one, b"\\", 20_000, b'[{"'),
    "array: brackets in a string": (JsonArrayDecoder, single_read, b"[{", 2_000_000, b'[{"a":"'),
    "aws: tiny messages": (AwsEventStreamDecoder, single_read, encode_message(), 15_000, b""),
    "aws: tiny messages byte by byte": (AwsEventStreamDecoder, one_by_one, encode_message(), 3_000, b""),
    "aws: a long message byte by byte": (AwsEventStreamDecoder, one_by_one, b"x", 80_000, AWS_START),
    "aws: many headers": (
        AwsEventStreamDecoder,
        single_read,
        encode_message(b"", b"\x01a\x00" * 40),
        600,
        b"",
    ),
    "text: byte by byte": (TextDecoder, one_by_one, "💭".encode(), 6_000, b""),
    "text: bytes that are not utf-8": (TextDecoder, single_read, b"\xff", 200_000, b""),
    "metered: byte by byte": (metered, one_by_one, b"x", 30_000, b""),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_decoding_takes_linear_time(name: str) -> None:
    """S18."""
    framing, reads_of, unit, count, start = ATTACKS[name]

    def work(size: int) -> Callable[[], object]:
        decoder = framing(NO_LIMITS)
        reads = reads_of(start + unit * size)

        def run() -> None:
            for read in reads:
                decoder.feed(read)
            decoder.close()

        return run

    assert_linear(work, count)
