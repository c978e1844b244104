"""The body of Gemini generateContent.

Signatures travel on the parts of the model's own message. A call that another model made has none; where the
rule demands one, the mark that Google documents for such history stands on the first call of each step.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from thinkaloud.canon.requests import AssistantMessage, Message, Request, ToolMessage, UserMessage
from thinkaloud.catalog.rows import Route, Sent
from thinkaloud.dialects.bodies.messages import by_turns, merged
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
    quoted,
    raw,
    verbatim,
)

NAME = "gemini"

_MODES = {AUTO: "AUTO", NONE: "NONE", REQUIRED: "ANY"}
_UNSIGNED = "skip_thought_signature_validator"


def write(route: Route, request: Request) -> Outgoing:
    """The request as this dialect says it."""
    body: Json = {"contents": by_turns(_marked(route, merged(request.messages)), _answer, _asked, "parts")}
    if request.system:
        body["systemInstruction"] = {"parts": [{"text": request.system}]}
    if request.tools:
        declared = [
            {
                "name": tool.name,
                "description": tool.description,
                "parametersJsonSchema": raw(tool.parameters, tool.name),
            }
            for tool in request.tools
        ]
        body["tools"] = [{"functionDeclarations": declared}]
        body |= _choice(request.tool_choice)
    place_ask(body, route, request, max_tokens_at="generationConfig.maxOutputTokens")
    if request.ask.display and "display" in route.provider.places:
        place(body, route.provider.places["display"], True)
    call = "streamGenerateContent?alt=sse" if request.stream else "generateContent"
    return outgoing(f"/models/{quoted(request.model.removeprefix('models/'))}:{call}", body)


def _choice(choice: str) -> Json:
    if not choice:
        return {}
    config: Json = {"mode": _MODES.get(choice, "ANY")}
    if choice not in _MODES:
        config["allowedFunctionNames"] = [choice]
    return {"toolConfig": {"functionCallingConfig": config}}


def _marked(route: Route, messages: Sequence[Message]) -> list[Message]:
    """The same messages; where the rule demands signatures, steps whose first call has none are marked."""
    if route.replay.required is Sent.NONE:
        return [*messages]
    return [_mark(message) for message in messages]


def _mark(message: Message) -> Message:
    if not isinstance(message, AssistantMessage) or not message.calls or message.calls[0].signature:
        return message
    first, *others = message.calls
    return replace(message, calls=(replace(first, signature=_UNSIGNED), *others))


def _answer(message: AssistantMessage) -> object:
    if message.verbatim:
        return verbatim(message)
    parts: list[Json] = [{"text": message.text}] if message.text else []
    for call in message.calls:
        function = {"id": call.call_id, "name": call.name, "args": raw(call.arguments, call.name)}
        signed: Json = {"thoughtSignature": call.signature} if call.signature else {}
        parts.append({"functionCall": function, **signed})
    return {"role": "model", "parts": parts}


def _asked(message: UserMessage | ToolMessage) -> list[Json]:
    if isinstance(message, ToolMessage):
        named: Json = {"id": message.call_id} if message.call_id else {}
        response = {"error" if message.failed else "output": message.result}
        return [{"functionResponse": {**named, "name": message.name, "response": response}}]
    pictures: list[Json] = [
        {"inlineData": {"mimeType": image.media_type, "data": image.data}} for image in message.images
    ]
    return beside(pictures, message.text, {"text": message.text})
