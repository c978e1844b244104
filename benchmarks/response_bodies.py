"""Invented response bodies, one per dialect: the bytes that a provider would stream, and their content."""

import json
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from benchmarks.sample_text import words

_MODEL = "example-1"
_SIGNATURE = "EqQBCkYIBRgCKkBk" * 12

Json = dict[str, Any]
NamedPayloads = Iterator[tuple[str, Json]]
"""The events of a stream: the name of each in its framing, and its data."""


class Body(NamedTuple):
    """A body split at the end of each event, the JSON of each event, and the expected content."""

    name: str
    dialect: str
    events: list[bytes]
    payloads: list[bytes]
    thought: str
    answer: str

    @property
    def size(self) -> int:
        return sum(map(len, self.events))

    def reads(self, size: int) -> list[bytes]:
        """The same bytes in reads of `size`, as they arrive when the provider is faster than the reader."""
        whole = b"".join(self.events)
        return [whole[start : start + size] for start in range(0, len(whole), size)]


def all_bodies(deltas: int) -> list[Body]:
    """One body per dialect, with as many deltas of reasoning as of answer."""
    return [_body(name, deltas) for name in _STREAMS]


def chat_body(deltas: int) -> Body:
    """The body on which goals are set: chat completions with reasoning in its own field."""
    return _body(next(iter(_STREAMS)), deltas)


def _body(name: str, deltas: int) -> Body:
    dialect, framed, make_payloads = _STREAMS[name]
    thought, answer = words(deltas, seed=1), words(deltas, seed=2)
    events, payloads = [], []
    for event, payload_fields in make_payloads(thought, answer):
        payload = json.dumps(payload_fields, ensure_ascii=False, separators=(",", ":")).encode()
        payloads.append(payload)
        events.append(framed(event, payload))
    if dialect == "openai_chat":
        events.append(b"data: [DONE]\n\n")
    return Body(name, dialect, events, payloads, "".join(thought), "".join(answer))


def _sse(event: str, data: bytes) -> bytes:
    return b"data: %b\n\n" % data


def _named_sse(event: str, data: bytes) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (event.encode(), data)


def _line(event: str, data: bytes) -> bytes:
    return data + b"\n"


def _aws(event: str, data: bytes) -> bytes:
    header_values = {":event-type": event, ":content-type": "application/json", ":message-type": "event"}
    headers = b"".join(_aws_header(name.encode(), value.encode()) for name, value in header_values.items())
    prelude = struct.pack(">II", 16 + len(headers) + len(data), len(headers))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + data
    return message + struct.pack(">I", zlib.crc32(message))


def _aws_header(name: bytes, value: bytes) -> bytes:
    return struct.pack(">B", len(name)) + name + struct.pack(">BH", 7, len(value)) + value


def _chunk(delta: Json, finish: str | None = None, **more: object) -> tuple[str, Json]:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return "", {
        "id": "chatcmpl-0123456789abcdef",
        "object": "chat.completion.chunk",
        "created": 1_760_000_000,
        "model": _MODEL,
        "system_fingerprint": "fp_01234567",
        "choices": [choice],
        **more,
    }


def _chunks(deltas: list[Json]) -> NamedPayloads:
    yield _chunk({"role": "assistant", "content": ""})
    yield from map(_chunk, deltas)
    count = len(deltas)
    usage = {"prompt_tokens": 9, "completion_tokens": count, "total_tokens": count + 9}
    yield _chunk({}, "stop", usage=usage)


def _chat_payloads(thought: list[str], answer: list[str]) -> NamedPayloads:
    thoughts = [{"content": None, "reasoning_content": text} for text in thought]
    return _chunks([*thoughts, *({"content": text} for text in answer)])


def _details_payloads(thought: list[str], answer: list[str]) -> NamedPayloads:
    """The same text twice, as OpenRouter sends it."""
    role = {"role": "assistant", "content": ""}
    form = {"type": "reasoning.text", "format": "unknown", "index": 0}
    thoughts = [
        {**role, "reasoning": text, "reasoning_details": [{**form, "text": text}]} for text in thought
    ]
    return _chunks([*thoughts, *({**role, "content": text} for text in answer)])


def _tags_payloads(thought: list[str], answer: list[str]) -> NamedPayloads:
    """Both tags are split in two, as models send them that have no token for a tag."""
    deltas = ["<th", "ink>", *thought, "</thi", "nk>", *answer]
    return _chunks([{"content": text} for text in deltas])


def _anthropic_payloads(thought: list[str], answer: list[str]) -> NamedPayloads:
    def event(kind: str, **more: object) -> tuple[str, Json]:
        return kind, {"type": kind, **more}

    def delta(index: int, kind: str, field: str, text: str) -> tuple[str, Json]:
        return event("content_block_delta", index=index, delta={"type": kind, field: text})

    message = {"id": "msg_0123456789", "type": "message", "role": "assistant", "model": _MODEL, "content": []}
    yield event("message_start", message={**message, "usage": {"input_tokens": 9, "output_tokens": 1}})
    start = {"type": "thinking", "thinking": "", "signature": ""}
    yield event("content_block_start", index=0, content_block=start)
    yield from (delta(0, "thinking_delta", "thinking", text) for text in thought)
    yield delta(0, "signature_delta", "signature", _SIGNATURE)
    yield event("content_block_stop", index=0)
    yield event("content_block_start", index=1, content_block={"type": "text", "text": ""})
    yield from (delta(1, "text_delta", "text", text) for text in answer)
    yield event("content_block_stop", index=1)
    yield event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": len(answer)})
    yield event("message_stop")


