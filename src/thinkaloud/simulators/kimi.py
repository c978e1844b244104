"""Kimi: thoughts in `reasoning_content`, required on every message with tool calls."""

from typing import NamedTuple

from thinkaloud.simulators import chat_completions
from thinkaloud.simulators.api import ApiError, ApiRequest, Json, RuleTable, SimulatedResponse, mapping
from thinkaloud.simulators.chat_completions import (
    check_bearer,
    check_calls,
    check_messages,
    forces_tool,
    reasoning_in_field,
    request_messages,
    tool_calls,
)
from thinkaloud.simulators.script import ScriptedAnswer


class KimiModel(NamedTuple):
    """The thinking parameters of one model."""

    toggle_allowed: bool = False
    keep_allowed: bool = False
    efforts: tuple[str, ...] = ()
    thinks: bool = True


MODELS = {
    "kimi-k3": KimiModel(efforts=("low", "high", "max")),
    "kimi-k2.7-code": KimiModel(),
    "kimi-k2.6": KimiModel(toggle_allowed=True, keep_allowed=True),
    "kimi-k2.5": KimiModel(toggle_allowed=True),
    "kimi-k2-thinking": KimiModel(),
    "kimi-k2-0905-preview": KimiModel(thinks=False),
}


def _model_row(request: ApiRequest) -> KimiModel:
    return MODELS.get(request.model, KimiModel())


def _thinking_on(request: ApiRequest) -> bool:
    return _model_row(request).thinks and mapping(request.body.get("thinking")).get("type") != "disabled"


RULES = RuleTable("kimi")
RULES.refuses("key", "missing or wrong key", "vendor docs: errors")(check_bearer)


@RULES.refuses("model", "unknown model", "vendor docs: errors")
def _check_model(request: ApiRequest) -> ApiError | None:
    if request.model in MODELS:
        return None
    return ApiError(
        404, f"Not found the model {request.model} or Permission denied", "resource_not_found_error"
    )


RULES.refuses("messages", "no messages", "vendor docs")(check_messages)


@RULES.refuses("both", "thinking and reasoning_effort together", "nanobot#3939")
def _check_thinking_or_effort(request: ApiRequest) -> ApiError | None:
    if request.body.get("thinking") is None or request.body.get("reasoning_effort") is None:
        return None
    return ApiError(400, "cannot specify both 'thinking' and 'reasoning_effort'")


@RULES.refuses("effort", "an effort that this model does not support", "vendor docs: thinking")
def _check_effort(request: ApiRequest) -> ApiError | None:
    effort = request.body.get("reasoning_effort")
    if effort is None or effort in _model_row(request).efforts:
        return None
    return ApiError(400, f"invalid reasoning_effort: {effort} is not supported by {request.model}")


@RULES.refuses("toggle", "a thinking object that this model does not support", "pydantic-ai profiles")
def _check_toggle(request: ApiRequest) -> ApiError | None:
    thinking = request.body.get("thinking")
    if thinking is None:
        return None
    if not _model_row(request).toggle_allowed:
        return ApiError(400, f"invalid thinking: {request.model} does not accept this parameter")
    if mapping(thinking).get("type") not in ("enabled", "disabled"):
        return ApiError(400, "invalid thinking: type must be one of 'enabled', 'disabled'")
    if thinking.get("keep") is not None and not _model_row(request).keep_allowed:
        return ApiError(400, f"invalid thinking: {request.model} does not accept 'keep'")
    return None


@RULES.refuses("sampling", "a temperature, which the platform fixes", "vendor docs: thinking")
def _check_sampling(request: ApiRequest) -> ApiError | None:
    temperature = request.body.get("temperature")
    if temperature in (None, 1) or not _model_row(request).thinks:
        return None
    return ApiError(400, "invalid temperature: only 1 is allowed for this model")


@RULES.refuses("forced-tool", "a forced tool while thinking", "AstrBot#7805, oh-my-pi#1077")
def _check_forced_tool(request: ApiRequest) -> ApiError | None:
    choice = request.body.get("tool_choice")
    if not _thinking_on(request) or not forces_tool(request):
        return None
    name = f"'{choice}'" if isinstance(choice, str) else "specified"
    return ApiError(400, f"tool_choice {name} is incompatible with thinking enabled")


@RULES.refuses(
    "missing",
    "a message with tool calls without reasoning_content, while thinking",
    "continue#11600, continue#11711, mastra#12592, kimi-agent-sdk#169",
)
def _check_reasoning_returned(request: ApiRequest) -> ApiError | None:
    if not _thinking_on(request):
        return None
    for index, message in enumerate(request_messages(request)):
        if tool_calls(message) and not isinstance(message.get("reasoning_content"), str):
            message_text = (
                "thinking is enabled but reasoning_content is missing in assistant tool call message"
            )
            return ApiError(400, f"{message_text} at index {index}")
    return None


RULES.refuses("calls-open", "a call without its result, or the reverse", "vendor docs")(check_calls)


def _respond(request: ApiRequest, answer: ScriptedAnswer) -> SimulatedResponse:
    return chat_completions.respond(
        request, answer, reasoning_in_field(answer, "reasoning_content", _thinking_on(request))
    )


def _error_body(error: ApiError) -> Json:
    kinds = {
        401: "invalid_authentication_error",
        429: "rate_limit_reached_error",
        503: "engine_overloaded_error",
    }
    kind = kinds.get(error.status) or error.kind or "invalid_request_error"
    return {"error": {"message": error.message, "type": kind}}


API = chat_completions.simulated_api("kimi", tuple(RULES), _respond, MODELS, _error_body)
