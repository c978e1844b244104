"""Bytes of a provider that are sent on to a client of the same dialect: all of them, up to some place."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.dialects.recordings import REAL_BY_NAME, RECORDINGS, Recording

from thinkaloud import Reader
from thinkaloud.canon import TurnEnded, TurnFailed
from thinkaloud.dialects import DIALECTS
from thinkaloud.dialects.relay import ByteRelay, RelayRules

RULES = {
    name: row.response_format.relay_rules
    for name, row in DIALECTS.items()
    if row.response_format and row.response_format.relay_rules
}
RECORDED = {
    name: recording
    for name, recording in (RECORDINGS | REAL_BY_NAME).items()
    if recording.dialect in RULES and not any(isinstance(event, TurnFailed) for event in recording.events())
}
SMALL = 5_000
"""Size in bytes; larger bodies are not read byte by byte."""
SIZES = [
    pytest.param(name, size, id=f"{size}-{name}")
    for size in (1, 60, 1_000_000)
    for name, recording in RECORDED.items()
    if size > 1 or name in RECORDINGS or len(recording.body) < SMALL
]


def rules_of(dialect: str) -> RelayRules:
    rules = RULES[dialect]
    assert rules is not None
    return rules


def relayed(recording: Recording, chunks: list[bytes], *, include_usage: bool = True) -> list[bytes] | None:
    """Return what is sent on of a response that arrives in these chunks; None if a part cannot be sent on."""
    reader = Reader(recording.dialect, model=recording.model, tags=recording.tags)
    relay = ByteRelay(rules_of(recording.dialect), include_usage=include_usage)
    pieces, unread = [], b""
    for chunk in chunks:
        unread += chunk
        if events := reader.feed(chunk):
            piece = relay.feed(unread, events, ended=isinstance(events[-1], TurnEnded))
            if piece is None:
                return None
            pieces.append(piece)
            unread = b""
    piece = relay.feed(unread, reader.close(), ended=True)
    return None if piece is None else [*pieces, piece, relay.close()]


@pytest.mark.parametrize(("name", "size"), SIZES)
def test_every_byte_is_sent_on_or_the_relay_gives_up(name: str, size: int) -> None:
    recording = RECORDED[name]
    pieces = relayed(recording, recording.in_chunks(size))
    assert pieces is None or b"".join(pieces) == recording.body


@pytest.mark.parametrize("dialect", RULES)
def test_most_recorded_streams_are_sent_on(dialect: str) -> None:
    recordings = [recording for recording in RECORDED.values() if recording.dialect == dialect]
    sent_on = [recording for recording in recordings if relayed(recording, recording.in_chunks(100))]
    assert sent_on
    for recording in sent_on:
        assert not recording.turn().reasoning or any(
            mark in recording.body for mark in rules_of(dialect).thought_marks
        )
        assert not any(mark in recording.body for mark in rules_of(dialect).foreign_marks)


def chat(*deltas: str, end: bytes = b"\n\n") -> bytes:
    frames = [b'data: {"choices":[{"index":0,"delta":%b}]}' % delta.encode() for delta in deltas]
    return end.join([*frames, b"data: [DONE]", b""])


def chat_recording(body: bytes) -> Recording:
    return Recording("chat", "openai_chat", body, {}, model="any-model")


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\r\r"])
def test_only_whole_frames_are_sent_on(end: bytes) -> None:
    recording = chat_recording(chat('{"reasoning_content":"Hm."}', '{"content":"42"}', end=end))
    for size in range(1, 40):
        pieces = relayed(recording, recording.in_chunks(size))
        assert pieces is not None
        for piece in filter(None, pieces):
            assert piece.startswith(b"data:")
            assert piece.endswith(end)


@given(st.lists(st.integers(0, 200), max_size=8).map(sorted))
def test_thoughts_in_other_places_are_not_sent_on(cuts: list[int]) -> None:
    """A thought between tags, or in a field that clients do not read, however the bytes are cut."""
    for deltas in (
        ('{"role":"assistant"}', '{"content":"<think>Hm.</think>42"}'),
        ('{"reasoning":"Hm."}', '{"content":"42"}'),
        ('{"reasoning_content":"Hm.","reasoning_details":[]}', '{"content":"42"}'),
    ):
        body = chat(*deltas)
        chunks = [body[start:end] for start, end in pairwise([0, *cuts, len(body)])]
        assert relayed(chat_recording(body), [chunk for chunk in chunks if chunk]) is None


def test_whole_response_is_not_sent_as_a_stream() -> None:
    body = b'{"choices":[{"message":{"role":"assistant","content":"42"},"finish_reason":"stop"}]}'
    assert relayed(chat_recording(body), [body]) is None


def test_counts_are_sent_on_only_if_they_were_asked_for() -> None:
    usage = b'data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}}\n\n'
    before, done, _ = chat('{"content":"42"}').partition(b"data: [DONE]")
    recording = chat_recording(before + usage + done + b"\n\n")
    for size in (1, 50, 10_000):
        chunks = recording.in_chunks(size)
        assert b"".join(relayed(recording, chunks) or ()) == recording.body
        assert b"".join(relayed(recording, chunks, include_usage=False) or ()) == before + done + b"\n\n"
