"""Turns as spans: their tree, times, ids and names, and texts only where they were asked for."""

import io
import re
import struct
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from tests.export.sessions import RECORDS

from thinkaloud.core.canon import (
    ApprovalAsked,
    ApprovalSettled,
    BlockEnded,
    BlockGrew,
    BlockSealed,
    BlockStarted,
    Entry,
    Event,
    Finish,
    Kind,
    ReplyEnded,
    Seal,
    SealForm,
    ToolFinished,
    TurnEnded,
    TurnFailed,
    TurnStarted,
    Usage,
    UsageReported,
)
from thinkaloud.core.canon.requests import Image, UserMessage
from thinkaloud.core.catalog import builtin_catalog
from thinkaloud.core.export import (
    Exchange,
    SessionRecord,
    SpanContent,
    SpanOptions,
    TraceIds,
    write_otlp,
)
from thinkaloud.core.export.otlp import encode_request
from thinkaloud.core.export.span_attributes import PROVIDER_NAMES
from thinkaloud.core.export.spans import SpanRecord, TracedTurn, turn_spans, visible_content
from thinkaloud.importers import HistoryFile

START_MS = 1_795_000_000_000
PAGE = Path(__file__).parents[2] / "docs/integrations/telemetry.md"
THOUGHT, ANSWER, SEAL, PROMPT, RESULT, TASK = (
    f"canary {name}" for name in ("thought", "answer", "seal", "prompt", "result", "task")
)
CANARIES = {THOUGHT, ANSWER, SEAL, PROMPT, RESULT, TASK}
RUN: list[Event] = [
    TurnStarted("anthropic_messages", "m-1"),
    BlockStarted(0, Kind.REASONING),
    BlockGrew(0, THOUGHT),
    BlockEnded(0),
    BlockSealed(0, Seal("anthropic_messages", SealForm.SIGNATURE, SEAL, "m-1")),
    BlockStarted(1, Kind.TOOL_CALL, "look_up", "c1"),
    BlockGrew(1, '{"word": "gull"}'),
    BlockEnded(1),
    BlockStarted(2, Kind.ASSISTANT_CALL, "Checker", "c2"),
    BlockGrew(2, TASK),
    BlockEnded(2),
    ReplyEnded(
        Finish.TOOL_CALLS, "tool_use", None, Usage(10, 20, 7, 4, 2), "anthropic_messages", "m-1", "bedrock"
    ),
    ApprovalAsked(1),
    ApprovalSettled(1, granted=True),
    ToolFinished(1, RESULT),
    BlockStarted(3, Kind.TEXT, parent=2),
    BlockGrew(3, ANSWER),
    BlockEnded(3),
    ReplyEnded(Finish.STOP, "stop", None, Usage(1, 2), "openai_chat", "m-2", "moonshot", "", 2),
    ToolFinished(2, "", "broken"),
    BlockStarted(4, Kind.TEXT),
    BlockGrew(4, ANSWER),
    BlockEnded(4),
    ReplyEnded(Finish.STOP, "end_turn", None, Usage(30, 5), "anthropic_messages", "m-1", "bedrock"),
    TurnEnded(Finish.STOP, "end_turn"),
]
"""A turn that calls a tool, which a person approves, and an assistant."""


def entries_of_events(events: list[Event], *, timed: bool = True) -> tuple[Entry, ...]:
    return tuple(
        Entry(seq, event, START_MS + 100 * seq if timed else None) for seq, event in enumerate(events)
    )


def session(events: list[Event] = RUN, *, timed: bool = True) -> SessionRecord:
    asked = (UserMessage(PROMPT, (Image("image/png", "AAAA"),)),)
    entries = entries_of_events(events, timed=timed)
    return SessionRecord("A title", START_MS, (Exchange(asked, entries, "m-1", "bedrock"),), "helper")


def spans_of(
    events: list[Event] = RUN, options: SpanOptions | None = None, *, timed: bool = True
) -> dict[str, SpanRecord]:
    traced = TracedTurn(
        entries=entries_of_events(events, timed=timed),
        asked=(UserMessage(PROMPT),),
        model="m-1",
        provider="bedrock",
        agent_name="Helper",
        conversation="ses_1",
    )
    return {span.path: span for span in turn_spans(traced, options or SpanOptions())}


