"""The body of Gemini Interactions: a list of steps, nothing stored on the other side."""

from typing import assert_never

from thinkaloud.canon.requests import AssistantMessage, Message, Request, ToolMessage, UserMessage
from thinkaloud.catalog.rows import Route
from thinkaloud.dialects.bodies.messages import merged
from thinkaloud.dialects.bodies.outgoing import (
    AUTO,
    NONE,
    REQUIRED,
    Json,
    Outgoing,
    beside,
    outgoing,
    place,
    place_ask,
    raw,
    verbatim_items,
)

NAME = "gemini_interactions"

_CHOICES = {AUTO: "auto", NONE: "none", REQUIRED: "any"}


def write(route: Route, request: Request) -> Outgoing:
    """The request as this dialect says it."""
    steps: list[object] = [step for message in merged(request.messages) for step in _steps(message)]
    body: Json = {"model": request.model, "input": steps, "store": False}
    if request.system:
        body["system_instruction"] = request.system
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": raw(tool.parameters, tool.name),
            }
            for tool in request.tools
        ]
        if request.tool_choice:
            place(body, "generation_config.tool_choice", _choice(request.tool_choice))
    place_ask(body, route, request, max_tokens_at="generation_config.max_output_tokens")
    body["stream"] = request.stream
    return outgoing("/interactions", body)


def _choice(choice: str) -> object:
    return _CHOICES.get(choice) or {"allowed_tools": {"mode": "any", "tools": [choice]}}


def _steps(message: Message) -> list[object]:
    match message:
        case UserMessage():
            return [{"type": "user_input", "content": _content(message)}]
        case ToolMessage():
            failed: Json = {"is_error": True} if message.failed else {}
            told: Json = {"type": "function_result", "call_id": message.call_id, "name": message.name}
            return [{**told, "result": message.result, **failed}]
        case AssistantMessage():
            return [*verbatim_items(message)] if message.verbatim else _plain(message)
        case _:
            assert_never(message)


def _content(message: UserMessage) -> list[Json]:
    pictures: list[Json] = [
        {"type": "image", "data": image.data, "mime_type": image.media_type} for image in message.images
    ]
    return beside(pictures, message.text, {"type": "text", "text": message.text})


def _plain(message: AssistantMessage) -> list[object]:
    told: list[object] = (
        [{"type": "model_output", "content": [{"type": "text", "text": message.text}]}]
        if message.text
        else []
    )
    return told + [
        {
            "type": "function_call",
            "id": call.call_id,
            "name": call.name,
            "arguments": raw(call.arguments, call.name),
        }
        for call in message.calls
    ]
