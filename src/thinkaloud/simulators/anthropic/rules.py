"""Anthropic's rules that do not depend on the conversation: key, fields, thinking, sampling."""

from thinkaloud.simulators.anthropic.models import ClaudeModel, find_model, thinking_type
from thinkaloud.simulators.api import ApiError, ApiRequest, Json, Rule, mapping, split_names
from thinkaloud.simulators.output_rules import claude_violation

MIN_BUDGET_TOKENS = 1024
_FIELDS = split_names(
    """model max_tokens messages system tools tool_choice thinking output_config temperature top_k
    top_p stop_sequences stream metadata service_tier container mcp_servers context_management
    inference_geo cache_control diagnostics speed compaction fallbacks fallback_credit_token thread
    output_format"""
)
_THINKING_FIELDS = {
    "adaptive": {"type", "display", "block_binding"},
    "enabled": {"type", "display", "budget_tokens", "block_binding"},
    "disabled": {"type"},
    "between_tools": {"type", "block_binding"},
}
_DISPLAYS = {"summarized", "omitted", "updates"}


def _model_row(request: ApiRequest) -> ClaudeModel:
    return find_model(request.model) or ClaudeModel(request.model, ("disabled",))


def _thinking_on(request: ApiRequest) -> bool:
    return thinking_type(request, _model_row(request)) != "disabled"


def invalid_request(message: str) -> ApiError:
    """Return an invalid_request_error."""
    return ApiError(400, message, "invalid_request_error")


def _check_key(request: ApiRequest) -> ApiError | None:
    key = request.headers.get("x-api-key") or request.bearer
    if request.accepts_key(key):
        return None
    return ApiError(401, "invalid x-api-key", "authentication_error")


def _check_version(request: ApiRequest) -> ApiError | None:
    if "anthropic-version" in request.headers:
        return None
    return invalid_request("anthropic-version: header is required")


def _check_shape(request: ApiRequest) -> ApiError | None:
    for name in ("model", "max_tokens", "messages"):
        if name not in request.body:
            return invalid_request(f"{name}: Field required")
    if not isinstance(request.body["messages"], list) or not request.body["messages"]:
        return invalid_request("messages: at least one message is required")
    if not isinstance(request.body["max_tokens"], int) or request.body["max_tokens"] < 1:
        return invalid_request("max_tokens: Input should be greater than or equal to 1")
    for name in request.body:
        if name not in _FIELDS:
            return invalid_request(f"{name}: Extra inputs are not permitted")
    return None


def _check_model(request: ApiRequest) -> ApiError | None:
    return None if find_model(request.model) else ApiError(404, f"model: {request.model}", "not_found_error")


def _check_thinking_shape(request: ApiRequest) -> ApiError | None:
    thinking = request.body.get("thinking")
    if thinking is None:
        return None
    kind = str(mapping(thinking).get("type"))
    if kind not in _THINKING_FIELDS:
        known = ", ".join(f"'{name}'" for name in _THINKING_FIELDS)
        return invalid_request(
            f"thinking: Input tag '{kind}' found using 'type' does not match any of the expected tags: "
            f"{known}"
        )
    unknown = next((name for name in thinking if name not in _THINKING_FIELDS[kind]), None)
    if unknown:
        return invalid_request(f"thinking.{kind}.{unknown}: Extra inputs are not permitted")
    if str(thinking.get("display", "omitted")) not in _DISPLAYS:
        return invalid_request(f"thinking.{kind}.display: Input should be 'summarized' or 'omitted'")
    return None


def _check_thinking_type(request: ApiRequest) -> ApiError | None:
    kind = thinking_type(request, _model_row(request))
    if "thinking" not in request.body or kind in _model_row(request).thinking_types:
        return None
    if "adaptive" in _model_row(request).thinking_types:
        advice = 'Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
    else:
        advice = 'Use "thinking.type.enabled" and "thinking.budget_tokens" to control thinking behavior.'
    return invalid_request(f'"thinking.type.{kind}" is not supported for this model. {advice}')


def _check_min_budget(request: ApiRequest) -> ApiError | None:
    if thinking_type(request, _model_row(request)) != "enabled":
        return None
    budget = request.body["thinking"].get("budget_tokens")
    if budget is None:
        return invalid_request("thinking.enabled.budget_tokens: Field required")
    if isinstance(budget, int) and budget >= MIN_BUDGET_TOKENS:
        return None
    return invalid_request(
        f"thinking.enabled.budget_tokens: Input should be greater than or equal to {MIN_BUDGET_TOKENS}"
    )


def _check_max_budget(request: ApiRequest) -> ApiError | None:
    budget = mapping(request.body.get("thinking")).get("budget_tokens")
    interleaved = request.has_beta("interleaved-thinking-2025-05-14")
    if not isinstance(budget, int) or budget < request.body["max_tokens"] or interleaved:
        return None
    return invalid_request("`max_tokens` must be greater than `thinking.budget_tokens`.")


def _check_output_limit(request: ApiRequest) -> ApiError | None:
    limit, max_tokens = _model_row(request).max_tokens, request.body["max_tokens"]
    if max_tokens <= limit:
        return None
    return invalid_request(
        f"max_tokens: {max_tokens} > {limit}, which is the maximum allowed number of output tokens for "
        f"{request.model}"
    )


