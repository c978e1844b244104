"""Builds Anthropic Messages requests.

All user and tool messages between two answers are one message, with the tool results first.
"""

from typing import Any, cast

from thinkaloud.core.canon.requests import (
    AssistantMessage,
    File,
    Image,
    Request,
    ToolDefinition,
    ToolMessage,
    UserMessage,
)
from thinkaloud.core.catalog.rows import Route
from thinkaloud.core.dialects.anthropic_messages.read import NAME
from thinkaloud.core.dialects.message import (
    CallIdRule,
    alternate_roles,
    fit_call_ids,
    join_user_messages,
    marked_parts,
)
from thinkaloud.core.dialects.request import (
    TOOL_CHOICE_AUTO,
    TOOL_CHOICE_NONE,
    TOOL_CHOICE_REQUIRED,
    JsonDict,
    ProviderRequest,
    call_arguments,
    image_format,
    images_then_text,
    json_request,
    pdf_type,
    set_at_path,
    set_model_options,
    tool_parameters,
    verbatim_message,
)

CALL_ID_RULE = CallIdRule(r"[A-Za-z0-9_-]{1,64}", 24)
_IMAGE_FORMATS = ("jpeg", "png", "gif", "webp")
_TOOL_CHOICES = {TOOL_CHOICE_AUTO: "auto", TOOL_CHOICE_NONE: "none", TOOL_CHOICE_REQUIRED: "any"}
_VERSION = "2023-06-01"
_INTERLEAVED_BETA = "interleaved-thinking-2025-05-14"
_UPDATES_BETA = "thinking-display-updates-2026-08-18"
_BINDING_BETA = "thinking-binding-controls-2026-08-01"
BINDING_PATH = "block_binding.prefix_mismatch_behavior"
_DEFAULT_MAX_TOKENS = 8192
"""The API requires `max_tokens`; every model accepts this value."""
_CACHE_MARK = {"type": "ephemeral"}
_REFUSED_BOUNDS = frozenset(
    [
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "uniqueItems",
        "minProperties",
        "maxProperties",
    ]
)
PARAMETER_PATHS = {
    "max_tokens": "max_tokens",
    "temperature": "temperature",
    "top_p": "top_p",
    "stop": "stop_sequences",
    "parallel_tool_calls": "tool_choice.disable_parallel_tool_use",
}
_SET_WITH_TOOLS = ("parallel_tool_calls",)
"""What is not set at its path like the others: its value is the opposite one, in the tool choice."""
_VALUE_PATHS = {name: path for name, path in PARAMETER_PATHS.items() if name not in _SET_WITH_TOOLS}


def build_request(route: Route, request: Request) -> ProviderRequest:
    """Encode the request for this dialect."""
    messages = alternate_roles(
        join_user_messages(fit_call_ids(request.messages, CALL_ID_RULE)),
        _assistant_message,
        _user_content,
        "content",
    )
    body: JsonDict = {"model": request.model, "max_tokens": _DEFAULT_MAX_TOKENS, "messages": messages}
    if request.system:
        body["system"] = request.system
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
        body |= _tool_choice(request)
    _mark_cache(body, messages, request)
    set_model_options(body, route, request, _VALUE_PATHS)
    if request.output is not None and request.output.schema is not None:
        set_at_path(body, "output_config.format", output_format(request.output.schema))
    if behavior := mismatch_behavior(request):
        set_at_path(body, f"thinking.{BINDING_PATH}", behavior)
    body["stream"] = request.stream
    return json_request("/messages", body, request, _headers(request))


def _mark_cache(body: JsonDict, messages: list[object], request: Request) -> None:
    """Put the cache marks on the last tool, the system prompt and the last parts of messages."""
    if request.cache.tools:
        cast(list[JsonDict], body["tools"])[-1]["cache_control"] = _CACHE_MARK
    if request.cache.system:
        body["system"] = [{"type": "text", "text": request.system, "cache_control": _CACHE_MARK}]
    for parts in marked_parts(messages, request, "content"):
        # The API refuses a mark on an empty text.
        if parts[-1].get("text", "-"):
            parts[-1]["cache_control"] = _CACHE_MARK


