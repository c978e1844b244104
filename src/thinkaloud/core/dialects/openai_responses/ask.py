"""Builds OpenAI Responses requests: a list of items, with nothing stored at the provider.

The system prompt is the first item and not `instructions`, because not all providers of this dialect accept
that field.
"""

from typing import assert_never

from thinkaloud.core.canon.requests import AssistantMessage, Message, Request, ToolMessage, UserMessage
from thinkaloud.core.catalog.rows import Route, ThinkingSupport
from thinkaloud.core.dialects.message import CallIdRule, fit_call_ids, join_user_messages
from thinkaloud.core.dialects.request import (
    OUTPUT_NAME,
    TOOL_CHOICE_AUTO,
    TOOL_CHOICE_NONE,
    TOOL_CHOICE_REQUIRED,
    JsonDict,
    ProviderRequest,
    data_url,
    file_name,
    json_request,
    set_at_path,
    set_model_options,
    strict_schema,
    tool_parameters,
    verbatim_items,
)

_CALL_ID_RULE = CallIdRule(r".{1,64}", 24)
_ENCRYPTED_REASONING = "reasoning.encrypted_content"
"""Requests the encrypted reasoning, which must be sent back because the provider stores nothing.

OpenAI refuses it for models that do not reason.
"""
PARAMETER_PATHS = {
    "max_tokens": "max_output_tokens",
    "temperature": "temperature",
    "top_p": "top_p",
    "parallel_tool_calls": "parallel_tool_calls",
}


def build_request(route: Route, request: Request) -> ProviderRequest:
    """Encode the request for this dialect."""
    items: list[object] = [{"role": "system", "content": request.system}] if request.system else []
    for message in join_user_messages(fit_call_ids(request.messages, _CALL_ID_RULE)):
        items += _encode_items(message)
    body: JsonDict = {
        "model": request.model,
        "input": items,
        "store": False,
    }
    if route.model.thinking is not ThinkingSupport.NONE:
        body["include"] = [_ENCRYPTED_REASONING]
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool_parameters(tool),
                "strict": False,
            }
            for tool in request.tools
        ]
        body |= _tool_choice(request.tool_choice)
    set_model_options(body, route, request, PARAMETER_PATHS)
    if request.output is not None:
        set_at_path(body, "text.format", _output_format(request.output.schema))
    if request.cache.key:
        body["prompt_cache_key"] = request.cache.key
    body["stream"] = request.stream
    return json_request("/responses", body, request)


def _output_format(schema: JsonDict | None) -> JsonDict:
    if schema is None:
        return {"type": "json_object"}
    return {"type": "json_schema", "name": OUTPUT_NAME, "schema": schema, "strict": strict_schema(schema)}


def _tool_choice(choice: str) -> JsonDict:
    if not choice:
        return {}
    if choice in (TOOL_CHOICE_AUTO, TOOL_CHOICE_NONE, TOOL_CHOICE_REQUIRED):
        return {"tool_choice": choice}
    return {"tool_choice": {"type": "function", "name": choice}}


def _encode_items(message: Message) -> list[object]:
    match message:
        case UserMessage():
            return [{"role": "user", "content": _user_content(message)}]
        case ToolMessage():
            output = _user_content(UserMessage(message.result, message.images))
            return [{"type": "function_call_output", "call_id": message.call_id, "output": output}]
        case AssistantMessage():
            return [*verbatim_items(message)] if message.verbatim else _items_from_parts(message)
        case _:
            assert_never(message)


def _user_content(message: UserMessage) -> object:
    if not message.images and not message.files:
        return message.text
    parts: list[JsonDict] = [{"type": "input_text", "text": message.text}] if message.text else []
    parts += [
        {"type": "input_image", "image_url": data_url(image), "detail": "auto"} for image in message.images
    ]
    return parts + [
        {"type": "input_file", "filename": file_name(file), "file_data": data_url(file)}
        for file in message.files
    ]


def _items_from_parts(message: AssistantMessage) -> list[object]:
    text_items: list[object] = [{"role": "assistant", "content": message.text}] if message.text else []
    return text_items + [
        {"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": call.arguments}
        for call in message.calls
    ]