def _responses_payloads(thought: list[str], answer: list[str]) -> NamedPayloads:
    def event(kind: str, **more: object) -> tuple[str, Json]:
        return f"response.{kind}", {"type": f"response.{kind}", "sequence_number": 7, **more}

    def delta(kind: str, item: int, part: str, text: str) -> tuple[str, Json]:
        return event(kind, item_id=f"item_{item:032}", output_index=item, **{part: 0}, delta=text)

    response: Json = {"id": "resp_0123456789", "object": "response", "model": _MODEL, "output": []}
    yield event("created", response={**response, "status": "in_progress"})
    summary = {"type": "summary_text", "text": "".join(thought)}
    output_text = {"type": "output_text", "annotations": [], "text": "".join(answer)}
    items: list[Json] = [
        {"id": "rs_0123456789", "type": "reasoning", "encrypted_content": _SIGNATURE, "summary": [summary]},
        {"id": "msg_0123456789", "type": "message", "role": "assistant", "content": [output_text]},
    ]
    yield event("output_item.added", output_index=0, item={**items[0], "summary": []})
    yield from (delta("reasoning_summary_text.delta", 0, "summary_index", text) for text in thought)
    yield event("output_item.done", output_index=0, item=items[0])
    yield event("output_item.added", output_index=1, item={**items[1], "content": []})
    yield from (delta("output_text.delta", 1, "content_index", text) for text in answer)
    yield event("output_item.done", output_index=1, item=items[1])
    usage = {"input_tokens": 9, "output_tokens": len(thought) + len(answer)}
    yield event("completed", response={**response, "status": "completed", "output": items, "usage": usage})


def _gemini_payloads(thought: list[str], answer: list[str]) -> NamedPayloads:
    def piece(part: Json, tokens: int, **more: str) -> tuple[str, Json]:
        candidate = {"content": {"parts": [part], "role": "model"}, **more, "index": 0}
        usage = {"promptTokenCount": 9, "candidatesTokenCount": tokens, "totalTokenCount": tokens + 9}
        return "", {"candidates": [candidate], "usageMetadata": usage, "modelVersion": _MODEL}

    for text in thought:
        yield piece({"text": text, "thought": True}, 0)
    for count, text in enumerate(answer, 1):
        yield piece({"text": text}, count)
    yield piece({"text": "", "thoughtSignature": _SIGNATURE}, len(answer), finishReason="STOP")


def _ollama_payloads(thought: list[str], answer: list[str]) -> NamedPayloads:
    line: Json = {"model": _MODEL, "created_at": "2026-01-01T00:00:00.123456Z"}
    for field, deltas in (("thinking", thought), ("content", answer)):
        for text in deltas:
            yield "", {**line, "message": {"role": "assistant", "content": "", field: text}, "done": False}
    last = {"role": "assistant", "content": ""}
    yield "", {**line, "message": last, "done": True, "done_reason": "stop", "eval_count": len(answer)}


def _bedrock_payloads(thought: list[str], answer: list[str]) -> NamedPayloads:
    def delta(index: int, content: Json) -> tuple[str, Json]:
        return "contentBlockDelta", {"contentBlockIndex": index, "delta": content, "p": "abcdefghijklmnop"}

    yield "messageStart", {"role": "assistant", "p": "abcd"}
    yield from (delta(0, {"reasoningContent": {"text": text}}) for text in thought)
    yield delta(0, {"reasoningContent": {"signature": _SIGNATURE}})
    yield "contentBlockStop", {"contentBlockIndex": 0, "p": "abcd"}
    yield from (delta(1, {"text": text}) for text in answer)
    yield "contentBlockStop", {"contentBlockIndex": 1, "p": "abcd"}
    yield "messageStop", {"stopReason": "end_turn", "p": "abcd"}
    yield "metadata", {"usage": {"inputTokens": 9, "outputTokens": len(answer)}, "p": "abcd"}


def _cohere_payloads(thought: list[str], answer: list[str]) -> NamedPayloads:
    def event(kind: str, index: int, **content: str) -> tuple[str, Json]:
        return "", {"type": kind, "index": index, "delta": {"message": {"content": content}}}

    opening = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": []}
    yield "", {"id": "0123-4567", "type": "message-start", "delta": {"message": opening}}
    yield event("content-start", 0, type="thinking", thinking="")
    yield from (event("content-delta", 0, thinking=text) for text in thought)
    yield "", {"type": "content-end", "index": 0}
    yield event("content-start", 1, type="text", text="")
    yield from (event("content-delta", 1, text=text) for text in answer)
    yield "", {"type": "content-end", "index": 1}
    usage = {"tokens": {"input_tokens": 9, "output_tokens": len(answer)}}
    yield "", {"type": "message-end", "delta": {"finish_reason": "COMPLETE", "usage": usage}}


_STREAMS: dict[
    str, tuple[str, Callable[[str, bytes], bytes], Callable[[list[str], list[str]], NamedPayloads]]
] = {
    "chat, `reasoning_content`": ("openai_chat", _sse, _chat_payloads),
    "chat, `reasoning_details`": ("openai_chat", _sse, _details_payloads),
    "chat, `<think>` tags": ("openai_chat", _sse, _tags_payloads),
    "Anthropic Messages": ("anthropic_messages", _named_sse, _anthropic_payloads),
    "OpenAI Responses": ("openai_responses", _named_sse, _responses_payloads),
    "Gemini, SSE": ("gemini", _sse, _gemini_payloads),
    "Ollama, JSON lines": ("ollama", _line, _ollama_payloads),
    "Bedrock, event stream": ("bedrock_converse", _aws, _bedrock_payloads),
    "Cohere v2": ("cohere_v2", _sse, _cohere_payloads),
}
"""Every body: its dialect, its framing, and the function that makes its events."""
