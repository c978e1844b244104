"""Kimi: thoughts in `reasoning_content`, wanted back on every message with tool calls."""

from typing import NamedTuple

from thinkaloud.simulators import chat
from thinkaloud.simulators.api import Api, Asked, Json, Lookup, Refusal, Reply, Rule, mapping
from thinkaloud.simulators.chat import (
    calls,
    check_bearer,
    check_calls,
    check_messages,
    messages,
    reasoning_field,
)
from thinkaloud.simulators.script import Answer


class Kimi(NamedTuple):
    """What one model takes."""

    toggle: bool = False
    keep: bool = False
    efforts: tuple[str, ...] = ()
    thinks: bool = True


MODELS = {
    "kimi-k3": Kimi(efforts=("low", "high", "max")),
    "kimi-k2.7-code": Kimi(),
    "kimi-k2.6": Kimi(toggle=True, keep=True),
    "kimi-k2.5": Kimi(toggle=True),
    "kimi-k2-thinking": Kimi(),
    "kimi-k2-0905-preview": Kimi(thinks=False),
}


def _row(asked: Asked) -> Kimi:
    return MODELS.get(asked.model, Kimi())


def _thinks(asked: Asked) -> bool:
    return _row(asked).thinks and mapping(asked.body.get("thinking")).get("type") != "disabled"


def _model(asked: Asked) -> Refusal | None:
    if asked.model in MODELS:
        return None
    return Refusal(404, f"Not found the model {asked.model} or Permission denied", "resource_not_found_error")


def _both(asked: Asked) -> Refusal | None:
    if asked.body.get("thinking") is None or asked.body.get("reasoning_effort") is None:
        return None
    return Refusal(400, "cannot specify both 'thinking' and 'reasoning_effort'")


def _effort(asked: Asked) -> Refusal | None:
    effort = asked.body.get("reasoning_effort")
    if effort is None or effort in _row(asked).efforts:
        return None
    return Refusal(400, f"invalid reasoning_effort: {effort} is not supported by {asked.model}")


def _toggle(asked: Asked) -> Refusal | None:
    told = asked.body.get("thinking")
    if told is None:
        return None
    if not _row(asked).toggle:
        return Refusal(400, f"invalid thinking: {asked.model} does not accept this parameter")
    if mapping(told).get("type") not in ("enabled", "disabled"):
        return Refusal(400, "invalid thinking: type must be one of 'enabled', 'disabled'")
    if told.get("keep") is not None and not _row(asked).keep:
        return Refusal(400, f"invalid thinking: {asked.model} does not accept 'keep'")
    return None


def _sampling(asked: Asked) -> Refusal | None:
    given = asked.body.get("temperature")
    if given in (None, 1) or not _row(asked).thinks:
        return None
    return Refusal(400, "invalid temperature: only 1 is allowed for this model")


def _missing(asked: Asked) -> Refusal | None:
    if not _thinks(asked):
        return None
    for at, message in enumerate(messages(asked)):
        if calls(message) and not isinstance(message.get("reasoning_content"), str):
            words = "thinking is enabled but reasoning_content is missing in assistant tool call message"
            return Refusal(400, f"{words} at index {at}")
    return None


def _answer(asked: Asked, answer: Answer) -> Reply:
    return chat.reply(asked, answer, reasoning_field(answer, "reasoning_content", _thinks(asked)))


def _listed(asked: Asked) -> Json | Refusal:
    return chat.model_list(list(MODELS))


def _error(refusal: Refusal) -> Json:
    kinds = {
        401: "invalid_authentication_error",
        429: "rate_limit_reached_error",
        503: "engine_overloaded_error",
    }
    kind = kinds.get(refusal.status) or refusal.kind or "invalid_request_error"
    return {"error": {"message": refusal.message, "type": kind}}


RULES = (
    Rule("kimi.key", "no key, or a wrong one", "vendor docs: errors", check_bearer),
    Rule("kimi.model", "a model that does not exist", "vendor docs: errors", _model),
    Rule("kimi.messages", "no messages", "vendor docs", check_messages),
    Rule("kimi.both", "thinking and reasoning_effort together", "nanobot#3939", _both),
    Rule("kimi.effort", "an effort that this model does not take", "vendor docs: thinking", _effort),
    Rule("kimi.toggle", "a thinking object that this model does not take", "pydantic-ai profiles", _toggle),
    Rule("kimi.sampling", "a temperature: the platform fixes it", "vendor docs: thinking", _sampling),
    Rule(
        "kimi.missing",
        "a message with tool calls without reasoning_content, while thinking",
        "continue#11600, continue#11711, mastra#12592, kimi-agent-sdk#169",
        _missing,
    ),
    Rule("kimi.calls-open", "a call without its result, or the reverse", "vendor docs", check_calls),
)

API = Api(
    name="kimi",
    base="/v1",
    path=r"/v1/chat/completions",
    rules=RULES,
    hear=chat.hear,
    answer=_answer,
    error=_error,
    interrupted=chat.interrupted,
    lookups=(Lookup("GET", r"/v1/models", _listed),),
)
