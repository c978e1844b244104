"""Builds OpenAI Chat Completions requests, for all providers of this dialect.

The provider's catalog row says where the thinking fields go; the message says in which field reasoning goes
back.
"""

from collections.abc import Callable
from typing import assert_never

import msgspec

from thinkaloud.core.canon.requests import (
    AssistantMessage,
    File,
    Message,
    Request,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from thinkaloud.core.catalog.rows import Route
from thinkaloud.core.dialects.message import CallIdRule, fit_call_ids, join_user_messages
from thinkaloud.core.dialects.request import (
    OUTPUT_NAME,
    SKIP_SIGNATURE_CHECK,
    TOOL_CHOICE_AUTO,
    TOOL_CHOICE_NONE,
    TOOL_CHOICE_REQUIRED,
    JsonDict,
    ProviderRequest,
    data_url,
    file_name,
    json_request,
    set_model_options,
    strict_schema,
    tool_parameters,
    verbatim_message,
)


class ChatVariant(msgspec.Struct, frozen=True):
    """Further differences between the providers of this dialect."""

    call_id_rule: CallIdRule = CallIdRule(r".{1,40}", 24)
    usage_on_request: bool = True
    """Whether usage must be requested for a stream; a provider that always sends it may reject the option."""
    signs_calls: bool = False
    """Whether a call of another model needs a detail with the placeholder for its missing signature."""


_VARIANTS = {
    "thinking_chunks": ChatVariant(CallIdRule(r"[A-Za-z0-9]{9}", 9), usage_on_request=False),
    "details_signed_calls": ChatVariant(signs_calls=True),
}
"""Variants by the name of the replay rule; `thinking_chunks` is Mistral's."""
_AUDIO_FORMATS = {"audio/mpeg": "mp3", "audio/x-wav": "wav"}
PARAMETER_PATHS = {
    "max_tokens": "max_tokens",
    "temperature": "temperature",
    "top_p": "top_p",
    "stop": "stop",
    "seed": "seed",
    "parallel_tool_calls": "parallel_tool_calls",
}


def build_request(route: Route, request: Request) -> ProviderRequest:
    """Encode the request for this dialect."""
    variant = _VARIANTS.get(route.replay.name, ChatVariant())
    fitted_messages = fit_call_ids(request.messages, variant.call_id_rule)
    messages = [
        _encode_message(message, signs_calls=variant.signs_calls)
        for message in (
            join_user_messages(fitted_messages) if route.provider.joins_messages else fitted_messages
        )
    ]
    if request.system:
        messages.insert(0, {"role": "system", "content": request.system})
    body: JsonDict = {"model": request.model, "messages": messages}
    if request.tools:
        body["tools"] = function_tools(request)
        body |= _tool_choice(request.tool_choice)
    set_model_options(body, route, request, PARAMETER_PATHS)
    if request.output is not None:
        body["response_format"] = _response_format(request.output.schema)
    if request.cache.automatic:
        body["cache_control"] = {"type": "ephemeral"}
    if request.cache.key:
        body["prompt_cache_key"] = request.cache.key
    body["stream"] = request.stream
    if request.stream and variant.usage_on_request:
        body["stream_options"] = {"include_usage": True}
    return json_request("/chat/completions", body, request)


def _response_format(schema: JsonDict | None) -> JsonDict:
    if schema is None:
        return {"type": "json_object"}
    json_schema = {"name": OUTPUT_NAME, "schema": schema, "strict": strict_schema(schema)}
    return {"type": "json_schema", "json_schema": json_schema}


def function_tools(request: Request) -> list[JsonDict]:
    """Encode the tools as functions."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool_parameters(tool),
            },
        }
        for tool in request.tools
    ]


def encode_call(call: ToolCall) -> JsonDict:
    """Encode a call, with its arguments as text."""
    signature_field: JsonDict = (
        {"extra_content": {"google": {"thought_signature": call.signature}}} if call.signature else {}
    )
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.call_id, "type": "function", "function": function, **signature_field}


def user_content(message: UserMessage) -> object:
    """Encode a user message: text, or parts if there are images or files."""
    if not message.images and not message.files:
        return message.text
    parts: list[JsonDict] = [{"type": "text", "text": message.text}] if message.text else []
    parts += [{"type": "image_url", "image_url": {"url": data_url(image)}} for image in message.images]
    return parts + [_file_part(file) for file in message.files]


def _file_part(file: File) -> JsonDict:
    if file.media_type.startswith("audio/"):
        audio = {"data": file.data, "format": _AUDIO_FORMATS.get(file.media_type, file.media_type[6:])}
        return {"type": "input_audio", "input_audio": audio}
    return {"type": "file", "file": {"filename": file_name(file), "file_data": data_url(file)}}


def _tool_choice(choice: str) -> JsonDict:
    if not choice:
        return {}
    if choice in (TOOL_CHOICE_AUTO, TOOL_CHOICE_NONE, TOOL_CHOICE_REQUIRED):
        return {"tool_choice": choice}
    return {"tool_choice": {"type": "function", "function": {"name": choice}}}


def _encode_message(message: Message, *, signs_calls: bool) -> object:
    match message:
        case UserMessage():
            return {"role": "user", "content": user_content(message)}
        case ToolMessage():
            return {"role": "tool", "tool_call_id": message.call_id, "content": message.result}
        case AssistantMessage():
            if message.verbatim:
                return verbatim_message(message)
            placeholder = _placeholder_detail(message) if signs_calls and message.calls else {}
            return message_from_parts(message, encode_call) | placeholder
        case _:
            assert_never(message)


def message_from_parts(message: AssistantMessage, encode: Callable[[ToolCall], JsonDict]) -> JsonDict:
    """Encode an assistant's message that is not the provider's own."""
    fields: JsonDict = {"role": "assistant", "content": message.text}
    if message.reasoning is not None:
        fields[message.reasoning_field] = message.reasoning
    if message.calls:
        fields["tool_calls"] = [encode(call) for call in message.calls]
    return fields


def _placeholder_detail(message: AssistantMessage) -> JsonDict:
    """Return one detail with the placeholder, which has the id of the first call."""
    detail = {
        "type": "reasoning.encrypted",
        "data": SKIP_SIGNATURE_CHECK,
        "id": message.calls[0].call_id,
        "format": "google-gemini-v1",
        "index": 0,
    }
    return {"reasoning_details": [detail]}
