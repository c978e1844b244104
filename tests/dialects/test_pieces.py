"""A response gives the same turn as bytes, text, lines without their ends, decoded JSON and objects."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.dialects.recordings import RECORDINGS, Recording, complete_story, turn_as_story

from thinkaloud import NotAResponse, Reader, Turn, fold, read
from thinkaloud.core.canon import UnknownDialect
from thinkaloud.core.wire import LineEnds, SseDecoder, frame_of, sniff_framing
from thinkaloud.core.wire.frames import DEFAULT_LIMITS
from thinkaloud.core.wire.json_frames import NdjsonDecoder, valid_json


def read_pieces(pieces: Iterable[object], dialect: str = "auto", **options: str) -> Turn:
    reader = Reader(dialect, model=options.get("model", ""), tags=options.get("tags", ""))
    events = [event for piece in pieces for event in reader.feed(piece)]
    return fold(events + reader.close())


def of_lines(recording: Recording) -> bool:
    """Whether a recording is a stream of lines, each of which is complete."""
    framing = sniff_framing(recording.body, final=True)
    if framing not in (SseDecoder, NdjsonDecoder) or recording.dialect == "text":
        return False
    return all(
        valid_json(line.removeprefix(b"data:").strip()) or line[:5] != b"data:" or b"[DONE]" in line
        for line in recording.body.splitlines()
        if line
    )


LINES = [name for name, recording in RECORDINGS.items() if of_lines(recording)]
TEXT_FORMS: dict[str, Callable[[bytes], Iterable[object]]] = {
    "text": lambda body: [body.decode(errors="replace")],
    "lines with ends": lambda body: body.splitlines(keepends=True),
    "bytes lines": lambda body: body.splitlines(),
    "text lines": lambda body: body.decode(errors="replace").split("\n"),
    "lines that are not blank": lambda body: [line for line in body.splitlines() if line.strip()],
    "bytearray": lambda body: [bytearray(body)],
    "memoryview": lambda body: [memoryview(body)],
}


@pytest.mark.parametrize("form", TEXT_FORMS)
@pytest.mark.parametrize("name", LINES)
def test_lines_without_their_ends_give_the_same_turn(name: str, form: str) -> None:
    recording = RECORDINGS[name]
    for dialect in ("auto", recording.dialect):
        turn = read_pieces(
            TEXT_FORMS[form](recording.body), dialect, model=recording.model, tags=recording.tags
        )
        assert turn_as_story(turn, recording.story) == complete_story(recording.story)


def decoded(recording: Recording) -> list[object]:
    return [json.loads(frame.data) for frame in recording.frames() if frame.data[:1] == b"{"]


def objects_suffice(recording: Recording) -> bool:
    """Whether all frames are JSON objects that say themselves what they are."""
    frames = recording.frames()
    return all(frame.data == b"[DONE]" or (valid_json(frame.data) and not frame.event) for frame in frames)


OBJECTS = [
    name for name, recording in RECORDINGS.items() if objects_suffice(recording) and of_lines(recording)
]


@pytest.mark.parametrize("name", OBJECTS)
def test_decoded_json_gives_the_same_turn(name: str) -> None:
    recording = RECORDINGS[name]
    turn = read_pieces(decoded(recording), model=recording.model, tags=recording.tags)
    story = turn_as_story(turn, recording.story)
    assert [block["text"] for block in story["blocks"]] == [
        block.get("text", "") for block in recording.story["blocks"]
    ]


EVENTS: list[dict[str, Any]] = [
    {"type": "message_start", "message": {"model": "claude-opus-4-5", "usage": {"input_tokens": 3}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
    {"type": "ping"},
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "thinking_delta", "thinking": 'A line may be }data: {"a":1} or event: é.'},
    },
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "signature_delta", "signature": "c2VhbA=="},
    },
    {"type": "content_block_stop", "index": 0},
    {
        "type": "content_block_start",
        "index": 1,
        "content_block": {"type": "tool_use", "id": "t1", "name": "weather", "input": {}},
    },
    {
        "type": "content_block_delta",
        "index": 1,
        "delta": {"type": "input_json_delta", "partial_json": '{"city":"Lima"}'},
    },
    {"type": "content_block_stop", "index": 1},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}},
    {"type": "message_stop"},
]
WHOLE = read(b"".join(b"data: %b\n\n" % json.dumps(event).encode() for event in EVENTS))


def pieces_of(event: dict[str, Any], form: int, cuts: list[int]) -> Iterator[object]:
    """Yield one event as an object, as lines in several ways, or as text that is cut anywhere."""
    data = json.dumps(event, ensure_ascii=False)
    match form:
        case 0:
            yield event
        case 1:
            yield from (f"event: {event['type']}", f"data: {data}", "")
        case 2:
            yield from (f"event: {event['type']}".encode(), f"data: {data}".encode())
        case 3:
            yield data
        case _:
            text = f"event: {event['type']}\r\ndata: {data}\r\n\r\n".encode()
            points = sorted(cut % len(text) for cut in cuts)
            yield from (text[a:b] for a, b in zip([0, *points], [*points, len(text)], strict=True))


@settings(max_examples=200, deadline=None)
@given(
    forms=st.sampled_from([(0, 1, 2, 4), (0, 3)]).flatmap(
        lambda mixed: st.lists(st.sampled_from(mixed), min_size=len(EVENTS), max_size=len(EVENTS))
    ),
    cuts=st.lists(st.integers(0, 400), max_size=8),
)
def test_any_mix_of_pieces_gives_the_same_turn(forms: list[int], cuts: list[int]) -> None:
    pieces = (
        piece for event, form in zip(EVENTS, forms, strict=True) for piece in pieces_of(event, form, cuts)
    )
    turn = read_pieces(pieces)
    assert (turn.blocks, turn.message, turn.outcome) == (WHOLE.blocks, WHOLE.message, WHOLE.outcome)
    assert turn.notices == []


def test_lines_are_complete_when_they_arrive() -> None:
    """No event waits for the line after it."""
    reader = Reader()
    for event in EVENTS[:3]:
        reader.feed(f"data: {json.dumps(event)}")
    (grew,) = reader.feed(f"data: {json.dumps(EVENTS[3])}")
    assert "A line may be" in str(grew)


def test_a_long_line_of_many_pieces_costs_linear_time() -> None:
    """A line is checked once, not with every piece that looks like the start of a line."""
    line_ends = LineEnds()
    for _ in range(20_000):
        assert line_ends.restore(b"data:x}") in (b"data:x}", b"\ndata:x}")
    assert line_ends.unfinished


@dataclass
class Chunk:
    choices: list[dict[str, Any]]
    model: str = "m"


class Dumped:
    """What objects of Pydantic have in common, in both versions."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self._fields = fields

    def model_dump(self, **options: object) -> dict[str, Any]:
        assert options == {"mode": "python", "by_alias": True, "exclude_unset": True, "warnings": False}
        return self._fields


