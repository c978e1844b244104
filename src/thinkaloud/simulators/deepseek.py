"""DeepSeek: thoughts in `reasoning_content`, which R1 must never see again and V4 must after a tool call."""

from typing import NamedTuple

from thinkaloud.simulators import chat
from thinkaloud.simulators.api import Api, Asked, Json, Lookup, Refusal, Reply, Rule, mapping
from thinkaloud.simulators.chat import (
    calls,
    check_calls,
    check_messages,
    forced_tool,
    messages,
    reasoning_field,
)
from thinkaloud.simulators.script import Answer

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
_EFFORTS = {"minimal", "low", "medium", "high", "xhigh", "max", "ultra"}


class Mode(NamedTuple):
    """Which generation's rules hold, and whether this request thinks."""

    generation: str
    thinks: bool


def _mode(asked: Asked) -> Mode:
    generation = MODELS.get(asked.model, _V4)
    told = mapping(asked.body.get("thinking")).get("type")
    by_default = generation == _V4 or asked.model == "deepseek-reasoner"
    return Mode(generation, generation == _R1 or (told == "enabled" if told else by_default))


def _key(asked: Asked) -> Refusal | None:
    if asked.opens(asked.bearer):
        return None
    shown = f"****{asked.bearer[-4:]}"
    return Refusal(401, f"Authentication Fails, Your api key: {shown} is invalid", "authentication_error")


def _model(asked: Asked) -> Refusal | None:
    return None if asked.model in MODELS else Refusal(400, "Model Not Exist", code="invalid_request_error")


def _control(asked: Asked) -> Refusal | None:
    told = asked.body.get("thinking")
    if told is not None and mapping(told).get("type") not in ("enabled", "disabled"):
        return Refusal(400, "Invalid thinking type: expected 'enabled' or 'disabled'", param="thinking")
    effort = asked.body.get("reasoning_effort")
    if effort is not None and effort not in _EFFORTS:
        return Refusal(400, f"Invalid reasoning_effort: {effort}", param="reasoning_effort")
    return None


def _forbidden(asked: Asked) -> Refusal | None:
    if _mode(asked).generation != _R1:
        return None
    if any("reasoning_content" in message for message in messages(asked)):
        return Refusal(400, "The reasoning_content is not allowed in the input messages of this model.")
    return None


def _no_tools(asked: Asked) -> Refusal | None:
    if _mode(asked).generation == _R1 and asked.body.get("tools"):
        return Refusal(400, f"{asked.model} does not support Function Calling")
    return None


def _missing(asked: Asked) -> Refusal | None:
    mode = _mode(asked)
    if mode.generation != _V4 or not mode.thinks:
        return None
    called = [message for message in messages(asked) if calls(message)]
    if all(isinstance(message.get("reasoning_content"), str) for message in called):
        return None
    return Refusal(400, "The reasoning_content in the thinking mode must be passed back to the API.")


def _forced(asked: Asked) -> Refusal | None:
    if _mode(asked).thinks and forced_tool(asked):
        return Refusal(400, "Thinking mode does not support this tool_choice")
    return None


def _answer(asked: Asked, answer: Answer) -> Reply:
    return chat.reply(
        asked, answer, reasoning_field(answer, "reasoning_content", _mode(asked).thinks), usage_always=True
    )


def _listed(asked: Asked) -> Json | Refusal:
    return chat.model_list(list(MODELS))


RULES = (
    Rule("deepseek.key", "no key, or a wrong one", "vendor docs: error codes", _key),
    Rule("deepseek.model", "a model that does not exist", "vendor docs: error codes", _model),
    Rule("deepseek.messages", "no messages", "vendor docs", check_messages),
    Rule(
        "deepseek.control",
        "a thinking type or an effort that does not exist",
        "vendor docs: thinking mode",
        _control,
    ),
    Rule("deepseek.r1-forbidden", "reasoning_content sent to R1", "vendor docs: reasoning model", _forbidden),
    Rule("deepseek.r1-tools", "tools for R1", "vendor docs: reasoning model", _no_tools),
    Rule(
        "deepseek.v4-missing",
        "a message with tool calls without reasoning_content, while V4 thinks",
        "opencode#24083, opencode#24722, crewAI#5878",
        _missing,
    ),
    Rule("deepseek.forced-tool", "a forced tool while thinking", "pydantic-ai profiles", _forced),
    Rule("deepseek.calls-open", "a call without its result, or the reverse", "vendor docs", check_calls),
)

API = Api(
    name="deepseek",
    base="",
    path=r"(?:/v1)?/chat/completions",
    rules=RULES,
    hear=chat.hear,
    answer=_answer,
    error=chat.error,
    interrupted=chat.interrupted,
    lookups=(Lookup("GET", r"(?:/v1)?/models", _listed),),
)
