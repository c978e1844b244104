"""Groq: thoughts in `reasoning`, and a strict check of the fields of a request and of its messages."""

from typing import NamedTuple

from thinkaloud.simulators import chat_completions
from thinkaloud.simulators.api import (
    ApiError,
    ApiRequest,
    Rule,
    SimulatedResponse,
    split_names,
)
from thinkaloud.simulators.chat_completions import (
    MESSAGE_FIELDS,
    check_bearer,
    check_calls,
    check_messages,
    reasoning_in_field,
    request_messages,
)
from thinkaloud.simulators.output_rules import chat_format
from thinkaloud.simulators.script import ScriptedAnswer


class GroqModel(NamedTuple):
    """The efforts of one model. A model without efforts does not reason."""

    efforts: tuple[str, ...] = ()
    takes_schema: bool = False


MODELS = {
    "openai/gpt-oss-20b": GroqModel(("low", "medium", "high"), takes_schema=True),
    "openai/gpt-oss-120b": GroqModel(("low", "medium", "high"), takes_schema=True),
    "qwen/qwen3-32b": GroqModel(("none", "default")),
    "llama-3.3-70b-versatile": GroqModel(),
}
_REQUEST_FIELDS = split_names(
    """model messages citation_options compound_custom disable_tool_validation documents exclude_domains
    frequency_penalty function_call functions include_domains include_reasoning logit_bias logprobs
    max_completion_tokens max_tokens metadata n parallel_tool_calls presence_penalty reasoning_effort
    reasoning_format response_format search_settings seed service_tier stop store stream stream_options
    temperature tool_choice tools top_logprobs top_p user"""
)


def _model_row(request: ApiRequest) -> GroqModel:
    return MODELS.get(request.model, GroqModel())


def _check_model(request: ApiRequest) -> ApiError | None:
    if request.model in MODELS:
        return None
    message = f"The model `{request.model}` does not exist or you do not have access to it."
    return ApiError(404, message, "invalid_request_error", "model_not_found")


def _check_fields(request: ApiRequest) -> ApiError | None:
    for name in request.body:
        if name not in _REQUEST_FIELDS:
            return ApiError(400, f"property '{name}' is unsupported")
    return None


def _check_message_fields(request: ApiRequest) -> ApiError | None:
    for index, message in enumerate(request_messages(request)):
        role, path = message.get("role"), f"messages.{index}"
        unknown = next((name for name in message if name not in {*MESSAGE_FIELDS, "reasoning"}), None)
        if unknown:
            return ApiError(
                400,
                f"'{path}' : for 'role:{role}' the following must be satisfied[('{path}' : property "
                f"'{unknown}' is unsupported)]",
            )
        if "reasoning" in message and not _model_row(request).efforts:
            return ApiError(400, f"messages[{index}].reasoning: reasoning is not supported with this model")
    return None


def _check_effort(request: ApiRequest) -> ApiError | None:
    effort, efforts = request.body.get("reasoning_effort"), _model_row(request).efforts
    if effort is None or effort in efforts:
        return None
    if not efforts:
        return ApiError(400, "`reasoning_effort` is not supported with this model", param="reasoning_effort")
    words = "` or `".join(efforts)
    return ApiError(400, f"`reasoning_effort` must be one of `{words}`", param="reasoning_effort")


def _check_format(request: ApiRequest) -> ApiError | None:
    if request.body.get("reasoning_format") is None or request.body.get("include_reasoning") is None:
        return None
    return ApiError(400, "cannot specify both `reasoning_format` and `include_reasoning`")


def _check_output(request: ApiRequest) -> ApiError | None:
    if chat_format(request).get("type") != "json_schema" or _model_row(request).takes_schema:
        return None
    message = "This model does not support response format `json_schema`."
    return ApiError(400, message, param="response_format")


def _respond(request: ApiRequest, answer: ScriptedAnswer) -> SimulatedResponse:
    shown = bool(_model_row(request).efforts) and request.body.get("reasoning_effort") != "none"
    shown = shown and request.body.get("include_reasoning") is not False
    return chat_completions.respond(request, answer, reasoning_in_field(answer, "reasoning", shown))


RULES = (
    Rule("groq.key", "missing or wrong key", "vendor docs: errors", check_bearer),
    Rule("groq.model", "unknown model", "vendor docs: errors", _check_model),
    Rule("groq.messages", "no messages", "vendor docs", check_messages),
    Rule("groq.fields", "an unknown parameter", "musistudio/llms#64, chatbot#21", _check_fields),
    Rule(
        "groq.message-fields",
        "an unknown field in a message, or reasoning for a model that does not reason",
        "jan#8136, freellmapi#1070, vercel/ai#8057",
        _check_message_fields,
    ),
    Rule(
        "groq.effort", "an effort that this model does not support", "vendor docs: reasoning", _check_effort
    ),
    Rule("groq.format", "reasoning_format and include_reasoning", "vendor docs: reasoning", _check_format),
    Rule(
        "groq.output",
        "a JSON Schema for the answer of a model that takes none",
        "vendor docs: structured outputs, Vane#980",
        _check_output,
    ),
    Rule("groq.calls-open", "a call without its result, or the reverse", "vendor docs", check_calls),
)

API = chat_completions.simulated_api("groq", RULES, _respond, MODELS, prefix="/openai/v1")
