"""The body of Anthropic Messages.

Everything on the user's side between two answers is one message, with the results of tools first.
"""

from thinkaloud.canon.requests import AssistantMessage, Image, Request, Tool, ToolMessage, UserMessage
from thinkaloud.catalog.rows import Route
from thinkaloud.dialects.bodies.messages import IdRule, by_turns, fitted, merged
from thinkaloud.dialects.bodies.outgoing import (
    AUTO,
    NONE,
    REQUIRED,
    Json,
    Outgoing,
    beside,
    outgoing,
    picture_format,
    place,
    place_ask,
    raw,
    verbatim,
)

NAME = "anthropic_messages"

_IDS = IdRule(r"[A-Za-z0-9_-]{1,64}", 24)
_PICTURES = ("jpeg", "png", "gif", "webp")
_CHOICES = {AUTO: "auto", NONE: "none", REQUIRED: "any"}
_VERSION = "2023-06-01"
_INTERLEAVED = "interleaved-thinking-2025-05-14"
_UPDATES = "thinking-display-updates-2026-08-18"
_BINDING = "thinking-binding-controls-2026-08-01"
BINDING = "block_binding.prefix_mismatch_behavior"
_MAX_TOKENS = 8192
"""The API demands a number; this one fits every model that it serves."""


def write(route: Route, request: Request) -> Outgoing:
    """The request as this dialect says it."""
    messages = by_turns(merged(fitted(request.messages, _IDS)), _answer, _asked, "content")
    body: Json = {"model": request.model, "max_tokens": _MAX_TOKENS, "messages": messages}
    if request.system:
        body["system"] = request.system
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
        body |= _choice(request.tool_choice)
    place_ask(body, route, request, max_tokens_at="max_tokens")
    if behavior := mismatch_behavior(request):
        place(body, f"thinking.{BINDING}", behavior)
    body["stream"] = request.stream
    return outgoing("/messages", body, _headers(request))


def _tool(tool: Tool) -> Json:
    schema = raw(tool.parameters, tool.name)
    return {"name": tool.name, "description": tool.description, "input_schema": schema}


def _headers(request: Request) -> dict[str, str]:
    version = {"anthropic-version": _VERSION}
    betas = betas_for(request)
    return version | {"anthropic-beta": ",".join(betas)} if betas else version


def betas_for(request: Request) -> list[str]:
    """The betas that this request needs."""
    wanted = {
        _INTERLEAVED: request.ask.mode == "enabled" and bool(request.tools),
        _UPDATES: request.ask.display == "updates",
        _BINDING: bool(mismatch_behavior(request)),
    }
    return [beta for beta, needed in wanted.items() if needed]


def mismatch_behavior(request: Request) -> str:
    """What becomes of a thought whose prefix changed, where the row or the caller says so."""
    return str(dict(request.ask.template).get("block_binding", ""))


def _choice(choice: str) -> Json:
    if not choice:
        return {}
    if choice in _CHOICES:
        return {"tool_choice": {"type": _CHOICES[choice]}}
    return {"tool_choice": {"type": "tool", "name": choice}}


def _answer(message: AssistantMessage) -> object:
    if message.verbatim:
        return verbatim(message)
    content: list[Json] = [{"type": "text", "text": message.text}] if message.text else []
    content += [
        {"type": "tool_use", "id": call.call_id, "name": call.name, "input": raw(call.arguments, call.name)}
        for call in message.calls
    ]
    return {"role": "assistant", "content": content}


def _asked(message: UserMessage | ToolMessage) -> list[Json]:
    if isinstance(message, ToolMessage):
        failed: Json = {"is_error": True} if message.failed else {}
        return [{"type": "tool_result", "tool_use_id": message.call_id, "content": message.result, **failed}]
    pictures = [_picture(image) for image in message.images]
    return beside(pictures, message.text, {"type": "text", "text": message.text})


def _picture(image: Image) -> Json:
    media_type = f"image/{picture_format(image, _PICTURES, NAME)}"
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": image.data}}
