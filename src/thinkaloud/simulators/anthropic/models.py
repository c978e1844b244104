"""The thinking parameters of each Claude model, from its documentation and its models endpoint."""

import re
from typing import NamedTuple

from thinkaloud.simulators.api import ApiError, ApiRequest, Json

_SUFFIX = re.compile(r"-(?:\d{8}|latest|0)$")
_EFFORTS_TO_HIGH = ("low", "medium", "high")
_EFFORTS_TO_MAX = (*_EFFORTS_TO_HIGH, "max")
_ALL_EFFORTS = (*_EFFORTS_TO_HIGH, "xhigh", "max")


class ClaudeModel(NamedTuple):
    """The thinking parameters of one model."""

    id: str
    thinking_types: tuple[str, ...]
    on_by_default: bool = False
    display: str = "summarized"
    efforts: tuple[str, ...] = ()
    prefix_bound: bool = False
    sampling_allowed: bool = True
    forced_tools_allowed: bool = True
    prefill_allowed: bool = True
    effort_limited_when_off: bool = False
    structured_outputs: bool = True
    max_tokens: int = 128_000
    one_sampling: bool = True
    """Whether it takes only one of temperature and top_p."""


def _manual_model(name: str, efforts: tuple[str, ...] = ()) -> ClaudeModel:
    return ClaudeModel(name, ("enabled", "disabled"), efforts=efforts, max_tokens=64_000)


def _adaptive_model(
    name: str, types: tuple[str, ...], *, on: bool = True, low_when_off: bool = False
) -> ClaudeModel:
    """Return a model from Opus 4.7 on: adaptive thinking, text omitted by default, fixed sampling."""
    return ClaudeModel(
        name,
        types,
        on,
        "omitted",
        _ALL_EFFORTS,
        sampling_allowed=False,
        prefill_allowed=not on,
        effort_limited_when_off=low_when_off,
    )


_ALWAYS_ADAPTIVE = ("adaptive",)
_ADAPTIVE_OR_OFF = ("adaptive", "disabled")

_ROWS = (
    ClaudeModel(
        "claude-3-5-haiku", ("disabled",), structured_outputs=False, max_tokens=8192, one_sampling=False
    ),
    _manual_model("claude-3-7-sonnet")._replace(structured_outputs=False, one_sampling=False),
    _manual_model("claude-sonnet-4")._replace(structured_outputs=False, one_sampling=False),
    _manual_model("claude-opus-4")._replace(structured_outputs=False, one_sampling=False, max_tokens=32_000),
    _manual_model("claude-opus-4-1")._replace(max_tokens=32_000),
    _manual_model("claude-sonnet-4-5"),
    _manual_model("claude-haiku-4-5"),
    _manual_model("claude-opus-4-5", _EFFORTS_TO_HIGH),
    ClaudeModel("claude-opus-4-6", ("adaptive", "enabled", "disabled"), efforts=_EFFORTS_TO_MAX),
    ClaudeModel("claude-sonnet-4-6", ("adaptive", "enabled", "disabled"), efforts=_EFFORTS_TO_MAX),
    _adaptive_model("claude-opus-4-7", _ADAPTIVE_OR_OFF, on=False),
    _adaptive_model("claude-opus-4-8", _ADAPTIVE_OR_OFF, on=False),
    _adaptive_model("claude-mythos-preview", ("adaptive", "enabled")),
    _adaptive_model("claude-opus-5", _ADAPTIVE_OR_OFF, low_when_off=True),
    _adaptive_model("claude-sonnet-5", _ADAPTIVE_OR_OFF),
    _adaptive_model("claude-haiku-5-5", _ADAPTIVE_OR_OFF, low_when_off=True)._replace(prefix_bound=True),
    _adaptive_model("claude-sonnet-5-5", ("adaptive", "between_tools"))._replace(
        prefix_bound=True, forced_tools_allowed=False
    ),
    _adaptive_model("claude-opus-5-5", _ALWAYS_ADAPTIVE)._replace(
        prefix_bound=True, forced_tools_allowed=False
    ),
    _adaptive_model("claude-fable-5", _ALWAYS_ADAPTIVE),
    _adaptive_model("claude-fable-5-1", _ALWAYS_ADAPTIVE)._replace(
        prefix_bound=True, forced_tools_allowed=False
    ),
    _adaptive_model("claude-fable-5-2", _ALWAYS_ADAPTIVE)._replace(
        prefix_bound=True, forced_tools_allowed=False
    ),
    _adaptive_model("claude-mythos-5", _ALWAYS_ADAPTIVE),
    _adaptive_model("claude-mythos-5-1", _ALWAYS_ADAPTIVE)._replace(prefix_bound=True),
    _adaptive_model("claude-mythos-5-2", _ALWAYS_ADAPTIVE)._replace(prefix_bound=True),
)
MODELS = {row.id: row for row in _ROWS}


def find_model(name: str) -> ClaudeModel | None:
    """Return the row of a model, by its id with or without a date."""
    return MODELS.get(name) or MODELS.get(_SUFFIX.sub("", name))


def thinking_type(request: ApiRequest, model: ClaudeModel) -> str:
    """Return the thinking type of this request: its own, or the model's default."""
    thinking = request.body.get("thinking")
    if isinstance(thinking, dict) and isinstance(thinking.get("type"), str):
        return str(thinking["type"])
    return "adaptive" if model.on_by_default else "disabled"


def describe_model(model: ClaudeModel) -> Json:
    """Return a model as listed by the models endpoint."""
    thinking_types = ("adaptive", "enabled", "disabled", "between_tools")
    efforts: Json = {level: _support(level in model.efforts) for level in _ALL_EFFORTS}
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
            "structured_outputs": _support(model.structured_outputs),
            "thinking": {
                "supported": model.thinking_types != ("disabled",),
                "types": {name: _support(name in model.thinking_types) for name in thinking_types},
            },
        },
    }


def _support(supported: bool) -> Json:
    return {"supported": supported}


def list_models(request: ApiRequest) -> Json | ApiError:
    """Return all models, or the one in the path."""
    if not request.model:
        rows = [describe_model(model) for model in MODELS.values()]
        return {"data": rows, "has_more": False, "first_id": rows[0]["id"], "last_id": rows[-1]["id"]}
    known_model = find_model(request.model)
    return describe_model(known_model) if known_model else ApiError(404, f"model: {request.model}")
