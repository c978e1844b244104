"""Mistral: thoughts as chunks inside the content, call ids of nine characters, a strict order of roles."""

import re
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from thinkaloud.simulators import chat_completions
from thinkaloud.simulators.api import (
    ApiError,
    ApiRequest,
    Json,
    Lookup,
    Rule,
    SimulatedResponse,
    objects,
)
from thinkaloud.simulators.chat_completions import (
    ThoughtParts,
    check_bearer,
    check_calls,
    check_messages,
    request_messages,
    tool_calls,
)
from thinkaloud.simulators.script import ScriptedAnswer, count_tokens, split_words

_CALL_ID = re.compile(r"[A-Za-z0-9]{9}")


class MistralModel(NamedTuple):
    """Whether a model always reasons, or can be asked to by an effort."""

    always_reasons: bool = False
    efforts: tuple[str, ...] = ()

    @property
    def takes_effort(self) -> bool:
        """Whether an effort may be sent."""
        return bool(self.efforts)

    @property
    def reasons(self) -> bool:
        """Whether it can reason at all."""
        return self.always_reasons or self.takes_effort


MODELS = {
    "magistral-medium-2509": MistralModel(always_reasons=True),
    "magistral-medium-latest": MistralModel(always_reasons=True),
    "magistral-small-latest": MistralModel(always_reasons=True),
    "mistral-small-latest": MistralModel(efforts=("none", "high")),
    "mistral-small-2603": MistralModel(efforts=("none", "high")),
    "mistral-medium-3.5": MistralModel(efforts=("none", "high")),
    "mistral-medium-latest": MistralModel(efforts=("none", "high")),
    "mistral-large-4": MistralModel(efforts=("none", "low", "medium", "high")),
    "mistral-large-3": MistralModel(),
    "mistral-large-latest": MistralModel(),
    "devstral-medium-latest": MistralModel(),
}


def _model_row(request: ApiRequest) -> MistralModel:
    return MODELS.get(request.model, MistralModel())


def _check_model(request: ApiRequest) -> ApiError | None:
    if request.model in MODELS:
        return None
    return ApiError(400, f"Invalid model: {request.model}", "invalid_model", "1500")


def _check_effort(request: ApiRequest) -> ApiError | None:
    effort = request.body.get("reasoning_effort")
    if effort is None or effort in _model_row(request).efforts:
        return None
    return ApiError(400, f"reasoning_effort {effort} is not supported for {request.model}")


def _check_call_ids(request: ApiRequest) -> ApiError | None:
    # The ids of all calls are checked before those of the results.
    messages = request_messages(request)
    ids = []
    for message in messages:
        ids += [call.get("id") for call in tool_calls(message)]
    ids += [message.get("tool_call_id") for message in messages if message.get("role") == "tool"]
    for call_id in ids:
        if not _CALL_ID.fullmatch(str(call_id)):
            text = f"Tool call id was {call_id} but must be a-z, A-Z, 0-9, with a length of 9."
            return ApiError(400, text, "invalid_function_call", "3280")
    return None


def _check_empty(request: ApiRequest) -> ApiError | None:
    for message in request_messages(request):
        empty = not message.get("content") and not tool_calls(message)
        if message.get("role") == "assistant" and empty:
            return ApiError(
                400,
                "Assistant message must have either content or tool_calls, but not none.",
                "invalid_request_assistant_message",
                "3240",
            )
    return None


def _check_order(request: ApiRequest) -> ApiError | None:
    roles = [str(message.get("role")) for message in request_messages(request)]
    if ("tool", "user") in pairwise(roles):
        message = "Unexpected role 'user' after role 'tool'"
        return ApiError(400, message, "invalid_request_message_order", "3230")
    if roles[-1] not in ("user", "tool"):
        message = "Expected last role User or Tool (or Assistant with prefix True) for serving but got "
        return ApiError(400, message + roles[-1], "invalid_request_message_order", "3230")
    return None


def _check_result_chunks(request: ApiRequest) -> ApiError | None:
    for message in request_messages(request):
        chunks = objects(message.get("content"))
        if message.get("role") == "tool" and any(chunk.get("type") != "text" for chunk in chunks):
            return ApiError(400, "ToolMessage: content.list[TextChunk].type: Input should be 'text'")
    return None


def _check_reasoning_input(request: ApiRequest) -> ApiError | None:
    if _model_row(request).reasons:
        return None
    chunks = [chunk for message in request_messages(request) for chunk in objects(message.get("content"))]
    if any(chunk.get("type") == "thinking" for chunk in chunks):
        return ApiError(400, "Reasoning input is not enabled for this model")
    return None


def _thought_parts(request: ApiRequest, answer: ScriptedAnswer) -> ThoughtParts:
    row = _model_row(request)
    requested = row.takes_effort and request.body.get("reasoning_effort") == "high"
    if not answer.thoughts or not (row.always_reasons or requested):
        return ThoughtParts()
    text = "" if answer.redacted else "\n\n".join(answer.thoughts)
    deltas = tuple({"content": [_thinking_chunk(piece)]} for piece in split_words(text))
    content = [_thinking_chunk(text) | {"closed": True}]
    if answer.text:
        content.append({"type": "text", "text": answer.text})
    return ThoughtParts(deltas, {"content": content}, tokens=count_tokens(text))


def _thinking_chunk(text: str) -> Json:
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}]}


def _respond(request: ApiRequest, answer: ScriptedAnswer) -> SimulatedResponse:
    return chat_completions.respond(
        request,
        answer,
        _thought_parts(request, answer),
        usage_always=True,
        compact_calls=True,
    )


def _error_body(error: ApiError) -> Json:
    return {
        "object": "error",
        "message": error.message,
        "type": error.kind or "invalid_request_error",
        "param": None,
        "code": error.code,
    }


def _list_models(request: ApiRequest) -> Json | ApiError:
    names = chat_completions.model_list(list(MODELS))
    for item in names["data"]:
        item["capabilities"] = {"reasoning": MODELS[item["id"]].reasons}
    return names


RULES = (
    Rule("mistral.key", "missing or wrong key", "vendor docs: errors", check_bearer),
    Rule("mistral.model", "unknown model", "vendor docs: errors", _check_model),
    Rule("mistral.messages", "no messages", "vendor docs", check_messages),
    Rule(
        "mistral.effort",
        "an effort that this model does not support",
        "vendor docs: reasoning",
        _check_effort,
    ),
    Rule(
        "mistral.call-id", "a call id that is not nine letters and digits", "opencode#1680", _check_call_ids
    ),
    Rule(
        "mistral.order",
        "a user message after a tool result, or an assistant message at the end",
        "litellm#6323, datapizza-ai#98",
        _check_order,
    ),
    Rule("mistral.empty", "an assistant message without content and calls", "OpenHands#8685", _check_empty),
    Rule(
        "mistral.reasoning-input",
        "thoughts sent to a model that does not reason",
        "suitenumerique/conversations#402",
        _check_reasoning_input,
    ),
    Rule(
        "mistral.result-images", "an image in a tool result", "LibreChat-AI/agents#344", _check_result_chunks
    ),
    Rule("mistral.calls-open", "a call without its result, or the reverse", "vendor docs", check_calls),
)

_API = chat_completions.simulated_api("mistral", RULES, _respond, MODELS, _error_body)
API = replace(_API, base_path="", lookups=(Lookup("GET", r"/v1/models", _list_models),))