def _check_effort(request: ApiRequest) -> ApiError | None:
    effort = mapping(request.body.get("output_config")).get("effort")
    if effort is None:
        return None
    model = _model_row(request)
    if effort not in model.efforts:
        return invalid_request(f"output_config.effort: '{effort}' is not supported for this model.")
    kind = thinking_type(request, model)
    strict = kind == "between_tools" or (kind == "disabled" and model.effort_limited_when_off)
    if strict and effort in ("xhigh", "max"):
        return invalid_request(
            f"output_config.effort: '{effort}' is not supported with \"thinking.type.{kind}\"."
        )
    return None


def _check_forced_tool(request: ApiRequest) -> ApiError | None:
    choice = mapping(request.body.get("tool_choice")).get("type")
    if choice not in ("any", "tool"):
        return None
    if thinking_type(request, _model_row(request)) == "enabled":
        return invalid_request("Thinking may not be enabled when tool_choice forces tool use.")
    if not _model_row(request).forced_tools_allowed:
        return invalid_request(f'tool_choice.type: "{choice}" is not supported for this model.')
    return None


def _check_sampling(request: ApiRequest) -> ApiError | None:
    fixed = not _model_row(request).sampling_allowed
    if not fixed and not _thinking_on(request):
        return None
    if request.body.get("temperature", 1) != 1:
        return invalid_request("`temperature` may only be set to 1 when thinking is enabled.")
    if request.body.get("top_k") is not None:
        return invalid_request("`top_k` must be unset when thinking is enabled.")
    top_p = request.body.get("top_p")
    if top_p is not None and not 0.95 <= top_p <= 1:
        return invalid_request(
            "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled."
        )
    return None


def _check_one_sampling(request: ApiRequest) -> ApiError | None:
    given = [name for name in ("temperature", "top_p") if request.body.get(name) is not None]
    if len(given) < 2 or not _model_row(request).one_sampling:
        return None
    return invalid_request(
        "`temperature` and `top_p` cannot both be specified for this model. Please use only one."
    )


def _check_prefill(request: ApiRequest) -> ApiError | None:
    last = mapping(request.body["messages"][-1])
    if last.get("role") != "assistant":
        return None
    if _model_row(request).prefill_allowed and not _thinking_on(request):
        return None
    return invalid_request(
        "This model does not support assistant message prefill. "
        "The conversation must end with a user message."
    )


def _check_binding_header(request: ApiRequest) -> ApiError | None:
    if "block_binding" not in mapping(request.body.get("thinking")):
        return None
    if request.has_beta("thinking-binding-controls-2026-08-01"):
        return None
    return invalid_request("thinking.block_binding: Extra inputs are not permitted")


def output_schema(request: ApiRequest) -> Json | None:
    """Return the JSON Schema that the answer must match, by its present or its former name."""
    output_format = mapping(request.body.get("output_config")).get("format")
    return mapping(output_format or request.body.get("output_format")).get("schema")


def _check_output(request: ApiRequest) -> ApiError | None:
    schema = output_schema(request)
    if schema is None:
        return None
    if not _model_row(request).structured_outputs:
        return invalid_request(f"'{request.model}' does not support output format.")
    return claude_violation(schema, "output_config.format.schema")


KEY_RULES = (
    Rule("anthropic.key", "missing or wrong key", "vendor docs: errors", _check_key),
    Rule("anthropic.version", "missing anthropic-version header", "vendor docs: versioning", _check_version),
)
RULES = (
    Rule(
        "anthropic.shape",
        "missing or unknown field",
        "vendor docs: errors",
        _check_shape,
    ),
    Rule("anthropic.model", "unknown model", "vendor docs: errors", _check_model),
    Rule(
        "anthropic.thinking-shape",
        "a thinking object with an unknown type or field",
        "SDK types",
        _check_thinking_shape,
    ),
    Rule(
        "anthropic.binding-header",
        "block_binding without its beta header",
        "vendor docs",
        _check_binding_header,
    ),
    Rule(
        "anthropic.thinking-type",
        "a thinking type that this model does not support",
        "vendor docs",
        _check_thinking_type,
    ),
    Rule("anthropic.least-budget", "a budget under 1,024 tokens", "SDK types", _check_min_budget),
    Rule("anthropic.most-budget", "a budget that is not below max_tokens", "SDK types", _check_max_budget),
    Rule(
        "anthropic.max-tokens",
        "max_tokens above the output limit of this model",
        "claude-code#24451, OpenHands#11090",
        _check_output_limit,
    ),
    Rule(
        "anthropic.effort",
        ("an effort that this model does not support"),
        "pydantic-ai profiles",
        _check_effort,
    ),
    Rule(
        "anthropic.forced-tool",
        "a forced tool with manual thinking, or on 5.1+ at all",
        "vendor docs",
        _check_forced_tool,
    ),
    Rule(
        "anthropic.sampling",
        "sampling other than the default while thinking",
        "vendor docs",
        _check_sampling,
    ),
    Rule(
        "anthropic.one-sampling",
        "temperature together with top_p, from Opus 4.1 on",
        "litellm#15097, otoroshi-llm-extension#140",
        _check_one_sampling,
    ),
    Rule(
        "anthropic.output",
        "a schema with open objects or with bounds, or for a model before 4.1",
        "ax#458, req_llm#302, vendor docs: structured outputs",
        _check_output,
    ),
    Rule(
        "anthropic.prefill",
        "a final assistant message, on the 5 family or while thinking",
        "vendor docs",
        _check_prefill,
    ),
)
