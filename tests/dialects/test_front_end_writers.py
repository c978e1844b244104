"""The streams for front ends, which have no reader: every recording as the AI SDK and AG-UI are given it.

The front ends' own libraries read these streams in `tests/clients`. Here every recording is written, and each
part must be started once, grow, and end once, with the content of the turn.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from tests.dialects.test_writers import HEAD, RECORDED, content, stream_bytes, streamable

from thinkaloud import fold
from thinkaloud.core.canon import (
    BlockEnded,
    BlockGrew,
    BlockSealed,
    BlockStarted,
    Event,
    Finish,
    Kind,
    Seal,
    SealForm,
    ToolFinished,
    TurnEnded,
    TurnFailed,
    TurnStarted,
    Usage,
    UsageReported,
)
from thinkaloud.core.dialects import CLIENT_FORMATS
from thinkaloud.core.dialects.writer import ResponseHead, arguments_object, referenced_turn

AI_SDK, AG_UI = "ui_message_stream", "ag_ui"
END = object()
"""What `[DONE]` stands for."""


def written_events(dialect: str, events: list[Event]) -> list[Any]:
    """Return the events of a stream, decoded."""
    return list(_decoded(stream_bytes(dialect, events)))


def _decoded(body: bytes) -> Iterator[Any]:
    for frame in body.decode().split("\n\n")[:-1]:
        data = frame.removeprefix("data: ")
        yield END if data == "[DONE]" else json.loads(data)


def of_type(events: list[Any], name: str) -> list[Any]:
    return [event for event in events if event is not END and event["type"] == name]


def parts(events: list[Any], names: Sequence[str], key: str) -> list[str]:
    """Return the texts of all parts of a kind, each of which is started, grown and ended in this order."""
    start, delta, end = names
    texts: dict[str, list[str]] = {}
    ended: set[str] = set()
    for event in events:
        if event is END:
            continue
        if event["type"] == start:
            assert event[key] not in texts, "started twice"
            texts[event[key]] = []
        elif event["type"] == delta:
            assert event[key] not in ended, "grows after its end"
            texts[event[key]].append(event["delta"])
        elif event["type"] == end:
            assert event[key] not in ended, "ended twice"
            ended.add(event[key])
    assert ended == set(texts), "every part ends"
    return ["".join(pieces) for pieces in texts.values()]


@pytest.mark.parametrize("name", RECORDED)
def test_ai_sdk_gets_every_thought_text_and_call(name: str) -> None:
    events = RECORDED[name].events()
    if not streamable(events):
        return
    stream = written_events(AI_SDK, events)
    assert [event["type"] for event in stream[:2]] == ["start", "start-step"]
    assert [event for event in stream if event is END] == [END]
    assert stream[-1] is END
    turn = fold(events)
    thoughts = parts(stream, ("reasoning-start", "reasoning-delta", "reasoning-end"), "id")
    texts = parts(stream, ("text-start", "text-delta", "text-end"), "id")
    calls = [(call["toolName"], call["input"]) for call in of_type(stream, "tool-input-available")]
    wanted = content(turn)
    assert "".join(texts) == wanted["answer"]
    assert [text for text in thoughts if text] == [text for text in _thoughts(events) if text]
    if isinstance(events[-1], TurnFailed):
        assert of_type(stream, "error")
        assert not of_type(stream, "finish")
    else:
        assert calls == wanted["calls"]
        assert len(of_type(stream, "finish")) == len(of_type(stream, "finish-step")) == 1
    for end in of_type(stream, "reasoning-end"):
        assert referenced_turn(end["providerMetadata"]["thinkaloud"]["reference"]) == HEAD.turn


@pytest.mark.parametrize("name", RECORDED)
def test_ag_ui_gets_every_thought_text_and_call(name: str) -> None:
    events = RECORDED[name].events()
    if not streamable(events):
        return
    stream = written_events(AG_UI, events)
    assert stream[0] == {"type": "RUN_STARTED", "threadId": HEAD.turn, "runId": HEAD.turn}
    last = "RUN_ERROR" if isinstance(events[-1], TurnFailed) else "RUN_FINISHED"
    assert stream[-1]["type"] == last
    assert [event["type"] for event in stream].count(last) == 1
    wanted = content(fold(events))
    reasoning = tuple(f"REASONING_MESSAGE_{step}" for step in ("START", "CONTENT", "END"))
    text = tuple(f"TEXT_MESSAGE_{step}" for step in ("START", "CONTENT", "END"))
    assert [part for part in parts(stream, reasoning, "messageId") if part] == [
        part for part in _thoughts(events) if part
    ]
    assert "".join(parts(stream, text, "messageId")) == wanted["answer"]
    names = {event["toolCallId"]: event["toolCallName"] for event in of_type(stream, "TOOL_CALL_START")}
    arguments = dict.fromkeys(names, "")
    for event in of_type(stream, "TOOL_CALL_ARGS"):
        arguments[event["toolCallId"]] += event["delta"]
    assert [(names[call], arguments_object(arguments[call])) for call in names] == wanted["calls"]
    assert [event["toolCallId"] for event in of_type(stream, "TOOL_CALL_END")] == list(names)
    for value in of_type(stream, "REASONING_ENCRYPTED_VALUE"):
        assert referenced_turn(value["encryptedValue"]) == HEAD.turn


def _thoughts(events: list[Event]) -> list[str]:
    return [block.text for block in fold(events).own_blocks() if block.kind is Kind.REASONING]


PROVIDER_TOOL: list[Event] = [
    TurnStarted(),
    BlockStarted(0, Kind.TEXT),
    BlockGrew(0, "I look."),
    BlockEnded(0),
    BlockStarted(1, Kind.TOOL_CALL, "web_search", call_id="call_a"),
    BlockGrew(1, '{"q": "gulls"}'),
    BlockEnded(1),
    ToolFinished(1, result="three gulls"),
    BlockStarted(2, Kind.TOOL_CALL, "web_search", call_id="call_b"),
    BlockEnded(2),
    ToolFinished(2, error="no network"),
    BlockStarted(3, Kind.ASSISTANT_CALL, "Checker"),
    BlockGrew(3, "Check it."),
    BlockStarted(4, Kind.TEXT, parent=3),
    BlockGrew(4, "Of the assistant."),
    BlockEnded(4),
    BlockEnded(3),
    UsageReported(Usage(input=3, output=5, reasoning=2, cache_read=1)),
    TurnEnded(Finish.LENGTH),
]


def test_ai_sdk_is_told_what_the_gateway_and_the_provider_ran() -> None:
    stream = written_events(AI_SDK, PROVIDER_TOOL)
    assert of_type(stream, "tool-output-available") == [
        {
            "type": "tool-output-available",
            "toolCallId": "call_a",
            "output": "three gulls",
            "providerExecuted": True,
        }
    ]
    assert of_type(stream, "tool-output-error") == [
        {"type": "tool-output-error", "toolCallId": "call_b", "errorText": "no network"}
    ]
    assert [delta["delta"] for delta in of_type(stream, "text-delta")] == ["I look."]
    (finish,) = of_type(stream, "finish")
    assert finish["finishReason"] == "length"
    assert finish["messageMetadata"]["usage"] == {
        "inputTokens": 3,
        "outputTokens": 5,
        "reasoningTokens": 2,
        "cachedInputTokens": 1,
    }


def test_ag_ui_is_told_what_the_gateway_and_the_provider_ran() -> None:
    stream = written_events(AG_UI, PROVIDER_TOOL)
    results = of_type(stream, "TOOL_CALL_RESULT")
    assert [(result["toolCallId"], result["content"]) for result in results] == [
        ("call_a", "three gulls"),
        ("call_b", "no network"),
    ]
    text = of_type(stream, "TEXT_MESSAGE_START")
    assert len(text) == 1, "the assistant's own text is not the answer"
    assert {call["parentMessageId"] for call in of_type(stream, "TOOL_CALL_START")} == {text[0]["messageId"]}
    counts = {"model": "any-model", "inputTokens": 3, "outputTokens": 5, "reasoningTokens": 2}
    assert of_type(stream, "RUN_FINISHED")[0]["usage"] == [counts]


@pytest.mark.parametrize("dialect", [AI_SDK, AG_UI])
def test_encrypted_thought_is_an_empty_part_with_its_reference(dialect: str) -> None:
    thought: list[Event] = [
        TurnStarted(),
        BlockStarted(0, Kind.REASONING),
        BlockSealed(0, Seal("openai_responses", SealForm.ENCRYPTED, "opaque payload")),
        BlockEnded(0),
        BlockStarted(1, Kind.TEXT),
        BlockEnded(1),
        TurnEnded(Finish.STOP),
    ]
    body = stream_bytes(dialect, thought).decode()
    assert "thinkaloud.trn_1.0" in body
    assert "opaque payload" not in body
    assert "trn_1_1" not in body, "an empty text is no part"


@pytest.mark.parametrize("dialect", [AI_SDK, AG_UI])
def test_ids_of_the_front_end_are_repeated_and_silence_is_a_comment(dialect: str) -> None:
    ids = {"message": "m-1", "thread": "t-1", "run": "r-1"}
    head = ResponseHead(turn="trn_1", model="any-model", client_ids=ids)
    writer = CLIENT_FORMATS[dialect].response_format.make_writer(head)
    (first, *_) = _decoded(writer.feed(TurnStarted(), fold([TurnStarted()])))
    wanted = {"messageId": "m-1"} if dialect == AI_SDK else {"threadId": "t-1", "runId": "r-1"}
    assert {name: first[name] for name in wanted} == wanted
    assert writer.keep_alive().startswith(b":")