def output_format(schema: JsonDict) -> JsonDict:
    """Return the format that makes the answer match a schema."""
    return {"type": "json_schema", "schema": _without_bounds(schema)}


def _without_bounds(node: object) -> Any:
    """Return a schema without the bounds that the API refuses. The answer is checked against all of it."""
    if isinstance(node, list):
        return [_without_bounds(item) for item in node]
    if not isinstance(node, dict):
        return node
    kept: JsonDict = {}
    for name, part in node.items():
        if name == "properties":  # by name: a property may be called like a bound
            kept[name] = {key: _without_bounds(value) for key, value in part.items()}
        elif name not in _REFUSED_BOUNDS:
            kept[name] = _without_bounds(part)
    return kept


def _tool(tool: ToolDefinition) -> JsonDict:
    schema = tool_parameters(tool)
    return {"name": tool.name, "description": tool.description, "input_schema": schema}


def _headers(request: Request) -> dict[str, str]:
    version = {"anthropic-version": _VERSION}
    betas = betas_for(request)
    return version | {"anthropic-beta": ",".join(betas)} if betas else version


def betas_for(request: Request) -> list[str]:
    """Return the beta headers that this request needs."""
    needed_betas = {
        _INTERLEAVED_BETA: request.thinking.mode == "enabled" and bool(request.tools),
        _UPDATES_BETA: request.thinking.display == "updates",
        _BINDING_BETA: bool(mismatch_behavior(request)),
    }
    return [beta for beta, needed in needed_betas.items() if needed]


def mismatch_behavior(request: Request) -> str:
    """Return how the provider handles reasoning whose prefix changed; "" is its default."""
    return str(dict(request.thinking.template).get("block_binding", ""))


def _tool_choice(request: Request) -> JsonDict:
    choice, one_call = request.tool_choice, request.sampling.parallel_tool_calls is False
    if not choice and one_call:
        choice = TOOL_CHOICE_AUTO
    if not choice:
        return {}
    fields: JsonDict = {"type": _TOOL_CHOICES.get(choice, "tool")}
    if choice not in _TOOL_CHOICES:
        fields["name"] = choice
    if one_call and choice != TOOL_CHOICE_NONE:
        fields["disable_parallel_tool_use"] = True
    return {"tool_choice": fields}


def _assistant_message(message: AssistantMessage) -> object:
    if message.verbatim:
        return verbatim_message(message)
    content: list[JsonDict] = [{"type": "text", "text": message.text}] if message.text else []
    content += [
        {
            "type": "tool_use",
            "id": call.call_id,
            "name": call.name,
            "input": call_arguments(call),
        }
        for call in message.calls
    ]
    return {"role": "assistant", "content": content}


def _user_content(message: UserMessage | ToolMessage) -> list[JsonDict]:
    if isinstance(message, ToolMessage):
        error_field: JsonDict = {"is_error": True} if message.failed else {}
        content: object = message.result
        if message.images:
            images = [*map(_image_part, message.images)]
            content = images_then_text(images, message.result, {"type": "text", "text": message.result})
        return [{"type": "tool_result", "tool_use_id": message.call_id, "content": content, **error_field}]
    attached = [*map(_image_part, message.images), *map(_document_part, message.files)]
    return images_then_text(attached, message.text, {"type": "text", "text": message.text})


def _document_part(file: File) -> JsonDict:
    title_field: JsonDict = {"title": file.name} if file.name else {}
    source = {"type": "base64", "media_type": pdf_type(file, NAME), "data": file.data}
    return {"type": "document", "source": source, **title_field}


def _image_part(image: Image) -> JsonDict:
    media_type = f"image/{image_format(image, _IMAGE_FORMATS, NAME)}"
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": image.data}}
