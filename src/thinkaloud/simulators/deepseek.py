"""DeepSeek: thoughts in `reasoning_content`, which R1 refuses and V4 requires after a tool call."""

from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from thinkaloud.simulators import chat_completions
from thinkaloud.simulators.api import ApiError, ApiRequest, RuleTable, SimulatedResponse, mapping, objects
from thinkaloud.simulators.chat_completions import (
    check_calls,
    check_json_word,
    check_messages,
    forces_tool,
    reasoning_in_field,
    request_messages,
    tool_calls,
)
from thinkaloud.simulators.output_rules import chat_format
from thinkaloud.simulators.script import ScriptedAnswer

_R1, _V3, _V4 = "r1", "v3", "v4"
MODELS = {
    "deepseek-r1": _R1,
    "deepseek-reasoner": _R1,
    "deepseek-v3.2": _V3,
    "deepseek-chat": _V3,
    "deepseek-flash": _V4,
    "deepseek-v4-flash": _V4,
    "deepseek-v4-pro": _V4,
}
_SEEING_MODELS = {"deepseek-flash"}
_MAX_TOKENS = 393_216
_EFFORTS = {"minimal", "low", "medium", "high", "xhigh", "max", "ultra"}


class ThinkingMode(NamedTuple):
    """The model generation, and whether this request thinks."""

    generation: str
    thinks: bool


def _thinking_mode(request: ApiRequest) -> ThinkingMode:
    generation = MODELS.get(request.model, _V4)
    thinking_type = mapping(request.body.get("thinking")).get("type")
    by_default = generation == _V4 or request.model == "deepseek-reasoner"
    return ThinkingMode(
        generation, generation == _R1 or (thinking_type == "enabled" if thinking_type else by_default)
    )


RULES = RuleTable("deepseek")


@RULES.refuses("key", "missing or wrong key", "vendor docs: error codes")
def _check_key(request: ApiRequest) -> ApiError | None:
    if request.accepts_key(request.bearer):
        return None
    masked_key = f"****{request.bearer[-4:]}"
    return ApiError(
        401, f"Authentication Fails, Your api key: {masked_key} is invalid", "authentication_error"
    )


@RULES.refuses("model", "unknown model", "vendor docs: error codes")
def _check_model(request: ApiRequest) -> ApiError | None:
    return None if request.model in MODELS else ApiError(400, "Model Not Exist", code="invalid_request_error")


RULES.refuses("messages", "no messages", "vendor docs")(check_messages)


@RULES.refuses(
    "text-only",
    "a part of a message that is not text, except images for deepseek-flash",
    "hermes-webui#2297, jcode#310, Zoo-Code#1106; deepseek-harness#6700",
)
def _check_parts(request: ApiRequest) -> ApiError | None:
    allowed = {"text", "image_url"} if request.model in _SEEING_MODELS else {"text"}
    for number, message in enumerate(request_messages(request)):
        kinds = [str(part.get("type")) for part in objects(message.get("content"))]
        unknown = next((kind for kind in kinds if kind not in allowed), None)
        if unknown:
            return ApiError(
                400,
                "Failed to deserialize the JSON body into the target type: "
                f"messages[{number}]: unknown variant `{unknown}`, expected `text`",
                code="invalid_request_error",
            )
    return None


@RULES.refuses("control", "an unknown thinking type or effort", "vendor docs: thinking mode")
def _check_control(request: ApiRequest) -> ApiError | None:
    thinking = request.body.get("thinking")
    if thinking is not None and mapping(thinking).get("type") not in ("enabled", "disabled"):
        return ApiError(400, "Invalid thinking type: expected 'enabled' or 'disabled'", param="thinking")
    effort = request.body.get("reasoning_effort")
    if effort is not None and effort not in _EFFORTS:
        return ApiError(400, f"Invalid reasoning_effort: {effort}", param="reasoning_effort")
    return None


@RULES.refuses("max-tokens", "max_tokens above the output limit of V4", "Clawith#571")
def _check_max_tokens(request: ApiRequest) -> ApiError | None:
    max_tokens = request.body.get("max_tokens")
    if max_tokens is None or MODELS.get(request.model) != _V4 or 1 <= max_tokens <= _MAX_TOKENS:
        return None
    message = f"Invalid max_tokens value, the valid range of max_tokens is [1, {_MAX_TOKENS}]"
    return ApiError(400, message, code="invalid_request_error")


@RULES.refuses(
    "r1-successive", "two user or two assistant messages in a row, for R1", "DeepSeek-R1#21, aider#2974"
)
def _check_successive(request: ApiRequest) -> ApiError | None:
    if MODELS.get(request.model) != _R1:
        return None
    roles = [message.get("role") for message in request_messages(request)]
    for index, (first, second) in enumerate(pairwise(roles)):
        if first == second and first in ("user", "assistant"):
            return ApiError(
                400,
                f"{request.model} does not support successive user or assistant messages (messages[{index}] "
                f"and messages[{index + 1}] in your input). You should interleave the user/assistant "
                "messages in the message sequence.",
                code="invalid_request_error",
            )
    return None


@RULES.refuses("r1-forbidden", "reasoning_content sent to R1", "vendor docs: reasoning model")
def _check_no_reasoning(request: ApiRequest) -> ApiError | None:
    if _thinking_mode(request).generation != _R1:
        return None
    if any("reasoning_content" in message for message in request_messages(request)):
        return ApiError(400, "The reasoning_content is not allowed in the input messages of this model.")
    return None


@RULES.refuses("r1-tools", "tools for R1", "vendor docs: reasoning model")
def _check_no_tools(request: ApiRequest) -> ApiError | None:
    if _thinking_mode(request).generation == _R1 and request.body.get("tools"):
        return ApiError(400, f"{request.model} does not support Function Calling")
    return None


@RULES.refuses(
    "v4-missing",
    "a message with tool calls without reasoning_content, while V4 thinks",
    "opencode#24083, opencode#24722, crewAI#5878",
)
def _check_reasoning_returned(request: ApiRequest) -> ApiError | None:
    mode = _thinking_mode(request)
    if mode.generation != _V4 or not mode.thinks:
        return None
    calling_messages = [message for message in request_messages(request) if tool_calls(message)]
    if all(isinstance(message.get("reasoning_content"), str) for message in calling_messages):
        return None
    return ApiError(400, "The reasoning_content in the thinking mode must be passed back to the API.")


@RULES.refuses("forced-tool", "a forced tool while thinking", "pydantic-ai profiles")
def _check_forced_tool(request: ApiRequest) -> ApiError | None:
    if _thinking_mode(request).thinks and forces_tool(request):
        return ApiError(400, "Thinking mode does not support this tool_choice")
    return None


@RULES.refuses(
    "output",
    "a JSON Schema for the answer, or JSON that no message mentions",
    "inspect_ai#4916, stagehand#1204",
)
def _check_output(request: ApiRequest) -> ApiError | None:
    if chat_format(request).get("type") == "json_schema":
        return ApiError(400, "This response_format type is unavailable now", "invalid_request_error")
    return check_json_word(request)


RULES.refuses("calls-open", "a call without its result, or the reverse", "vendor docs")(check_calls)


def _respond(request: ApiRequest, answer: ScriptedAnswer) -> SimulatedResponse:
    return chat_completions.respond(
        request,
        answer,
        reasoning_in_field(answer, "reasoning_content", _thinking_mode(request).thinks),
        usage_always=True,
    )


_API = chat_completions.simulated_api("deepseek", tuple(RULES), _respond, MODELS, prefix="(?:/v1)?")
API = replace(_API, base_path="")
