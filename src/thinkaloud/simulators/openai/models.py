"""What OpenAI's two APIs share: models and their efforts, the key, and the error format."""

import re
from typing import NamedTuple

from thinkaloud.simulators.api import ApiError, ApiRequest, Json, Lookup, mapping
from thinkaloud.simulators.chat_completions import describe_model, model_list

_DATE = re.compile(r"-\d{4}-\d{2}-\d{2}$")
_EFFORTS_TO_HIGH = ("low", "medium", "high")


class GptModel(NamedTuple):
    """The efforts of one model. A model without efforts does not reason."""

    id: str
    efforts: tuple[str, ...] = ()
    default_effort: str = "medium"
    chat_tools: bool = True

    @property
    def verbosities(self) -> tuple[str, ...]:
        """The lengths of an answer that can be asked for: before GPT-5, and for code and chats, only one."""
        one_length = not self.id.startswith(("gpt-5", "gpt-6")) or "codex" in self.id or "chat" in self.id
        return ("medium",) if one_length else _EFFORTS_TO_HIGH


def _model_rows() -> list[GptModel]:
    with_none = ("none", *_EFFORTS_TO_HIGH)
    with_xhigh = (*with_none, "xhigh")
    with_max = (*with_xhigh, "max")
    rows = [
        GptModel(name) for name in ("gpt-4o", "gpt-4o-mini", "gpt-4.1", "gpt-4.1-mini", "gpt-5-chat-latest")
    ]
    rows += [GptModel(name, _EFFORTS_TO_HIGH) for name in ("o1", "o3", "o3-mini", "o3-pro", "o4-mini")]
    rows += [GptModel(name, ("minimal", *_EFFORTS_TO_HIGH)) for name in ("gpt-5", "gpt-5-mini", "gpt-5-nano")]
    rows += [GptModel("gpt-5-pro", ("high",), "high"), GptModel("gpt-5.1", with_none, "none")]
    gpt_5_4 = ("gpt-5.4", "gpt-5.4-mini", "gpt-5.4-nano")
    rows += [GptModel(name, with_xhigh, "none") for name in ("gpt-5.2", *gpt_5_4)]
    rows += [GptModel("gpt-5.3-codex", with_xhigh), GptModel("chat-latest", ("medium",))]
    rows += [GptModel(f"gpt-{number}-pro", ("medium", "high", "xhigh")) for number in ("5.2", "5.4", "5.5")]
    rows += [GptModel(f"gpt-{number}-chat-latest", ("medium",)) for number in ("5.1", "5.2", "5.3", "5.4")]
    rows += [GptModel("gpt-5.5", with_xhigh)]
    gpt_5_6 = ("gpt-5.6", "gpt-5.6-sol", "gpt-5.6-terra", "gpt-5.6-luna")
    rows += [GptModel(name, with_max, chat_tools=False) for name in gpt_5_6]
    rows += [GptModel(name, with_max) for name in ("gpt-6-sol", "gpt-6-luna", "gpt-6.1-terra")]
    rows += [GptModel(name, with_max[1:]) for name in ("gpt-6-astra", "gpt-6.1-sol")]
    return rows


MODELS = {row.id: row for row in _model_rows()}


XAI_MODELS = {
    row.id: row
    for row in (
        GptModel("grok-4", default_effort="high"),
        GptModel("grok-4-1-fast-reasoning", default_effort="high"),
        GptModel("grok-4-1-fast-non-reasoning", default_effort="none"),
        GptModel("grok-4.3", ("none", *_EFFORTS_TO_HIGH), "low"),
        GptModel("grok-4.5", _EFFORTS_TO_HIGH, "low"),
        GptModel("grok-4.6", _EFFORTS_TO_HIGH, "low"),
        GptModel("grok-4.7", (*_EFFORTS_TO_HIGH, "xhigh"), "low"),
        GptModel("grok-4.20-reasoning", default_effort="high"),
        GptModel("grok-4.20-multi-agent", default_effort="high"),
        GptModel("grok-4.20-non-reasoning", default_effort="none"),
        GptModel("grok-build-0.1", default_effort="high"),
        GptModel("grok-3-mini", ("low", "high"), "low"),
        GptModel("grok-code-fast-1", default_effort="high"),
    )
}
"""The models of xAI, whose API is OpenAI's Responses. Some reason although they take no effort."""


