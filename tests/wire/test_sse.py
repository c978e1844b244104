"""Server-sent events by the WHATWG rules, split at every byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.chunks import SPLIT_POINTS, all_splits, split_at
from tests.wire.decode import Decoded, decode_all, expected_frames

from thinkaloud.core.wire import Frame, SseDecoder

BOM = b"\xef\xbb\xbf"

CASES: dict[str, tuple[bytes, Decoded]] = {
    # ends of lines
    "lf": (b"data: a\ndata: b\n\ndata: c\n\n", expected_frames(b"a\nb", b"c")),
    "crlf": (b"data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n", expected_frames(b"a\nb", b"c")),
    "cr": (b"data: a\rdata: b\r\rdata: c\r\r", expected_frames(b"a\nb", b"c")),
    "all three": (b"data: a\rdata: b\r\ndata: c\n\r\ndata: d\r\n\n", expected_frames(b"a\nb\nc", b"d")),
    "lf then cr is two ends": (b"data: a\n\rdata: b\n\r", expected_frames(b"a", b"b")),
    "cr then crlf is two ends": (b"data: a\r\r\ndata: b\r\r\n", expected_frames(b"a", b"b")),
    "other separators end no line": (
        "data: a\x0bb\x0cc\x85d\u2028e\n\n".encode(),
        expected_frames("a\x0bb\x0cc\x85d\u2028e".encode()),
    ),
    # fields
    "one space is removed": (b"data:  two\n\n", expected_frames(b" two")),
    "no space is needed": (b"data:none\n\n", expected_frames(b"none")),
    "a tab is no space": (b"data:\tkept\n\n", expected_frames(b"\tkept")),
    "only the first colon divides": (b"data: a: b\n\n", expected_frames(b"a: b")),
    "data without a colon": (b"data\n\n", expected_frames(b"")),
    "data without a value": (b"data:\n\n", expected_frames(b"")),
    "two empty lines of data": (b"data\ndata\n\n", expected_frames(b"\n")),
    "comments": (b": hello\ndata: a\n:\n: more\ndata: b\n\n", expected_frames(b"a\nb")),
    "a comment alone is no event": (b": keep-alive\n\n: keep-alive\n\n", expected_frames()),
    "unknown fields": (b"foo: 1\ndatum: 2\nDATA: 3\n data: 4\ndata : 5\ndata: a\n\n", expected_frames(b"a")),
    "id and retry": (b"id: 7\nretry: 10\ndata: a\nid\n\n", expected_frames(b"a")),
    "nul bytes": (b"id: a\0b\ndata: \0a\0\n\n", expected_frames(b"\0a\0")),
    "bytes that are not utf-8": (b"data: \xff\xfe\n\n", expected_frames(b"\xff\xfe")),
    # names of events
    "a named event": (b"event: add\ndata: 1\n\n", Decoded([Frame(b"1", "add")])),
    "the name may come last": (b"data: 1\nevent:add\n\n", Decoded([Frame(b"1", "add")])),
    "the last name counts": (b"event: a\nevent: b\ndata: 1\n\n", Decoded([Frame(b"1", "b")])),
    "a name without a value": (b"event: a\nevent:\ndata: 1\n\n", expected_frames(b"1")),
    "a name without a colon": (b"event: a\nevent\ndata: 1\n\n", expected_frames(b"1")),
    "a name is for one event": (
        b"event: a\ndata: 1\n\ndata: 2\n\n",
        Decoded([Frame(b"1", "a"), Frame(b"2")]),
    ),
    "a name without data goes with its event": (b"event: a\n\ndata: 1\n\n", expected_frames(b"1")),
    "a name in other letters": ("event: añ\ndata: 1\n\n".encode(), Decoded([Frame(b"1", "añ")])),
    "a name that is not utf-8": (b"event: \xff\ndata: 1\n\n", Decoded([Frame(b"1", "\ufffd")])),
    # the start and the end
    "a byte-order mark": (BOM + b"data: a\n\ndata: b\n\n", expected_frames(b"a", b"b")),
    "a byte-order mark before a blank line": (BOM + b"\ndata: a\n\n", expected_frames(b"a")),
    "only one byte-order mark": (BOM + BOM + b"data: a\ndata: b\n\n", expected_frames(b"b")),
    "no byte-order mark later": (b"data: a\n" + BOM + b"data: b\n\n", expected_frames(b"a")),
    "half a byte-order mark": (BOM[:2] + b"data: a\ndata: b\n\n", expected_frames(b"b")),
    "blank lines": (b"\n\r\n\r\n\ndata: a\n\n\n\n", expected_frames(b"a")),
    "an unfinished event is dropped": (b"data: a\n\ndata: b\n", expected_frames(b"a")),
    "an unfinished line is dropped": (b"data: a\n\ndata: b", expected_frames(b"a")),
    "nothing": (b"", expected_frames()),
    "half a byte-order mark alone": (BOM[:2], expected_frames()),
    # the standard's own examples
    "stocks": (b"data: YHOO\ndata: +2\ndata: 10\n\n", expected_frames(b"YHOO\n+2\n10")),
    "four blocks": (
        b": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n",
        expected_frames(b"first event", b"second event"),
    ),
    "two empty events and one unfinished": (b"data\n\ndata\ndata\n\ndata:", expected_frames(b"", b"\n")),
    "two equal events": (b"data:test\n\ndata: test\n\n", expected_frames(b"test", b"test")),
    # as providers send it
    "characters of two, three and four bytes": (
        'data: {"text":"é – 💭"}\n\n'.encode(),
        expected_frames('{"text":"é – 💭"}'.encode()),
    ),
    "an anthropic event": (
        b'event: ping\ndata: {"type": "ping"}\n\n',
        Decoded([Frame(b'{"type": "ping"}', "ping")]),
    ),
    "an openrouter stream": (
        b': OPENROUTER PROCESSING\n\ndata: {"id":"g"}\n\ndata: [DONE]\n\n',
        expected_frames(b'{"id":"g"}', b"[DONE]"),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_sse_events_do_not_depend_on_chunking(name: str) -> None:
    data, expected = CASES[name]
    for reads in all_splits(data):
        assert decode_all(SseDecoder(), reads) == expected, reads


@given(st.sampled_from(list(CASES.values())), SPLIT_POINTS)
def test_sse_events_with_random_chunks(case: tuple[bytes, Decoded], split_points: list[int]) -> None:
    data, expected = case
    assert decode_all(SseDecoder(), split_at(data, split_points)) == expected


LINES = st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=8)
EVENTS = st.lists(st.tuples(LINES, st.lists(LINES, min_size=1, max_size=3)), max_size=5)


@given(EVENTS, st.sampled_from(["\n", "\r\n", "\r"]), SPLIT_POINTS)
def test_sse_encoded_events_are_decoded(
    events: list[tuple[str, list[str]]], end: str, split_points: list[int]
) -> None:
    lines = [[f"event: {name}", *(f"data: {line}" for line in data), "", ""] for name, data in events]
    body = "".join(end.join(event) for event in lines).encode()
    expected = [Frame("\n".join(data).encode(), name) for name, data in events]
    assert decode_all(SseDecoder(), split_at(body, split_points)) == Decoded(expected)


def test_sse_carriage_return_ends_the_line_at_once() -> None:
    decoder = SseDecoder()
    assert decoder.feed(b"data: a\r\n\r") == [Frame(b"a")]
    assert decoder.feed(b"\ndata: b\r") == []
    assert decoder.feed(b"\n") == []
    assert decoder.feed(b"\r") == [Frame(b"b")]
    assert decoder.close() == []
