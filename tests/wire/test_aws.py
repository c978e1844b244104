"""AWS event stream: sound messages become frames, and the first unsound byte ends the stream."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cutting import PLACES, cut, every_way
from tests.wire.aws_writing import event, header, message, sized, summed, text_header
from tests.wire.decoding import Decoded, decoded, frames

from thinkaloud.wire import AwsEventStream, Frame

PRELUDE = "an AWS event-stream prelude does not match its checksum"
MESSAGE = "an AWS event-stream message does not match its checksum"
HEADER = "an AWS event-stream header cannot be read: "

HELLO = event("contentBlockDelta", b'{"delta":1}')
HELLO_FRAME = Frame(b'{"delta":1}', "contentBlockDelta")

EVERY_KIND_OF_HEADER = (
    header("true", 0),
    header("false", 1),
    header("byte", 2, b"\x07"),
    header("short", 3, b"\x00\x07"),
    header("integer", 4, b"\x00\x00\x00\x07"),
    header("long", 5, b"\x00\x00\x00\x00\x00\x00\x00\x07"),
    header("bytes", 6, sized(b"\x00\x01:event-type")),
    text_header("text", "é💭"),
    header("timestamp", 8, b"\x00\x00\x01\x8c\x00\x00\x00\x00"),
    header("uuid", 9, bytes(range(16))),
    text_header(":event-type", "last"),
)


def spoiled(written: bytes, at: int) -> bytes:
    """The same message with one bit turned."""
    return written[:at] + bytes([written[at] ^ 1]) + written[at + 1 :]


STORIES: dict[str, tuple[bytes, Decoded]] = {
    # bytes written down from the protocol's own examples, so that our writer is proved too
    "the empty message": (bytes.fromhex("00000010 00000000 05c248eb 7d98c8ff"), frames(b"")),
    "a payload without headers": (
        bytes.fromhex("0000001d 00000000 fd528c5a 7b27666f6f273a27626172277d c3653936"),
        frames(b"{'foo':'bar'}"),
    ),
    "an event": (HELLO, Decoded([HELLO_FRAME])),
    "several": (HELLO + message(b"x") + HELLO, Decoded([HELLO_FRAME, Frame(b"x"), HELLO_FRAME])),
    "every kind of header": (message(b"{}", *EVERY_KIND_OF_HEADER), Decoded([Frame(b"{}", "last")])),
    "an exception has its type for a name": (
        message(
            b'{"message":"slow down"}',
            text_header(":event-type", "ignored"),
            text_header(":exception-type", "throttlingException"),
            text_header(":message-type", "exception"),
        ),
        Decoded([Frame(b'{"message":"slow down"}', "throttlingException")]),
    ),
    "an error has its code for a name": (
        message(b"", text_header(":error-code", "InternalFailure"), text_header(":message-type", "error")),
        Decoded([Frame(b"", "InternalFailure")]),
    ),
    "an event type that is no text is no name": (message(b"x", header(":event-type", 0)), frames(b"x")),
    "cut off": (HELLO + HELLO[:-1], Decoded([HELLO_FRAME])),
    "cut off in the prelude": (HELLO + HELLO[:11], Decoded([HELLO_FRAME])),
    "nothing": (b"", frames()),
    "a wrong length": (HELLO + spoiled(HELLO, 3) + HELLO, Decoded([HELLO_FRAME], PRELUDE)),
    "a wrong length of headers": (HELLO + spoiled(HELLO, 7), Decoded([HELLO_FRAME], PRELUDE)),
    "a wrong prelude checksum": (HELLO + spoiled(HELLO, 8), Decoded([HELLO_FRAME], PRELUDE)),
    "a wrong header": (HELLO + spoiled(HELLO, 14) + HELLO, Decoded([HELLO_FRAME], MESSAGE)),
    "a wrong payload": (HELLO + spoiled(HELLO, -5), Decoded([HELLO_FRAME], MESSAGE)),
    "a wrong message checksum": (HELLO + spoiled(HELLO, -1), Decoded([HELLO_FRAME], MESSAGE)),
    "shorter than a message can be": (summed(struct.pack(">II", 15, 0)) + b"12345", Decoded([], PRELUDE)),
    "more headers than message": (summed(summed(struct.pack(">II", 20, 5)) + b"1234"), Decoded([], PRELUDE)),
}

UNREADABLE_HEADERS: dict[str, bytes] = {
    "a name that goes on beyond the headers": b"\x09abc",
    "a name without a value": b"\x03abc",
    "a name that is not utf-8": b"\x01\xff\x00",
    "text that is not utf-8": header("a", 7, sized(b"\xff")),
    "text without its length": header("a", 7, b"\x00"),
    "text that goes on beyond the headers": header("a", 7, b"\x00\x09abc"),
    "bytes that go on beyond the headers": header("a", 6, b"\x00\x09abc"),
    "a number that goes on beyond the headers": header("a", 5, b"\x00"),
    "a kind that is not defined": header("a", 10, sized(b"abc")),
}


@pytest.mark.parametrize("name", STORIES)
def test_a_stream_tells_its_story_however_it_is_read(name: str) -> None:
    said, story = STORIES[name]
    for reads in every_way(said):
        assert decoded(AwsEventStream(), reads) == story, reads


@given(st.sampled_from(list(STORIES.values())), PLACES)
def test_any_reads_tell_the_story(written: tuple[bytes, Decoded], places: list[int]) -> None:
    said, story = written
    assert decoded(AwsEventStream(), cut(said, places)) == story


@pytest.mark.parametrize("name", UNREADABLE_HEADERS)
def test_a_header_that_cannot_be_read_is_a_fault(name: str) -> None:
    for reads in every_way(HELLO + message(b"{}", UNREADABLE_HEADERS[name]) + HELLO):
        told = decoded(AwsEventStream(), reads)
        assert told.frames == [HELLO_FRAME]
        assert told.fault.startswith(HEADER)


@given(st.lists(st.tuples(st.text(max_size=9), st.binary(max_size=40)), max_size=4), PLACES)
def test_what_is_written_is_read_back(events: list[tuple[str, bytes]], places: list[int]) -> None:
    written = b"".join(event(name, payload) for name, payload in events)
    story = [Frame(payload, name) for name, payload in events]
    assert decoded(AwsEventStream(), cut(written, places)) == Decoded(story)


@given(st.integers(0, len(HELLO) - 1))
def test_no_turned_bit_goes_unseen(at: int) -> None:
    assert decoded(AwsEventStream(), [spoiled(HELLO, at)]).frames == []


def test_a_message_comes_with_its_last_byte() -> None:
    decoder = AwsEventStream()
    assert decoder.feed(HELLO[:-1]) == []
    assert decoder.feed(HELLO[-1:] + HELLO[:20]) == [HELLO_FRAME]
    assert decoder.feed(HELLO[20:]) == [HELLO_FRAME]
