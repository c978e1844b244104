"""The body of OpenAI Chat Completions, for everyone who speaks it.

Where a provider takes what is asked of the model is in its row; where it takes thoughts back, in the message.
"""

from typing import assert_never

import msgspec

from thinkaloud.canon.requests import AssistantMessage, Call, Message, Request, ToolMessage, UserMessage
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
    verbatim,
)

NAME = "openai_chat"


class Manner(msgspec.Struct, frozen=True):
    """What else differs between those who speak this dialect."""

    ids: IdRule = IdRule(r".{1,40}", 24)
    usage_on_request: bool = True
    """Whether a stream must be asked for its counts; who gives them anyway may refuse to be asked."""


_MANNERS = {"thinking_chunks": Manner(IdRule(r"[A-Za-z0-9]{9}", 9), usage_on_request=False)}
"""By the name of the replay rule, which tells whose messages these are."""


def write(route: Route, request: Request) -> Outgoing:
    """The request as this dialect says it."""
    manner = _MANNERS.get(route.replay.name, Manner())
    told = fitted(request.messages, manner.ids)
    messages = [_message(message) for message in (merged(told) if route.provider.joins_messages else told)]
    if request.system:
        messages.insert(0, {"role": "system", "content": request.system})
    body: Json = {"model": request.model, "messages": messages}
    if request.tools:
        body["tools"] = functions(request)
        body |= _choice(request.tool_choice)
    place_ask(body, route, request, max_tokens_at="max_tokens")
    body["stream"] = request.stream
    if request.stream and manner.usage_on_request:
        body["stream_options"] = {"include_usage": True}
    return outgoing("/chat/completions", body)


def functions(request: Request) -> list[Json]:
    """The tools as functions, each wrapped in its type."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": raw(tool.parameters, tool.name),
            },
        }
        for tool in request.tools
    ]


def called(call: Call) -> Json:
    """A call with its arguments as text."""
    signed: Json = (
        {"extra_content": {"google": {"thought_signature": call.signature}}} if call.signature else {}
    )
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.call_id, "type": "function", "function": function, **signed}


def content(message: UserMessage) -> object:
    """What a person said: text, or parts where there are pictures."""
    if not message.images:
        return message.text
    parts: list[Json] = [{"type": "text", "text": message.text}] if message.text else []
    return parts + [{"type": "image_url", "image_url": {"url": data_url(image)}} for image in message.images]


def _choice(choice: str) -> Json:
    if not choice:
        return {}
    if choice in (AUTO, NONE, REQUIRED):
        return {"tool_choice": choice}
    return {"tool_choice": {"type": "function", "function": {"name": choice}}}


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
    told: Json = {"role": "assistant", "content": message.text}
    if message.reasoning is not None:
        told[message.reasoning_field] = message.reasoning
    if message.calls:
        told["tool_calls"] = [called(call) for call in message.calls]
    return told
