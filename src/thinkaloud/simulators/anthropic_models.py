"""Which Claude takes which thinking, as its documentation and its models endpoint tell it."""

import re
from typing import NamedTuple

from thinkaloud.simulators.api import Asked, Json, Refusal

_SUFFIX = re.compile(r"-(?:\d{8}|latest|0)$")
_THREE = ("low", "medium", "high")
_FOUR = (*_THREE, "max")
_FIVE = (*_THREE, "xhigh", "max")


class Claude(NamedTuple):
    """What one model takes."""

    id: str
    types: tuple[str, ...]
    on: bool = False
    display: str = "summarized"
    efforts: tuple[str, ...] = ()
    bound: bool = False
    samples: bool = True
    forced: bool = True
    prefill: bool = True
    low_when_off: bool = False


def _manual(name: str, efforts: tuple[str, ...] = ()) -> Claude:
    return Claude(name, ("enabled", "disabled"), efforts=efforts)


def _later(name: str, types: tuple[str, ...], *, on: bool = True, low_when_off: bool = False) -> Claude:
    """From Opus 4.7 on: adaptive, text withheld unless asked for, sampling fixed."""
    return Claude(name, types, on, "omitted", _FIVE, samples=False, prefill=not on, low_when_off=low_when_off)


_ALWAYS = ("adaptive",)
_CHOICE = ("adaptive", "disabled")

_ROWS = (
    Claude("claude-3-5-haiku", ("disabled",)),
    _manual("claude-3-7-sonnet"),
    _manual("claude-sonnet-4"),
    _manual("claude-opus-4"),
    _manual("claude-opus-4-1"),
    _manual("claude-sonnet-4-5"),
    _manual("claude-haiku-4-5"),
    _manual("claude-opus-4-5", _THREE),
    Claude("claude-opus-4-6", ("adaptive", "enabled", "disabled"), efforts=_FOUR),
    Claude("claude-sonnet-4-6", ("adaptive", "enabled", "disabled"), efforts=_FOUR),
    _later("claude-opus-4-7", _CHOICE, on=False),
    _later("claude-opus-4-8", _CHOICE, on=False),
    _later("claude-mythos-preview", ("adaptive", "enabled")),
    _later("claude-opus-5", _CHOICE, low_when_off=True),
    _later("claude-sonnet-5", _CHOICE),
    _later("claude-haiku-5-5", _CHOICE, low_when_off=True)._replace(bound=True),
    _later("claude-sonnet-5-5", ("adaptive", "between_tools"))._replace(bound=True, forced=False),
    _later("claude-opus-5-5", _ALWAYS)._replace(bound=True, forced=False),
    _later("claude-fable-5", _ALWAYS),
    _later("claude-fable-5-1", _ALWAYS)._replace(bound=True, forced=False),
    _later("claude-fable-5-2", _ALWAYS)._replace(bound=True, forced=False),
    _later("claude-mythos-5", _ALWAYS),
    _later("claude-mythos-5-1", _ALWAYS)._replace(bound=True),
    _later("claude-mythos-5-2", _ALWAYS)._replace(bound=True),
)
MODELS = {row.id: row for row in _ROWS}


def claude(name: str) -> Claude | None:
    """The row of a model, by its id with or without a date."""
    return MODELS.get(name) or MODELS.get(_SUFFIX.sub("", name))


def thinking_type(asked: Asked, model: Claude) -> str:
    """How this request thinks: what it says, or what the model does when it says nothing."""
    told = asked.body.get("thinking")
    if isinstance(told, dict) and isinstance(told.get("type"), str):
        return str(told["type"])
    return "adaptive" if model.on else "disabled"


def describe(model: Claude) -> Json:
    """A model as the models endpoint tells it."""
    types = ("adaptive", "enabled", "disabled", "between_tools")
    efforts: Json = {level: _support(level in model.efforts) for level in _FIVE}
    return {
        "type": "model",
        "id": model.id,
        "display_name": model.id.replace("-", " ").title(),
        "created_at": "1970-01-01T00:00:00Z",
        "lifecycle": "active",
        "line": next(
            (line for line in ("haiku", "sonnet", "opus", "fable", "mythos") if line in model.id), None
        ),
        "max_input_tokens": 200000,
        "max_tokens": 64000,
        "capabilities": {
            "batch": _support(False),
            "citations": _support(False),
            "code_execution": _support(False),
            "context_management": _support(False),
            "effort": {"supported": bool(model.efforts), **efforts},
            "image_input": _support(True),
            "pdf_input": _support(False),
            "server_tools": {
                **_support(False),
                "code_execution": _support(False),
                "web_search": _support(False),
            },
            "structured_outputs": _support(False),
            "thinking": {
                "supported": model.types != ("disabled",),
                "types": {name: _support(name in model.types) for name in types},
            },
        },
    }


def _support(yes: bool) -> Json:
    return {"supported": yes}


def listed(asked: Asked) -> Json | Refusal:
    """All models, or the one that the path names."""
    if not asked.model:
        rows = [describe(model) for model in MODELS.values()]
        return {"data": rows, "has_more": False, "first_id": rows[0]["id"], "last_id": rows[-1]["id"]}
    found = claude(asked.model)
    return describe(found) if found else Refusal(404, f"model: {asked.model}")
