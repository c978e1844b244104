"""Gemini's rules: missing signatures in the current turn, foreign signatures, wrong budgets."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from thinkaloud.simulators.api import ApiError, ApiRequest, Json, Rule, mapping, objects
from thinkaloud.simulators.output_rules import ANY_OBJECT
from thinkaloud.simulators.seals import fingerprint

_SKIP_SIGNATURES = ("skip_thought_signature_validator", "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=")
_FIELDS = {"contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "safetySettings"}
_FIELDS |= {"cachedContent", "model", "labels", "serviceTier", "store"}
_ALL_LEVELS = ("MINIMAL", "LOW", "MEDIUM", "HIGH")


class GeminiModel(NamedTuple):
    """The thinking parameters of one model: levels, or a budget range. With neither it does not think."""

    levels: tuple[str, ...] = ()
    budget_min: int = -1
    budget_max: int = -1
    can_be_off: bool = False
    requires_signatures: bool = False


def _gemini_3_model(levels: tuple[str, ...] = _ALL_LEVELS) -> GeminiModel:
    return GeminiModel(levels, 1, 32768, requires_signatures=True)


MODELS = {
    "gemini-2.0-flash": GeminiModel(),
    "gemini-2.5-pro": GeminiModel((), 128, 32768),
    "gemini-2.5-flash": GeminiModel((), 1, 24576, True),
    "gemini-2.5-flash-lite": GeminiModel((), 512, 24576, True),
    "gemini-3-pro-preview": _gemini_3_model(("LOW", "HIGH")),
    "gemini-3.1-pro-preview": _gemini_3_model(_ALL_LEVELS[1:]),
    "gemini-3-flash-preview": _gemini_3_model(),
    "gemini-3.1-flash-lite": _gemini_3_model(),
    "gemini-3.5-flash": _gemini_3_model(),
    "gemini-3.5-flash-lite": _gemini_3_model(),
    "gemini-3.6-flash": _gemini_3_model(),
    "gemini-3.7-flash": _gemini_3_model(_ALL_LEVELS[1:]),
    "gemini-3.8-flash": _gemini_3_model(_ALL_LEVELS[1:]),
    "gemini-4-argon": _gemini_3_model(_ALL_LEVELS[1:]),
    "gemini-4-carbon": _gemini_3_model(),
    "gemini-flash-latest": _gemini_3_model(),
    "gemini-flash-lite-latest": _gemini_3_model(),
    "gemini-pro-latest": _gemini_3_model(_ALL_LEVELS[1:]),
}


def model_row(request: ApiRequest) -> GeminiModel:
    """Return the row of the requested model."""
    return MODELS.get(request.model, GeminiModel())


def either_spelling(fields: Json, name: str) -> Any:
    """Return a field by its camelCase or snake_case name; the service accepts both."""
    snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
    return fields.get(name, fields.get(snake))


def thinking_config(request: ApiRequest) -> Json:
    """Return the thinking config of this request."""
    return mapping(
        either_spelling(mapping(either_spelling(request.body, "generationConfig")), "thinkingConfig")
    )


def output_schema(request: ApiRequest) -> Json | None:
    """Return the JSON Schema that the answer must match; `ANY_OBJECT` for any JSON, None for text."""
    config = mapping(either_spelling(request.body, "generationConfig"))
    if either_spelling(config, "responseMimeType") != "application/json":
        return None
    schema = either_spelling(config, "responseJsonSchema") or either_spelling(config, "responseSchema")
    return mapping(schema) or ANY_OBJECT


def request_contents(request: ApiRequest) -> list[Json]:
    """Return the conversation."""
    return objects(request.body.get("contents"))


def content_parts(content: Json, name: str = "") -> list[Json]:
    """Return the parts of a message, or those that have this field."""
    all_parts = objects(content.get("parts"))
    return [part for part in all_parts if either_spelling(part, name) is not None] if name else all_parts


def _invalid_argument(message: str) -> ApiError:
    return ApiError(400, message, "INVALID_ARGUMENT")


def _check_key(request: ApiRequest) -> ApiError | None:
    key = request.headers.get("x-goog-api-key") or request.query.get("key", "")
    if request.accepts_key(key):
        return None
    if not key:
        message = "Method doesn't allow unregistered callers (callers without established identity)."
        return ApiError(403, message, "PERMISSION_DENIED")
    error_info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
    return ApiError(
        400, "API key not valid. Please pass a valid API key.", "INVALID_ARGUMENT", details=(error_info,)
    )


def _check_model(request: ApiRequest) -> ApiError | None:
    if request.model in MODELS:
        return None
    return ApiError(404, f"models/{request.model} is not found for API version v1beta.", "NOT_FOUND")


def _check_shape(request: ApiRequest) -> ApiError | None:
    known = {either_spelling({name: name}, name) for name in _FIELDS}
    for name in request.body:
        words = name.split("_")
        if words[0] + "".join(word.capitalize() for word in words[1:]) not in known:
            return _invalid_argument(
                f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.'
            )
    if not request_contents(request):
        return _invalid_argument("* GenerateContentRequest.contents: contents is not specified")
    return None


def _check_roles(request: ApiRequest) -> ApiError | None:
    for index, content in enumerate(request_contents(request)):
        if content.get("role", "user") not in ("user", "model", "function"):
            return _invalid_argument("Please use a valid role: user, model.")
        if not content_parts(content):
            return _invalid_argument(
                f"* GenerateContentRequest.contents[{index}].parts: contents.parts must not be empty."
            )
    return None


def _check_budget_or_level(request: ApiRequest) -> ApiError | None:
    config = thinking_config(request)
    if either_spelling(config, "thinkingBudget") is None or either_spelling(config, "thinkingLevel") is None:
        return None
    return _invalid_argument("You can only set only one of thinking budget and thinking level.")


def _check_thinking_supported(request: ApiRequest) -> ApiError | None:
    row = model_row(request)
    config = thinking_config(request)
    requested = (
        either_spelling(config, "thinkingBudget")
        or either_spelling(config, "thinkingLevel")
        or either_spelling(config, "includeThoughts")
    )
    if requested and not row.levels and row.budget_max < 0:
        return _invalid_argument("Thinking is not supported by this model.")
    return None


def _check_budget(request: ApiRequest) -> ApiError | None:
    budget, row = either_spelling(thinking_config(request), "thinkingBudget"), model_row(request)
    if budget is None or budget == -1 or row.budget_max < 0 or (budget == 0 and row.can_be_off):
        return None
    if budget == 0:
        return _invalid_argument("Budget 0 is invalid. This model only works in thinking mode.")
    if row.budget_min <= budget <= row.budget_max:
        return None
    advice = f"Please choose a value between {row.budget_min} and {row.budget_max}."
    return _invalid_argument(f"The thinking budget {budget} is invalid. {advice}")


def _check_level(request: ApiRequest) -> ApiError | None:
    level = either_spelling(thinking_config(request), "thinkingLevel")
    if level is None or str(level).upper() in model_row(request).levels:
        return None
    if not model_row(request).levels:
        return _invalid_argument("Thinking level is not supported for this model.")
    return _invalid_argument(f"Thinking level {str(level).upper()} is not supported for this model.")


def _signed_parts(request: ApiRequest) -> Iterator[tuple[int, int, Json, str]]:
    for index, content in enumerate(request_contents(request)):
        for part_index, part in enumerate(content_parts(content)):
            if seal := either_spelling(part, "thoughtSignature"):
                yield index, part_index, part, str(seal)


def signed_subject(part: Json) -> str:
    """Return what a signature covers: a call with its arguments, or text."""
    call = mapping(either_spelling(part, "functionCall"))
    return fingerprint(call.get("name"), call.get("args") or {}) if call else "text"


def _check_unaltered(request: ApiRequest) -> ApiError | None:
    for index, part_index, part, seal in _signed_parts(request):
        if seal in _SKIP_SIGNATURES:
            continue
        claims = request.signing_key.read_seal(seal)
        path = f"contents[{index}].parts[{part_index}]"
        if claims is None or claims["subject"] != signed_subject(part):
            return _invalid_argument(f"Corrupted thought signature. ({path})")
        if claims["model"] != request.model:
            return _invalid_argument(f"Invalid thought signature: it was made by another model. ({path})")
    return None


def _current_turn(request: ApiRequest) -> list[tuple[int, Json]]:
    """Return everything after the last user message that is not a tool result."""
    indexed = list(enumerate(request_contents(request)))
    for index, content in reversed(indexed):
        from_user = content.get("role", "user") == "user" and not content_parts(content, "functionResponse")
        if from_user:
            return indexed[index + 1 :]
    return indexed


def _check_signatures(request: ApiRequest) -> ApiError | None:
    if not model_row(request).requires_signatures:
        return None
    for index, content in _current_turn(request):
        call_parts = content_parts(content, "functionCall")
        if call_parts and not either_spelling(call_parts[0], "thoughtSignature"):
            name = mapping(either_spelling(call_parts[0], "functionCall")).get("name")
            return _invalid_argument(
                "Function call is missing a thought_signature in functionCall parts. This is required for "
                f"tools to work correctly. Function call `{name}`, position {index}."
            )
    return None


def _check_calls_answered(request: ApiRequest) -> ApiError | None:
    for content, following in pairwise([*request_contents(request), {}]):
        call_count = len(content_parts(content, "functionCall"))
        if call_count and call_count != len(content_parts(following, "functionResponse")):
            return _invalid_argument(
                "Please ensure that the number of function response parts is equal to the number of function "
                "call parts of the function call turn."
            )
    return None


def _check_turns(request: ApiRequest) -> ApiError | None:
    contents = request_contents(request)
    for before, content in pairwise([{"role": "model"}, *contents]):
        if content_parts(content, "functionCall") and before.get("role") == "model":
            return _invalid_argument(
                "Please ensure that function call turn comes immediately after a user turn or after a "
                "function response turn."
            )
        if content_parts(content, "functionResponse") and not content_parts(before, "functionCall"):
            return _invalid_argument(
                "Please ensure that function response turn comes immediately after a function call turn."
            )
    if contents[-1].get("role") == "model":
        return _invalid_argument("Requests ending with a model turn are not supported.")
    return None


def _check_result_parts(request: ApiRequest) -> ApiError | None:
    for content in request_contents(request):
        responses = content_parts(content, "functionResponse")
        if responses and len(responses) < len(content_parts(content)):
            return _invalid_argument(
                "Please ensure that the number of function response parts is equal to the number of function "
                "call parts of the function call turn."
            )
    return None


def _check_result_images(request: ApiRequest) -> ApiError | None:
    if model_row(request).requires_signatures:
        return None
    responses = [
        mapping(either_spelling(part, "functionResponse"))
        for content in request_contents(request)
        for part in content_parts(content, "functionResponse")
    ]
    if any(response.get("parts") for response in responses):
        return _invalid_argument("Multimodal function responses are not supported by this model.")
    return None


def _check_output(request: ApiRequest) -> ApiError | None:
    if output_schema(request) is None or model_row(request).requires_signatures:
        return None
    if not objects(request.body.get("tools")):
        return None
    return _invalid_argument("Function calling with a response mime type: 'application/json' is unsupported")


RULES = (
    Rule("gemini.key", "missing or wrong key", "vendor docs: errors", _check_key),
    Rule("gemini.model", "unknown model", "vendor docs: errors", _check_model),
    Rule("gemini.shape", "an unknown field, or missing contents", "vendor docs: errors", _check_shape),
    Rule("gemini.roles", "an unknown role, or missing parts", "vendor docs", _check_roles),
    Rule("gemini.both", "a budget and a level together", "vendor docs: thinking", _check_budget_or_level),
    Rule(
        "gemini.no-thinking",
        "a thinking config for a model that does not think",
        "SDK types",
        _check_thinking_supported,
    ),
    Rule(
        "gemini.budget",
        "a budget out of range, or 0 where thinking cannot be off",
        "pydantic-ai profiles",
        _check_budget,
    ),
    Rule("gemini.level", "a level that this model does not support", "pydantic-ai profiles", _check_level),
    Rule(
        "gemini.output",
        "JSON together with tools, before Gemini 3",
        "python-genai#867, symfony/ai#1777",
        _check_output,
    ),
    Rule(
        "gemini.altered",
        "a signature that was altered, or that belongs to another part or model",
        "vendor docs: signatures",
        _check_unaltered,
    ),
    Rule(
        "gemini.missing",
        "a step of the current turn whose first call has no signature",
        "vendor docs: signatures, strands#1298",
        _check_signatures,
    ),
    Rule(
        "gemini.calls-open",
        "different numbers of calls and responses",
        "vendor docs",
        _check_calls_answered,
    ),
    Rule(
        "gemini.turns",
        "a call after another model turn, a response without its call, or a model turn at the end",
        "gemini-cli#11814, litellm#26755, crewAI#6973",
        _check_turns,
    ),
    Rule(
        "gemini.result-parts",
        "other parts beside a function response",
        "gemini-cli#16135, kimi-code#3275",
        _check_result_parts,
    ),
    Rule(
        "gemini.result-images",
        "an image in a function response, before Gemini 3",
        "hermes-agent#96466",
        _check_result_images,
    ),
)
