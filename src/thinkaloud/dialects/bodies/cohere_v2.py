"""The body of Cohere chat v2: messages much like Chat Completions, with choices in its own words."""

from typing import assert_never

from thinkaloud.canon import Refused
from thinkaloud.canon.requests import AssistantMessage, Message, Request, ToolMessage, UserMessage
from thinkaloud.catalog.rows import Route
from thinkaloud.dialects.bodies.messages import merged
from thinkaloud.dialects.bodies.openai_chat import called, content, functions
from thinkaloud.dialects.bodies.outgoing import (
    AUTO,
    NONE,
    REQUIRED,
    Json,
    Outgoing,
    outgoing,
    place_ask,
    verbatim,
)

NAME = "cohere_v2"

_CHOICES: dict[str, Json] = {
    "": {},
    AUTO: {},
    NONE: {"tool_choice": "NONE"},
    REQUIRED: {"tool_choice": "REQUIRED"},
}


def write(route: Route, request: Request) -> Outgoing:
    """The request as this dialect says it."""
    messages = [_message(message) for message in merged(request.messages)]
    if request.system:
        messages.insert(0, {"role": "system", "content": request.system})
    body: Json = {"model": request.model, "messages": messages}
    if request.tools:
        body["tools"] = functions(request)
        body |= _choice(request.tool_choice)
    place_ask(body, route, request, max_tokens_at="max_tokens")
    body["stream"] = request.stream
    return outgoing("/chat", body)


def _choice(choice: str) -> Json:
    if choice not in _CHOICES:
        raise Refused(
            f"{NAME} can be made to call some tool, not {choice!r} by name. Nothing was sent. "
            'Say "required" and give it that tool alone.'
        )
    return _CHOICES[choice]


def _message(message: Message) -> object:
    match message:
        case UserMessage():
            return {"role": "user", "content": content(message)}
        case ToolMessage():
            return {"role": "tool", "tool_call_id": message.call_id, "content": message.result}
        case AssistantMessage():
            return verbatim(message) if message.verbatim else _plain(message)
        case _:
            assert_never(message)


def _plain(message: AssistantMessage) -> Json:
    told: Json = {"role": "assistant"}
    if message.text:
        told["content"] = message.text
    if message.calls:
        told["tool_calls"] = [called(call) for call in message.calls]
    return told
