"""What Cohere's Chat API refuses. Most messages are those of the list in its documentation."""

from collections.abc import Iterator
from typing import NamedTuple

from thinkaloud.simulators.api import ApiError, ApiRequest, Json, Rule, mapping, objects, split_names
from thinkaloud.simulators.chat_completions import request_messages, tool_calls
from thinkaloud.simulators.output_rules import chat_format


class CohereModel(NamedTuple):
    """Whether a model reasons and sees images, and how much it reads."""

    context_tokens: int
    reasons: bool = False
    sees: bool = False


MODELS = {
    "command-a-plus-05-2026": CohereModel(128_000, reasons=True, sees=True),
    "command-a-reasoning-08-2025": CohereModel(256_000, reasons=True),
    "command-a-vision-07-2025": CohereModel(128_000, sees=True),
    "command-a-03-2025": CohereModel(256_000),
    "command-r-plus-08-2024": CohereModel(128_000),
    "command-r-08-2024": CohereModel(128_000),
    "command-r7b-12-2024": CohereModel(128_000),
}
_REQUEST_FIELDS = split_names(
    """citation_options documents frequency_penalty k logprobs max_tokens messages model p presence_penalty
    priority response_format safety_mode seed stop_sequences stream strict_tools temperature thinking
    tool_choice tools"""
)
_FUNCTION_FIELDS = split_names("name description parameters")
_CALL_FIELDS = split_names("id type function")
_MESSAGE_FIELDS = {
    "system": split_names("role content"),
    "user": split_names("role content"),
    "assistant": split_names("role content tool_calls tool_plan citations"),
    "tool": split_names("role content tool_call_id"),
}
_RANGES = {
    "temperature": (0, 1),
    "p": (0.01, 0.99),
    "k": (0, 500),
    "frequency_penalty": (0, 1),
    "presence_penalty": (0, 1),
}
_MAX_STOP_SEQUENCES = 5


def model_row(request: ApiRequest) -> CohereModel:
    """Return what is known of the requested model."""
    return MODELS.get(request.model, CohereModel(128_000))


def _check_key(request: ApiRequest) -> ApiError | None:
    if request.accepts_key(request.bearer):
        return None
    return ApiError(401, "invalid api token" if request.bearer else "no api key supplied")


def _check_model(request: ApiRequest) -> ApiError | None:
    if request.model in MODELS:
        return None
    if not request.model:
        return ApiError(400, "a model parameter is required for this endpoint.")
    reason = "make sure the correct model ID was used and that you have access to the model."
    return ApiError(404, f"model '{request.model}' not found, {reason}")


def _check_messages(request: ApiRequest) -> ApiError | None:
    if request_messages(request):
        return None
    return ApiError(400, "invalid request: list of messages must not be empty")


def _unknown_fields(request: ApiRequest) -> Iterator[str]:
    yield from (name for name in request.body if name not in _REQUEST_FIELDS)
    for tool in objects(request.body.get("tools")):
        yield from (name for name in tool if name not in ("type", "function"))
        yield from (name for name in mapping(tool.get("function")) if name not in _FUNCTION_FIELDS)
    for message in request_messages(request):
        known = _MESSAGE_FIELDS.get(str(message.get("role")), frozenset())
        yield from (name for name in message if name not in known)
        for call in tool_calls(message):
            yield from (name for name in call if name not in _CALL_FIELDS)


def _check_fields(request: ApiRequest) -> ApiError | None:
    name = next(_unknown_fields(request), None)
    if name is None:
        return None
    hint = "For proper usage, please refer to https://docs.cohere.com/reference/chat"
    return ApiError(422, f"unknown field: parameter '{name}' is not a valid field. {hint}")


def _check_thinking(request: ApiRequest) -> ApiError | None:
    thinking = mapping(request.body.get("thinking"))
    if thinking.get("type", "enabled") not in ("enabled", "disabled"):
        return ApiError(400, "invalid request: thinking.type must be one of 'enabled' or 'disabled'.")
    budget = thinking.get("token_budget", 1)
    if isinstance(budget, int) and budget > 0:
        return None
    return ApiError(400, "invalid request: thinking.token_budget must be a positive integer.")


def _check_sampling(request: ApiRequest) -> ApiError | None:
    for name, (least, most) in _RANGES.items():
        value = request.body.get(name)
        if isinstance(value, int | float) and not least <= value <= most:
            return ApiError(400, f"invalid request: {name} must be between {least} and {most} inclusive.")
    if len(request.body.get("stop_sequences") or ()) > _MAX_STOP_SEQUENCES:
        return ApiError(400, f"invalid request: at most {_MAX_STOP_SEQUENCES} stop_sequences are allowed.")
    return None


def _check_tool_choice(request: ApiRequest) -> ApiError | None:
    choice = request.body.get("tool_choice")
    if choice not in (None, "REQUIRED", "NONE"):
        return ApiError(400, "invalid request: tool_choice must be one of 'REQUIRED' or 'NONE'.")
    if choice == "REQUIRED" and not request.body.get("tools"):
        return ApiError(400, "invalid request: tools must be passed with tool_choice 'REQUIRED'.")
    return None


