"""Gemini's native API: responses in chunks, with a signature on the part that follows the thought.

A stream is sent as server-sent events with `alt=sse`, otherwise as one JSON array.
"""

from thinkaloud.simulators.api import (
    ApiError,
    ApiRequest,
    Json,
    Lookup,
    SimulatedApi,
    SimulatedResponse,
    compact_json,
    mapping,
    objects,
    sse_event,
)
from thinkaloud.simulators.gemini import rules as gemini_rules
from thinkaloud.simulators.gemini.rules import (
    MODELS,
    GeminiModel,
    content_parts,
    either_spelling,
    model_row,
    output_schema,
    request_contents,
    signed_subject,
    thinking_config,
)
from thinkaloud.simulators.script import (
    OfferedTool,
    ReceivedPrompt,
    ScriptedAnswer,
    count_tokens,
    split_words,
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
    mode = str(
        mapping(
            either_spelling(mapping(either_spelling(request.body, "toolConfig")), "functionCallingConfig")
        ).get("mode", "auto")
    )
    return ReceivedPrompt(text, tuple(tools), bool(results), mode.lower(), output_schema(request))


def _thinking_on(request: ApiRequest) -> bool:
    row = model_row(request)
    return bool(row.levels) or (
        row.budget_max > 0 and either_spelling(thinking_config(request), "thinkingBudget") != 0
    )


def _with_signature(request: ApiRequest, part: Json) -> Json:
    return part | {
        "thoughtSignature": request.signing_key.seal(model=request.model, subject=signed_subject(part))
    }


def _response_parts(request: ApiRequest, answer: ScriptedAnswer) -> list[Json]:
    """Return the parts of a whole response; the signature is on the first call, or else on the text."""
    response_parts: list[Json] = []
    thinks = _thinking_on(request)
    if thinks and either_spelling(thinking_config(request), "includeThoughts") and not answer.redacted:
        response_parts += [{"text": thought, "thought": True} for thought in answer.thoughts]
    if answer.text:
        text: Json = {"text": answer.text}
        response_parts.append(_with_signature(request, text) if thinks and not answer.tool_calls else text)
    for index, call in enumerate(answer.tool_calls):
        function_call = {"id": f"call_{request.state.next_id()}", "name": call.name, "args": call.arguments}
        part: Json = {"functionCall": function_call}
        response_parts.append(_with_signature(request, part) if thinks and index == 0 else part)
    return response_parts or [{"text": ""}]


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
    pieces_of_array = [
        ("[" if number == 0 else ",\r\n") + compact_json(chunk) for number, chunk in enumerate(chunks)
    ]
    interruption = f",\r\n{compact_json(_error_body(ApiError(503, 'The model is overloaded.')))}]".encode()
    content_type = "application/json; charset=utf-8"
    return SimulatedResponse(
        whole,
        (*(piece.encode() for piece in pieces_of_array), b"]"),
        True,
        content_type,
        interruption=interruption,
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
    answer_tokens = count_tokens(answer.text, *[compact_json(call.arguments) for call in answer.tool_calls])
    thought_tokens = count_tokens(*answer.thoughts) if _thinking_on(request) else 0
    counts = {
        "promptTokenCount": prompt_tokens,
        "candidatesTokenCount": answer_tokens,
        "thoughtsTokenCount": thought_tokens,
    }
    return counts | {"totalTokenCount": prompt_tokens + answer_tokens + thought_tokens}


def _error_body(error: ApiError) -> Json:
    status = error.kind or _STATUSES.get(error.status, "INVALID_ARGUMENT")
    detail: Json = {"code": error.status, "message": error.message, "status": status}
    return {"error": detail | ({"details": list(error.details)} if error.details else {})}


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
    rules=gemini_rules.RULES,
    read_prompt=_read_prompt,
    respond=_respond,
    error_body=_error_body,
    interruption=_interruption,
    lookups=(Lookup("GET", _MODELS_PATH + r"(?:/(?P<model>[^/:]+))?", _list_models),),
)
