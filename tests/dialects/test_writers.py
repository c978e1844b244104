"""What a writer writes, the reader of its dialect reads back: thoughts, answer, calls, end and counts."""

import json
from typing import Any

import msgspec
import pytest
from tests.dialects.recordings import REAL_BY_NAME, RECORDINGS, Recording

from thinkaloud import Reader, Turn, apply, fold
from thinkaloud.core.canon import (
    BlockEnded,
    BlockGrew,
    BlockReclassified,
    BlockStarted,
    Entry,
    Event,
    Finish,
    Kind,
    ReplyEnded,
    ToolFinished,
    TurnEnded,
    TurnFailed,
    TurnStarted,
)
from thinkaloud.core.dialects import CLIENT_FORMATS, DIALECTS
from thinkaloud.core.dialects.writer import (
    ResponseHead,
    arguments_object,
    referenced_turn,
    shown_blocks,
    thought_reference,
)
from thinkaloud.core.transcript import Ending

FORMATS = {name: row.response_format for name, row in DIALECTS.items() if row.response_format}
HEAD = ResponseHead(turn="trn_1", model="any-model", created_s=1_800_000_000)
RECORDED = {
    name: recording
    for name, recording in (RECORDINGS | REAL_BY_NAME).items()
    if not any(isinstance(event, ToolFinished) for event in recording.events())
}
"""Without those in which the provider ran a tool, which clients know nothing about."""


def stream_bytes(dialect: str, events: list[Event]) -> bytes:
    """Return the stream of a turn."""
    writer, turn, written = CLIENT_FORMATS[dialect].response_format.make_writer(HEAD), Turn(), b""
    for seq, event in enumerate(events):
        apply(turn, Entry(seq, event))
        written += writer.feed(event, turn)
    return written


def whole_bytes(dialect: str, events: list[Event]) -> bytes:
    write_whole = CLIENT_FORMATS[dialect].response_format.write_whole
    assert write_whole is not None
    return write_whole(fold(events), HEAD)


ONE_FIELD = ("openai_chat", "ollama")
"""The dialects with one field for all thoughts, in which a blank line separates them."""


def content(turn: Turn, between_thoughts: str = "") -> dict[str, Any]:
    """Return what a client must get of a turn."""
    blocks = shown_blocks(turn)
    thoughts = [block.text for block in blocks if block.kind is Kind.REASONING and block.text]
    return {
        "reasoning": between_thoughts.join(thoughts),
        "answer": "".join(block.text for block in blocks if block.kind is Kind.TEXT),
        "calls": [
            (block.name, arguments_object(block.text)) for block in blocks if block.kind is Kind.TOOL_CALL
        ],
    }


def read_back(dialect: str, body: bytes) -> Turn:
    reader = Reader(dialect, model="any-model")
    return fold(reader.feed(body) + reader.close())


def streamable(events: list[Event]) -> bool:
    """Whether a stream can tell all of a turn: nothing is taken back."""
    return not any(isinstance(event, BlockReclassified) for event in events)


@pytest.mark.some_cases(250)
@pytest.mark.parametrize("dialect", FORMATS)
@pytest.mark.parametrize("recording", RECORDED.values(), ids=list(RECORDED))
def test_reader_reads_what_the_writer_of_its_dialect_wrote(recording: Recording, dialect: str) -> None:
    events = recording.events()
    expected = content(fold(events), "\n\n" if dialect in ONE_FIELD else "")
    failed = isinstance(events[-1], TurnFailed)
    streamed = read_back(dialect, stream_bytes(dialect, events))
    if streamable(events):
        assert content(streamed) == expected
        assert streamed.outcome is not None
        assert (streamed.outcome.ending in (Ending.FAILED, Ending.CUT_OFF)) or not failed
    if failed:
        return
    whole = read_back(dialect, whole_bytes(dialect, events))
    assert content(whole) == expected
    if streamable(events):
        assert streamed.outcome is not None
        assert whole.outcome is not None
        assert streamed.outcome.ending == whole.outcome.ending
        assert streamed.usage == whole.usage


def test_signature_of_anthropic_is_written_as_it_came() -> None:
    own = [name for name, recording in RECORDED.items() if recording.dialect == "anthropic_messages"]
    assert own
    for name in own:
        events = RECORDED[name].events()
        written = read_back("anthropic_messages", stream_bytes("anthropic_messages", events))
        original = [
            seal.payload
            for block in shown_blocks(fold(events))
            for seal in block.seals
            if block.kind is Kind.REASONING
        ]
        payloads = [
            seal.payload
            for block in shown_blocks(written)
            for seal in block.seals
            if block.kind is Kind.REASONING and not referenced_turn(seal.payload)
        ]
        assert payloads == original, name


