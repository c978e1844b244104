"""The body of OpenAI Responses: a list of items, nothing stored on the other side.

The system prompt is the first item and not `instructions`, which not everyone who speaks this dialect takes.
"""

from typing import assert_never

from thinkaloud.canon.requests import AssistantMessage, Message, Request, ToolMessage, UserMessage
from thinkaloud.catalog.rows import Route
from thinkaloud.dialects.bodies.messages import IdRule, fitted, merged
from thinkaloud.dialects.bodies.outgoing import (
    AUTO,
    NONE,
    REQUIRED,
    Json,
    Outgoing,
    data_url,
    outgoing,
    place_ask,
    raw,
    verbatim_items,
)

NAME = "openai_responses"

_IDS = IdRule(r".{1,64}", 24)
_PAYLOAD = "reasoning.encrypted_content"
"""What makes a thought readable again where nothing is stored."""


def write(route: Route, request: Request) -> Outgoing:
    """The request as this dialect says it."""
    items: list[object] = [{"role": "system", "content": request.system}] if request.system else []
    for message in merged(fitted(request.messages, _IDS)):
        items += _items(message)
    body: Json = {"model": request.model, "input": items, "store": False, "include": [_PAYLOAD]}
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": raw(tool.parameters, tool.name),
                "strict": False,
            }
            for tool in request.tools
        ]
        body |= _choice(request.tool_choice)
    place_ask(body, route, request, max_tokens_at="max_output_tokens")
    body["stream"] = request.stream
    return outgoing("/responses", body)


def _choice(choice: str) -> Json:
    if not choice:
        return {}
    if choice in (AUTO, NONE, REQUIRED):
        return {"tool_choice": choice}
    return {"tool_choice": {"type": "function", "name": choice}}


def _items(message: Message) -> list[object]:
    match message:
        case UserMessage():
            return [{"role": "user", "content": _content(message)}]
        case ToolMessage():
            return [{"type": "function_call_output", "call_id": message.call_id, "output": message.result}]
        case AssistantMessage():
            return [*verbatim_items(message)] if message.verbatim else _plain(message)
        case _:
            assert_never(message)


def _content(message: UserMessage) -> object:
    if not message.images:
        return message.text
    parts: list[Json] = [{"type": "input_text", "text": message.text}] if message.text else []
    return parts + [
        {"type": "input_image", "image_url": data_url(image), "detail": "auto"} for image in message.images
    ]


def _plain(message: AssistantMessage) -> list[object]:
    told: list[object] = [{"role": "assistant", "content": message.text}] if message.text else []
    return told + [
        {"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": call.arguments}
        for call in message.calls
    ]
