"""xAI: OpenAI's Responses, with efforts for few models and errors of its own format."""

from thinkaloud.simulators.api import ApiError, ApiRequest, Json, Lookup, Rule, SimulatedApi, mapping
from thinkaloud.simulators.openai import models as openai_models
from thinkaloud.simulators.openai import responses as openai_responses
from thinkaloud.simulators.openai.models import XAI_MODELS, check_key
from thinkaloud.simulators.openai.responses import check_calls_answered, check_decipherable

_PENALTIES = {"presence_penalty": "presencePenalty", "frequency_penalty": "frequencyPenalty"}


def _unsupported(request: ApiRequest, name: str) -> ApiError:
    message = f"Model {request.model} does not support parameter {name}."
    return ApiError(400, message, code="Client specified an invalid argument")


def _check_model(request: ApiRequest) -> ApiError | None:
    if request.model in XAI_MODELS:
        return None
    return ApiError(
        404, f"The model {request.model} does not exist.", code="Some requested entity was not found"
    )


def _check_input(request: ApiRequest) -> ApiError | None:
    return None if request.body.get("input") else ApiError(422, "missing field `input`", code="invalid body")


def _check_effort(request: ApiRequest) -> ApiError | None:
    effort = mapping(request.body.get("reasoning")).get("effort")
    if effort is None or effort in XAI_MODELS[request.model].efforts:
        return None
    return _unsupported(request, "reasoningEffort")


def _check_penalties(request: ApiRequest) -> ApiError | None:
    for field, name in _PENALTIES.items():
        if field in request.body:
            return _unsupported(request, name)
    return None


def _error_body(error: ApiError) -> Json:
    return {"code": error.code or "error", "error": error.message}


def _list_models(request: ApiRequest) -> Json | ApiError:
    return {"object": "list", "data": [openai_models.describe_model(name) for name in XAI_MODELS]}


RULES = (
    Rule("xai.key", "missing or wrong key", "vendor docs: errors", check_key),
    Rule("xai.model", "unknown model", "vendor docs: errors", _check_model),
    Rule("xai.input", "missing input", "vendor docs", _check_input),
    Rule(
        "xai.effort",
        "an effort that this model does not support",
        "hermes-agent#23435, litellm#16265, omnigent#1686",
        _check_effort,
    ),
    Rule(
        "xai.penalty",
        "a presence or frequency penalty",
        "open-webui#21266, NativeTavern#83",
        _check_penalties,
    ),
    Rule(
        "xai.undecipherable",
        "encrypted content that was altered or is foreign",
        "vendor docs: reasoning",
        check_decipherable,
    ),
    Rule("xai.calls-open", "a call without output, or the reverse", "vendor docs", check_calls_answered),
)

API = SimulatedApi(
    name="xai",
    base_path="/v1",
    path_pattern=r"/v1/responses",
    rules=RULES,
    read_prompt=openai_responses.API.read_prompt,
    respond=openai_responses.API.respond,
    error_body=_error_body,
    interruption=openai_responses.API.interruption,
    lookups=(Lookup("GET", r"/v1/models", _list_models),),
)
