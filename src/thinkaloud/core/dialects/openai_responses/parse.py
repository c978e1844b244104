"""Parses requests of OpenAI Responses clients.

Reasoning, message and call items that follow each other are one answer of the assistant.
"""

import re
from typing import Any

import msgspec

from thinkaloud.core.canon import Refused
from thinkaloud.core.canon.requests import Image, ToolCall, ToolDefinition, ToolMessage, Verbosity
from thinkaloud.core.dialects.client_request import (
    JSON_OBJECT,
    SYSTEM_ROLES,
    ClientAnswer,
    ClientRequest,
    ClientStep,
    ClientThought,
    decode_request,
    ignored_fields,
    image_from_url,
    joined_message,
    json_text,
    merged_answers,
    paragraphs,
    thinking_level,
    tool_definition,
    unsupported_part,
)

_TEXT_PARTS = ("input_text", "output_text", "text", "summary_text", "reasoning_text")
RESPONSE_PREFIX = "resp_"
_ITEM_ID = re.compile(r"(?:rs|msg|fc|ctc)_(.+)_\d+")
"""The ids of items that `write` makes, with the turn in them."""
TEXT_TOOL_PARAMETERS = '{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}'


class _Part(msgspec.Struct):
    type: str = "text"
    text: str | None = None
    refusal: str | None = None
    image_url: str | None = None


_Content = str | list[_Part] | None


class _Item(msgspec.Struct):
    type: str = "message"
    id: str | None = None
    role: str = ""
    content: _Content = None
    summary: list[_Part] | None = None
    encrypted_content: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: Any = ""
    input: Any = ""
    output: Any = ""


class _ToolFormat(msgspec.Struct):
    type: str = "text"
    syntax: str = ""
    definition: str = ""


class _Tool(msgspec.Struct):
    type: str = "function"
    name: str = ""
    description: str | None = None
    parameters: msgspec.Raw = msgspec.Raw()
    format: _ToolFormat | None = None


class _Reasoning(msgspec.Struct):
    effort: str | None = None


class _TextFormat(msgspec.Struct):
    type: str = ""
    schema: dict[str, Any] | None = None


class _TextOptions(msgspec.Struct):
    format: _TextFormat | None = None
    verbosity: Verbosity | None = None


class _Body(msgspec.Struct):
    model: str
    input: str | list[_Item]
    instructions: str | None = None
    tools: list[_Tool] | None = None
    tool_choice: Any = None
    parallel_tool_calls: bool | None = None
    max_output_tokens: int | None = None
    stream: bool | None = None
    reasoning: _Reasoning | None = None
    temperature: float | None = None
    top_p: float | None = None
    text: _TextOptions | None = None
    previous_response_id: str | None = None
    background: bool | None = None
    store: bool | None = None


_decoder = msgspec.json.Decoder(_Body)


def parse_request(data: bytes) -> ClientRequest:
    """Parse the body of a request."""
    body = decode_request(_decoder, data)
    if body.background:
        raise Refused("`background` is not supported here. Start a turn with POST /api/sessions/ID/turns.")
    items = [_Item(role="user", content=body.input)] if isinstance(body.input, str) else body.input
    system = [_text(item.content) for item in items if item.role in SYSTEM_ROLES]
    functions = [tool for tool in body.tools or () if tool.type == "function"]
    text_tools = [tool for tool in body.tools or () if tool.type == "custom"]
    other_tools = [tool.type for tool in body.tools or () if tool.type not in ("function", "custom")]
    return ClientRequest(
        model=body.model,
        steps=tuple(
            merged_answers(
                _part_of_answer(item) or _input_step(item) for item in items if item.role not in SYSTEM_ROLES
            )
        ),
        system=paragraphs([body.instructions or "", *system]),
        tools=(
            *(tool_definition(tool.name, tool.description, tool.parameters) for tool in functions),
            *(_text_tool(tool) for tool in text_tools),
        ),
        text_tools=frozenset(tool.name for tool in text_tools),
        tool_choice=_tool_choice(body.tool_choice),
        parallel_tool_calls=body.parallel_tool_calls,
        verbosity=body.text.verbosity if body.text else None,
        thinking=thinking_level(body.reasoning.effort if body.reasoning else None),
        max_tokens=body.max_output_tokens,
        temperature=body.temperature,
        top_p=body.top_p,
        output_schema=_output_schema(body.text or _TextOptions()),
        stream=bool(body.stream),
        refers_to_ids=body.store is not False,
        continues=(body.previous_response_id or "").removeprefix(RESPONSE_PREFIX),
        ignored=(
            *ignored_fields(data, _Body),
            *(f"the tool of type {name}" for name in other_tools),
        ),
    )


