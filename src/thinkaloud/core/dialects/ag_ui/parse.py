"""Parses the input of AG-UI front ends (`RunAgentInput`).

Reasoning, assistant messages and calls that follow each other are one answer. `forwardedProps` may hold
`model`, `thinking` and `maxTokens`; `context` becomes part of the system prompt.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from thinkaloud.core.canon import Refused, reason_of
from thinkaloud.core.canon.requests import Image, ToolCall, ToolMessage
from thinkaloud.core.dialects.client_request import (
    SYSTEM_ROLES,
    ClientAnswer,
    ClientRequest,
    ClientStep,
    ClientThought,
    checked_image,
    decode_request,
    image_from_url,
    joined_message,
    json_text,
    merged_answers,
    paragraphs,
    thinking_level,
    tool_definition,
    unsupported_part,
)

_SHOWN_ONLY_ROLES = ("activity",)
"""Messages for the screen of the front end, which no model gets."""


class _Source(msgspec.Struct, rename="camel"):
    type: str = ""
    value: str = ""
    mime_type: str | None = None


class _Part(msgspec.Struct, rename="camel"):
    type: str
    text: str | None = None
    source: _Source | None = None
    mime_type: str | None = None
    data: str | None = None
    url: str | None = None


class _Function(msgspec.Struct):
    name: str = ""
    arguments: Any = ""


class _Call(msgspec.Struct):
    id: str = ""
    function: _Function = msgspec.field(default_factory=_Function)


class _Message(msgspec.Struct, rename="camel"):
    role: str
    content: Any = None
    tool_calls: list[_Call] | None = None
    tool_call_id: str | None = None
    error: str | None = None
    encrypted_value: str | None = None


class _Tool(msgspec.Struct):
    name: str
    description: str | None = None
    parameters: msgspec.Raw = msgspec.Raw()


class _ContextItem(msgspec.Struct):
    description: str = ""
    value: str = ""


class _ForwardedProps(msgspec.Struct, rename="camel"):
    model: str = ""
    thinking: str | int | None = None
    max_tokens: int | None = None


class _Body(msgspec.Struct, rename="camel"):
    messages: list[_Message]
    thread_id: str = ""
    run_id: str = ""
    tools: list[_Tool] | None = None
    context: list[_ContextItem] | None = None
    forwarded_props: _ForwardedProps | None = None


_decoder = msgspec.json.Decoder(_Body)
_ContentType = str | list[_Part] | None


def parse_request(data: bytes) -> ClientRequest:
    """Parse the body of a request."""
    body = decode_request(_decoder, data)
    props = body.forwarded_props or _ForwardedProps()
    system = [_text(message) for message in body.messages if message.role in SYSTEM_ROLES]
    system += (f"{item.description}: {item.value}" for item in body.context or ())
    steps = (
        _step(message) for message in body.messages if message.role not in SYSTEM_ROLES + _SHOWN_ONLY_ROLES
    )
    return ClientRequest(
        model=props.model,
        steps=tuple(merged_answers(steps)),
        system=paragraphs(system),
        tools=tuple(
            tool_definition(tool.name, tool.description, tool.parameters) for tool in body.tools or ()
        ),
        thinking=thinking_level(props.thinking) if isinstance(props.thinking, str) else props.thinking,
        max_tokens=props.max_tokens,
        stream=True,
        client_ids={"thread": body.thread_id, "run": body.run_id},
    )


def _step(message: _Message) -> ClientStep:
    match message.role:
        case "user":
            return joined_message([_text(message)], list(_images(message)))
        case "assistant":
            calls = (
                ToolCall(call.id, call.function.name, json_text(call.function.arguments) or "{}")
                for call in message.tool_calls or ()
            )
            return ClientAnswer(_text(message), tuple(calls))
        case "reasoning":
            return ClientAnswer(thoughts=(ClientThought(_text(message), message.encrypted_value or ""),))
        case "tool":
            images = tuple(_images(message))
            failed = bool(message.error)
            return ToolMessage(message.tool_call_id or "", _text(message), failed=failed, images=images)
    raise Refused(
        "Unknown role {role}. Use user, assistant, reasoning, tool or system.", role=repr(message.role[:40])
    )


def _parts(message: _Message) -> list[_Part]:
    try:
        content: str | list[_Part] | None = msgspec.convert(message.content, _ContentType)
    except msgspec.ValidationError as error:
        raise Refused(
            "The content of a message cannot be read: {reason}. Send text or parts.", reason=reason_of(error)
        ) from None
    return content if isinstance(content, list) else [_Part("text", text=content)]


def _text(message: _Message) -> str:
    return "\n\n".join(part.text for part in _parts(message) if part.type == "text" and part.text)


def _images(message: _Message) -> Iterable[Image]:
    for part in _parts(message):
        match part.type:
            case "image" if part.source is not None and part.source.type == "data":
                yield checked_image(part.source.mime_type or "", part.source.value)
            case "image" | "binary" if part.data:
                yield checked_image(part.mime_type or "", part.data)
            case "image" | "binary":
                url = part.source.value if part.source is not None else part.url
                yield image_from_url(url or "")
            case "text":
                pass
            case _:
                raise unsupported_part(part.type)