def seconds(span: SpanRecord) -> tuple[float | None, ...]:
    return tuple(
        None if at_ms is None else (at_ms - START_MS) / 1000 for at_ms in (span.started_ms, span.ended_ms)
    )


def requests(data: bytes) -> list[Any]:
    return [msgspec.json.decode(line) for line in data.splitlines()]


def json_spans(data: bytes) -> list[Any]:
    return [
        span for request in requests(data) for span in request["resourceSpans"][0]["scopeSpans"][0]["spans"]
    ]


def test_tree_has_replies_tools_and_assistants_with_their_times() -> None:
    """A tool begins to run when it was approved, a later reply when the last result was there."""
    tree = {path: (span.parent, span.name, seconds(span)) for path, span in spans_of().items()}
    assert tree == {
        "turn": ("", "invoke_agent Helper", (0.0, 2.4)),
        "turn/reply.0": ("turn", "chat m-1", (0.0, 1.1)),
        "turn/call.1": ("turn", "execute_tool look_up", (1.3, 1.4)),
        "turn/call.2": ("turn", "invoke_agent Checker", (1.0, 1.9)),
        "turn/call.2/reply.0": ("turn/call.2", "chat m-2", (1.0, 1.8)),
        "turn/reply.1": ("turn", "chat m-1", (1.9, 2.3)),
    }


def test_names_are_those_of_the_conventions() -> None:
    spans = spans_of()
    assert spans["turn"].attributes == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "Helper",
        "gen_ai.request.model": "m-1",
        "gen_ai.conversation.id": "ses_1",
    }
    assert spans["turn/reply.0"].attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "aws.bedrock",
        "gen_ai.request.model": "m-1",
        "gen_ai.response.model": "m-1",
        "gen_ai.response.finish_reasons": ["tool_call"],
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 20,
        "gen_ai.usage.reasoning.output_tokens": 7,
        "gen_ai.usage.cache_read.input_tokens": 4,
        "gen_ai.usage.cache_write.input_tokens": 2,
        "gen_ai.conversation.id": "ses_1",
        "thinkaloud.reasoning_ms": 200,
    }
    assert spans["turn/call.2"].attributes["error.type"] == "_OTHER"
    assert spans["turn/call.2/reply.0"].attributes["gen_ai.provider.name"] == "moonshot_ai"
    assert spans["turn/call.1"].attributes["gen_ai.tool.type"] == "function"


def test_openinference_names_are_beside_them() -> None:
    spans = spans_of(options=SpanOptions(SpanContent.SEALS, openinference=True))
    kinds = [span.attributes["openinference.span.kind"] for span in spans.values()]
    assert kinds == ["AGENT", "LLM", "TOOL", "AGENT", "LLM", "LLM"]
    reply = spans["turn/reply.0"].attributes
    assert {name: reply[name] for name in reply if name.startswith("llm.")} == {
        "llm.model_name": "m-1",
        "llm.provider": "aws",
        "llm.finish_reason": "tool_call",
        "llm.token_count.prompt": 10,
        "llm.token_count.completion": 20,
        "llm.token_count.total": 30,
        "llm.token_count.completion_details.reasoning": 7,
        "llm.token_count.prompt_details.cache_read": 4,
        "llm.token_count.prompt_details.cache_write": 2,
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": PROMPT,
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.contents.0.message_content.type": "reasoning",
        "llm.output_messages.0.message.contents.0.message_content.text": THOUGHT,
        "llm.output_messages.0.message.contents.0.message_content.signature": SEAL,
        "llm.output_messages.0.message.tool_calls.0.tool_call.id": "c1",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "look_up",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"word": "gull"}',
        "llm.output_messages.0.message.tool_calls.1.tool_call.id": "c2",
        "llm.output_messages.0.message.tool_calls.1.tool_call.function.name": "Checker",
        "llm.output_messages.0.message.tool_calls.1.tool_call.function.arguments": TASK,
    }


@pytest.mark.parametrize("openinference", [False, True])
@pytest.mark.parametrize(
    ("content", "shown"),
    [
        (SpanContent.NONE, set()),
        (SpanContent.MESSAGES, CANARIES - {THOUGHT, SEAL}),
        (SpanContent.THOUGHTS, CANARIES - {SEAL}),
        (SpanContent.SEALS, CANARIES),
    ],
)
def test_texts_are_exported_only_if_asked_for(
    content: SpanContent, shown: set[str], openinference: bool
) -> None:
    data = write_otlp(session(), SpanOptions(content, openinference)).decode()
    assert {canary for canary in CANARIES if canary in data} == shown
    assert ("A title" in data) == bool(shown)
    assert write_otlp(session()).decode().count("canary") == 0


