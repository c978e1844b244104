"""Builds Gemini Interactions requests: a list of steps, with nothing stored at the provider."""

from typing import assert_never

from thinkaloud.core.canon.requests import AssistantMessage, Message, Request, ToolMessage, UserMessage
from thinkaloud.core.catalog.rows import Route
from thinkaloud.core.dialects.message import join_user_messages
from thinkaloud.core.dialects.request import (
    TOOL_CHOICE_AUTO,
    TOOL_CHOICE_NONE,
    TOOL_CHOICE_REQUIRED,
    JsonDict,
    ProviderRequest,
    call_arguments,
    images_then_text,
    json_request,
    set_at_path,
    set_model_options,
    tool_parameters,
    verbatim_items,
)

_TOOL_CHOICES = {TOOL_CHOICE_AUTO: "auto", TOOL_CHOICE_NONE: "none", TOOL_CHOICE_REQUIRED: "any"}
PARAMETER_PATHS = {
    "max_tokens": "generation_config.max_output_tokens",
    "temperature": "generation_config.temperature",
    "top_p": "generation_config.top_p",
    "stop": "generation_config.stop_sequences",
    "seed": "generation_config.seed",
}


def build_request(route: Route, request: Request) -> ProviderRequest:
    """Encode the request for this dialect."""
    steps: list[object] = [
        step for message in join_user_messages(request.messages) for step in _steps(message)
    ]
    body: JsonDict = {"model": request.model, "input": steps, "store": False}
    if request.system:
        body["system_instruction"] = request.system
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool_parameters(tool),
            }
            for tool in request.tools
        ]
        if request.tool_choice:
            set_at_path(body, "generation_config.tool_choice", _tool_choice(request.tool_choice))
    set_model_options(body, route, request, PARAMETER_PATHS)
    if request.output is not None:
        schema_field: JsonDict = {"schema": request.output.schema} if request.output.schema else {}
        body["response_format"] = {"type": "text", "mime_type": "application/json", **schema_field}
    body["stream"] = request.stream
    return json_request("/interactions", body, request)


def _tool_choice(choice: str) -> object:
    return _TOOL_CHOICES.get(choice) or {"allowed_tools": {"mode": "any", "tools": [choice]}}


def _steps(message: Message) -> list[object]:
    match message:
        case UserMessage():
            return [{"type": "user_input", "content": _user_content(message)}]
        case ToolMessage():
            error_field: JsonDict = {"is_error": True} if message.failed else {}
            result_step: JsonDict = {
                "type": "function_result",
                "call_id": message.call_id,
                "name": message.name,
            }
            return [{**result_step, "result": message.result, **error_field}]
        case AssistantMessage():
            return [*verbatim_items(message)] if message.verbatim else _steps_from_parts(message)
        case _:
            assert_never(message)


def _user_content(message: UserMessage) -> list[JsonDict]:
    images: list[JsonDict] = [
        {"type": "image", "data": image.data, "mime_type": image.media_type} for image in message.images
    ]
    images += [
        {
            "type": "audio" if file.media_type.startswith("audio/") else "document",
            "data": file.data,
            "mime_type": file.media_type,
        }
        for file in message.files
    ]
    return images_then_text(images, message.text, {"type": "text", "text": message.text})


def _steps_from_parts(message: AssistantMessage) -> list[object]:
    text_steps: list[object] = []
    if message.text:
        text_steps = [{"type": "model_output", "content": [{"type": "text", "text": message.text}]}]
    return text_steps + [
        {
            "type": "function_call",
            "id": call.call_id,
            "name": call.name,
            "arguments": call_arguments(call),
        }
        for call in message.calls
    ]