def _check_output(request: ApiRequest) -> ApiError | None:
    output_format = chat_format(request)
    if output_format.get("type") != "json_object":
        return None
    other = next((name for name in ("tools", "documents") if request.body.get(name)), None)
    if other:
        return ApiError(400, f"invalid request: response_format is not supported with {other}.")
    schema = mapping(output_format.get("json_schema") or output_format.get("schema"))
    if schema.get("type", "object") != "object":
        return ApiError(400, "schema must be an object")
    properties = mapping(schema.get("properties"))
    missing = next((name for name in schema.get("required") or () if name not in properties), None)
    return None if missing is None else ApiError(400, f"required field {missing} not found in properties")


def _check_system_first(request: ApiRequest) -> ApiError | None:
    roles = [message.get("role") for message in request_messages(request)]
    return ApiError(400, "system turn must be the first in the list") if "system" in roles[1:] else None


def _check_empty(request: ApiRequest) -> ApiError | None:
    for message in request_messages(request):
        empty = not message.get("content") and not tool_calls(message)
        if empty and message.get("role") != "tool":
            return ApiError(400, "message must not be empty in a turn")
    return None


def _parts(request: ApiRequest, role: str) -> list[Json]:
    messages = [message for message in request_messages(request) if message.get("role") == role]
    return [part for message in messages for part in objects(message.get("content"))]


def _check_images(request: ApiRequest) -> ApiError | None:
    if model_row(request).sees or all(part.get("type") != "image_url" for part in _parts(request, "user")):
        return None
    return ApiError(400, f"invalid request: image inputs are not supported by the model '{request.model}'.")


def _check_result_parts(request: ApiRequest) -> ApiError | None:
    kinds = [part.get("type") for part in _parts(request, "tool")]
    if all(kind in ("text", "document") for kind in kinds):
        return None
    return ApiError(400, "invalid request: tool content must be of type text or document.")


def _check_call_ids(request: ApiRequest) -> ApiError | None:
    calls = [call for message in request_messages(request) for call in tool_calls(message)]
    if any(call.get("type") != "function" for call in calls):
        return ApiError(400, "tool call must be of type function")
    ids = [call.get("id") for call in calls]
    return ApiError(400, "cannot have duplicate tool ids") if len(set(map(str, ids))) < len(ids) else None


def _check_calls(request: ApiRequest) -> ApiError | None:
    waiting: list[object] = []
    for message in [*request_messages(request), {"role": "end"}]:
        if message.get("role") == "tool":
            if not message.get("tool_call_id"):
                return ApiError(400, "tool call id must be provided with tool message")
            if message["tool_call_id"] not in waiting:
                return ApiError(400, "tool call id not found in previous tool calls")
            waiting.remove(message["tool_call_id"])
        elif waiting:
            names = ", ".join(map(str, waiting))
            return ApiError(400, f"invalid request: tool calls without a tool message: {names}")
        else:
            waiting = [call.get("id") for call in tool_calls(message)]
    return None


RULES = (
    Rule("cohere.key", "missing or wrong key", "vendor docs: errors", _check_key),
    Rule("cohere.model", "unknown model", "vendor docs: errors", _check_model),
    Rule("cohere.messages", "no messages", "vendor docs: chat", _check_messages),
    Rule(
        "cohere.fields",
        "an unknown field of the request, of a tool or of a message",
        "agno#3503, openrouter-examples#71, cohere-ai/notebooks#226",
        _check_fields,
    ),
    Rule(
        "cohere.thinking",
        "an unknown thinking type, or a budget that is not positive",
        "vendor docs: chat, SDK types",
        _check_thinking,
    ),
    Rule(
        "cohere.sampling",
        "a sampling parameter out of its range, or more than five stop sequences",
        "vendor docs: chat, errors",
        _check_sampling,
    ),
    Rule(
        "cohere.tool-choice",
        "a tool choice other than REQUIRED and NONE, or REQUIRED without tools",
        "vendor docs: chat, bifrost#55",
        _check_tool_choice,
    ),
    Rule(
        "cohere.output",
        "JSON together with tools or documents, or a schema that is no object or needs an unknown field",
        "vendor docs: chat, errors",
        _check_output,
    ),
    Rule(
        "cohere.system-first",
        "a system message that is not the first",
        "vendor docs: errors",
        _check_system_first,
    ),
    Rule("cohere.empty", "a message without content and calls", "vendor docs: errors", _check_empty),
    Rule(
        "cohere.images",
        "an image for a model that does not see",
        "vendor docs: models, pydantic-ai#7646",
        _check_images,
    ),
    Rule(
        "cohere.result-parts",
        "a part of a tool result that is neither text nor a document",
        "SDK types",
        _check_result_parts,
    ),
    Rule(
        "cohere.call-id",
        "two calls with one id, or a call that is not of a function",
        "vendor docs: errors",
        _check_call_ids,
    ),
    Rule(
        "cohere.calls-open",
        "a call without its result, or the reverse",
        "vendor docs: errors, agentdojo#200",
        _check_calls,
    ),
)