def test_messages_have_the_form_of_the_conventions() -> None:
    spans = spans_of(options=SpanOptions(SpanContent.THOUGHTS))

    def messages(path: str, name: str) -> Any:
        return msgspec.json.decode(str(spans[path].attributes[f"gen_ai.{name}.messages"]))

    assert messages("turn/reply.0", "input") == [
        {"role": "user", "parts": [{"type": "text", "content": PROMPT}]}
    ]
    assert messages("turn/reply.0", "output") == [
        {
            "role": "assistant",
            "parts": [
                {"type": "reasoning", "content": THOUGHT},
                {"type": "tool_call", "id": "c1", "name": "look_up", "arguments": {"word": "gull"}},
                {"type": "tool_call", "id": "c2", "name": "Checker", "arguments": TASK},
            ],
        }
    ]
    results = [message["parts"][0] for message in messages("turn/reply.1", "input")]
    assert results == [
        {"type": "tool_call_response", "id": "c1", "response": RESULT},
        {"type": "tool_call_response", "id": "c2", "response": "broken"},
    ]


def test_unknown_times_are_left_out() -> None:
    assert all(seconds(span) == (None, None) for span in spans_of(timed=False).values())
    data = write_otlp(session(timed=False))
    assert b"UnixNano" not in data
    relative = [msgspec.structs.replace(entry, at_ms=entry.seq) for entry in entries_of_events(RUN)]
    assert all(span.started_ms is None for span in turn_spans(TracedTurn(entries=relative), SpanOptions())), (
        "a time that counts from another moment is no date"
    )


@pytest.mark.parametrize(
    ("end", "reason", "error"),
    [
        (TurnEnded(Finish.STOP), "stop", ""),
        (TurnEnded(Finish.LENGTH), "length", "length"),
        (TurnEnded(Finish.REFUSAL), "content_filter", ""),
        (TurnEnded(Finish.CANCELLED), "error", ""),
        (TurnEnded(Finish.UNKNOWN, "odd"), "odd", ""),
        (TurnEnded(Finish.UNKNOWN), None, ""),
        (TurnFailed("cut_off", "canary message"), "error", "cut_off"),
    ],
)
def test_single_reply_has_the_end_of_the_turn(end: Event, reason: str | None, error: str) -> None:
    events: list[Event] = [
        TurnStarted("openai_chat", "m-1"),
        BlockStarted(0, Kind.TEXT),
        BlockGrew(0, ANSWER),
        BlockEnded(0),
        UsageReported(Usage(3, 4)),
        end,
    ]
    spans = spans_of(events)
    assert list(spans) == ["turn", "turn/reply.0"]
    reply = spans["turn/reply.0"]
    assert reply.attributes.get("gen_ai.response.finish_reasons") == ([reason] if reason else None)
    assert (reply.error, spans["turn"].error) == (error, error)
    assert reply.attributes["gen_ai.usage.output_tokens"] == 4
    assert "canary" not in str(spans)


def test_reply_that_broke_off_is_a_span_with_an_error() -> None:
    spans = spans_of([*RUN[:-2], TurnFailed("overloaded", "busy")])
    assert spans["turn/reply.1"].error == "overloaded"
    assert spans["turn/reply.1"].attributes["gen_ai.response.finish_reasons"] == ["error"]


