"""Parses requests of OpenAI Chat Completions clients, with the reasoning fields of all its relatives."""

from typing import Any

import msgspec

from thinkaloud.core.canon import Refused
from thinkaloud.core.canon.requests import Image, ToolCall, ToolMessage, Verbosity
from thinkaloud.core.dialects.client_request import (
    JSON_OBJECT,
    ClientAnswer,
    ClientRequest,
    ClientStep,
    ClientThought,
    FunctionFields,
    decode_request,
    ignored_fields,
    image_from_url,
    joined_message,
    json_text,
    paragraphs,
    stop_sequences,
    thinking_level,
    tool_definition,
    unsupported_part,
)


class _Url(msgspec.Struct):
    url: str = ""


class _Part(msgspec.Struct):
    type: str = "text"
    text: str | None = None
    refusal: str | None = None
    image_url: _Url | str | None = None


_Content = str | list[_Part] | None


class _Call(msgspec.Struct):
    id: str | None = None
    function: FunctionFields = msgspec.field(default_factory=FunctionFields)


class _Detail(msgspec.Struct):
    type: str = ""
    text: str | None = None
    summary: str | None = None
    data: str | None = None
    signature: str | None = None


class _Message(msgspec.Struct):
    role: str
    content: _Content = None
    tool_calls: list[_Call] | None = None
    tool_call_id: str | None = None
    name: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_details: list[_Detail] | None = None


class _Tool(msgspec.Struct):
    type: str = "function"
    function: FunctionFields | None = None


class _StreamOptions(msgspec.Struct):
    include_usage: bool | None = None


class _Reasoning(msgspec.Struct):
    effort: str | None = None
    max_tokens: int | None = None
    enabled: bool | None = None


class _OutputSchema(msgspec.Struct):
    schema: dict[str, Any] | None = None


class _ResponseFormat(msgspec.Struct):
    type: str = ""
    json_schema: _OutputSchema | None = None


class _Body(msgspec.Struct):
    model: str
    messages: list[_Message]
    tools: list[_Tool] | None = None
    tool_choice: Any = None
    parallel_tool_calls: bool | None = None
    verbosity: Verbosity | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    reasoning_effort: str | None = None
    reasoning: _Reasoning | None = None
    n: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    stop: str | list[str] | None = None
    seed: int | None = None
    response_format: _ResponseFormat | None = None


_decoder = msgspec.json.Decoder(_Body)


def parse_request(data: bytes) -> ClientRequest:
    """Parse the body of a request."""
    body = decode_request(_decoder, data)
    if body.n not in (None, 1):
        raise Refused("`n` must be 1: the gateway gives one answer per request. Send several requests.")
    system = [_text(message) for message in body.messages if message.role in ("system", "developer")]
    steps = [_step(message) for message in body.messages if message.role not in ("system", "developer")]
    return ClientRequest(
        model=body.model,
        steps=tuple(steps),
        system=paragraphs(system),
        tools=tuple(
            tool_definition(tool.function.name, tool.function.description, tool.function.parameters)
            for tool in body.tools or ()
            if tool.function is not None
        ),
        tool_choice=_tool_choice(body.tool_choice),
        parallel_tool_calls=body.parallel_tool_calls,
        verbosity=body.verbosity,
        thinking=_thinking(body),
        max_tokens=body.max_completion_tokens or body.max_tokens,
        temperature=body.temperature,
        top_p=body.top_p,
        stop=stop_sequences(body.stop),
        seed=body.seed,
        output_schema=_output_schema(body.response_format),
        stream=bool(body.stream),
        include_usage=bool(body.stream_options and body.stream_options.include_usage),
        ignored=ignored_fields(data, _Body),
    )


def _output_schema(response_format: _ResponseFormat | None) -> dict[str, Any] | None:
    if response_format is None:
        return None
    if response_format.type == "json_object":
        return JSON_OBJECT
    return response_format.json_schema.schema if response_format.json_schema else None


def _thinking(body: _Body) -> str | int | None:
    reasoning = body.reasoning or _Reasoning()
    if reasoning.enabled is False:
        return "off"
    return reasoning.max_tokens or thinking_level(reasoning.effort or body.reasoning_effort)


def _step(message: _Message) -> ClientStep:
    match message.role:
        case "user":
            return joined_message([_text(message)], _images(message))
        case "assistant":
            return _answer(message)
        case "tool" | "function":
            images = tuple(_images(message))
            return ToolMessage(message.tool_call_id or "", _text(message), message.name or "", images=images)
    raise Refused(
        "Unknown role {role}. Use system, developer, user, assistant or tool.", role=repr(message.role[:40])
    )


def _answer(message: _Message) -> ClientAnswer:
    calls = (
        ToolCall(call.id or "", call.function.name, json_text(call.function.arguments) or "{}")
        for call in message.tool_calls or ()
    )
    return ClientAnswer(_text(message), tuple(calls), _thoughts(message))


def _thoughts(message: _Message) -> tuple[ClientThought, ...]:
    thoughts = []
    for detail in message.reasoning_details or ():
        text = detail.text or detail.summary or ""
        thoughts.append(ClientThought(text, detail.signature or detail.data or ""))
    plain_text = message.reasoning_content or message.reasoning
    if plain_text and not thoughts:
        thoughts.append(ClientThought(plain_text))
    return tuple(thoughts)


def _text(message: _Message) -> str:
    if not isinstance(message.content, list):
        return message.content or ""
    return paragraphs(map(_part_text, message.content))


def _part_text(part: _Part) -> str:
    if part.type in ("image_url", "input_image"):
        return ""
    if part.text is None and part.refusal is None:
        raise unsupported_part(part.type)
    return part.text or part.refusal or ""


def _images(message: _Message) -> list[Image]:
    if not isinstance(message.content, list):
        return []
    images = []
    for part in message.content:
        if part.image_url:
            url = part.image_url if isinstance(part.image_url, str) else part.image_url.url
            images.append(image_from_url(url))
    return images


def _tool_choice(choice: Any) -> str:
    if isinstance(choice, dict):
        function = choice.get("function")
        choice = function.get("name") if isinstance(function, dict) else choice.get("name")
    return choice if isinstance(choice, str) else ""
