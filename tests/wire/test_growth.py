"""Time grows with the input and not with its square, on the input that a hostile sender would choose."""

from collections.abc import Callable

import pytest
from tests.cutting import one_by_one
from tests.growing import assert_linear
from tests.wire.aws_writing import message

from thinkaloud.wire import (
    AwsEventStream,
    Framing,
    Json,
    JsonArray,
    Limits,
    Metered,
    Ndjson,
    Sse,
    Text,
)

NO_LIMITS = Limits(lines=10**9)
AWS_START = message(bytes(10**6))[:12]
"""The prelude of a message that is longer than what will follow it."""


def whole(said: bytes) -> list[bytes]:
    return [said]


def metered(limits: Limits) -> Metered:
    return Metered(Text(limits), limits)


# What is decoded, how it is read, one unit of it, how many units, and what stands in front.
ATTACKS: dict[str, tuple[Framing, Callable[[bytes], list[bytes]], bytes, int, bytes]] = {
    "sse: a long line byte by byte": (Sse, one_by_one, b"x", 30_000, b"data: "),
    "sse: empty lines": (Sse, whole, b"\n", 300_000, b""),
    "sse: empty lines byte by byte": (Sse, one_by_one, b"\n", 16_000, b""),
    "sse: carriage returns byte by byte": (Sse, one_by_one, b"\r", 16_000, b""),
    "sse: tiny lines of data": (Sse, whole, b"data\n", 60_000, b""),
    "sse: tiny events byte by byte": (Sse, one_by_one, b"data:\n\n", 3_000, b""),
    "sse: colons": (Sse, whole, b":\n", 100_000, b""),
    "sse: names": (Sse, whole, b"event: a\n", 40_000, b""),
    "ndjson: a long line byte by byte": (Ndjson, one_by_one, b"x", 30_000, b'{"a":"'),
    "ndjson: empty lines": (Ndjson, whole, b"\n", 300_000, b""),
    "ndjson: tiny lines byte by byte": (Ndjson, one_by_one, b"{}\n", 6_000, b""),
    "json: byte by byte": (Json, one_by_one, b"1,", 25_000, b"["),
    "json: nearly a value": (Json, whole, b'"\\"",', 300_000, b"["),
    "array: deep brackets": (JsonArray, whole, b"[", 30_000, b""),
    "array: deep brackets byte by byte": (JsonArray, one_by_one, b"[", 30_000, b""),
    "array: elements": (JsonArray, whole, b"{},", 20_000, b"["),
    "array: a long element byte by byte": (JsonArray, one_by_one, b"x", 50_000, b'[{"a":"'),
    "array: quotes": (JsonArray, whole, b'"', 40_000, b"[{"),
    "array: backslashes": (JsonArray, whole, b"\\", 120_000, b'[{"'),
    "array: backslashes byte by byte": (JsonArray, one_by_one, b"\\", 20_000, b'[{"'),
    "array: brackets in a string": (JsonArray, whole, b"[{", 2_000_000, b'[{"a":"'),
    "aws: tiny messages": (AwsEventStream, whole, message(), 15_000, b""),
    "aws: tiny messages byte by byte": (AwsEventStream, one_by_one, message(), 3_000, b""),
    "aws: a long message byte by byte": (AwsEventStream, one_by_one, b"x", 80_000, AWS_START),
    "aws: many headers": (AwsEventStream, whole, message(b"", b"\x01a\x00" * 40), 600, b""),
    "text: byte by byte": (Text, one_by_one, "💭".encode(), 6_000, b""),
    "text: bytes that are not utf-8": (Text, whole, b"\xff", 200_000, b""),
    "metered: byte by byte": (metered, one_by_one, b"x", 30_000, b""),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_twice_the_bytes_take_twice_the_time(name: str) -> None:
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