@pytest.mark.parametrize("dialect", ["anthropic_messages", "openai_responses"])
def test_thought_of_another_provider_has_a_reference_that_is_recognised(dialect: str) -> None:
    events = next(
        recording.events()
        for recording in RECORDED.values()
        if recording.dialect == "openai_chat" and recording.turn().reasoning and recording.turn().answer
    )
    payloads = [
        seal.payload
        for block in read_back(dialect, stream_bytes(dialect, events)).blocks
        for seal in block.seals
    ]
    thoughts = [block for block in fold(events).blocks if block.kind is Kind.REASONING]
    references = [thought_reference(HEAD, thought) for thought in thoughts]
    assert all(any(reference in payload for payload in payloads) for reference in references)
    assert {referenced_turn(reference) for reference in references} == {HEAD.turn}


@pytest.mark.parametrize("text", ["", "EqQBCkYI", "thinkaloud.", "thinkaloud.trn_1", "thinkaloud.trn_1.x"])
def test_foreign_opaque_text_is_no_thought_reference(text: str) -> None:
    assert referenced_turn(text) == ""


def test_events_of_a_responses_stream_are_numbered_and_closed() -> None:
    for name, recording in RECORDED.items():
        frames = [
            json.loads(line[6:])
            for line in stream_bytes("openai_responses", recording.events()).decode().splitlines()
            if line.startswith("data: ")
        ]
        assert [frame["sequence_number"] for frame in frames] == list(range(len(frames))), name
        added = [frame["output_index"] for frame in frames if frame["type"] == "response.output_item.added"]
        done = [frame["output_index"] for frame in frames if frame["type"] == "response.output_item.done"]
        assert added == list(range(len(added))), name
        assert sorted(done) == added, name
        assert frames[-1]["type"] in ("response.completed", "response.incomplete", "response.failed")


def test_blocks_of_an_anthropic_stream_are_open_one_at_a_time() -> None:
    for name, recording in RECORDED.items():
        open_index, indexes = None, []
        for line in stream_bytes("anthropic_messages", recording.events()).decode().splitlines():
            frame = json.loads(line[6:]) if line.startswith("data: ") else {}
            match frame.get("type"):
                case "content_block_start":
                    assert open_index is None, name
                    open_index = frame["index"]
                    indexes.append(open_index)
                case "content_block_delta":
                    assert frame["index"] == open_index, name
                case "content_block_stop":
                    assert frame["index"] == open_index, name
                    open_index = None
        assert indexes == list(range(len(indexes))), name


def test_optional_fields_of_chat_hold_the_same_thought() -> None:
    recording = next(recording for recording in RECORDED.values() if recording.turn().reasoning)
    fields = ("reasoning_content", "reasoning", "reasoning_details")
    head = msgspec.structs.replace(HEAD, reasoning_fields=fields)
    write_whole = CLIENT_FORMATS["openai_chat"].response_format.write_whole
    assert write_whole is not None
    message = json.loads(write_whole(recording.turn(), head))["choices"][0]["message"]
    assert message["reasoning_content"] == message["reasoning"] == recording.turn().reasoning
    assert "".join(part["text"] for part in message["reasoning_details"]) == recording.turn().reasoning


@pytest.mark.parametrize("dialect", ONE_FIELD)
def test_blank_line_separates_thoughts_and_replies(dialect: str) -> None:
    """Streamed and whole, without a blank line within a thought or within the answer of one reply."""
    kinds = [Kind.REASONING, Kind.REASONING, Kind.TEXT, Kind.REASONING, Kind.TEXT]
    events: list[Event] = [TurnStarted("text", "m")]
    for block, kind in enumerate(kinds):
        pieces = [BlockGrew(block, f"{block}a"), BlockGrew(block, f"{block}b")]
        events += [BlockStarted(block, kind), *pieces, BlockEnded(block)]
        if block == 2:
            events.append(ReplyEnded(Finish.STOP))
    events.append(TurnEnded(Finish.STOP))
    for body in (stream_bytes(dialect, events), whole_bytes(dialect, events)):
        turn = read_back(dialect, body)
        assert turn.reasoning == "0a0b\n\n1a1b\n\n3a3b"
        assert "".join(block.text for block in turn.own_blocks(Kind.TEXT)) == "2a2b\n\n4a4b"
