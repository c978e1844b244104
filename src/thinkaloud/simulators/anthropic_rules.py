"""What Anthropic refuses before it looks at the conversation: key, fields, thinking, sampling."""

from thinkaloud.simulators.anthropic_models import Claude, claude, thinking_type
from thinkaloud.simulators.api import Asked, Refusal, Rule, mapping, names

LEAST_BUDGET = 1024
_FIELDS = names(
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


def _row(asked: Asked) -> Claude:
    return claude(asked.model) or Claude(asked.model, ("disabled",))


def _thinks(asked: Asked) -> bool:
    return thinking_type(asked, _row(asked)) != "disabled"


def bad(message: str) -> Refusal:
    """A refusal of the usual kind."""
    return Refusal(400, message, "invalid_request_error")


def _key(asked: Asked) -> Refusal | None:
    given = asked.headers.get("x-api-key") or asked.bearer
    if asked.opens(given):
        return None
    return Refusal(401, "invalid x-api-key", "authentication_error")


def _version(asked: Asked) -> Refusal | None:
    return None if "anthropic-version" in asked.headers else bad("anthropic-version: header is required")


def _shape(asked: Asked) -> Refusal | None:
    for name in ("model", "max_tokens", "messages"):
        if name not in asked.body:
            return bad(f"{name}: Field required")
    if not isinstance(asked.body["messages"], list) or not asked.body["messages"]:
        return bad("messages: at least one message is required")
    if not isinstance(asked.body["max_tokens"], int) or asked.body["max_tokens"] < 1:
        return bad("max_tokens: Input should be greater than or equal to 1")
    unknown = next((name for name in asked.body if name not in _FIELDS), None)
    return bad(f"{unknown}: Extra inputs are not permitted") if unknown else None


def _model(asked: Asked) -> Refusal | None:
    return None if claude(asked.model) else Refusal(404, f"model: {asked.model}", "not_found_error")


def _thinking_shape(asked: Asked) -> Refusal | None:
    told = asked.body.get("thinking")
    if told is None:
        return None
    kind = str(mapping(told).get("type"))
    if kind not in _THINKING_FIELDS:
        known = ", ".join(f"'{name}'" for name in _THINKING_FIELDS)
        return bad(
            f"thinking: Input tag '{kind}' found using 'type' does not match any of the expected tags: "
            f"{known}"
        )
    unknown = next((name for name in told if name not in _THINKING_FIELDS[kind]), None)
    if unknown:
        return bad(f"thinking.{kind}.{unknown}: Extra inputs are not permitted")
    if str(told.get("display", "omitted")) not in _DISPLAYS:
        return bad(f"thinking.{kind}.display: Input should be 'summarized' or 'omitted'")
    return None


def _thinking_type(asked: Asked) -> Refusal | None:
    kind = thinking_type(asked, _row(asked))
    if "thinking" not in asked.body or kind in _row(asked).types:
        return None
    if "adaptive" in _row(asked).types:
        use = 'Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
    else:
        use = 'Use "thinking.type.enabled" and "thinking.budget_tokens" to control thinking behavior.'
    return bad(f'"thinking.type.{kind}" is not supported for this model. {use}')


def _least_budget(asked: Asked) -> Refusal | None:
    if thinking_type(asked, _row(asked)) != "enabled":
        return None
    budget = asked.body["thinking"].get("budget_tokens")
    if budget is None:
        return bad("thinking.enabled.budget_tokens: Field required")
    if isinstance(budget, int) and budget >= LEAST_BUDGET:
        return None
    return bad(f"thinking.enabled.budget_tokens: Input should be greater than or equal to {LEAST_BUDGET}")


def _most_budget(asked: Asked) -> Refusal | None:
    budget = mapping(asked.body.get("thinking")).get("budget_tokens")
    interleaved = asked.beta("interleaved-thinking-2025-05-14")
    if not isinstance(budget, int) or budget < asked.body["max_tokens"] or interleaved:
        return None
    return bad("`max_tokens` must be greater than `thinking.budget_tokens`.")


def _effort(asked: Asked) -> Refusal | None:
    effort = mapping(asked.body.get("output_config")).get("effort")
    if effort is None:
        return None
    model = _row(asked)
    if effort not in model.efforts:
        return bad(f"output_config.effort: '{effort}' is not supported for this model.")
    kind = thinking_type(asked, model)
    strict = kind == "between_tools" or (kind == "disabled" and model.low_when_off)
    if strict and effort in ("xhigh", "max"):
        return bad(f"output_config.effort: '{effort}' is not supported with \"thinking.type.{kind}\".")
    return None


def _forced_tool(asked: Asked) -> Refusal | None:
    choice = mapping(asked.body.get("tool_choice")).get("type")
    if choice not in ("any", "tool"):
        return None
    if thinking_type(asked, _row(asked)) == "enabled":
        return bad("Thinking may not be enabled when tool_choice forces tool use.")
    if not _row(asked).forced:
        return bad(f'tool_choice.type: "{choice}" is not supported for this model.')
    return None


def _sampling(asked: Asked) -> Refusal | None:
    fixed = not _row(asked).samples
    if not fixed and not _thinks(asked):
        return None
    if asked.body.get("temperature", 1) != 1:
        return bad("`temperature` may only be set to 1 when thinking is enabled.")
    if asked.body.get("top_k") is not None:
        return bad("`top_k` must be unset when thinking is enabled.")
    top_p = asked.body.get("top_p")
    if top_p is not None and not 0.95 <= top_p <= 1:
        return bad("`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.")
    return None


def _prefill(asked: Asked) -> Refusal | None:
    last = mapping(asked.body["messages"][-1])
    if last.get("role") != "assistant":
        return None
    if _row(asked).prefill and not _thinks(asked):
        return None
    return bad(
        "This model does not support assistant message prefill. "
        "The conversation must end with a user message."
    )


def _binding_header(asked: Asked) -> Refusal | None:
    if "block_binding" not in mapping(asked.body.get("thinking")):
        return None
    if asked.beta("thinking-binding-controls-2026-08-01"):
        return None
    return bad("thinking.block_binding: Extra inputs are not permitted")


RULES = (
    Rule("anthropic.key", "no key, or a wrong one", "vendor docs: errors", _key),
    Rule("anthropic.version", "no anthropic-version header", "vendor docs: versioning", _version),
    Rule(
        "anthropic.shape", "a required field is missing, or a field is unknown", "vendor docs: errors", _shape
    ),
    Rule("anthropic.model", "a model that does not exist", "vendor docs: errors", _model),
    Rule(
        "anthropic.thinking-shape",
        "a thinking object with an unknown type or field",
        "SDK types",
        _thinking_shape,
    ),
    Rule("anthropic.binding-header", "block_binding without its beta header", "vendor docs", _binding_header),
    Rule(
        "anthropic.thinking-type",
        "a thinking type that this model does not take",
        "vendor docs",
        _thinking_type,
    ),
    Rule("anthropic.least-budget", "a budget under 1,024 tokens", "SDK types", _least_budget),
    Rule("anthropic.most-budget", "a budget that max_tokens does not exceed", "SDK types", _most_budget),
    Rule("anthropic.effort", "an effort that this model does not take", "pydantic-ai profiles", _effort),
    Rule(
        "anthropic.forced-tool",
        "a forced tool with manual thinking, or on 5.1+ at all",
        "vendor docs",
        _forced_tool,
    ),
    Rule("anthropic.sampling", "sampling that is not the default, while thinking", "vendor docs", _sampling),
    Rule(
        "anthropic.prefill",
        "an assistant message last, on the 5 family or while thinking",
        "vendor docs",
        _prefill,
    ),
)
