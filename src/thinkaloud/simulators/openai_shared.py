"""What OpenAI's two interfaces share: models and their efforts, the key, and the shape of an error."""

import re
from typing import NamedTuple

from thinkaloud.simulators.api import Asked, Json, Refusal, mapping

_DATE = re.compile(r"-\d{4}-\d{2}-\d{2}$")
_THREE = ("low", "medium", "high")


class Gpt(NamedTuple):
    """What one model takes; no efforts is a model that does not reason."""

    id: str
    efforts: tuple[str, ...] = ()
    default: str = "medium"
    chat_tools: bool = True


def _rows() -> list[Gpt]:
    off = ("none", *_THREE)
    later = (*off, "xhigh")
    newest = (*later, "max")
    rows = [Gpt(name) for name in ("gpt-4o", "gpt-4o-mini", "gpt-4.1", "gpt-4.1-mini", "gpt-5-chat-latest")]
    rows += [Gpt(name, _THREE) for name in ("o1", "o3", "o3-mini", "o4-mini")]
    rows += [Gpt(name, ("minimal", *_THREE)) for name in ("gpt-5", "gpt-5-mini", "gpt-5-nano")]
    rows += [Gpt("gpt-5-pro", ("high",), "high"), Gpt("gpt-5.1", off, "none")]
    rows += [Gpt(name, later, "none") for name in ("gpt-5.2", "gpt-5.3", "gpt-5.4")]
    rows += [Gpt(f"gpt-{number}-pro", ("medium", "high", "xhigh")) for number in ("5.2", "5.4", "5.5")]
    rows += [Gpt(f"gpt-{number}-chat-latest", ("medium",)) for number in ("5.1", "5.2", "5.3", "5.4")]
    rows += [Gpt("gpt-5.5", later)]
    rows += [Gpt(f"gpt-5.6-{name}", newest, chat_tools=False) for name in ("sol", "terra", "luna")]
    rows += [Gpt(name, newest) for name in ("gpt-6-sol", "gpt-6-luna", "gpt-6.1-terra")]
    rows += [Gpt(name, newest[1:]) for name in ("gpt-6-astra", "gpt-6.1-sol")]
    return rows


MODELS = {row.id: row for row in _rows()}


def gpt(name: str) -> Gpt | None:
    """The row of a model, by its id with or without a date."""
    return MODELS.get(name) or MODELS.get(_DATE.sub("", name))


def bad(message: str, code: str | None = None, param: str | None = None) -> Refusal:
    """A refusal of the usual kind."""
    return Refusal(400, message, "invalid_request_error", code, param)


def check_key(asked: Asked) -> Refusal | None:
    """Refuses a missing or wrong key."""
    if asked.opens(asked.bearer):
        return None
    if not asked.bearer:
        return Refusal(401, "You didn't provide an API key.", "invalid_request_error")
    shown = f"{asked.bearer[:3]}{'*' * 8}{asked.bearer[-4:]}"
    return Refusal(401, f"Incorrect API key provided: {shown}.", "invalid_request_error", "invalid_api_key")


def check_model(asked: Asked) -> Refusal | None:
    """Refuses a model that does not exist."""
    if not asked.model:
        return bad("you must provide a model parameter")
    if gpt(asked.model):
        return None
    words = f"The model `{asked.model}` does not exist or you do not have access to it."
    return Refusal(404, words, "invalid_request_error", "model_not_found")


def effort_of(asked: Asked) -> str:
    """The effort of this request: what it says, or the model's own."""
    told = asked.body.get("reasoning_effort") or mapping(asked.body.get("reasoning")).get("effort")
    row = gpt(asked.model)
    return str(told or (row.default if row and row.efforts else "none"))


def check_effort(asked: Asked, name: str, effort: object) -> Refusal | None:
    """Refuses an effort that this model does not take."""
    row = gpt(asked.model)
    if effort is None or row is None:
        return None
    if not row.efforts:
        words = f"Unsupported parameter: '{name}' is not supported with this model."
        return bad(words, "unsupported_parameter", name)
    if effort in row.efforts:
        return None
    known = ", ".join(f"'{one}'" for one in row.efforts)
    words = f"Unsupported value: '{effort}' is not supported with the '{asked.model}' model."
    words += f" Supported values are: {known}."
    return bad(words, "unsupported_value", name)


def check_sampling(asked: Asked) -> Refusal | None:
    """Refuses sampling while the model reasons."""
    if effort_of(asked) == "none":
        return None
    for name in ("temperature", "top_p"):
        if asked.body.get(name) not in (None, 1):
            words = f"Unsupported parameter: '{name}' is not supported with this model."
            return bad(words, "unsupported_parameter", name)
    return None


def error(refusal: Refusal) -> Json:
    """An error as OpenAI tells it."""
    kinds = {429: "rate_limit_error", 500: "server_error", 503: "server_error"}
    kind = refusal.kind or kinds.get(refusal.status, "invalid_request_error")
    code = refusal.code or {429: "rate_limit_exceeded", 503: "server_is_overloaded"}.get(refusal.status)
    return {"error": {"message": refusal.message, "type": kind, "param": refusal.param, "code": code}}


def listed(asked: Asked) -> Json | Refusal:
    """All models, or the one that the path names."""
    if not asked.model:
        return {"object": "list", "data": [_told(name) for name in MODELS]}
    found = gpt(asked.model)
    return (
        _told(found.id)
        if found
        else Refusal(404, f"The model '{asked.model}' does not exist", code="model_not_found")
    )


def _told(name: str) -> Json:
    return {"id": name, "object": "model", "created": 0, "owned_by": "simulator"}
