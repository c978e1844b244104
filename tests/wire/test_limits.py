"""Every limit: what is just within it is read, one more is a fault that names it, in every cut alike."""

import tracemalloc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import repeat
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cutting import PLACES, cut, every_way
from tests.wire.aws_writing import message
from tests.wire.decoding import Decoded, decoded, frames

from thinkaloud.canon import LimitExceeded
from thinkaloud.wire import (
    LIMITS,
    AwsEventStream,
    Decoder,
    Frame,
    Framing,
    Json,
    JsonArray,
    Limits,
    Metered,
    Ndjson,
    Sse,
    Text,
    TooLarge,
)

MIB = 1024 * 1024
BOM = b"\xef\xbb\xbf"


class Row(NamedTuple):
    """What just fits and its frames, one more of the same and the frames that are kept, and the fault."""

    framing: Framing
    limits: Limits
    fits: bytes
    told: list[bytes]
    over: bytes
    kept: list[bytes]
    fault: str


ROWS = {
    "sse line": Row(
        *(Sse, Limits(line=10)),
        *(b"data: a\n\ndata: 1234\n\n", [b"a", b"1234"]),
        *(b"data: a\n\ndata: 12345\n\n", [b"a"]),
        "a line in bytes is over the limit of 10",
    ),
    "sse line with crlf": Row(
        *(Sse, Limits(line=10)),
        *(b"data:a\r\n\r\ndata:12345\r\n\r\n", [b"a", b"12345"]),
        *(b"data:a\r\n\r\ndata:123456\r\n\r\n", [b"a"]),
        "a line in bytes is over the limit of 10",
    ),
    "sse line that is not finished": Row(
        *(Sse, Limits(line=10)),
        *(b"data: a\n\n: 34567890", [b"a"]),
        *(b"data: a\n\n: 345678901", [b"a"]),
        "a line in bytes is over the limit of 10",
    ),
    "sse line after a byte-order mark": Row(
        *(Sse, Limits(line=10)),
        *(BOM + b"data: 1234\n\n", [b"1234"]),
        *(BOM + b"data: 12345\n\n", []),
        "a line in bytes is over the limit of 10",
    ),
    "sse event": Row(
        *(Sse, Limits(event=10)),
        *(b"data: a\n\ndata: 1234\ndata: 123456\n\n", [b"a", b"1234\n123456"]),
        *(b"data: a\n\ndata: 1234\ndata: 1234567\n\n", [b"a"]),
        "an event in bytes is over the limit of 10",
    ),
    "sse event of empty lines": Row(
        *(Sse, Limits(lines=3)),
        *(b"data: a\n\ndata\ndata:\ndata\n\n", [b"a", b"\n\n"]),
        *(b"data: a\n\ndata\ndata:\ndata\ndata\n\n", [b"a"]),
        "an event in lines is over the limit of 3",
    ),
    "ndjson line": Row(
        *(Ndjson, Limits(line=10)),
        *(b'{"a":1}\n{"b":1234}\n', [b'{"a":1}', b'{"b":1234}']),
        *(b'{"a":1}\n{"b":12345}\n', [b'{"a":1}']),
        "a line in bytes is over the limit of 10",
    ),
    "ndjson line that is not finished": Row(
        *(Ndjson, Limits(line=10)),
        *(b'{"a":1}\n{"b":1234}', [b'{"a":1}', b'{"b":1234}']),
        *(b'{"a":1}\n{"b":12345}', [b'{"a":1}']),
        "a line in bytes is over the limit of 10",
    ),
    "ndjson line after a byte-order mark": Row(
        *(Ndjson, Limits(line=10)),
        *(BOM + b'{"b":1234}\n', [b'{"b":1234}']),
        *(BOM + b'{"b":12345}\n', []),
        "a line in bytes is over the limit of 10",
    ),
    "json body": Row(
        *(Json, Limits(event=10)),
        *(b'{"a":1234}', [b'{"a":1234}']),
        *(b'{"a":12345}', []),
        "a JSON body in bytes is over the limit of 10",
    ),
    "array element": Row(
        *(JsonArray, Limits(event=10)),
        *(b'[{"a":1}, {"b":1234}]', [b'{"a":1}', b'{"b":1234}']),
        *(b'[{"a":1}, {"b":12345}]', [b'{"a":1}']),
        "an array element in bytes is over the limit of 10",
    ),
    "array element that is not finished": Row(
        *(JsonArray, Limits(event=10)),
        *(b'[{"a":1}, {"b":"2345', [b'{"a":1}']),
        *(b'[{"a":1}, {"b":"23456', [b'{"a":1}']),
        "an array element in bytes is over the limit of 10",
    ),
    "aws message": Row(
        *(AwsEventStream, Limits(event=26)),
        *(message(b"a") + message(b"1234567890"), [b"a", b"1234567890"]),
        *(message(b"a") + message(b"12345678901"), [b"a"]),
        "an AWS message in bytes is over the limit of 26",
    ),
    "the whole response": Row(
        *(lambda limits: Metered(Sse(limits), limits), Limits(total=18)),
        *(b"data: a\n\ndata: b\n\n", [b"a", b"b"]),
        *(b"data: a\n\ndata: b\n\n\n", [b"a", b"b"]),
        "the response in bytes is over the limit of 18",
    ),
    "the whole response, cut in an event": Row(
        *(lambda limits: Metered(Ndjson(limits), limits), Limits(total=15)),
        *(b'{"a":1}\n{"b":2}', [b'{"a":1}', b'{"b":2}']),
        *(b'{"a":1}\n{"b":2}\n', [b'{"a":1}']),
        "the response in bytes is over the limit of 15",
    ),
}
WHAT_TO_DO = "; raise it in Limits if you trust the sender"


