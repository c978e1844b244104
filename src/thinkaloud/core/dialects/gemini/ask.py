"""Builds Gemini generateContent requests.

Signatures are on the parts of the model's own message. A call by another model has none; if the replay rule
requires one, the first call of each step gets the placeholder that Google documents for such history.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from thinkaloud.core.canon.requests import (
    AssistantMessage,
    File,
    Image,
    Message,
    Request,
    ToolMessage,
    UserMessage,
)
from thinkaloud.core.catalog.rows import ReplayScope, Route
from thinkaloud.core.dialects.message import (
    EARLIER_LEFT_OUT,
    alternate_roles,
    join_user_messages,
    starts_with_answer,
)
from thinkaloud.core.dialects.request import (
    SKIP_SIGNATURE_CHECK,
    TOOL_CHOICE_AUTO,
    TOOL_CHOICE_NONE,
    TOOL_CHOICE_REQUIRED,
    JsonDict,
    ProviderRequest,
    call_arguments,
    images_then_text,
    json_request,
    quote_path_segment,
    set_at_path,
    set_model_options,
    tool_parameters,
    verbatim_message,
)

_TOOL_CHOICE_MODES = {TOOL_CHOICE_AUTO: "AUTO", TOOL_CHOICE_NONE: "NONE", TOOL_CHOICE_REQUIRED: "ANY"}
PARAMETER_PATHS = {
    "max_tokens": "generationConfig.maxOutputTokens",
    "temperature": "generationConfig.temperature",
    "top_p": "generationConfig.topP",
    "stop": "generationConfig.stopSequences",
    "seed": "generationConfig.seed",
}


def build_request(route: Route, request: Request) -> ProviderRequest:
    """Encode the request for this dialect."""
    contents = alternate_roles(
        _with_placeholder_signatures(route, join_user_messages(request.messages)),
        _assistant_message,
        _user_content,
        "parts",
        results_apart=True,
    )
    if starts_with_answer(request.messages):
        contents.insert(0, {"role": "user", "parts": [{"text": EARLIER_LEFT_OUT}]})
    body: JsonDict = {"contents": contents}
    if request.system:
        body["systemInstruction"] = {"parts": [{"text": request.system}]}
    if request.tools:
        declarations = [
            {
                "name": tool.name,
                "description": tool.description,
                "parametersJsonSchema": tool_parameters(tool),
            }
            for tool in request.tools
        ]
        body["tools"] = [{"functionDeclarations": declarations}]
        body |= _tool_choice(request.tool_choice)
    set_model_options(body, route, request, PARAMETER_PATHS)
    if request.output is not None:
        set_at_path(body, "generationConfig.responseMimeType", "application/json")
        if request.output.schema is not None:
            set_at_path(body, "generationConfig.responseJsonSchema", request.output.schema)
    if request.thinking.display and "display" in route.provider.places:
        set_at_path(body, route.provider.places["display"], True)
    method = "streamGenerateContent?alt=sse" if request.stream else "generateContent"
    return json_request(
        f"/models/{quote_path_segment(request.model.removeprefix('models/'))}:{method}", body, request
    )


def _tool_choice(choice: str) -> JsonDict:
    if not choice:
        return {}
    config: JsonDict = {"mode": _TOOL_CHOICE_MODES.get(choice, "ANY")}
    if choice not in _TOOL_CHOICE_MODES:
        config["allowedFunctionNames"] = [choice]
    return {"toolConfig": {"functionCallingConfig": config}}


def _with_placeholder_signatures(route: Route, messages: Sequence[Message]) -> list[Message]:
    """Add the placeholder to messages whose first call has no signature, if the replay rule requires one."""
    if route.replay.required is ReplayScope.NONE:
        return [*messages]
    return [_with_placeholder_signature(message) for message in messages]


def _with_placeholder_signature(message: Message) -> Message:
    if not isinstance(message, AssistantMessage) or not message.calls or message.calls[0].signature:
        return message
    first_call, *other_calls = message.calls
    return replace(message, calls=(replace(first_call, signature=SKIP_SIGNATURE_CHECK), *other_calls))


def _assistant_message(message: AssistantMessage) -> object:
    if message.verbatim:
        return verbatim_message(message)
    parts: list[JsonDict] = [{"text": message.text}] if message.text else []
    for call in message.calls:
        function = {"id": call.call_id, "name": call.name, "args": call_arguments(call)}
        signature_field: JsonDict = {"thoughtSignature": call.signature} if call.signature else {}
        parts.append({"functionCall": function, **signature_field})
    return {"role": "model", "parts": parts}


def _user_content(message: UserMessage | ToolMessage) -> list[JsonDict]:
    if isinstance(message, ToolMessage):
        id_field: JsonDict = {"id": message.call_id} if message.call_id else {}
        response = {"error" if message.failed else "output": message.result}
        images_field: JsonDict = {"parts": [*map(_inline_data, message.images)]} if message.images else {}
        return [
            {"functionResponse": {**id_field, "name": message.name, "response": response, **images_field}}
        ]
    images = [*map(_inline_data, message.images), *map(_inline_data, message.files)]
    return images_then_text(images, message.text, {"text": message.text})


def _inline_data(part: Image | File) -> JsonDict:
    return {"inlineData": {"mimeType": part.media_type, "data": part.data}}