def test_ids_are_stable_and_those_of_a_grown_session_stay() -> None:
    record = session()
    longer = msgspec.structs.replace(record, exchanges=(*record.exchanges, *record.exchanges))
    first, again, grown = (json_spans(write_otlp(one)) for one in (record, record, longer))
    assert first == again == grown[: len(first)]
    ids = [(span["traceId"], span["spanId"]) for span in grown]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch("[0-9a-f]{32}", trace) and len(span) == 16 for trace, span in ids)
    named = json_spans(write_otlp(longer, ids=TraceIds("ses_1", ("trn_1", "trn_2"))))
    renamed = msgspec.structs.replace(longer, title="Another", created_ms=None)
    same = json_spans(write_otlp(renamed, ids=TraceIds("ses_1", ("trn_1", "trn_2"))))
    assert [span["traceId"] for span in same] == [span["traceId"] for span in named]
    only = json_spans(write_otlp(longer, ids=TraceIds("ses_1", ("trn_1", "trn_2"), "trn_2")))
    assert only == named[len(named) // 2 :]


def test_parents_come_before_their_parts() -> None:
    seen: set[str] = set()
    for span in json_spans(write_otlp(session())):
        assert span.get("parentSpanId") in (None, *seen)
        seen.add(span["spanId"])


@given(RECORDS)
def test_every_session_survives_as_traces(record: SessionRecord) -> None:
    data = write_otlp(record, SpanOptions(SpanContent.SEALS, openinference=True))
    assert len(data.splitlines()) == len(record.exchanges)
    imported = [one.record for one in HistoryFile(io.BytesIO(data)).sessions()] if data else []
    exchanges = [exchange for one in imported for exchange in one.exchanges]
    assert sorted(map(_content, exchanges)) == sorted(map(_content, record.exchanges))
    for request in requests(data):
        assert _decoded_request(encode_request(request)) == _spans_as_decoded(request)


def _content(exchange: Exchange) -> bytes:
    fields = (exchange.asked, exchange.entries, exchange.model, exchange.provider, exchange.prefix)
    return msgspec.json.encode((*fields, exchange.created_ms))


def _spans_as_decoded(request: Any) -> list[Any]:
    return [
        (
            bytes.fromhex(span["traceId"]),
            bytes.fromhex(span["spanId"]),
            bytes.fromhex(span.get("parentSpanId", "")),
            span["name"],
            span["kind"],
            int(span.get("startTimeUnixNano", 0)),
            int(span.get("endTimeUnixNano", 0)),
            {attribute["key"]: attribute["value"] for attribute in span["attributes"]},
            span.get("status", {}).get("code", 0),
        )
        for span in request["resourceSpans"][0]["scopeSpans"][0]["spans"]
    ]


def _decoded_request(data: bytes) -> list[Any]:
    """Decode a request by the field numbers of trace.proto, and no code of ours."""
    [resource_spans] = _fields(data)[1]
    [scope_spans] = _fields(resource_spans)[2]
    return [_decoded_span(_fields(span)) for span in _fields(scope_spans)[2]]


def _decoded_span(fields: dict[int, list[Any]]) -> tuple[Any, ...]:
    attributes = [_fields(attribute) for attribute in fields.get(9, [])]
    status = _fields(fields[15][0])[3][0] if 15 in fields else 0
    return (
        fields[1][0],
        fields[2][0],
        fields.get(4, [b""])[0],
        fields[5][0].decode(),
        fields[6][0],
        fields.get(7, [0])[0],
        fields.get(8, [0])[0],
        {pair[1][0].decode(): _decoded_value(pair[2][0]) for pair in attributes},
        status,
    )


def _decoded_value(data: bytes) -> Any:
    [(number, [value])] = _fields(data).items()
    if number == 5:
        return {"arrayValue": {"values": [_decoded_value(item) for item in _fields(value).get(1, [])]}}
    return {1: "stringValue", 2: "boolValue", 3: "intValue"}[number] and (
        {"stringValue": value.decode()} if number == 1 else {"intValue": str(value)}
    )


def _fields(data: bytes) -> dict[int, list[Any]]:
    fields: dict[int, list[Any]] = {}
    position = 0

    def varint() -> int:
        nonlocal position
        value = shift = 0
        while True:
            byte = data[position]
            position += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while position < len(data):
        key = varint()
        value: Any
        if key & 7 == 0:
            value = varint()
        elif key & 7 == 1:
            value = struct.unpack_from("<Q", data, position)[0]
            position += 8
        else:
            assert key & 7 == 2
            length = varint()
            value = data[position : position + length]
            position += length
        fields.setdefault(key >> 3, []).append(value)
    return fields


def test_hidden_thoughts_hide_seals_too() -> None:
    assert visible_content(SpanContent.SEALS, hides_thoughts=True) is SpanContent.MESSAGES
    assert visible_content(SpanContent.SEALS, hides_thoughts=False) is SpanContent.SEALS
    assert visible_content(SpanContent.NONE, hides_thoughts=True) is SpanContent.NONE


def test_providers_with_other_names_are_in_the_catalog() -> None:
    assert PROVIDER_NAMES.keys() <= builtin_catalog().providers.keys()
