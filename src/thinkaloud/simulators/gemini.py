"""Gemini's native API: responses in chunks, with a signature on the part that follows the thought.

A stream is sent as server-sent events with `alt=sse`, otherwise as one JSON array.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from thinkaloud.simulators.api import (
    ApiError,
    ApiRequest,
    Json,
    Lookup,
    Rule,
    SimulatedApi,
    SimulatedResponse,
    answer_tokens,
    compact_json,
    mapping,
    objects,
    sse_event,
)
from thinkaloud.simulators.output_rules import ANY_OBJECT
from thinkaloud.simulators.script import (
    OfferedTool,
    ReceivedPrompt,
    ScriptedAnswer,
    count_tokens,
    split_words,
)
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
    parts = objects(content.get("parts"))
    if not name:
        return parts
    return [part for part in parts if either_spelling(part, name) is not None]


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
    if not call:
        return "text"
    return fingerprint(call.get("name"), call.get("args") or {})


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


_FINISH_REASONS = {"stop": "STOP", "length": "MAX_TOKENS", "tool_calls": "STOP", "refusal": "SAFETY"}
_STATUSES = {404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE"}


def _read_prompt(request: ApiRequest) -> ReceivedPrompt:
    last = request_contents(request)[-1]
    results = content_parts(last, "functionResponse")
    text = "".join(str(part.get("text", "")) for part in content_parts(last))
    if results:
        text = compact_json(mapping(either_spelling(results[0], "functionResponse")).get("response"))
    tools = []
    for tool in objects(request.body.get("tools")):
        for function in objects(either_spelling(tool, "functionDeclarations")):
            schema = function.get("parameters") or either_spelling(function, "parametersJsonSchema")
            tools.append(OfferedTool(function.get("name", ""), schema))
    tool_config = mapping(either_spelling(request.body, "toolConfig"))
    calling_config = mapping(either_spelling(tool_config, "functionCallingConfig"))
    mode = str(calling_config.get("mode", "auto")).lower()
    return ReceivedPrompt(text, tuple(tools), bool(results), mode, output_schema(request))


def _thinking_on(request: ApiRequest) -> bool:
    row = model_row(request)
    return bool(row.levels) or (
        row.budget_max > 0 and either_spelling(thinking_config(request), "thinkingBudget") != 0
    )


def _response_parts(request: ApiRequest, answer: ScriptedAnswer) -> list[Json]:
    """Return the parts of a whole response; the signature is on the first call, or else on the text."""
    parts: list[Json] = []
    if answer.text:
        parts.append({"text": answer.text})
    for call in answer.tool_calls:
        call_id = f"call_{request.state.next_id()}"
        parts.append({"functionCall": {"id": call_id, "name": call.name, "args": call.arguments}})
    if not _thinking_on(request):
        return parts or [{"text": ""}]
    if parts:
        signed = 1 if answer.text and answer.tool_calls else 0
        seal = request.signing_key.seal(model=request.model, subject=signed_subject(parts[signed]))
        parts[signed]["thoughtSignature"] = seal
    thoughts: list[Json] = []
    if either_spelling(thinking_config(request), "includeThoughts") and not answer.redacted:
        thoughts = [{"text": thought, "thought": True} for thought in answer.thoughts]
    return [*thoughts, *parts] or [{"text": ""}]


def _respond(request: ApiRequest, answer: ScriptedAnswer) -> SimulatedResponse:
    response_parts = _response_parts(request, answer)
    usage = _usage(request, answer)
    identity: Json = {"modelVersion": request.model, "responseId": f"resp_{request.state.next_id()}"}
    ending: Json = {"finishReason": _FINISH_REASONS[answer.finish_reason], "index": 0}
    whole = {
        "candidates": [{"content": {"role": "model", "parts": response_parts}, **ending}],
        "usageMetadata": usage,
        **identity,
    }
    if "stream" not in request.path:
        return SimulatedResponse(whole, (), False)
    stream_parts = _split_parts(response_parts)
    chunks = [
        {"candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0}], **identity}
        for part in stream_parts
    ]
    chunks[-1]["candidates"][0] |= ending
    chunks[-1]["usageMetadata"] = usage
    if request.query.get("alt") == "sse":
        return SimulatedResponse(whole, tuple(sse_event(chunk) for chunk in chunks), True)
    return _array_response(whole, chunks)


def _array_response(whole: Json, chunks: list[Json]) -> SimulatedResponse:
    """Return a stream as one JSON array, in chunks."""
    pieces = [f",\r\n{compact_json(chunk)}".encode() for chunk in chunks]
    pieces[0] = f"[{compact_json(chunks[0])}".encode()
    error = compact_json(_error_body(ApiError(503, "The model is overloaded.")))
    return SimulatedResponse(
        whole,
        (*pieces, b"]"),
        True,
        "application/json; charset=utf-8",
        interruption=f",\r\n{error}]".encode(),
    )


def _split_parts(response_parts: list[Json]) -> list[Json]:
    """Return the parts as streamed: text word by word, its signature on an empty text at the end."""
    stream_parts: list[Json] = []
    for part in response_parts:
        if "text" not in part:
            stream_parts.append(part)
            continue
        thought = {"thought": True} if part.get("thought") else {}
        stream_parts += [{"text": piece, **thought} for piece in split_words(part["text"])]
        if "thoughtSignature" in part:
            stream_parts.append({"text": "", "thoughtSignature": part["thoughtSignature"]})
    return stream_parts or [{"text": ""}]


def _usage(request: ApiRequest, answer: ScriptedAnswer) -> Json:
    prompt_tokens = count_tokens(compact_json(request.body["contents"]))
    candidate_tokens = answer_tokens(answer)
    thought_tokens = count_tokens(*answer.thoughts) if _thinking_on(request) else 0
    counts = {
        "promptTokenCount": prompt_tokens,
        "candidatesTokenCount": candidate_tokens,
        "thoughtsTokenCount": thought_tokens,
    }
    return counts | {"totalTokenCount": prompt_tokens + candidate_tokens + thought_tokens}


def _error_body(error: ApiError) -> Json:
    status = error.kind or _STATUSES.get(error.status, "INVALID_ARGUMENT")
    detail: Json = {"code": error.status, "message": error.message, "status": status}
    if error.details:
        detail["details"] = list(error.details)
    return {"error": detail}


def _interruption(event_index: int) -> bytes:
    return sse_event(_error_body(ApiError(503, "The model is overloaded. Please try again later.")))


def _list_models(request: ApiRequest) -> Json | ApiError:
    if not request.model:
        return {"models": [_describe_model(name, row) for name, row in MODELS.items()]}
    row = MODELS.get(request.model)
    if row is None:
        return ApiError(404, f"Model is not found: models/{request.model}")
    return _describe_model(request.model, row)


def _describe_model(name: str, row: GeminiModel) -> Json:
    return {
        "name": f"models/{name}",
        "displayName": name,
        "inputTokenLimit": 1048576,
        "outputTokenLimit": 65536,
        "supportedGenerationMethods": ["generateContent", "streamGenerateContent"],
        "thinking": bool(row.levels) or row.budget_max > 0,
    }


_MODELS_PATH = r"/v1(?:alpha|beta)?/models"
API = SimulatedApi(
    name="gemini",
    base_path="",
    path_pattern=_MODELS_PATH + r"/(?P<model>[^/:]+):(?:generateContent|streamGenerateContent)",
    rules=RULES,
    read_prompt=_read_prompt,
    respond=_respond,
    error_body=_error_body,
    interruption=_interruption,
    lookups=(Lookup("GET", _MODELS_PATH + r"(?:/(?P<model>[^/:]+))?", _list_models),),
)