def find_model(name: str) -> GptModel | None:
    """Return the row of a model, by its id with or without a date."""
    return MODELS.get(name) or MODELS.get(_DATE.sub("", name))


def invalid_request(message: str, code: str | None = None, param: str | None = None) -> ApiError:
    """Return an invalid_request_error."""
    return ApiError(400, message, "invalid_request_error", code, param)


def check_key(request: ApiRequest) -> ApiError | None:
    """Refuse a missing or wrong key."""
    if request.accepts_key(request.bearer):
        return None
    if not request.bearer:
        return ApiError(401, "You didn't provide an API key.", "invalid_request_error")
    masked_key = f"{request.bearer[:3]}{'*' * 8}{request.bearer[-4:]}"
    return ApiError(
        401, f"Incorrect API key provided: {masked_key}.", "invalid_request_error", "invalid_api_key"
    )


def check_model(request: ApiRequest) -> ApiError | None:
    """Refuse an unknown model."""
    if not request.model:
        return invalid_request("you must provide a model parameter")
    if find_model(request.model):
        return None
    message = f"The model `{request.model}` does not exist or you do not have access to it."
    return ApiError(404, message, "invalid_request_error", "model_not_found")


def request_effort(request: ApiRequest) -> str:
    """Return the effort of this request: its own, or the model's default."""
    effort = request.body.get("reasoning_effort") or mapping(request.body.get("reasoning")).get("effort")
    if request.model in XAI_MODELS:
        return str(effort or XAI_MODELS[request.model].default_effort)
    row = find_model(request.model)
    return str(effort or (row.default_effort if row and row.efforts else "none"))


def check_effort(request: ApiRequest, name: str, effort: object) -> ApiError | None:
    """Refuse an effort that this model does not support."""
    row = find_model(request.model)
    if effort is None or row is None:
        return None
    if not row.efforts:
        message = f"Unsupported parameter: '{name}' is not supported with this model."
        return invalid_request(message, "unsupported_parameter", name)
    if effort in row.efforts:
        return None
    supported = ", ".join(f"'{one}'" for one in row.efforts)
    message = f"Unsupported value: '{effort}' is not supported with the '{request.model}' model."
    message += f" Supported values are: {supported}."
    return invalid_request(message, "unsupported_value", name)


def check_verbosity(request: ApiRequest) -> ApiError | None:
    """Refuse a length of the answer that this model does not support."""
    texts = mapping(request.body.get("text"))
    name, verbosity = "text.verbosity", texts.get("verbosity")
    if "verbosity" in request.body:
        name, verbosity = "verbosity", request.body["verbosity"]
    row = find_model(request.model)
    if verbosity is None or row is None or verbosity in row.verbosities:
        return None
    supported = ", ".join(f"'{one}'" for one in row.verbosities)
    message = f"Unsupported value: '{verbosity}' is not supported with the '{request.model}' model."
    return invalid_request(f"{message} Supported values are: {supported}.", "unsupported_value", name)


def check_sampling(request: ApiRequest) -> ApiError | None:
    """Refuse sampling parameters while the model reasons."""
    if request_effort(request) == "none":
        return None
    for name in ("temperature", "top_p"):
        if request.body.get(name) not in (None, 1):
            message = f"Unsupported parameter: '{name}' is not supported with this model."
            return invalid_request(message, "unsupported_parameter", name)
    return None


def error_body(error: ApiError) -> Json:
    """Return an error body in OpenAI's format."""
    kinds = {429: "rate_limit_error", 500: "server_error", 503: "server_error"}
    kind = error.kind or kinds.get(error.status, "invalid_request_error")
    code = error.code or {429: "rate_limit_exceeded", 503: "server_is_overloaded"}.get(error.status)
    return {"error": {"message": error.message, "type": kind, "param": error.param, "code": code}}


def list_models(request: ApiRequest) -> Json | ApiError:
    """Return all models, or the one in the path."""
    if not request.model:
        return model_list(MODELS)
    known_model = find_model(request.model)
    if known_model is None:
        return ApiError(404, f"The model '{request.model}' does not exist", code="model_not_found")
    return describe_model(known_model.id)


LOOKUPS = (Lookup("GET", r"/v1/models(?:/(?P<model>[^/]+))?", list_models),)
