"""Parses requests of Ollama clients. Streaming is the default, and calls have no ids."""

from typing import Any

import msgspec

from thinkaloud.core.canon import Refused
from thinkaloud.core.canon.requests import Image, ToolCall, ToolMessage
from thinkaloud.core.dialects.client_request import (
    JSON_OBJECT,
    ClientAnswer,
    ClientRequest,
    ClientStep,
    ClientThought,
    checked_image,
    decode_request,
    ignored_fields,
    joined_message,
    json_text,
    paragraphs,
    stop_sequences,
    thinking_level,
    tool_definition,
)


class _Function(msgspec.Struct):
    name: str = ""
    arguments: Any = ""
    description: str | None = None
    parameters: msgspec.Raw = msgspec.Raw()


class _Call(msgspec.Struct):
    function: _Function
    id: str | None = None


class _Message(msgspec.Struct):
    role: str
    content: str | None = None
    thinking: str | None = None
    images: list[str] | None = None
    tool_calls: list[_Call] | None = None
    tool_name: str | None = None
    tool_call_id: str | None = None


class _Tool(msgspec.Struct):
    function: _Function


class _ModelOptions(msgspec.Struct):
    num_predict: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    stop: str | list[str] | None = None
    seed: int | None = None


class _Body(msgspec.Struct):
    model: str
    messages: list[_Message] = []
    tools: list[_Tool] | None = None
    stream: bool | None = None
    think: bool | str | None = None
    options: msgspec.Raw = msgspec.Raw(b"{}")
    format: str | dict[str, Any] | None = None


_decoder = msgspec.json.Decoder(_Body)
_options_decoder = msgspec.json.Decoder(_ModelOptions | None)


def parse_request(data: bytes) -> ClientRequest:
    """Parse the body of a request."""
    body = decode_request(_decoder, data)
    system = [message.content or "" for message in body.messages if message.role == "system"]
    options = decode_request(_options_decoder, bytes(body.options)) or _ModelOptions()
    limit = options.num_predict
    return ClientRequest(
        model=body.model.removesuffix(":latest"),
        steps=tuple(_step(message) for message in body.messages if message.role != "system"),
        system=paragraphs(system),
        tools=tuple(
            tool_definition(tool.function.name, tool.function.description, tool.function.parameters)
            for tool in body.tools or ()
        ),
        thinking=_thinking(body.think),
        max_tokens=limit if limit is not None and limit > 0 else None,
        temperature=options.temperature,
        top_p=options.top_p,
        stop=stop_sequences(options.stop),
        seed=options.seed,
        output_schema=JSON_OBJECT if body.format == "json" else _schema(body.format),
        stream=body.stream is not False,
        ignored=(*ignored_fields(data, _Body), *_ignored_options(body.options)),
    )


def _schema(output_format: str | dict[str, Any] | None) -> dict[str, Any] | None:
    return output_format if isinstance(output_format, dict) else None


def _ignored_options(options: msgspec.Raw) -> list[str]:
    if bytes(options) == b"null":
        return []
    return [f"options.{name}" for name in ignored_fields(options, _ModelOptions)]


def _thinking(think: bool | str | None) -> str | None:
    if isinstance(think, bool):
        return "medium" if think else "off"
    return thinking_level(think)


def _step(message: _Message) -> ClientStep:
    match message.role:
        case "user":
            return joined_message([message.content or ""], _images(message))
        case "assistant":
            calls = []
            for call in message.tool_calls or ():
                arguments = json_text(call.function.arguments) or "{}"
                calls.append(ToolCall(call.id or "", call.function.name, arguments))
            thoughts = (ClientThought(message.thinking),) if message.thinking else ()
            return ClientAnswer(message.content or "", tuple(calls), thoughts)
        case "tool":
            name = message.tool_name or ""
            images = tuple(_images(message))
            return ToolMessage(message.tool_call_id or "", message.content or "", name, images=images)
    raise Refused("Unknown role {role}. Use system, user, assistant or tool.", role=repr(message.role[:40]))


def _images(message: _Message) -> list[Image]:
    return [checked_image("", data) for data in message.images or ()]