class OlderDumped:
    __fields_set__ = frozenset(("choices",))

    def __init__(self, fields: dict[str, Any]) -> None:
        self._fields = fields

    def dict(self, **options: object) -> dict[str, Any]:
        assert options == {"by_alias": True, "exclude_unset": True}
        return self._fields


class SentEvent:
    """An event as the small libraries for server-sent events have it."""

    def __init__(self, data: str, event: str = "message") -> None:
        self.data, self.event, self.id, self.retry = data, event, "", None


CHOICES = [{"delta": {"reasoning_content": "Hm.", "content": "Four."}, "finish_reason": "stop"}]
OBJECT_FORMS: dict[str, object] = {
    "mapping": {"choices": CHOICES, "model": "m"},
    "dataclass": Chunk(CHOICES),
    "pydantic": Dumped({"choices": CHOICES, "model": "m"}),
    "pydantic 1": OlderDumped({"choices": CHOICES, "model": "m"}),
    "wrapped in data": {"data": {"choices": CHOICES, "model": "m"}, "event": None},
    "wrapped object": Dumped({"data": Dumped({"choices": CHOICES, "model": "m"})}),
    "server-sent event": SentEvent(json.dumps({"choices": CHOICES, "model": "m"})),
    "chunk of a helper": {"type": "chunk", "chunk": {"choices": CHOICES, "model": "m"}, "snapshot": {}},
    "nested": {"choices": [Dumped(CHOICES[0])], "model": "m"},
}


@pytest.mark.parametrize("form", OBJECT_FORMS)
def test_objects_are_read_by_their_shape(form: str) -> None:
    turn = read_pieces([OBJECT_FORMS[form]])
    assert (turn.reasoning, turn.answer, turn.model, turn.notices) == ("Hm.", "Four.", "m", [])


def test_bytes_of_an_object_are_base64_as_on_the_wire() -> None:
    part = {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": b"\xfb\xff\xfe"}
    turn = read_pieces([{"candidates": [{"content": {"parts": [part]}, "finishReason": "STOP"}]}])
    assert turn.blocks[0].seals[0].payload == "+//+"


def test_counts_that_an_sdk_has_as_floats_are_not_odd() -> None:
    usage = {"tokens": {"input_tokens": 77.0, "output_tokens": 5.0}}
    message = {"role": "assistant", "content": [{"type": "text", "text": "Four."}]}
    turn = read_pieces([{"message": message, "usage": usage, "finish_reason": "COMPLETE"}])
    assert (turn.dialect, turn.usage.input, turn.usage.output) == ("cohere_v2", 77, 5)
    assert turn.notices == []


def test_events_that_a_stream_helper_derives_are_passed_over() -> None:
    derived = {"type": "thinking", "thinking": "A", "snapshot": "A"}
    turn = read_pieces([piece for event in EVENTS for piece in (event, derived)])
    assert (turn.blocks, turn.notices) == (WHOLE.blocks, [])
    assert frame_of({"type": "content.delta", "delta": "A"}) is None


@pytest.mark.parametrize("piece", [3, None, [b"data: {}"], object(), {"a"}])
def test_what_is_no_piece_is_refused_with_advice(piece: object) -> None:
    with pytest.raises(NotAResponse, match=r"is no piece of a response\. Pass bytes, text, lines"):
        Reader().feed(piece)


def test_an_object_above_the_limit_fails_the_turn() -> None:
    limits = type(DEFAULT_LIMITS)(event_bytes=100)
    reader = Reader("openai_chat", limits=limits)
    turn = fold(reader.feed({"choices": CHOICES, "padding": "x" * 100}) + reader.close())
    assert turn.outcome
    assert turn.outcome.cause == "limit_exceeded"


@pytest.mark.parametrize(
    ("name", "dialect"),
    [
        ("anthropic", "anthropic_messages"),
        ("google", "gemini"),
        ("openai-responses", "openai_responses"),
        ("openai-chat", "openai_chat"),
        ("deepseek", "openai_chat"),
        ("openai", "auto"),
    ],
)
def test_a_dialect_is_known_by_its_provider(name: str, dialect: str) -> None:
    """A provider that speaks two dialects leaves it to detection."""
    assert Reader(name).dialect == dialect


def test_an_unknown_dialect_names_the_known_ones() -> None:
    with pytest.raises(UnknownDialect, match=r"openai_chat.* Or use a provider's name, such as openai"):
        Reader("opnai")
