"""Bytes of a provider that are sent on to a client of the same dialect: all of them, up to some place."""

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.dialects.recordings import REAL_BY_NAME, RECORDINGS, Recording
from tests.linear_time import assert_linear

from thinkaloud import Reader
from thinkaloud.core.canon import BlockStarted, Kind, TurnEnded, TurnFailed
from thinkaloud.core.dialects import DIALECTS
from thinkaloud.core.dialects.relay import ByteRelay, RelayRules

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


@pytest.mark.some_cases(150)
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


TOLD_ENDS = {
    "openai_chat": (b'"finish_reason":"', b'"finish_reason": "', b"[DONE]"),
    "anthropic_messages": (b'"stop_reason":"', b'"stop_reason": "', b"message_stop"),
    "openai_responses": (b"response.completed", b"response.incomplete"),
    "ollama": (b'"done":true', b'"done": true'),
}
"""What tells a client of a dialect that its answer is whole."""


@pytest.mark.parametrize("name", RECORDED)
def test_end_of_the_answer_is_held_back_until_the_relay_is_closed(name: str) -> None:
    recording = RECORDED[name]
    for size in (60, 1_000_000):
        pieces = relayed(recording, recording.in_chunks(size))
        if pieces is None:
            continue
        *before, end = pieces
        marks = [mark for mark in TOLD_ENDS[recording.dialect] if mark in recording.body]
        assert marks or recording.dialect not in TOLD_ENDS
        assert not any(mark in b"".join(before) for mark in marks)
        assert all(mark in end for mark in marks)


@pytest.mark.parametrize(
    ("dialect", "body"),
    [
        ("openai_chat", b'data: {"choices":[{"delta":{"content":"a"},"finish_reason":""}]}\n\n'),
        ("openai_chat", b'data: {"choices":[{"delta":{"content":"\\"finish_reason\\":\\"stop\\""}}]}\n\n'),
        ("anthropic_messages", b'data: {"type":"message_start","message":{"stop_reason":null}}\n\n'),
        ("openai_responses", b'data: {"type":"response.output_item.done","item":{"status":"completed"}}\n\n'),
        ("ollama", b'{"message":{"content":"\\"done\\":true"},"done":false}\n'),
    ],
)
def test_frames_that_tell_no_end_are_sent_at_once(dialect: str, body: bytes) -> None:
    assert ByteRelay(rules_of(dialect)).feed(body, []) == body


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


def thought_frame(field: bytes, text: bytes) -> bytes:
    return b'data: {"choices":[{"index":0,"delta":{"%b":"%b"}}]}\n\n' % (field, text)


@pytest.mark.parametrize("size", [1, 2, 7, 20])
def test_foreign_mark_that_is_cut_in_two_is_found(size: int) -> None:
    """Every slice is fed, also those that complete no frame."""
    frame = thought_frame(b"reasoning_details", b"")
    relay = ByteRelay(rules_of("openai_chat"))
    assert relay.feed(frame[:6], []) == b""
    pieces = [relay.feed(frame[start : start + size], []) for start in range(6, len(frame), size)]
    assert None in pieces


def test_thought_mark_in_an_earlier_slice_of_the_frame_is_found() -> None:
    """A thought begins with the last slice of its frame; its field was in the first one."""
    frame = thought_frame(b"reasoning_content", b"Hm. " * 100)
    relay = ByteRelay(rules_of("openai_chat"))
    assert relay.feed(frame[:200], []) == b""
    assert relay.feed(frame[200:], [BlockStarted(0, Kind.REASONING)]) == frame


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\r\r"])
def test_end_of_the_answer_is_found_however_it_is_sliced(end: bytes) -> None:
    last = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}' + end
    for cut in range(6, len(last)):
        relay = ByteRelay(rules_of("openai_chat"))
        assert [relay.feed(last[:cut], []), relay.feed(last[cut:], [])] == [b"", b""]
        assert relay.ending
        assert relay.close() == last


def test_end_mark_in_the_arguments_of_a_call_only_delays() -> None:
    call = b'{"message":{"tool_calls":[{"function":{"name":"f","arguments":{"done":true}}}]},"done":false}\n'
    text = b'{"message":{"content":"42"},"done":false}\n'
    relay = ByteRelay(rules_of("ollama"))
    assert [relay.feed(text, []), relay.feed(call, []), relay.feed(text, [])] == [text, b"", b""]
    assert relay.close() == call + text


def sliced_frame(dialect: str, slices: int) -> list[bytes]:
    """Return one frame with a long text, in slices. No slice has a line end before the last one."""
    head, tail = {"openai_chat": (b"data: {", b"}\n\n"), "ollama": (b"{", b"}\n")}[dialect]
    return [head, *[b'\\"done ' * 30] * slices, tail]


@pytest.mark.parametrize("dialect", ["openai_chat", "ollama"])
def test_relay_of_a_large_frame_takes_linear_time(dialect: str) -> None:
    """S18: an incomplete frame is not searched again with every slice."""

    def work(size: int) -> Callable[[], object]:
        slices = sliced_frame(dialect, size)

        def run() -> bytes | None:
            relay = ByteRelay(rules_of(dialect))
            return [relay.feed(data, []) for data in slices][-1]

        assert run() == b"".join(slices)
        return run

    assert_linear(work, 1_000)


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
