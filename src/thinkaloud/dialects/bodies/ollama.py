"""The body of Ollama's own chat: pictures beside the text, arguments as objects, no way to force a tool."""

from typing import assert_never

from thinkaloud.canon import Refused
from thinkaloud.canon.requests import AssistantMessage, Message, Request, ToolMessage, UserMessage
from thinkaloud.catalog.rows import Route
from thinkaloud.dialects.bodies.messages import merged
from thinkaloud.dialects.bodies.openai_chat import functions
from thinkaloud.dialects.bodies.outgoing import (
    AUTO,
    NONE,
    Json,
    Outgoing,
    outgoing,
    place_ask,
    raw,
    verbatim,
)

NAME = "ollama"


def write(route: Route, request: Request) -> Outgoing:
    """The request as this dialect says it."""
    if request.tool_choice not in ("", AUTO, NONE):
        raise Refused(
            f"{NAME} cannot be made to call a tool, and {request.tool_choice!r} asks for that. "
            "Nothing was sent. Leave tool_choice out, or use a provider that can."
        )
    messages = [_message(message) for message in merged(request.messages)]
    if request.system:
        messages.insert(0, {"role": "system", "content": request.system})
    body: Json = {"model": request.model, "messages": messages}
    if request.tools and request.tool_choice != NONE:
        body["tools"] = functions(request)
    place_ask(body, route, request, max_tokens_at="options.num_predict")
    body["stream"] = request.stream
    return outgoing("/api/chat", body)


def _message(message: Message) -> object:
    match message:
        case UserMessage():
            pictures: Json = {"images": [image.data for image in message.images]} if message.images else {}
            return {"role": "user", "content": message.text, **pictures}
        case ToolMessage():
            named: Json = {"tool_call_id": message.call_id} if message.call_id else {}
            return {"role": "tool", "tool_name": message.name, "content": message.result, **named}
        case AssistantMessage():
            return verbatim(message) if message.verbatim else _plain(message)
        case _:
            assert_never(message)


def _plain(message: AssistantMessage) -> Json:
    told: Json = {"role": "assistant", "content": message.text}
    if message.reasoning is not None:
        told[message.reasoning_field] = message.reasoning
    if message.calls:
        told["tool_calls"] = [
            {
                "id": call.call_id,
                "function": {"name": call.name, "arguments": raw(call.arguments, call.name)},
            }
            for call in message.calls
        ]
    return told
