"""Parses requests of front ends that use the Vercel AI SDK.

A message of the assistant may hold several steps, each with its thoughts, text and calls; the results are in
the parts of the calls. `model`, `system`, `tools`, `thinking` and `maxTokens` are fields of ours that a front
end adds to the body.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from thinkaloud.core.canon import Refused
from thinkaloud.core.canon.requests import File, ToolCall, ToolMessage, UserMessage
from thinkaloud.core.dialects.client_request import (
    ClientAnswer,
    ClientRequest,
    ClientStep,
    ClientThought,
    checked_pdf,
    decode_request,
    image_from_url,
    joined_message,
    json_text,
    paragraphs,
    thinking_level,
    tool_definition,
)
from thinkaloud.core.dialects.request import PDF
from thinkaloud.core.dialects.ui_message_stream.write import METADATA_KEY

_TOOL_PREFIX = "tool-"
_DYNAMIC_TOOL = "dynamic-tool"
_STEP = "step-start"


class _Part(msgspec.Struct, rename="camel"):
    type: str
    text: str | None = None
    provider_metadata: dict[str, Any] | None = None
    media_type: str | None = None
    filename: str | None = None
    url: str | None = None
    tool_name: str | None = None
    tool_call_id: str | None = None
    state: str | None = None
    input: Any = None
    output: Any = None
    error_text: str | None = None


class _Message(msgspec.Struct):
    role: str
    parts: list[_Part]
    id: str = ""


class _Tool(msgspec.Struct, rename="camel"):
    name: str
    description: str | None = None
    input_schema: msgspec.Raw = msgspec.Raw()


class _Body(msgspec.Struct, rename="camel"):
    messages: list[_Message]
    model: str = ""
    system: str | None = None
    tools: list[_Tool] | None = None
    thinking: str | int | None = None
    max_tokens: int | None = None


_decoder = msgspec.json.Decoder(_Body)


def parse_request(data: bytes) -> ClientRequest:
    """Parse the body of a request."""
    body = decode_request(_decoder, data)
    system = [body.system or ""]
    steps: list[ClientStep] = []
    for message in body.messages:
        if message.role == "system":
            system.append(_text(message))
        else:
            steps += _steps(message)
    continued = {}
    if body.messages and body.messages[-1].role == "assistant" and body.messages[-1].id:
        continued = {"message": body.messages[-1].id}
    return ClientRequest(
        model=body.model,
        steps=tuple(steps),
        system=paragraphs(system),
        tools=tuple(
            tool_definition(tool.name, tool.description, tool.input_schema) for tool in body.tools or ()
        ),
        thinking=thinking_level(body.thinking) if isinstance(body.thinking, str) else body.thinking,
        max_tokens=body.max_tokens,
        stream=True,
        client_ids=continued,
    )


def _steps(message: _Message) -> Iterable[ClientStep]:
    match message.role:
        case "user":
            yield _user_message(message)
        case "assistant":
            for parts in _split_steps(message.parts):
                yield _answer(parts)
                yield from _results(parts)
        case _:
            raise Refused("Unknown role {role}. Use system, user or assistant.", role=repr(message.role[:40]))


def _split_steps(parts: list[_Part]) -> Iterable[list[_Part]]:
    """Split the parts of a message into its steps; a step without anything to say is left out."""
    step: list[_Part] = []
    for part in parts:
        if part.type == _STEP:
            if step:
                yield step
            step = []
        elif part.type in ("text", "reasoning") or _tool_name(part):
            step.append(part)
    if step:
        yield step


def _answer(parts: list[_Part]) -> ClientAnswer:
    text = ""
    calls = []
    thoughts = []
    for part in parts:
        if part.type == "text":
            text += part.text or ""
        elif part.type == "reasoning":
            thoughts.append(ClientThought(part.text or "", _reference(part)))
        elif name := _tool_name(part):
            calls.append(ToolCall(part.tool_call_id or "", name, json_text(part.input or {})))
    return ClientAnswer(text, tuple(calls), tuple(thoughts))


def _results(parts: list[_Part]) -> Iterable[ToolMessage]:
    for part in parts:
        match part.state if _tool_name(part) else "":
            case "output-available":
                yield ToolMessage(part.tool_call_id or "", json_text(part.output))
            case "output-error" | "output-denied":
                error = part.error_text or "The user did not allow this call."
                yield ToolMessage(part.tool_call_id or "", error, failed=True)


def _tool_name(part: _Part) -> str:
    if part.type == _DYNAMIC_TOOL:
        return part.tool_name or ""
    return part.type.removeprefix(_TOOL_PREFIX) if part.type.startswith(_TOOL_PREFIX) else ""


def _reference(part: _Part) -> str:
    metadata = (part.provider_metadata or {}).get(METADATA_KEY)
    reference = metadata.get("reference") if isinstance(metadata, dict) else None
    return reference if isinstance(reference, str) else ""


def _text(message: _Message) -> str:
    return "\n\n".join(part.text for part in message.parts if part.type == "text" and part.text)


def _user_message(message: _Message) -> UserMessage:
    images = []
    documents = []
    for part in message.parts:
        if part.type == "file" and part.media_type == PDF:
            documents.append(_pdf(part))
        elif part.type == "file":
            images.append(image_from_url(part.url or ""))
    return joined_message([_text(message)], images, documents)


def _pdf(part: _Part) -> File:
    return checked_pdf((part.url or "").partition(",")[2], part.filename or "")
