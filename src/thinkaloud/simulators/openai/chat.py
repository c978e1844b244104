"""OpenAI Chat Completions: the model reasons, the usage counts it, and none of it is shown."""

from dataclasses import replace

from thinkaloud.simulators import chat_completions
from thinkaloud.simulators.api import (
    ApiError,
    ApiRequest,
    RuleTable,
    SimulatedResponse,
    split_names,
)
from thinkaloud.simulators.chat_completions import (
    MESSAGE_FIELDS,
    ThoughtParts,
    check_calls,
    check_json_word,
    check_messages,
    check_result_parts,
    request_messages,
    tool_calls,
)
from thinkaloud.simulators.openai import models as openai_models
from thinkaloud.simulators.openai.models import (
    check_effort,
    check_key,
    check_model,
    check_verbosity,
    find_model,
    invalid_request,
    request_effort,
)
from thinkaloud.simulators.output_rules import chat_format, strict_violation
from thinkaloud.simulators.script import ScriptedAnswer, count_tokens

MAX_CALL_ID_CHARS = 40
_REQUEST_FIELDS = split_names(
    """model messages audio frequency_penalty function_call functions logit_bias logprobs
    max_completion_tokens max_tokens metadata modalities moderation n parallel_tool_calls prediction
    presence_penalty prompt_cache_key prompt_cache_options prompt_cache_retention reasoning_effort
    response_format safety_identifier seed service_tier stop store stream stream_options temperature
    tool_choice tools top_logprobs top_p user verbosity web_search_options"""
)


RULES = RuleTable("openai-chat")
RULES.refuses("key", "missing or wrong key", "vendor docs: error codes")(check_key)
RULES.refuses("model", "unknown model", "vendor docs: error codes")(check_model)
RULES.refuses("messages", "no messages", "SDK types")(check_messages)


@RULES.refuses("fields", "an unknown parameter", "SDK types")
def _check_fields(request: ApiRequest) -> ApiError | None:
    for name in request.body:
        if name not in _REQUEST_FIELDS:
            return invalid_request(f"Unknown parameter: '{name}'.", "unknown_parameter", name)
    return None


@RULES.refuses("message-fields", "an unknown field in a message", "cc-switch#2365")
def _check_message_fields(request: ApiRequest) -> ApiError | None:
    for index, message in enumerate(request_messages(request)):
        unknown = next((name for name in message if name not in MESSAGE_FIELDS), None)
        if unknown:
            name = f"messages[{index}].{unknown}"
            return invalid_request(f"Unknown parameter: '{name}'.", "unknown_parameter", name)
    return None


@RULES.refuses("effort", "an effort that this model does not support", "vendor docs: reasoning")
def _check_effort(request: ApiRequest) -> ApiError | None:
    return check_effort(request, "reasoning_effort", request.body.get("reasoning_effort"))


RULES.refuses("verbosity", "a length of the answer that this model does not support", "big-AGI#947")(
    check_verbosity
)


@RULES.refuses("sampling", "a temperature while reasoning", "@ai-sdk/openai")
def _check_sampling(request: ApiRequest) -> ApiError | None:
    if request_effort(request) == "none" or request.body.get("temperature") in (None, 1):
        return None
    message = (
        f"Unsupported value: 'temperature' does not support {request.body['temperature']} with this model. "
        "Only the default (1) value is supported."
    )
    return invalid_request(message, "unsupported_value", "temperature")


@RULES.refuses("stop", "stop on a model that always reasons", "n8n#18149, smolagents#1671")
def _check_stop(request: ApiRequest) -> ApiError | None:
    row = find_model(request.model)
    if not row or not row.efforts or "none" in row.efforts or request.body.get("stop") is None:
        return None
    message = "Unsupported parameter: 'stop' is not supported with this model."
    return invalid_request(message, "unsupported_parameter", "stop")


@RULES.refuses("call-id", "a call id of more than 40 characters", "camel#2215, autogen#6377")
def _check_call_ids(request: ApiRequest) -> ApiError | None:
    for index, message in enumerate(request_messages(request)):
        for number, call in enumerate(tool_calls(message)):
            if len(str(call.get("id"))) > MAX_CALL_ID_CHARS:
                name = f"messages[{index}].tool_calls[{number}].id"
                return invalid_request(
                    f"Invalid '{name}': string too long. Expected a string with maximum length "
                    f"{MAX_CALL_ID_CHARS}.",
                    "string_above_max_length",
                    name,
                )
    return None


@RULES.refuses("max-tokens", "max_tokens on a reasoning model", "vendor docs: reasoning")
def _check_max_tokens(request: ApiRequest) -> ApiError | None:
    row = find_model(request.model)
    if not row or not row.efforts or request.body.get("max_tokens") is None:
        return None
    message = "Unsupported parameter: 'max_tokens' is not supported with this model."
    message += " Use 'max_completion_tokens' instead."
    return invalid_request(message, "unsupported_parameter", "max_tokens")


@RULES.refuses("tools", "tools while GPT-5.6 reasons", "@ai-sdk/openai")
def _check_tools_with_reasoning(request: ApiRequest) -> ApiError | None:
    row = find_model(request.model)
    if not row or row.chat_tools or not request.body.get("tools") or request_effort(request) == "none":
        return None
    message = (
        f"Function tools with reasoning_effort are not supported for {request.model} in "
        "/v1/chat/completions. "
        "Please use /v1/responses instead."
    )
    return invalid_request(message, None, "reasoning_effort")


@RULES.refuses(
    "output",
    "a strict schema with open objects or optional fields, or JSON that no message mentions",
    "xsai#202, outlines#844, vendor docs: structured outputs",
)
def _check_output(request: ApiRequest) -> ApiError | None:
    return strict_violation(chat_format(request), "response_format") or check_json_word(request)


RULES.refuses("result-images", "an image in a tool result", "OpenHands#7700")(check_result_parts)
RULES.refuses("calls-open", "a call without its result, or the reverse", "vendor docs")(check_calls)


def _respond(request: ApiRequest, answer: ScriptedAnswer) -> SimulatedResponse:
    reasons = request_effort(request) != "none"
    return chat_completions.respond(
        request, answer, ThoughtParts(tokens=count_tokens(*answer.thoughts) if reasons else 0)
    )


_API = chat_completions.simulated_api("openai-chat", tuple(RULES), _respond, (), openai_models.error_body)
API = replace(_API, lookups=openai_models.LOOKUPS)
