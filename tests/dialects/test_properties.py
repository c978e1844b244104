"""What holds for every dialect, written once and run over all recordings.

Any cut tells the same story; any prefix ends in a legal turn; stored entries give the same turn; events
survive JSON; a streamed message reads like a whole one; damage ends a turn but never breaks the reader;
what nobody knows yet changes nothing.
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
from thinkaloud.canon import BlockEnded, BlockGrew, BlockStarted, Entry, Event, Kind
from thinkaloud.dialects import AUTO, DIALECTS
from thinkaloud.dialects.emitter import TurnEmitter
from thinkaloud.dialects.tags.profiles import find_profile
from thinkaloud.wire import PLAIN_TEXT, Frame

REAL_SAMPLE = {
    name: recording for name, recording in list(REAL_BY_NAME.items())[::4] if recording.dialect != AUTO
}
ALL = RECORDINGS | REAL_SAMPLE
BY_DIALECT = {
    dialect: [recording for recording in RECORDINGS.values() if recording.dialect == dialect]
    for dialect in DIALECTS
}

BY_FRAMES = [name for name in RECORDINGS if name != "openai_chat/half_emoji"]
"""Half a character in JSON is mended between wire and dialect, so those frames cannot be fed as they are."""

OVERLAPPING = {
    "openai_responses/reasoning_done_last": "the provider itself ends the thought after the message",
}
"""Turns in which a thought is still open when the next block starts, and why."""

few = settings(max_examples=6, deadline=None)
many = settings(max_examples=120, deadline=None)


def read(body: bytes, dialect: str, recording: Recording) -> list[Event]:
    reader = Reader(dialect, model=recording.model, tags=recording.tags)
    return reader.feed(body) + reader.close()


def read_frames(recording: Recording, frames: list[Frame], *, one_by_one: bool) -> list[Event]:
    """What the dialect's own reader tells of these frames, asked after each or only at the end."""
    blocks = TurnEmitter(recording.dialect, recording.model)
    reader = DIALECTS[recording.dialect].make_reader(
        blocks, find_profile(recording.tags) if recording.tags else None
    )
    events: list[Event] = []
    for frame in frames:
        if not blocks.ended:
            reader.feed(frame)
        if one_by_one:
            events += blocks.drain()
    if not blocks.ended:
        reader.close()
    return events + blocks.drain()


def as_events(frames: list[Frame]) -> bytes:
    """Frames as server-sent events, which every dialect can be read from."""
    sse_events = []
    for frame in frames:
        lines = b"".join(b"data: %s\n" % line for line in frame.data.splitlines())
        sse_events.append(b"event: %s\n%s\n" % (frame.event.encode(), lines))
    return b"".join(sse_events)


class TestCuts:
    @pytest.mark.parametrize("name", BY_FRAMES)
    def test_frames_one_by_one_or_all_at_once_tell_the_same_story(self, name: str) -> None:
        recording = RECORDINGS[name]
        frames = recording.frames()
        for one_by_one in (True, False):
            turn = assert_valid_turn(read_frames(recording, frames, one_by_one=one_by_one))
            assert turn_as_story(turn, recording.story) == complete_story(recording.story)

    @pytest.mark.parametrize("name", REAL_SAMPLE)
    def test_frames_of_real_recordings_too(self, name: str) -> None:
        recording = REAL_BY_NAME[name]
        frames = recording.frames()
        apart = fold(read_frames(recording, frames, one_by_one=True))
        together = fold(read_frames(recording, frames, one_by_one=False))
        assert [block.text for block in apart.blocks] == [block.text for block in together.blocks]
        assert seals_of(apart) == seals_of(together)


