"""Parses requests of Anthropic Messages clients.

The first block of Claude Code's system prompt is a line about billing that differs from request to request.
It is for Anthropic alone and is left out. Blocks of a later system message may withdraw tools or add some.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from thinkaloud.core.canon import Refused
from thinkaloud.core.canon.requests import File, Image, ToolCall, ToolDefinition, ToolMessage
from thinkaloud.core.dialects.client_request import (
    ClientAnswer,
    ClientRequest,
    ClientStep,
    ClientThought,
    Thread,
    checked_image,
    checked_pdf,
    decode_request,
    ignored_fields,
    image_from_url,
    joined_message,
    paragraphs,
    stop_sequences,
    thinking_level,
    tool_definition,
    unsupported_part,
)
from thinkaloud.core.dialects.message import raw_json

BILLING_LINE = "x-anthropic-billing-header:"
_FILE_TYPES = ("image", "document")
MESSAGE_PREFIX = "msg_"
_TOOL_CHOICES = {"auto": "auto", "any": "required", "none": "none"}


class _Source(msgspec.Struct):
    type: str = ""
    media_type: str = ""
    data: str = ""
    url: str = ""


class _Tool(msgspec.Struct):
    name: str
    type: str | None = None
    description: str | None = None
    input_schema: msgspec.Raw = msgspec.Raw()


class _ChangedTool(msgspec.Struct):
    name: str = ""
    definition: _Tool | None = None


class _Block(msgspec.Struct):
    type: str = "text"
    text: str | None = None
    source: _Source | None = None
    title: str | None = None
    thinking: str | None = None
    signature: str | None = None
    data: str | None = None
    id: str | None = None
    name: str | None = None
    input: msgspec.Raw = msgspec.Raw()
    tool_use_id: str | None = None
    content: "str | list[_Block] | None" = None
    is_error: bool | None = None
    tool: _ChangedTool | None = None


class _Message(msgspec.Struct):
    role: str
    content: str | list[_Block]


class _Thread(msgspec.Struct):
    type: Thread
    previous_message_id: str = ""


class _Thinking(msgspec.Struct):
    type: str = ""
    budget_tokens: int | None = None


class _OutputFormat(msgspec.Struct):
    type: str = ""
    schema: dict[str, Any] | None = None


class _OutputConfig(msgspec.Struct):
    effort: str | None = None
    format: _OutputFormat | None = None


class _Body(msgspec.Struct):
    model: str
    messages: list[_Message]
    max_tokens: int | None = None
    system: str | list[_Block] | None = None
    tools: list[_Tool] | None = None
    tool_choice: Any = None
    stream: bool | None = None
    thinking: _Thinking | None = None
    output_config: _OutputConfig | None = None
    output_format: _OutputFormat | None = None
    temperature: float | None = None
    top_p: float | None = None
    stop_sequences: list[str] | None = None
    thread: _Thread | None = None


_decoder = msgspec.json.Decoder(_Body)


def parse_request(data: bytes) -> ClientRequest:
    """Parse the body of a request."""
    body = decode_request(_decoder, data)
    steps = [step for message in body.messages if message.role != "system" for step in _steps(message)]
    later_system = [_joined(message.content) for message in body.messages if message.role == "system"]
    system = (_joined(body.system or ""), *later_system)
    changes = [change for message in body.messages for change in _tool_changes(message)]
    all_tools = [*(body.tools or ()), *(change.definition for _, change in changes if change.definition)]
    server_tools = [tool.name for tool in all_tools if not bytes(tool.input_schema)]
    thread = body.thread or _Thread(Thread.NONE)
    if thread.type is Thread.CONTINUE and not thread.previous_message_id:
        raise Refused("A thread is continued after a response. Send its id as `thread.previous_message_id`.")
    return ClientRequest(
        model=body.model,
        steps=tuple(steps),
        system=paragraphs(system),
        tools=_own_tools(all_tools),
        tool_offers={_changed_name(change): offered for offered, change in changes},
        tool_choice=_tool_choice(body.tool_choice),
        parallel_tool_calls=_parallel_tool_calls(body.tool_choice),
        thinking=_thinking(body),
        max_tokens=body.max_tokens,
        temperature=body.temperature,
        top_p=body.top_p,
        stop=stop_sequences(body.stop_sequences),
        output_schema=_output_schema(body),
        stream=bool(body.stream),
        refers_to_ids=thread.type is not Thread.NONE,
        continues=thread.previous_message_id.removeprefix(MESSAGE_PREFIX),
        thread=thread.type,
        ignored=(
            *ignored_fields(data, _Body),
            *(f"the tool {name[:64]}" for name in server_tools),
        ),
    )


def _tool_changes(message: _Message) -> Iterable[tuple[bool, _ChangedTool]]:
    """Return which tools a system message offers (True) and withdraws."""
    blocks = _blocks(message.content) if message.role == "system" else []
    for block in blocks:
        if block.type in ("tool_addition", "tool_removal") and block.tool is not None:
            yield block.type == "tool_addition", block.tool


def _changed_name(change: _ChangedTool) -> str:
    return change.definition.name if change.definition else change.name


def _own_tools(tools: Iterable[_Tool]) -> tuple[ToolDefinition, ...]:
    """Return the tools that the client runs. A later definition replaces an earlier one of its name."""
    own_tools = [tool for tool in tools if bytes(tool.input_schema)]
    by_name = {
        tool.name: tool_definition(tool.name, tool.description, tool.input_schema) for tool in own_tools
    }
    return tuple(by_name.values())


def _output_schema(body: _Body) -> dict[str, Any] | None:
    output_format = body.output_format
    if body.output_config and body.output_config.format:
        output_format = body.output_config.format
    return output_format.schema if output_format else None


def _thinking(body: _Body) -> str | int | None:
    thinking = body.thinking or _Thinking()
    if thinking.type == "disabled":
        return "off"
    if thinking.budget_tokens:
        return thinking.budget_tokens
    effort = thinking_level(body.output_config.effort if body.output_config else None)
    return effort or ("medium" if thinking.type in ("enabled", "adaptive") else None)


def _blocks(content: str | list[_Block]) -> list[_Block]:
    return [_Block(text=content)] if isinstance(content, str) else content


def _joined(content: str | list[_Block]) -> str:
    texts = [block.text or "" for block in _blocks(content)]
    return paragraphs(text for text in texts if not text.startswith(BILLING_LINE))


def _steps(message: _Message) -> Iterable[ClientStep]:
    blocks = _blocks(message.content)
    match message.role:
        case "assistant":
            yield _answer(blocks)
        case "user":
            for block in blocks:
                if block.type == "tool_result":
                    yield _tool_message(block)
            texts = [_text(block) for block in blocks if block.type not in ("tool_result", *_FILE_TYPES)]
            images = [_image(block) for block in blocks if block.type == "image"]
            files = [_document(block) for block in blocks if block.type == "document"]
            if any(texts) or images or files:
                yield joined_message(texts, images, files)
        case _:
            raise Refused("Unknown role {role}. Use user or assistant.", role=repr(message.role[:40]))


def _answer(blocks: list[_Block]) -> ClientAnswer:
    texts: list[str] = []
    calls: list[ToolCall] = []
    thoughts: list[ClientThought] = []
    for block in blocks:
        match block.type:
            case "thinking":
                thoughts.append(ClientThought(block.thinking or "", block.signature or ""))
            case "redacted_thinking":
                thoughts.append(ClientThought("", block.data or ""))
            case "tool_use":
                calls.append(ToolCall(block.id or "", block.name or "", raw_json(block.input) or "{}"))
            case _:
                texts.append(_text(block))
    return ClientAnswer("".join(texts), tuple(calls), tuple(thoughts))


def _tool_message(block: _Block) -> ToolMessage:
    texts = []
    images = []
    for part in _blocks(block.content or ""):
        if part.type == "image":
            images.append(_image(part))
        else:
            texts.append(_result_text(part))
    return ToolMessage(
        block.tool_use_id or "", "\n\n".join(texts), failed=bool(block.is_error), images=tuple(images)
    )


def _result_text(part: _Block) -> str:
    # Refused, it would stop the conversation for good: a client sends the result with every later request.
    return f"({part.type[:40]}: not passed on)" if part.text is None else part.text


def _text(block: _Block) -> str:
    if block.text is None:
        raise unsupported_part(block.type)
    return block.text


def _image(block: _Block) -> Image:
    source = block.source or _Source()
    if source.url:
        return image_from_url(source.url)
    return checked_image(source.media_type, source.data)


def _document(block: _Block) -> File:
    source = block.source or _Source()
    if source.type == "text":
        raise unsupported_part("document with text")
    return checked_pdf(source.data, block.title or "")


def _tool_choice(choice: Any) -> str:
    if not isinstance(choice, dict):
        return ""
    name = choice.get("name")
    if choice.get("type") == "tool" and isinstance(name, str):
        return name
    return _TOOL_CHOICES.get(str(choice.get("type")), "")


def _parallel_tool_calls(choice: Any) -> bool | None:
    if not isinstance(choice, dict):
        return None
    disabled = choice.get("disable_parallel_tool_use")
    return not disabled if isinstance(disabled, bool) else None