@pytest.mark.parametrize("name", ROWS)
def test_what_is_just_within_a_limit_is_read(name: str) -> None:
    row = ROWS[name]
    for reads in every_way(row.fits):
        assert decoded(row.framing(row.limits), reads) == frames(*row.told), reads


@pytest.mark.parametrize("name", ROWS)
def test_one_more_is_a_fault_that_names_the_limit_and_keeps_what_came_before(name: str) -> None:
    row = ROWS[name]
    story = Decoded([Frame(data) for data in row.kept], row.fault + WHAT_TO_DO)
    for reads in every_way(row.over):
        assert decoded(row.framing(row.limits), reads) == story, reads


@given(st.sampled_from(list(ROWS.values())), PLACES)
def test_the_verdict_is_the_same_in_any_cut(row: Row, places: list[int]) -> None:
    assert decoded(row.framing(row.limits), cut(row.fits, places)).fault == ""
    assert decoded(row.framing(row.limits), cut(row.over, places)).fault == row.fault + WHAT_TO_DO


def test_a_large_limit_is_written_with_its_thousands() -> None:
    with pytest.raises(LimitExceeded, match="over the limit of 1,048,576;") as raised:
        Json(Limits(event=MIB)).feed(bytes(MIB + 1))
    assert raised.value.code == "limit_exceeded"


def test_the_defaults_are_far_above_what_providers_send() -> None:
    assert (LIMITS.line, LIMITS.event, LIMITS.lines, LIMITS.total) == (16 * MIB, 32 * MIB, 10_000, 512 * MIB)


ENDLESS: dict[str, tuple[Framing, bytes, bytes]] = {
    "an sse line": (Sse, b"data: ", bytes(MIB)),
    "an sse event": (Sse, b"", b"data: " + b"x" * (MIB - 7) + b"\n"),
    "an ndjson line": (Ndjson, b"{", bytes(MIB)),
    "a json body": (Json, b"{", bytes(MIB)),
    "an array element": (JsonArray, b'[{"a":"', bytes(MIB)),
    "an aws message": (AwsEventStream, message(bytes(2 * MIB))[:12], bytes(MIB)),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_memory_is_bounded_when_a_sender_never_comes_to_the_end(name: str) -> None:
    """What is held is the limit and the read that went over it, and once again when they are joined."""
    framing, start, piece = ENDLESS[name]
    with pytest.raises(TooLarge), most_memory(4 * MIB):
        feed_all(framing(Limits(line=MIB, event=MIB)), [start, *repeat(piece, 64)])


def test_text_is_passed_on_and_not_held() -> None:
    with most_memory(4 * MIB):
        feed_all(Text(), repeat(bytes(MIB), 16))


def feed_all(decoder: Decoder, reads: Iterable[bytes]) -> None:
    for read in reads:
        decoder.feed(read)


@contextmanager
def most_memory(most: int) -> Iterator[None]:
    """Fails when more than so many bytes are taken at any moment inside."""
    tracemalloc.start()
    try:
        yield
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak <= most, f"{peak:,} bytes were held"
