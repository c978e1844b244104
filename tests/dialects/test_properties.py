"""Properties of every dialect, checked on all recordings.

The result does not depend on when events are drained; any prefix gives a valid turn; stored entries fold to
the same turn; events survive JSON; a kept message reads like its stream; damaged input gives a valid turn;
unknown fields and events are ignored.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.dialects.recordings import (
    REAL_BY_NAME,
    RECORDINGS,
    Recording,
    complete_story,
    seals_of,
    turn_as_story,
)
from tests.dialects.turn_checks import assert_valid_turn, decode_events, encode_events

import thinkaloud
from thinkaloud import NotAResponse, Reader, Turn, apply, fold
from thinkaloud.core.canon import BlockEnded, BlockGrew, BlockStarted, Entry, Event, Kind
from thinkaloud.core.dialects import AUTO, DIALECTS
from thinkaloud.core.dialects.emitter import TurnEmitter
from thinkaloud.core.dialects.tags.profiles import find_profile
from thinkaloud.core.wire import PLAIN_TEXT, Frame

REAL_SAMPLE = {
    name: recording for name, recording in list(REAL_BY_NAME.items())[::4] if recording.dialect != AUTO
}
ALL = RECORDINGS | REAL_SAMPLE
BY_DIALECT = {
    dialect: [recording for recording in RECORDINGS.values() if recording.dialect == dialect]
    for dialect in DIALECTS
}

BY_FRAMES = [name for name in RECORDINGS if name != "openai_chat/half_emoji"]
"""`Reader` repairs a lone surrogate before the dialect reads it, so that frame cannot be fed directly."""

OVERLAPPING = {
    "openai_responses/reasoning_done_last": "the provider itself ends the thought after the message",
}
"""Turns in which a reasoning block is open when the next block starts, and the reason."""

few = settings(max_examples=6, deadline=None)
many = settings(max_examples=120, deadline=None)


def read(body: bytes, dialect: str, recording: Recording) -> list[Event]:
    reader = Reader(dialect, model=recording.model, tags=recording.tags)
    return reader.feed(body) + reader.close()


def read_frames(recording: Recording, frames: list[Frame], *, one_by_one: bool) -> list[Event]:
    """Return the events of the dialect's reader, drained after each frame or only at the end."""
    emitter = TurnEmitter(recording.dialect, recording.model)
    reader = DIALECTS[recording.dialect].make_reader(
        emitter, find_profile(recording.tags) if recording.tags else None
    )
    events: list[Event] = []
    for frame in frames:
        if not emitter.ended:
            reader.feed(frame)
        if one_by_one:
            events += emitter.drain()
    if not emitter.ended:
        reader.close()
    return events + emitter.drain()


def as_events(frames: list[Frame]) -> bytes:
    """Encode frames as server-sent events, from which every dialect can be read."""
    sse_events = []
    for frame in frames:
        lines = b"".join(b"data: %s\n" % line for line in frame.data.splitlines())
        sse_events.append(b"event: %s\n%s\n" % (frame.event.encode(), lines))
    return b"".join(sse_events)


class TestDraining:
    @pytest.mark.parametrize("name", BY_FRAMES)
    def test_result_does_not_depend_on_draining(self, name: str) -> None:
        recording = RECORDINGS[name]
        frames = recording.frames()
        for one_by_one in (True, False):
            turn = assert_valid_turn(read_frames(recording, frames, one_by_one=one_by_one))
            assert turn_as_story(turn, recording.story) == complete_story(recording.story)

    @pytest.mark.parametrize("name", REAL_SAMPLE)
    def test_real_recordings_do_not_depend_on_draining(self, name: str) -> None:
        recording = REAL_BY_NAME[name]
        frames = recording.frames()
        apart = fold(read_frames(recording, frames, one_by_one=True))
        together = fold(read_frames(recording, frames, one_by_one=False))
        assert [block.text for block in apart.blocks] == [block.text for block in together.blocks]
        assert seals_of(apart) == seals_of(together)


