"""What OpenRouter, or the provider behind it, refuses: details altered, twice or missing, and off."""

from typing import NamedTuple

from thinkaloud.simulators.api import Asked, Json, Refusal, Rule, mapping, objects
from thinkaloud.simulators.chat import calls, check_calls, check_messages, messages
from thinkaloud.simulators.signing import fingerprint

_EFFORTS = ("max", "xhigh", "high", "medium", "low", "minimal", "none")
_FORMATS = {
    "anthropic": "anthropic-claude-v1",
    "openai": "openai-responses-v1",
    "google": "google-gemini-v1",
    "x-ai": "xai-responses-v1",
}
_VENDORS = {*_FORMATS, "deepseek", "qwen", "moonshotai", "z-ai", "minimax", "mistralai", "meta-llama"}


class Route(NamedTuple):
    """What one model takes here."""

    format: str = "unknown"
    reasons: bool = True
    mandatory: bool = False
    on: bool = True
    budget: bool = False


MODELS = {
    "anthropic/claude-sonnet-4.5": Route("anthropic-claude-v1", on=False, budget=True),
    "anthropic/claude-opus-5.5": Route("anthropic-claude-v1", mandatory=True),
    "openai/gpt-4o": Route(reasons=False),
    "openai/gpt-5": Route("openai-responses-v1", mandatory=True),
    "openai/gpt-6-sol": Route("openai-responses-v1"),
    "google/gemini-2.5-flash": Route("google-gemini-v1", budget=True),
    "google/gemini-3-pro-preview": Route("google-gemini-v1", mandatory=True),
    "deepseek/deepseek-r1": Route(mandatory=True),
    "deepseek/deepseek-v4-pro": Route(),
    "x-ai/grok-4": Route("openai-responses-v1", mandatory=True),
    "meta-llama/llama-3.3-70b-instruct": Route(reasons=False),
}


def route(asked: Asked) -> Route:
    """The row of a model; one that is not listed takes what its maker's models take."""
    vendor = asked.model.partition("/")[0]
    return MODELS.get(asked.model.partition(":")[0], Route(_FORMATS.get(vendor, "unknown")))


def reasoning(asked: Asked) -> Json:
    """The reasoning object of the request."""
    return mapping(asked.body.get("reasoning"))


def effort_of(asked: Asked) -> str:
    """The effort asked for; `none` when it is off."""
    told = reasoning(asked)
    effort = told.get("effort") or asked.body.get("reasoning_effort")
    if effort is not None:
        return str(effort)
    if told.get("enabled") is False:
        return "none"
    wanted = told.get("enabled") is True or told.get("max_tokens") is not None
    return "medium" if wanted or route(asked).on else "none"


def _upstream(asked: Asked, raw: str) -> Refusal:
    """A refusal by the provider behind the route."""
    about = {"raw": raw, "provider_name": asked.model.partition("/")[0]}
    return Refusal(400, "Provider returned error", details=(about,))


def _key(asked: Asked) -> Refusal | None:
    if asked.opens(asked.bearer):
        return None
    return Refusal(401, "User not found." if asked.bearer else "No auth credentials found")


def _model(asked: Asked) -> Refusal | None:
    vendor, _, name = asked.model.partition("/")
    return None if name and vendor in _VENDORS else Refusal(400, f"{asked.model} is not a valid model ID")


def _both(asked: Asked) -> Refusal | None:
    told = reasoning(asked)
    if told.get("effort") is None or told.get("max_tokens") is None:
        return None
    return Refusal(400, 'Only one of "reasoning.effort" and "reasoning.max_tokens" may be specified')


def _effort(asked: Asked) -> Refusal | None:
    told, short = reasoning(asked).get("effort"), asked.body.get("reasoning_effort")
    if told is not None and short is not None and told != short:
        return Refusal(400, '"reasoning_effort" and "reasoning.effort" must agree')
    effort = told if told is not None else short
    if effort is None or effort in _EFFORTS:
        return None
    return Refusal(400, f"Invalid reasoning effort '{effort}': expected one of {', '.join(_EFFORTS)}")


def _mandatory(asked: Asked) -> Refusal | None:
    if route(asked).mandatory and effort_of(asked) == "none":
        return Refusal(400, "Reasoning is mandatory for this endpoint and cannot be disabled")
    return None


