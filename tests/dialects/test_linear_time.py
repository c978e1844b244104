"""Reading takes linear time in every dialect, for every field that grows."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.linear_time import assert_linear
from tests.wire.aws_encoder import encode_event

from thinkaloud import NotAResponse, Reader
from thinkaloud.core.canon import BlockEnded, BlockGrew, BlockStarted, Entry, Event, Finish, Kind, ReplyEnded
from thinkaloud.core.dialects import DIALECTS
from thinkaloud.core.dialects.writer import ResponseHead
from thinkaloud.core.transcript import Turn, apply
from thinkaloud.core.wire import WireLimits

SIZE = 500


def sse(*values: Any) -> bytes:
    return b"".join(b"data: %s\n\n" % json.dumps(value).encode() for value in values)


def chat(delta: Any) -> bytes:
    return sse({"choices": [{"delta": delta}]})


def block(delta: Any) -> bytes:
    return sse({"type": "content_block_delta", "index": 0, "delta": delta})


def text_block(number: int) -> bytes:
    start = {"type": "content_block_start", "index": number, "content_block": {"type": "text", "text": "a"}}
    return sse(start, {"type": "content_block_stop", "index": number})


def call_block(number: int) -> bytes:
    call = {"type": "tool_use", "id": f"call_{number}", "name": "a", "input": {}}
    start = {"type": "content_block_start", "index": number, "content_block": call}
    return sse(start, {"type": "content_block_stop", "index": number})


def summary_part(number: int) -> bytes:
    delta = {"output_index": 0, "summary_index": number, "delta": "a"}
    return sse({"type": "response.reasoning_summary_text.delta", **delta})


def item(number: int) -> bytes:
    reasoning_item = {
        "type": "reasoning",
        "id": f"rs_{number}",
        "summary": [{"type": "summary_text", "text": "a"}],
    }
    return sse({"type": "response.output_item.done", "output_index": number, "item": reasoning_item})


def part(content_part: Any) -> bytes:
    return sse({"candidates": [{"content": {"parts": [content_part]}}]})


def step(delta: Any) -> bytes:
    return sse({"event_type": "step.delta", "index": 0, "delta": delta})


def call_step(number: int) -> bytes:
    function_call = {"type": "function_call", "id": f"call_{number}", "name": "a", "arguments": {}}
    start = {"event_type": "step.start", "index": number, "step": function_call}
    return sse(start, {"event_type": "step.stop", "index": number})


def converse(delta: Any) -> bytes:
    return encode_event("contentBlockDelta", json.dumps({"contentBlockIndex": 0, "delta": delta}).encode())


def cohere(type_: str, number: int, message: Any) -> bytes:
    return sse({"type": type_, "index": number, "delta": {"message": message}})


def detail(text: str) -> Any:
    return {"type": "reasoning.text", "text": text, "index": 0}


def late_signature(number: int) -> bytes:
    """A detail with an index of its own, and a signature for an index that no detail has."""
    signature = {"type": "reasoning.text", "signature": "a", "index": -1 - number}
    return chat({"reasoning_details": [{**detail("a"), "index": number}, signature]})


def partial_argument(number: int) -> bytes:
    argument = {"jsonPath": "$.text", "stringValue": "a"}
    name = {} if number else {"name": "a"}
    return part({"functionCall": {**name, "partialArgs": [argument], "willContinue": True}})


def item_text(number: int) -> bytes:
    """A text of an item without an index."""
    return sse({"type": "response.output_text.delta", "item_id": f"msg_{number}", "delta": "a"})


def call(number: int) -> Any:
    return {"index": number, "id": f"call_{number}", "function": {"name": "a", "arguments": "{}"}}


THINKING_PART = {"type": "thinking", "thinking": [{"type": "text", "text": "a"}]}
OPEN_STEP = sse({"event_type": "step.start", "index": 0, "step": {"type": "thought"}})

PIECES: list[tuple[str, str, bytes, Callable[[int], bytes]]] = [
    ("anthropic_messages", "thinking", b"", lambda _: block({"type": "thinking_delta", "thinking": "a"})),
    ("anthropic_messages", "signature", b"", lambda _: block({"signature": "a"})),
    ("anthropic_messages", "citations", b"", lambda _: block({"citation": {"url": "a"}})),
    ("anthropic_messages", "blocks", b"", text_block),
    ("anthropic_messages", "calls", b"", call_block),
    ("bedrock_converse", "thinking", b"", lambda _: converse({"reasoningContent": {"text": "a"}})),
    ("cohere_v2", "thinking", b"", lambda _: cohere("content-delta", 0, {"content": {"thinking": "a"}})),
    (
        "cohere_v2",
        "calls",
        b"",
        lambda number: cohere("tool-call-start", number, {"tool_calls": {"id": "a"}}),
    ),
    ("gemini", "thoughts", b"", lambda _: part({"text": "a", "thought": True})),
    ("gemini", "calls", b"", lambda _: part({"functionCall": {"name": "a"}, "thoughtSignature": "a"})),
    ("gemini", "partial arguments", b"", partial_argument),
    ("gemini_interactions", "summary", OPEN_STEP, lambda _: step({"type": "thought_summary", "text": "a"})),
    ("gemini_interactions", "calls", b"", call_step),
    ("ollama", "thinking", b"", lambda _: b'{"message":{"thinking":"a"},"done":false}\n'),
    ("ollama", "calls", b"", lambda _: b'{"message":{"tool_calls":[{}]},"done":false}\n'),
    ("openai_chat", "reasoning_content", b"", lambda _: chat({"reasoning_content": "a"})),
    ("openai_chat", "details", b"", lambda _: chat({"reasoning": "a", "reasoning_details": [detail("a")]})),
    ("openai_chat", "signatures", b"", lambda _: chat({"reasoning_details": [{"signature": "a"}]})),
    ("openai_chat", "late signatures", b"", late_signature),
    ("openai_chat", "odd fields", b"", lambda _: chat({"content": 1, "tool_calls": 5})),
    ("openai_chat", "parts", b"", lambda _: chat({"content": [THINKING_PART]})),
    ("openai_chat", "content", b"", lambda _: chat({"content": "a <"})),
    ("openai_chat", "turns", b"", lambda _: chat({"reasoning": "a"}) + chat({"content": "a"})),
    ("openai_chat", "calls", b"", lambda number: chat({"tool_calls": [call(number)]})),
    ("openai_responses", "summary parts", b"", summary_part),
    ("openai_responses", "items", b"", item),
    ("openai_responses", "items without index", b"", item_text),
    ("openai_chat", "white space", b"", lambda _: b"\n"),
    ("gemini", "white space in an array", b"[", lambda _: b" "),
    ("text", "thought", b"<think>", lambda _: b"a < b </ c\n"),
    ("text", "white space", b"", lambda _: b"\n"),
]


@pytest.mark.parametrize(
    ("dialect", "head", "piece"),
    [pytest.param(dialect, head, piece, id=f"{dialect}-{what}") for dialect, what, head, piece in PIECES],
)
def test_reading_takes_linear_time(dialect: str, head: bytes, piece: Callable[[int], bytes]) -> None:
    """S18."""

    def work(size: int) -> Callable[[], object]:
        pieces = [head, *(piece(number) for number in range(size))]

        def run() -> object:
            reader = Reader(dialect)
            event_counts = [len(reader.feed(data)) for data in pieces]
            return event_counts, reader.close()

        return run

    assert_linear(work, SIZE)


@pytest.mark.parametrize("limit_bytes", [10**6, 4 * 10**6])
def test_unfinished_first_line_is_bounded(limit_bytes: int) -> None:
    """An object whose first line never ends is refused at the limit, and is not copied with every read."""
    reader = Reader(limits=WireLimits(event_bytes=limit_bytes))
    piece = b"x" * 10_000
    reader.feed(b'{"choices": "')
    for _ in range(limit_bytes // len(piece) - 1):
        reader.feed(piece)
    with pytest.raises(NotAResponse, match=r"Raise WireLimits\.event_bytes"):
        reader.feed(2 * piece)


def test_unfinished_first_line_takes_linear_time() -> None:
    def work(size: int) -> Callable[[], object]:
        def run() -> object:
            reader = Reader(limits=WireLimits(event_bytes=10**9))
            reader.feed(b'{"choices": "')
            return [reader.feed(b"x" * 100) for _ in range(size)]

        return run

    assert_linear(work, 4 * SIZE)


def text_reply(number: int) -> list[Event]:
    text = [BlockGrew(number, "a")]
    return [BlockStarted(number, Kind.TEXT), *text, BlockEnded(number), ReplyEnded(Finish.STOP)]


def test_writing_many_replies_takes_linear_time() -> None:
    """S18: a delta takes the same time, however many replies there were before it."""
    response_format = DIALECTS["openai_chat"].response_format
    assert response_format is not None
    make_writer = response_format.make_writer

    def work(size: int) -> Callable[[], object]:
        turn, writer = Turn(), make_writer(ResponseHead(turn="t", model="m"))
        events = [event for number in range(size) for event in text_reply(number)]
        for seq, event in enumerate(events):
            apply(turn, Entry(seq, event))
        return lambda: [writer.feed(event, turn) for event in events]

    assert_linear(work, 2 * SIZE)
