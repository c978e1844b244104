"""vLLM: thoughts in `reasoning`, or as tags in the text if the model name contains `raw` or `prefilled`.

Every model name is served, except names that start with `missing`.
"""

from thinkaloud.simulators import chat_completions
from thinkaloud.simulators.api import ApiError, ApiRequest, Json, RuleTable, SimulatedResponse, mapping
from thinkaloud.simulators.chat_completions import (
    ThoughtParts,
    check_messages,
    check_result_parts,
    reasoning_in_field,
)
from thinkaloud.simulators.script import ScriptedAnswer, count_tokens

MODELS = ["qwen3-8b", "qwen3-8b-raw", "qwen3.5-9b-prefilled", "gpt-oss-20b", "llama-3.1-8b"]
_EFFORTS = {"none", "minimal", "low", "medium", "high", "xhigh", "max"}


def _thinking_on(request: ApiRequest) -> bool:
    if "llama" in request.model:
        return False
    template = mapping(request.body.get("chat_template_kwargs"))
    enabled = template.get("enable_thinking", template.get("thinking"))
    return bool(enabled) if enabled is not None else request.body.get("reasoning_effort") != "none"


RULES = RuleTable("vllm")


@RULES.refuses("key", "a wrong key, or none where one is configured", "vendor docs: serving")
def _check_key(request: ApiRequest) -> ApiError | None:
    """Require a key only if the server was started with one."""
    if request.key is None and not request.bearer.startswith("bad"):
        return None
    return (
        None if request.accepts_key(request.bearer) else ApiError(401, "Unauthorized", "AuthenticationError")
    )


@RULES.refuses("model", "a model that is not served", "vLLM source: serving models")
def _check_model(request: ApiRequest) -> ApiError | None:
    if request.model and not request.model.startswith("missing"):
        return None
    return ApiError(404, f"The model `{request.model}` does not exist.", "NotFoundError", param="model")


RULES.refuses("messages", "no messages", "vLLM source: protocol")(check_messages)


@RULES.refuses("effort", "an effort that this model does not support", "vLLM source: gpt-oss")
def _check_effort(request: ApiRequest) -> ApiError | None:
    effort = request.body.get("reasoning_effort")
    supported = {"low", "medium", "high"} if "gpt-oss" in request.model else _EFFORTS
    if effort is None or effort in supported:
        return None
    supported_text = ", ".join(f"'{one}'" for one in sorted(supported))
    return ApiError(
        400, f"reasoning_effort='{effort}' is not supported by this model; it takes {supported_text}."
    )


RULES.refuses("result-images", "an image in a tool result", "vllm#43203")(check_result_parts)


def _respond(request: ApiRequest, answer: ScriptedAnswer) -> SimulatedResponse:
    text = "" if answer.redacted else "\n\n".join(answer.thoughts)
    if not _thinking_on(request) or not text:
        return chat_completions.respond(request, answer, ThoughtParts())
    if "raw" in request.model or "prefilled" in request.model:
        opening_tag = "" if "prefilled" in request.model else "<think>\n"
        return chat_completions.respond(
            request,
            answer,
            ThoughtParts(tagged_text=f"{opening_tag}{text}\n</think>\n\n", tokens=count_tokens(text)),
        )
    shown = request.body.get("include_reasoning", True) is not False
    return chat_completions.respond(request, answer, reasoning_in_field(answer, "reasoning", shown))


def _error_body(error: ApiError) -> Json:
    kinds = {429: "RateLimitError", 503: "ServiceUnavailableError"}
    kind = error.kind or kinds.get(error.status, "BadRequestError")
    detail = {"message": error.message, "type": kind, "param": error.param, "code": error.status}
    return {"error": detail}


API = chat_completions.simulated_api("vllm", tuple(RULES), _respond, MODELS, _error_body)
