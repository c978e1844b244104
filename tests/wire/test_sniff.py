"""The framing is detected from the first bytes, and only when no other framing is possible."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.wire.aws_encoder import encode_event

from thinkaloud.core.wire import (
    AwsEventStreamDecoder,
    Framing,
    JsonArrayDecoder,
    JsonDecoder,
    NdjsonDecoder,
    SseDecoder,
    TextDecoder,
    sniff_framing,
)

BOM = b"\xef\xbb\xbf"
AWS = encode_event("messageStart", b"{}")
LONG_SPACE = b" \r\n\t" * 1000

# The first bytes, the framing detected from them, and the framing if nothing follows.
HEADS: list[tuple[bytes, Framing | None, Framing]] = [
    (b"data: {}", SseDecoder, SseDecoder),
    (b"data:{}", SseDecoder, SseDecoder),
    (b"data\n", SseDecoder, SseDecoder),
    (b"data\r", SseDecoder, SseDecoder),
    (b"event: ping", SseDecoder, SseDecoder),
    (b"event\n", SseDecoder, SseDecoder),
    (b"id: 1", SseDecoder, SseDecoder),
    (b"retry: 10", SseDecoder, SseDecoder),
    (b": comment", SseDecoder, SseDecoder),
    (b"\r\n\n: comment", SseDecoder, SseDecoder),
    (BOM + b"data: {}", SseDecoder, SseDecoder),
    (BOM + b"\n:", SseDecoder, SseDecoder),
    (b'{"a": 1}\n', NdjsonDecoder, NdjsonDecoder),
    (b'{"a": 1}\r\n{"b"', NdjsonDecoder, NdjsonDecoder),
    (b'{"a": {"b": [1]}} \n', NdjsonDecoder, NdjsonDecoder),
    (b'\n {"a": 1}\n', NdjsonDecoder, NdjsonDecoder),
    (BOM + b'{"a": 1}\n', NdjsonDecoder, NdjsonDecoder),
    (b'{\n  "a": 1\n}', JsonDecoder, JsonDecoder),
    (b'{"a":\n1}', JsonDecoder, JsonDecoder),
    (b'{"a": "}\n', JsonDecoder, JsonDecoder),
    (b'{"a": 1}{"b": 2}\n', JsonDecoder, JsonDecoder),
    (BOM + b"{\n", JsonDecoder, JsonDecoder),
    (b'{"a": 1}', None, JsonDecoder),
    (b'{"a": 1', None, JsonDecoder),
    (b"{", None, JsonDecoder),
    (b"[{", JsonArrayDecoder, JsonArrayDecoder),
    (b'[\r\n  {"a"', JsonArrayDecoder, JsonArrayDecoder),
    (b"[ ]", JsonArrayDecoder, JsonArrayDecoder),
    (b" [{", JsonArrayDecoder, JsonArrayDecoder),
    (BOM + b"[{", JsonArrayDecoder, JsonArrayDecoder),
    (b"[", None, TextDecoder),
    (b"[ \n", None, TextDecoder),
    (b"[THINK]", TextDecoder, TextDecoder),
    (b"[1, 2]", TextDecoder, TextDecoder),
    (b"[[", TextDecoder, TextDecoder),
    (AWS, AwsEventStreamDecoder, AwsEventStreamDecoder),
    (AWS[:12], AwsEventStreamDecoder, AwsEventStreamDecoder),
    (AWS[:11], None, TextDecoder),
    (b"\0" * 11, None, TextDecoder),
    (b"\0" * 12, TextDecoder, TextDecoder),
    (b"\0\0\0\x10 no message", TextDecoder, TextDecoder),
    (b"<think>", TextDecoder, TextDecoder),
    (b"Hello", TextDecoder, TextDecoder),
    (b"database", TextDecoder, TextDecoder),
    (b"data base", TextDecoder, TextDecoder),
    (b"ideas", TextDecoder, TextDecoder),
    (b"events: none", TextDecoder, TextDecoder),
    (b"retry", None, TextDecoder),
    (b"dat", None, TextDecoder),
    ("◁think▷".encode(), TextDecoder, TextDecoder),
    (b'"a string"', TextDecoder, TextDecoder),
    (b"", None, TextDecoder),
    (b" \r\n\t", None, TextDecoder),
    (BOM, None, TextDecoder),
    (BOM[:1], None, TextDecoder),
    (BOM + b" ", None, TextDecoder),
    (BOM[:2] + b"data: {}", TextDecoder, TextDecoder),
    (LONG_SPACE, None, TextDecoder),
    (LONG_SPACE + b"[{", JsonArrayDecoder, JsonArrayDecoder),
    (LONG_SPACE + b"data: {}", SseDecoder, SseDecoder),
    (LONG_SPACE + b'{"a": 1}\n', NdjsonDecoder, NdjsonDecoder),
    (b"[" + LONG_SPACE, None, TextDecoder),
    (b"[" + LONG_SPACE + b"{", JsonArrayDecoder, JsonArrayDecoder),
    (b'{"a":' * 100_000 + b"\n", JsonDecoder, JsonDecoder),
]
IDS = [repr(head[:24]) + ("..." if len(head) > 24 else "") for head, _, _ in HEADS]


@pytest.mark.parametrize(("head", "framing", "final_framing"), HEADS, ids=IDS)
def test_sniff_detects_the_framing(head: bytes, framing: Framing | None, final_framing: Framing) -> None:
    """R002: the caller does not have to name the format."""
    assert sniff_framing(head) is framing
    assert sniff_framing(head, final=True) is final_framing


@pytest.mark.parametrize(("head", "framing", "final_framing"), HEADS, ids=IDS)
def test_sniff_never_contradicts_itself_on_a_prefix(
    head: bytes, framing: Framing | None, final_framing: Framing
) -> None:
    split_points = range(len(head)) if len(head) < 100 else (0, 1, 2, 100, len(head) // 2, len(head) - 1)
    for position in split_points:
        assert sniff_framing(head[:position]) in (None, framing), head[:position]


PIECES = [b"data", b"event", b"id", b":", b" ", b"\n", b"\r", b"{", b"}", b'{"a":1}', b"[", b"]", b"x", BOM]
BYTE_STRINGS = st.lists(st.sampled_from([*PIECES, *(BOM[:1], b"da", b"\0", AWS)]), max_size=6).map(b"".join)


@given(BYTE_STRINGS)
def test_sniffed_framing_never_changes_with_more_bytes(data: bytes) -> None:
    framings = {sniff_framing(data[:position]) for position in range(len(data) + 1)} - {None}
    final_framing = sniff_framing(data, final=True)
    assert final_framing is not None
    assert len(framings) <= 1
    assert not framings or framings == {final_framing}