class TestPrefixes:
    @pytest.mark.parametrize("name", ALL)
    def test_any_prefix_of_the_bytes_ends_in_a_legal_turn(self, name: str) -> None:
        recording = ALL[name]
        size = len(recording.body)
        for end in {*range(0, size, max(1, size // 48)), *range(min(size, 24)), size - 1, size - 2}:
            assert_valid_turn(read(recording.body[:end], recording.dialect, recording))

    @pytest.mark.parametrize("name", ALL)
    @few
    @given(place=st.integers(0, 10**6))
    def test_a_prefix_is_legal_or_too_short_to_tell(self, name: str, place: int) -> None:
        recording = ALL[name]
        body = recording.body[: place % (len(recording.body) + 1)]
        assert_valid_turn(read(body, recording.dialect, recording))
        try:
            events = read(body, AUTO, recording)
        except NotAResponse:
            return
        assert_valid_turn(events)

    @pytest.mark.parametrize("name", BY_FRAMES)
    def test_any_prefix_of_the_frames_ends_in_a_legal_turn(self, name: str) -> None:
        recording = RECORDINGS[name]
        frames = recording.frames()
        for end in range(len(frames) + 1):
            assert_valid_turn(read_frames(recording, frames[:end], one_by_one=False))


class TestStored:
    @pytest.mark.parametrize("name", ALL)
    def test_stored_entries_give_the_same_turn(self, name: str) -> None:
        entries = [Entry(seq, event, seq * 10) for seq, event in enumerate(ALL[name].events())]
        decoded_entries = [msgspec.json.decode(msgspec.json.encode(entry), type=Entry) for entry in entries]
        live, replayed = Turn(), Turn()
        for entry, stored in zip(entries, decoded_entries, strict=True):
            apply(live, entry)
            apply(replayed, stored)
        assert replayed == live

    @pytest.mark.parametrize("name", ALL)
    def test_events_survive_json(self, name: str) -> None:
        recording = ALL[name]
        for size in (len(recording.body), 64):
            events = recording.events(recording.in_chunks(size))
            assert decode_events(encode_events(events)) == events

    @pytest.mark.parametrize("name", RECORDINGS)
    def test_a_thought_is_a_start_pieces_and_an_end(self, name: str) -> None:
        """R003, R030: each thought is told as a start, its pieces and an end, on a block of its own."""
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
    def test_a_thought_ends_before_the_next_block_starts(self, name: str) -> None:
        """R030: nobody has to guess that a thought is over because an answer began."""
        thinking: set[int] = set()
        for event in RECORDINGS[name].events():
            if isinstance(event, BlockStarted):
                assert not thinking
                thinking |= {event.block} if event.kind is Kind.REASONING else set()
            elif isinstance(event, BlockEnded):
                thinking -= {event.block}


WHOLE: dict[str, Callable[[str], str]] = {
    "anthropic_messages": lambda kept: '{"type":"message","stop_reason":"end_turn",' + kept[1:],
    "bedrock_converse": lambda kept: f'{{"output":{{"message":{kept}}},"stopReason":"end_turn"}}',
    "cohere_v2": lambda kept: f'{{"message":{kept},"finish_reason":"COMPLETE"}}',
    "gemini": lambda kept: f'{{"candidates":[{{"content":{kept},"finishReason":"STOP"}}]}}',
    "gemini_interactions": lambda kept: f'{{"object":"interaction","status":"completed","steps":{kept}}}',
    "ollama": lambda kept: f'{{"message":{kept},"done":true,"done_reason":"stop"}}',
    "openai_chat": lambda kept: f'{{"choices":[{{"message":{kept},"finish_reason":"stop"}}]}}',
    "openai_responses": lambda kept: f'{{"object":"response","status":"completed","output":{kept}}}',
    "text": lambda kept: str(json.loads(kept)["content"]),
}
"""The smallest whole body of each dialect round the message that a turn keeps; raw text is its own."""

UNORDERED = ("openai_chat", "ollama")
"""Their message has one field for thoughts and one for text: it cannot say which came first, or how often."""

ONLY_STREAMED = {
    "openai_chat/gemini_compat_thought": "what makes <thought> a tag stands on deltas, not in the message",
}
"""Streams whose whole message does not say as much, and why."""


def shape(turn: Turn, dialect: str) -> list[object]:
    """What a whole message can say of a turn: the blocks in order, or the text of each kind."""
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


class TestWhole:
    @pytest.mark.parametrize("name", ALL)
    def test_the_kept_message_reads_like_the_stream_it_came_from(self, name: str) -> None:
        """R032, for every dialect: a stream, and the message that is kept of it, tell the same story."""
        recording = ALL[name]
        streamed = recording.turn()
        if streamed.message is None or name in ONLY_STREAMED:
            return
        body = WHOLE[recording.dialect](streamed.message.payload).encode()
        whole_turn = thinkaloud.read(body, recording.dialect, model=streamed.model, tags=recording.tags)
        assert shape(whole_turn, recording.dialect) == shape(streamed, recording.dialect)
        assert whole_turn.message is not None
        assert json.loads(whole_turn.message.payload) == json.loads(streamed.message.payload)


@st.composite
def damaged(draw: st.DrawFn, recordings: list[Recording]) -> tuple[Recording, bytes]:
    """A recording with some bytes flipped, left out, said twice or put in."""
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


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a JSON value where another value could stand."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield value, key
        yield from places(inner)


@st.composite
def confused(draw: st.DrawFn, recordings: list[Recording]) -> tuple[Recording, bytes]:
    """A recording in which some JSON values are of a kind that nobody would send."""
    recording = draw(st.sampled_from(recordings))
    frames = recording.frames()
    for _ in range(draw(st.integers(1, 3))):
        index = draw(st.integers(0, 10**6)) % len(frames)
        value = parsed(frames[index])
        holders = list(places(value))
        if holders:
            holder, key = holders[draw(st.integers(0, 10**6)) % len(holders)]
            holder[key] = draw(st.sampled_from(ODD_VALUES))
            frames[index] = Frame(json.dumps(value).encode(), frames[index].event)
    return recording, as_events(frames)


def parsed(frame: Frame) -> Any:
    """What a frame holds; nothing for text and for the word that a stream is done."""
    return None if frame.event == PLAIN_TEXT or frame.data == b"[DONE]" else json.loads(frame.data)


class TestDamage:
    @pytest.mark.parametrize("dialect", DIALECTS)
    @many
    @given(data=st.data())
    def test_damaged_bytes_end_in_a_legal_turn(self, dialect: str, data: st.DataObject) -> None:
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
    def test_values_of_a_wrong_kind_end_in_a_legal_turn(self, dialect: str, data: st.DataObject) -> None:
        recording, body = data.draw(confused(BY_DIALECT[dialect]))
        assert_valid_turn(read(body, dialect, recording))

    @pytest.mark.parametrize("dialect", DIALECTS)
    @many
    @given(body=st.binary(max_size=200))
    def test_any_bytes_end_in_a_legal_turn(self, dialect: str, body: bytes) -> None:
        assert_valid_turn(read(body, dialect, BY_DIALECT[dialect][0]))

    @pytest.mark.parametrize("dialect", [dialect for dialect in DIALECTS if dialect != "text"])
    def test_json_that_is_nested_too_deep_ends_in_a_legal_turn(self, dialect: str) -> None:
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
"""An event of next year, by dialect; raw text has no events."""

DATA = {"arguments", "args", "input", "action", "outputs", "result", "results"}
"""Fields that hold a caller's or a tool's own JSON; a field put in there is data, not news."""


def with_news(value: Any) -> Any:
    """The value with an unknown field in every object of the provider's."""
    if isinstance(value, list):
        return [with_news(item) for item in value]
    if not isinstance(value, dict):
        return value
    known = {key: item if key in DATA else with_news(item) for key, item in value.items()}
    return {**known, "zz_new": {"zz": ["zz"]}}


def without_news(text: str) -> str:
    """What is kept as it came has the news in it; take it out to compare."""
    return text.replace(', "zz_new": {"zz": ["zz"]}', "").replace('"zz_new": {"zz": ["zz"]}', "")


def plainly(turn: Turn) -> list[object]:
    """What a turn tells, with items and results by their meaning and not by their spelling."""
    assert turn.outcome is not None
    outcome = turn.outcome.ending, turn.outcome.cause
    blocks: list[object] = []
    for block in turn.blocks:
        seals = [(seal.form, meaning(seal.payload)) for seal in block.seals]
        result = None if block.result is None else meaning(block.result)
        text = meaning(block.text) if block.kind is Kind.TOOL_CALL else block.text
        blocks.append((block.kind, text, block.name, block.call_id, result, block.error, block.status, seals))
    return [turn.dialect, turn.model, blocks, turn.usage, outcome, [notice.code for notice in turn.notices]]


def meaning(text: str) -> Any:
    try:
        return json.loads(without_news(text))
    except ValueError:
        return text


class TestNews:
    @pytest.mark.parametrize("name", [name for name in ALL if ALL[name].dialect != "text"])
    def test_unknown_fields_change_nothing(self, name: str) -> None:
        recording = ALL[name]
        frames = recording.frames()
        news = [
            Frame(json.dumps(with_news(parsed(frame))).encode(), frame.event) if parsed(frame) else frame
            for frame in frames
        ]
        assert plainly(fold(read(as_events(news), recording.dialect, recording))) == plainly(recording.turn())

    @pytest.mark.parametrize("name", [name for name in ALL if ALL[name].dialect != "text"])
    def test_unknown_events_change_nothing(self, name: str) -> None:
        recording = ALL[name]
        unknown = UNKNOWN_EVENT[recording.dialect]
        frames = [each for frame in recording.frames() for each in (unknown, frame)]
        assert plainly(fold(read(as_events(frames), recording.dialect, recording))) == plainly(
            recording.turn()
        )


@pytest.mark.parametrize("name", [name for name, made in RECORDINGS.items() if made.dialect != "text"])
def test_no_thought_is_in_the_answer(name: str) -> None:
    """R001: what was thought does not stand in the answer, whatever place the provider put it in."""
    turn = RECORDINGS[name].turn()
    for block in turn.own_blocks(Kind.REASONING):
        assert block.blank or block.text.strip() not in turn.answer