def _sealed(asked: Asked) -> list[tuple[int, Json, str]]:
    """Every detail that carries a seal: which message, the detail, the seal."""
    found = []
    for at, message in enumerate(messages(asked)):
        for detail in objects(message.get("reasoning_details")):
            seal = detail.get("data") or detail.get("signature")
            if seal:
                found.append((at, detail, str(seal)))
    return found


def _unsigned(asked: Asked) -> Refusal | None:
    for at, message in enumerate(messages(asked)):
        for detail in objects(message.get("reasoning_details")):
            claude = detail.get("format", "anthropic-claude-v1") == "anthropic-claude-v1"
            if claude and detail.get("type") == "reasoning.text" and not detail.get("signature"):
                return _upstream(asked, f"messages.{at}: Invalid `signature` in `thinking` block")
    return None


def _altered(asked: Asked) -> Refusal | None:
    last: tuple[int, int] = (-1, -1)
    for at, detail, seal in _sealed(asked):
        note = asked.secret.open(seal)
        text = detail.get("text", "")
        if note is None or ("signature" in detail and note["text"] != fingerprint(text)):
            return _upstream(
                asked, f"messages.{at}: Invalid signature or encrypted content in reasoning_details"
            )
        here = (at, int(note["index"]))
        if here < last:
            return _upstream(asked, f"messages.{at}: reasoning_details are not in their order")
        last = here
    return None


def _duplicate(asked: Asked) -> Refusal | None:
    seen: set[str] = set()
    for _, detail, seal in _sealed(asked):
        if seal in seen:
            return _upstream(asked, f"Duplicate item found with id {detail.get('id') or seal[:8]}.")
        seen.add(seal)
    return None


def _missing(asked: Asked) -> Refusal | None:
    """A call that this server made after a thought needs that thought's details, `[]` included."""
    if effort_of(asked) == "none":
        return None
    for at, message in enumerate(messages(asked)):
        given = message.get("reasoning_details")
        for call in calls(message):
            issued = asked.memory.items.get(str(call.get("id")))
            if issued is None:
                continue
            seals = [detail for detail in issued["details"] if detail.get("data") or detail.get("signature")]
            kept = [detail for detail in objects(given) if detail.get("data") or detail.get("signature")]
            if given is None or len(kept) < len(seals):
                return _upstream(
                    asked, f"messages.{at}: reasoning_details must be passed back with its tool calls"
                )
    return None


def described(name: str, row: Route) -> Json:
    """A model as the models endpoint tells it."""
    told: Json = {"id": name, "name": name, "created": 0, "context_length": 128000}
    if row.reasons:
        told["reasoning"] = {
            "mandatory": row.mandatory,
            "default_enabled": row.on,
            "default_effort": "medium",
            "supported_efforts": None
            if row.budget
            else list(_EFFORTS if not row.mandatory else _EFFORTS[:-1]),
            "supports_max_tokens": row.budget,
        }
    return told


RULES = (
    Rule("openrouter.key", "no key, or a wrong one", "vendor docs: errors", _key),
    Rule("openrouter.model", "a model that does not exist", "vendor docs: errors", _model),
    Rule("openrouter.messages", "no messages", "vendor docs", check_messages),
    Rule("openrouter.both", "effort and max_tokens together", "vendor docs: reasoning tokens", _both),
    Rule(
        "openrouter.effort", "an unknown effort, or two that differ", "vendor docs: reasoning tokens", _effort
    ),
    Rule("openrouter.mandatory", "off, where reasoning is mandatory", "pydantic-ai profiles", _mandatory),
    Rule(
        "openrouter.unsigned",
        "a Claude thought without a signature",
        "OpenRouterTeam/ai-sdk-provider source",
        _unsigned,
    ),
    Rule("openrouter.duplicate", "the same detail twice", "OpenRouterTeam/ai-sdk-provider#254", _duplicate),
    Rule(
        "openrouter.altered",
        "a detail altered or out of order",
        "vendor docs: preserving reasoning",
        _altered,
    ),
    Rule(
        "openrouter.missing", "a tool turn without its details", "vendor docs: preserving reasoning", _missing
    ),
    Rule("openrouter.calls-open", "a call without its result, or the reverse", "vendor docs", check_calls),
)
