"""Twelve answers with thoughts, as servers that are compatible with OpenAI's Chat Completions send them.

A server gives one of them, whole or streamed, to whoever asks. It runs in the environment of a framework, so
it needs nothing but Python.
"""

import asyncio
import json
import operator
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

THOUGHT, ANSWER = "It is warm in Lima. So mild.", "Mild, I think."
_SIGNATURE = {"type": "reasoning.text", "signature": "c2VhbA==", "index": 0}
_ENCRYPTED = {"type": "reasoning.encrypted", "data": "Z0FBQUFB", "id": "rs_1", "index": 1}
_CALL = {
    "index": 0,
    "id": "call_1",
    "type": "function",
    "function": {"name": "get_weather", "arguments": '{"city": "Lima"}'},
}
_GOOGLE = {"google": {"thought": True}}
Delta = dict[str, Any]


class Case(NamedTuple):
    """One answer: its deltas, and what a program must get of it."""

    name: str
    deltas: list[Delta]
    thought: str = THOUGHT
    answer: str = ANSWER
    calls: int = 0
    model: str = "river-1"
    """Some models have tags of their own."""


def _split(field: str, text: str) -> list[Delta]:
    return [{field: text[:9]}, {field: text[9:]}]


def _details(field: str, text: str) -> list[Delta]:
    kind = {"text": "reasoning.text", "summary": "reasoning.summary"}[field]
    return [{"reasoning_details": [{"type": kind, field: part, "index": 0}]} for part in (text[:9], text[9:])]


def _thinking_parts(text: str) -> list[Delta]:
    parts = (
        {"type": "thinking", "thinking": [{"type": "text", "text": part}]} for part in (text[:9], text[9:])
    )
    return [{"content": [part]} for part in parts]


def _characters(text: str) -> list[Delta]:
    return [{"content": character} for character in text]


TEXT = _split("content", ANSWER)
CASES = (
    Case("`reasoning_content`", [*_split("reasoning_content", THOUGHT), *TEXT]),
    Case("`reasoning`", [*_split("reasoning", THOUGHT), *TEXT]),
    Case(
        "`reasoning_details` with a signature",
        [*_details("text", THOUGHT), {"reasoning_details": [_SIGNATURE]}, *TEXT],
    ),
    Case(
        "the same in `reasoning` and `reasoning_details`",
        [*map(operator.or_, _split("reasoning", THOUGHT), _details("text", THOUGHT)), *TEXT],
    ),
    Case(
        "a summary and an encrypted detail",
        [*_details("summary", THOUGHT), *TEXT, {"reasoning_details": [_ENCRYPTED]}],
    ),
    Case(
        "`<think>` in the content",
        [{"content": "<think>"}, *_split("content", THOUGHT), {"content": "</think>"}, *TEXT],
    ),
    Case("`<think>` cut over chunks", _characters(f"<think>{THOUGHT}</think>{ANSWER}")),
    Case(
        "`<thought>` in the content",
        [{"content": f"<thought>{THOUGHT}", "extra_content": _GOOGLE}, {"content": f"</thought>{ANSWER}"}],
        model="gemini-3-pro",
    ),
    Case(
        "thinking parts in the content",
        [*_thinking_parts(THOUGHT), {"content": [{"type": "text", "text": ANSWER}]}],
    ),
    Case(
        "a thought before a call",
        [*_split("reasoning_content", THOUGHT), {"tool_calls": [_CALL]}],
        answer="",
        calls=1,
    ),
    Case(
        "two thoughts with text between",
        [
            {"reasoning_content": THOUGHT[:9]},
            {"content": ANSWER[:9]},
            {"reasoning_content": THOUGHT[9:]},
            {"content": ANSWER[9:]},
        ],
    ),
    Case(
        "a tag that the answer is about",
        [*_split("reasoning_content", THOUGHT), {"content": "Write <think> and </think>."}],
        answer="Write <think> and </think>.",
    ),
)


def whole_message(deltas: list[Delta]) -> Delta:
    """Return the message that these deltas are the pieces of."""
    message: Delta = {"role": "assistant", "content": None}
    for delta in deltas:
        for field, value in delta.items():
            if field == "reasoning_details":
                _add_details(message.setdefault(field, []), value)
            else:
                message[field] = value if message.get(field) is None else message[field] + value
    for call in message.get("tool_calls", ()):
        message["tool_calls"] = [{name: value for name, value in call.items() if name != "index"}]
    return message


def _add_details(details: list[Delta], added: list[Delta]) -> None:
    for detail in added:
        if details and details[-1]["index"] == detail["index"]:
            earlier = details[-1]
            for field in ("text", "summary"):
                detail = (
                    detail
                    if field not in detail
                    else {**detail, field: earlier.get(field, "") + detail[field]}
                )
            details[-1] = {**earlier, **detail}
        else:
            details.append(dict(detail))


def body_of(case: Case, *, streamed: bool) -> bytes:
    """Return the body of the response."""
    finish = "tool_calls" if case.calls else "stop"
    head = {"id": "chatcmpl-1", "created": 1, "model": case.model}
    usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
    if not streamed:
        choice = {"index": 0, "message": whole_message(case.deltas), "finish_reason": finish}
        return json.dumps({**head, "object": "chat.completion", "choices": [choice], "usage": usage}).encode()
    lines = []
    for delta, reason in [*((delta, None) for delta in case.deltas), ({}, finish)]:
        choice = {"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": reason}
        lines.append(json.dumps({**head, "object": "chat.completion.chunk", "choices": [choice]}))
    return "".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"]).encode()


@asynccontextmanager
async def serve(case: Case) -> AsyncIterator[str]:
    """Serve an answer, and yield the base URL."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.partition("content-length:")[2].split("\r\n")[0])
        streamed = json.loads(await reader.readexactly(length)).get("stream", False)
        body = body_of(case, streamed=streamed)
        kind = "text/event-stream" if streamed else "application/json"
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nConnection: close\r\n".encode())
        writer.write(f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
