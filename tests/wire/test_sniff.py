"""The first bytes tell the framing; while they could be two things, they tell nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.wire.aws_writing import event

from thinkaloud.wire import AwsEventStream, Framing, Json, JsonArray, Ndjson, Sse, Text, sniff

BOM = b"\xef\xbb\xbf"
AWS = event("messageStart", b"{}")
MOST_BLANKS = 1024

# What the bytes are as soon as they can tell, and what they are if nothing follows.
HEADS: list[tuple[bytes, Framing | None, Framing]] = [
    (b"data: {}", Sse, Sse),
    (b"data:{}", Sse, Sse),
    (b"data\n", Sse, Sse),
    (b"data\r", Sse, Sse),
    (b"event: ping", Sse, Sse),
    (b"event\n", Sse, Sse),
    (b"id: 1", Sse, Sse),
    (b"retry: 10", Sse, Sse),
    (b": comment", Sse, Sse),
    (b"\r\n\n: comment", Sse, Sse),
    (BOM + b"data: {}", Sse, Sse),
    (BOM + b"\n:", Sse, Sse),
    (b'{"a": 1}\n', Ndjson, Ndjson),
    (b'{"a": 1}\r\n{"b"', Ndjson, Ndjson),
    (b'{"a": {"b": [1]}} \n', Ndjson, Ndjson),
    (b'\n {"a": 1}\n', Ndjson, Ndjson),
    (BOM + b'{"a": 1}\n', Ndjson, Ndjson),
    (b'{\n  "a": 1\n}', Json, Json),
    (b'{"a":\n1}', Json, Json),
    (b'{"a": "}\n', Json, Json),
    (b'{"a": 1}{"b": 2}\n', Json, Json),
    (BOM + b"{\n", Json, Json),
    (b'{"a": 1}', None, Json),
    (b'{"a": 1', None, Json),
    (b"{", None, Json),
    (b"[{", JsonArray, JsonArray),
    (b'[\r\n  {"a"', JsonArray, JsonArray),
    (b"[ ]", JsonArray, JsonArray),
    (b" [{", JsonArray, JsonArray),
    (BOM + b"[{", JsonArray, JsonArray),
    (b"[", None, Text),
    (b"[ \n", None, Text),
    (b"[THINK]", Text, Text),
    (b"[1, 2]", Text, Text),
    (b"[[", Text, Text),
    (AWS, AwsEventStream, AwsEventStream),
    (AWS[:12], AwsEventStream, AwsEventStream),
    (AWS[:11], None, Text),
    (b"\0" * 11, None, Text),
    (b"\0" * 12, Text, Text),
    (b"\0\0\0\x10 no message", Text, Text),
    (b"<think>", Text, Text),
    (b"Hello", Text, Text),
    (b"database", Text, Text),
    (b"data base", Text, Text),
    (b"ideas", Text, Text),
    (b"events: none", Text, Text),
    (b"retry", None, Text),
    (b"dat", None, Text),
    ("◁think▷".encode(), Text, Text),
    (b'"a string"', Text, Text),
    (b"", None, Text),
    (b" \r\n\t", None, Text),
    (BOM, None, Text),
    (BOM[:1], None, Text),
    (BOM + b" ", None, Text),
    (BOM[:2] + b"data: {}", Text, Text),
    (b" " * (MOST_BLANKS - 1), None, Text),
    (b" " * MOST_BLANKS, Text, Text),
    (b" " * (MOST_BLANKS - 1) + b"[{", JsonArray, JsonArray),
    (b" " * MOST_BLANKS + b"[{", Text, Text),
    (b"[" + b"\n" * MOST_BLANKS, None, Text),
    (b"[" + b"\n" * MOST_BLANKS + b"{", JsonArray, JsonArray),
    (b"[" + b"\n" * (MOST_BLANKS + 1), Text, Text),
    (b"[" + b"\n" * (MOST_BLANKS + 1) + b"{", Text, Text),
    (b'{"a":' * 100_000 + b"\n", Json, Json),
]
IDS = [repr(head[:24]) + ("..." if len(head) > 24 else "") for head, _, _ in HEADS]


@pytest.mark.parametrize(("head", "framing", "at_the_end"), HEADS, ids=IDS)
def test_the_first_bytes_tell_the_framing(head: bytes, framing: Framing | None, at_the_end: Framing) -> None:
    """R002: nobody is asked what was sent."""
    assert sniff(head) is framing
    assert sniff(head, final=True) is at_the_end


@pytest.mark.parametrize(("head", "framing", "at_the_end"), HEADS, ids=IDS)
def test_no_beginning_tells_what_more_bytes_deny(
    head: bytes, framing: Framing | None, at_the_end: Framing
) -> None:
    places = range(len(head)) if len(head) < 100 else (0, 1, 2, 100, len(head) // 2, len(head) - 1)
    for place in places:
        assert sniff(head[:place]) in (None, framing), head[:place]


PIECES = [b"data", b"event", b"id", b":", b" ", b"\n", b"\r", b"{", b"}", b'{"a":1}', b"[", b"]", b"x", BOM]
SAID = st.lists(st.sampled_from([*PIECES, *(BOM[:1], b"da", b"\0", AWS)]), max_size=6).map(b"".join)


@given(SAID)
def test_once_told_a_framing_never_changes(said: bytes) -> None:
    told = {sniff(said[:place]) for place in range(len(said) + 1)} - {None}
    at_the_end = sniff(said, final=True)
    assert at_the_end is not None
    assert len(told) <= 1
    assert not told or told == {at_the_end}
