"""xAI: OpenAI's Responses, with efforts for few models and errors of its own format."""

from dataclasses import replace

from thinkaloud.simulators.api import ApiError, ApiRequest, Json, Lookup, RuleTable, mapping
from thinkaloud.simulators.chat_completions import model_list
from thinkaloud.simulators.openai import responses as openai_responses
from thinkaloud.simulators.openai.models import XAI_MODELS, check_key
from thinkaloud.simulators.openai.responses import check_calls_answered, check_decipherable

_PENALTIES = {"presence_penalty": "presencePenalty", "frequency_penalty": "frequencyPenalty"}


def _unsupported(request: ApiRequest, name: str) -> ApiError:
    message = f"Model {request.model} does not support parameter {name}."
    return ApiError(400, message, code="Client specified an invalid argument")


RULES = RuleTable("xai")
RULES.refuses("key", "missing or wrong key", "vendor docs: errors")(check_key)


@RULES.refuses("model", "unknown model", "vendor docs: errors")
def _check_model(request: ApiRequest) -> ApiError | None:
    if request.model in XAI_MODELS:
        return None
    return ApiError(
        404, f"The model {request.model} does not exist.", code="Some requested entity was not found"
    )


@RULES.refuses("input", "missing input", "vendor docs")
def _check_input(request: ApiRequest) -> ApiError | None:
    return None if request.body.get("input") else ApiError(422, "missing field `input`", code="invalid body")


@RULES.refuses(
    "effort", "an effort that this model does not support", "hermes-agent#23435, litellm#16265, omnigent#1686"
)
def _check_effort(request: ApiRequest) -> ApiError | None:
    effort = mapping(request.body.get("reasoning")).get("effort")
    if effort is None or effort in XAI_MODELS[request.model].efforts:
        return None
    return _unsupported(request, "reasoningEffort")


@RULES.refuses("penalty", "a presence or frequency penalty", "open-webui#21266, NativeTavern#83")
def _check_penalties(request: ApiRequest) -> ApiError | None:
    for field, name in _PENALTIES.items():
        if field in request.body:
            return _unsupported(request, name)
    return None


RULES.refuses("undecipherable", "encrypted content that was altered or is foreign", "vendor docs: reasoning")(
    check_decipherable
)
RULES.refuses("calls-open", "a call without output, or the reverse", "vendor docs")(check_calls_answered)


def _error_body(error: ApiError) -> Json:
    return {"code": error.code or "error", "error": error.message}


API = replace(
    openai_responses.API,
    name="xai",
    rules=tuple(RULES),
    error_body=_error_body,
    lookups=(Lookup("GET", r"/v1/models", lambda request: model_list(XAI_MODELS)),),
)