def _output_schema(options: _TextOptions) -> dict[str, Any] | None:
    if options.format is None:
        return None
    return JSON_OBJECT if options.format.type == "json_object" else options.format.schema


def _text_tool(tool: _Tool) -> ToolDefinition:
    """Return a tool that takes plain text, as one with a single parameter. Words describe its grammar."""
    grammar = tool.format or _ToolFormat()
    rule = f"The input follows this grammar ({grammar.syntax}):\n{grammar.definition}"
    texts = (tool.description or "", rule if grammar.definition else "")
    return ToolDefinition(tool.name, paragraphs(texts), TEXT_TOOL_PARAMETERS)


def _part_of_answer(item: _Item) -> ClientAnswer | None:
    match item.type:
        case "reasoning":
            text = "\n\n".join(part.text or "" for part in item.summary or ()) or _text(item.content)
            return ClientAnswer(thoughts=(ClientThought(text, item.encrypted_content or ""),))
        case "function_call":
            call = ToolCall(item.call_id or "", item.name or "", json_text(item.arguments) or "{}")
            return ClientAnswer(calls=(call,))
        case "custom_tool_call":
            arguments = msgspec.json.encode({"input": item.input}).decode()
            return ClientAnswer(calls=(ToolCall(item.call_id or "", item.name or "", arguments),))
        case "message" if item.role == "assistant":
            return ClientAnswer(_text(item.content))
        case "item_reference":
            if match := _ITEM_ID.fullmatch(item.id or ""):
                return ClientAnswer(turn=match[1])
    return None


def _input_step(item: _Item) -> ClientStep:
    match item.type:
        case "function_call_output" | "custom_tool_call_output":
            return ToolMessage(item.call_id or "", _output_text(item.output), images=_output_images(item))
        case "message" if item.role == "user":
            return joined_message([_text(item.content)], _images(item.content))
    raise Refused(
        "An input item of type {type} cannot be used here. Send messages, function calls and their "
        "outputs, and reasoning.",
        type=repr(item.type[:40]),
    )


def _output_text(output: Any) -> str:
    if not isinstance(output, list):
        return json_text(output)
    texts = [part.get("text") for part in output if isinstance(part, dict)]
    return "\n\n".join(text for text in texts if isinstance(text, str))


def _output_images(item: _Item) -> tuple[Image, ...]:
    if not isinstance(item.output, list):
        return ()
    images = []
    for part in item.output:
        url = part.get("image_url") if isinstance(part, dict) else None
        if isinstance(url, str):
            images.append(image_from_url(url))
    return tuple(images)


def _text(content: _Content) -> str:
    if not isinstance(content, list):
        return content or ""
    return paragraphs(map(_part_text, content))


def _part_text(part: _Part) -> str:
    if part.type == "input_image":
        return ""
    if part.type in _TEXT_PARTS or part.refusal is not None:
        return part.text or part.refusal or ""
    raise unsupported_part(part.type)


def _images(content: _Content) -> list[Image]:
    if not isinstance(content, list):
        return []
    return [image_from_url(part.image_url or "") for part in content if part.type == "input_image"]


def _tool_choice(choice: Any) -> str:
    name = choice.get("name") if isinstance(choice, dict) else choice
    return name if isinstance(name, str) else ""