class TestPrefixes:
    @pytest.mark.some_cases(80)
    @pytest.mark.parametrize("name", ALL)
    def test_any_prefix_of_the_bytes_gives_a_valid_turn(self, name: str) -> None:
        recording = ALL[name]
        size = len(recording.body)
        for end in {*range(0, size, max(1, size // 48)), *range(min(size, 24)), size - 1, size - 2}:
            assert_valid_turn(read(recording.body[:end], recording.dialect, recording))

    @pytest.mark.some_cases(80)
    @pytest.mark.parametrize("name", ALL)
    @few
    @given(place=st.integers(0, 10**6))
    def test_random_prefix_gives_a_valid_turn_or_is_refused(self, name: str, place: int) -> None:
        recording = ALL[name]
        body = recording.body[: place % (len(recording.body) + 1)]
        assert_valid_turn(read(body, recording.dialect, recording))
        try:
            events = read(body, AUTO, recording)
        except NotAResponse:
            return
        assert_valid_turn(events)

    @pytest.mark.some_cases(80)
    @pytest.mark.parametrize("name", BY_FRAMES)
    def test_any_prefix_of_the_frames_gives_a_valid_turn(self, name: str) -> None:
        recording = RECORDINGS[name]
        frames = recording.frames()
        for end in range(len(frames) + 1):
            assert_valid_turn(read_frames(recording, frames[:end], one_by_one=False))


class TestEvents:
    @pytest.mark.some_cases(80)
    @pytest.mark.parametrize("name", ALL)
    def test_stored_entries_fold_to_the_same_turn(self, name: str) -> None:
        entries = [Entry(seq, event, seq * 10) for seq, event in enumerate(ALL[name].events())]
        decoded_entries = [msgspec.json.decode(msgspec.json.encode(entry), type=Entry) for entry in entries]
        live, replayed = Turn(), Turn()
        for entry, stored in zip(entries, decoded_entries, strict=True):
            apply(live, entry)
            apply(replayed, stored)
        assert replayed == live

    @pytest.mark.some_cases(80)
    @pytest.mark.parametrize("name", ALL)
    def test_events_json_round_trip(self, name: str) -> None:
        recording = ALL[name]
        for size in (len(recording.body), 64):
            events = recording.events(recording.in_chunks(size))
            assert decode_events(encode_events(events)) == events

    @pytest.mark.parametrize("name", RECORDINGS)
    def test_block_events_are_start_text_end(self, name: str) -> None:
        """R003, R030: each block has a start, its text and an end, in this order."""
        recording = RECORDINGS[name]
        events = recording.events(recording.in_chunks(1))
        for started in [event for event in events if isinstance(event, BlockStarted)]:
            own = [event for event in events if getattr(event, "block", None) == started.block]
            grew = [event for event in own if isinstance(event, BlockGrew)]
            ended = [event for event in own if isinstance(event, BlockEnded)]
            assert own[0] is started
            assert len(ended) == 1
            assert all(piece.text for piece in grew)
            assert not grew or own.index(ended[0]) > own.index(grew[-1])

    @pytest.mark.parametrize("name", [name for name in RECORDINGS if name not in OVERLAPPING])
    def test_reasoning_ends_before_the_next_block_starts(self, name: str) -> None:
        """R030: the end of reasoning is an event and need not be inferred from the next block."""
        thinking: set[int] = set()
        for event in RECORDINGS[name].events():
            if isinstance(event, BlockStarted):
                assert not thinking
                thinking |= {event.block} if event.kind is Kind.REASONING else set()
            elif isinstance(event, BlockEnded):
                thinking -= {event.block}


WHOLE_BODIES: dict[str, Callable[[str], str]] = {
    "anthropic_messages": lambda message: '{"type":"message","stop_reason":"end_turn",' + message[1:],
    "bedrock_converse": lambda message: f'{{"output":{{"message":{message}}},"stopReason":"end_turn"}}',
    "cohere_v2": lambda message: f'{{"message":{message},"finish_reason":"COMPLETE"}}',
    "gemini": lambda message: f'{{"candidates":[{{"content":{message},"finishReason":"STOP"}}]}}',
    "gemini_interactions": lambda message: (
        f'{{"object":"interaction","status":"completed","steps":{message}}}'
    ),
    "ollama": lambda message: f'{{"message":{message},"done":true,"done_reason":"stop"}}',
    "openai_chat": lambda message: f'{{"choices":[{{"message":{message},"finish_reason":"stop"}}]}}',
    "openai_responses": lambda message: f'{{"object":"response","status":"completed","output":{message}}}',
    "text": lambda message: str(json.loads(message)["content"]),
}
"""The smallest whole body of each dialect around a kept message; raw text is its own body."""

UNORDERED = ("openai_chat", "ollama")
"""Their message has one field for reasoning and one for text, so it does not keep the order of blocks."""

ONLY_STREAMED = {
    "openai_chat/details_after_a_lone_closing_tag": "without an opening tag, the details are read first",
    "openai_chat/details_after_blank_reasoning": "of two fields for reasoning, the details are read first",
    "openai_chat/details_after_reasoning_content": "of two fields for reasoning, the details are read first",
    "openai_chat/details_after_two_lone_closing_tags": "without an opening tag, the details are read first",
    "openai_chat/details_differ_within_a_tag": "where in the tag the details came is not in the message",
    "openai_chat/gemini_compat_thought": "what makes <thought> a tag stands on deltas, not in the message",
}
"""Streams whose kept message lacks information, and the reason."""


def shape(turn: Turn, dialect: str) -> list[object]:
    """Return what a whole message keeps of a turn: the blocks in order, or the text of each kind."""
    blocks = [block for block in turn.blocks if block.kind is Kind.TOOL_CALL or block.text or block.seals]
    seals = {block.number: [(seal.form, seal.payload) for seal in block.seals] for block in blocks}
    if dialect not in UNORDERED:
        return [
            (turn_block.kind, turn_block.text, turn_block.name, turn_block.call_id, seals[turn_block.number])
            for turn_block in blocks
        ]
    calls = [block for block in blocks if block.kind is Kind.TOOL_CALL]
    of_thoughts = [seal for block in turn.own_blocks(Kind.REASONING) for seal in block.seals]
    called = [(call.name, call.call_id, call.text, seals[call.number]) for call in calls]
    return [turn.reasoning, turn.answer, called, sorted((seal.form, seal.payload) for seal in of_thoughts)]


class TestKeptMessage:
    @pytest.mark.parametrize("name", ALL)
    def test_kept_message_reads_like_its_stream(self, name: str) -> None:
        """R032, for every dialect: a stream and its kept message give the same turn."""
        recording = ALL[name]
        streamed = recording.turn()
        if streamed.message is None or name in ONLY_STREAMED:
            return
        body = WHOLE_BODIES[recording.dialect](streamed.message.payload).encode()
        whole_turn = thinkaloud.read(body, recording.dialect, model=streamed.model, tags=recording.tags)
        assert shape(whole_turn, recording.dialect) == shape(streamed, recording.dialect)
        assert whole_turn.message is not None
        assert json.loads(whole_turn.message.payload) == json.loads(streamed.message.payload)


@st.composite
def damaged(draw: st.DrawFn, recordings: list[Recording]) -> tuple[Recording, bytes]:
    """Generate a recording with some bytes changed, deleted, repeated or inserted."""
    recording = draw(st.sampled_from(recordings))
    body = bytearray(recording.body)
    for _ in range(draw(st.integers(1, 6))):
        index = draw(st.integers(0, 10**6)) % (len(body) + 1)
        length = draw(st.integers(1, 40))
        match draw(st.sampled_from(("flip", "delete", "repeat", "insert"))):
            case "flip":
                body[index : index + 1] = bytes([draw(st.integers(0, 255))])
            case "delete":
                del body[index : index + length]
            case "repeat":
                body[index:index] = body[index : index + length]
            case _:
                body[index:index] = draw(st.binary(max_size=8))
    return recording, bytes(body)


ODD_VALUES: list[Any] = [
    None,
    True,
    0,
    -1,
    2**70,
    1.5,
    "",
    "x",
    "\ud800",
    [],
    [[]],
    ["x"],
    {},
    {"type": []},
    [{}],
]


def json_places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every container and key in a JSON value."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield value, key
        yield from json_places(inner)


@st.composite
def with_wrong_types(draw: st.DrawFn, recordings: list[Recording]) -> tuple[Recording, bytes]:
    """Generate a recording in which some JSON values have a wrong type."""
    recording = draw(st.sampled_from(recordings))
    frames = recording.frames()
    for _ in range(draw(st.integers(1, 3))):
        index = draw(st.integers(0, 10**6)) % len(frames)
        value = parsed(frames[index])
        holders = list(json_places(value))
        if holders:
            holder, key = holders[draw(st.integers(0, 10**6)) % len(holders)]
            holder[key] = draw(st.sampled_from(ODD_VALUES))
            frames[index] = Frame(json.dumps(value).encode(), frames[index].event)
    return recording, as_events(frames)


def parsed(frame: Frame) -> Any:
    """Return the JSON of a frame; None for text and for [DONE]."""
    return None if frame.event == PLAIN_TEXT or frame.data == b"[DONE]" else json.loads(frame.data)


class TestDamage:
    @pytest.mark.parametrize("dialect", DIALECTS)
    @many
    @given(data=st.data())
    def test_damaged_bytes_give_a_valid_turn(self, dialect: str, data: st.DataObject) -> None:
        recording, body = data.draw(damaged(BY_DIALECT[dialect]))
        assert_valid_turn(read(body, dialect, recording))
        try:
            events = read(body, AUTO, recording)
        except NotAResponse:
            return
        assert_valid_turn(events)

    @pytest.mark.parametrize("dialect", [dialect for dialect in DIALECTS if dialect != "text"])
    @many
    @given(data=st.data())
    def test_wrong_json_types_give_a_valid_turn(self, dialect: str, data: st.DataObject) -> None:
        recording, body = data.draw(with_wrong_types(BY_DIALECT[dialect]))
        assert_valid_turn(read(body, dialect, recording))

    @pytest.mark.parametrize("dialect", DIALECTS)
    @many
    @given(body=st.binary(max_size=200))
    def test_random_bytes_give_a_valid_turn(self, dialect: str, body: bytes) -> None:
        assert_valid_turn(read(body, dialect, BY_DIALECT[dialect][0]))

    @pytest.mark.parametrize("dialect", [dialect for dialect in DIALECTS if dialect != "text"])
    def test_deeply_nested_json_gives_a_valid_turn(self, dialect: str) -> None:
        recording = BY_DIALECT[dialect][0]
        deep = b'{"deep":' + b"[" * 5_000 + b"]" * 5_000 + b"}"
        assert_valid_turn(read(as_events([*recording.frames()[:2], Frame(deep)]), dialect, recording))
        for body in (deep, deep + b"\n" + deep, b"[" + deep + b"]"):
            assert_valid_turn(read(body, dialect, recording))
            with pytest.raises(NotAResponse):
                read(body, AUTO, recording)


UNKNOWN_EVENT = {
    "anthropic_messages": Frame(b'{"type":"zz_event","zz":{}}', "zz_event"),
    "bedrock_converse": Frame(b'{"zz":{}}', "zzEvent"),
    "cohere_v2": Frame(b'{"type":"zz-event","zz":{}}', "zz-event"),
    "gemini": Frame(b'{"zz":{}}'),
    "gemini_interactions": Frame(b'{"event_type":"zz.event","zz":{}}', "zz.event"),
    "ollama": Frame(b'{"zz":{}}'),
    "openai_chat": Frame(b'{"zz":{}}'),
    "openai_responses": Frame(
        b'{"type":"response.zz.delta","delta":"zz","sequence_number":1}', "response.zz.delta"
    ),
}
"""An unknown event, by dialect; raw text has no events."""

DATA_FIELDS = {"arguments", "args", "input", "action", "outputs", "result", "results"}
"""Fields with the JSON of a caller or a tool, in which an added field would be data."""


def with_unknown_fields(value: Any) -> Any:
    """Return the value with an unknown field in every object of the provider."""
    if isinstance(value, list):
        return [with_unknown_fields(item) for item in value]
    if not isinstance(value, dict):
        return value
    known = {key: item if key in DATA_FIELDS else with_unknown_fields(item) for key, item in value.items()}
    return {**known, "zz_new": {"zz": ["zz"]}}


def without_unknown_fields(text: str) -> str:
    """Remove the unknown fields, which verbatim data keeps, to compare."""
    return text.replace(', "zz_new": {"zz": ["zz"]}', "").replace('"zz_new": {"zz": ["zz"]}', "")


def comparable(turn: Turn) -> list[object]:
    """Return the content of a turn, with items and results as JSON values and not as text."""
    assert turn.outcome is not None
    outcome = turn.outcome.ending, turn.outcome.cause
    blocks: list[object] = []
    for block in turn.blocks:
        seals = [(seal.form, json_or_text(seal.payload)) for seal in block.seals]
        result = None if block.result is None else json_or_text(block.result)
        text = json_or_text(block.text) if block.kind is Kind.TOOL_CALL else block.text
        blocks.append((block.kind, text, block.name, block.call_id, result, block.error, block.status, seals))
    return [turn.dialect, turn.model, blocks, turn.usage, outcome, [notice.code for notice in turn.notices]]


def json_or_text(text: str) -> Any:
    try:
        return json.loads(without_unknown_fields(text))
    except ValueError:
        return text


class TestUnknownData:
    @pytest.mark.parametrize("name", [name for name in ALL if ALL[name].dialect != "text"])
    def test_unknown_fields_are_ignored(self, name: str) -> None:
        recording = ALL[name]
        frames = recording.frames()
        changed_frames = [
            Frame(json.dumps(with_unknown_fields(parsed(frame))).encode(), frame.event)
            if parsed(frame)
            else frame
            for frame in frames
        ]
        assert comparable(fold(read(as_events(changed_frames), recording.dialect, recording))) == comparable(
            recording.turn()
        )

    @pytest.mark.parametrize("name", [name for name in ALL if ALL[name].dialect in UNKNOWN_EVENT])
    def test_unknown_events_change_nothing(self, name: str) -> None:
        """Where events have types, new types are expected; elsewhere a frame of no known shape is noted."""
        recording = ALL[name]
        unknown = UNKNOWN_EVENT[recording.dialect]
        frames = [output for frame in recording.frames() for output in (unknown, frame)]
        turn = fold(read(as_events(frames), recording.dialect, recording))
        noted = [notice for notice in turn.notices if notice.text.startswith("A frame is not part of")]
        assert len(noted) == (recording.dialect in ("gemini", "ollama", "openai_chat"))
        turn.notices = [notice for notice in turn.notices if notice not in noted]
        assert comparable(turn) == comparable(recording.turn())


@pytest.mark.parametrize(
    "name", [name for name, recording in RECORDINGS.items() if recording.dialect != "text"]
)
def test_answer_contains_no_reasoning(name: str) -> None:
    """R001: reasoning is not part of the answer, wherever the provider puts it."""
    turn = RECORDINGS[name].turn()
    for block in turn.own_blocks(Kind.REASONING):
        assert block.blank or block.text.strip() not in turn.answer
