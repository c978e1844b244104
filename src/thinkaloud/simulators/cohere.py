"""Cohere's Chat API, version 2: thinking blocks, or a plan before the calls of models that do not reason."""

from collections.abc import Iterator
from typing import NamedTuple

from thinkaloud.simulators.api import (
    ApiError,
    ApiRequest,
    Json,
    Lookup,
    Rule,
    SimulatedApi,
    SimulatedResponse,
    compact_json,
    mapping,
    objects,
    split_names,
    sse_event,
)
from thinkaloud.simulators.chat_completions import offered_tools, request_messages, tool_calls
from thinkaloud.simulators.output_rules import ANY_OBJECT, chat_format
from thinkaloud.simulators.script import (
    ReceivedPrompt,
    ScriptedAnswer,
    count_tokens,
    split_words,
)


class CohereModel(NamedTuple):
    """Whether a model reasons and sees images, and how much it reads."""

    context_tokens: int
    reasons: bool = False
    sees: bool = False


MODELS = {
    "command-a-plus-05-2026": CohereModel(128_000, reasons=True, sees=True),
    "command-a-reasoning-08-2025": CohereModel(256_000, reasons=True),
    "command-a-vision-07-2025": CohereModel(128_000, sees=True),
    "command-a-03-2025": CohereModel(256_000),
    "command-r-plus-08-2024": CohereModel(128_000),
    "command-r-08-2024": CohereModel(128_000),
    "command-r7b-12-2024": CohereModel(128_000),
}
_REQUEST_FIELDS = split_names(
    """citation_options documents frequency_penalty k logprobs max_tokens messages model p presence_penalty
    priority response_format safety_mode seed stop_sequences stream strict_tools temperature thinking
    tool_choice tools"""
)
_FUNCTION_FIELDS = split_names("name description parameters")
_CALL_FIELDS = split_names("id type function")
_MESSAGE_FIELDS = {
    "system": split_names("role content"),
    "user": split_names("role content"),
    "assistant": split_names("role content tool_calls tool_plan citations"),
    "tool": split_names("role content tool_call_id"),
}
_RANGES = {
    "temperature": (0, 1),
    "p": (0.01, 0.99),
    "k": (0, 500),
    "frequency_penalty": (0, 1),
    "presence_penalty": (0, 1),
}
_MAX_STOP_SEQUENCES = 5


def model_row(request: ApiRequest) -> CohereModel:
    """Return what is known of the requested model."""
    return MODELS.get(request.model, CohereModel(128_000))


def _check_key(request: ApiRequest) -> ApiError | None:
    if request.accepts_key(request.bearer):
        return None
    return ApiError(401, "invalid api token" if request.bearer else "no api key supplied")


def _check_model(request: ApiRequest) -> ApiError | None:
    if request.model in MODELS:
        return None
    if not request.model:
        return ApiError(400, "a model parameter is required for this endpoint.")
    reason = "make sure the correct model ID was used and that you have access to the model."
    return ApiError(404, f"model '{request.model}' not found, {reason}")


def _check_messages(request: ApiRequest) -> ApiError | None:
    if request_messages(request):
        return None
    return ApiError(400, "invalid request: list of messages must not be empty")


def _unknown_fields(request: ApiRequest) -> Iterator[str]:
    yield from (name for name in request.body if name not in _REQUEST_FIELDS)
    for tool in objects(request.body.get("tools")):
        yield from (name for name in tool if name not in ("type", "function"))
        yield from (name for name in mapping(tool.get("function")) if name not in _FUNCTION_FIELDS)
    for message in request_messages(request):
        known = _MESSAGE_FIELDS.get(str(message.get("role")), frozenset())
        yield from (name for name in message if name not in known)
        for call in tool_calls(message):
            yield from (name for name in call if name not in _CALL_FIELDS)


def _check_fields(request: ApiRequest) -> ApiError | None:
    name = next(_unknown_fields(request), None)
    if name is None:
        return None
    hint = "For proper usage, please refer to https://docs.cohere.com/reference/chat"
    return ApiError(422, f"unknown field: parameter '{name}' is not a valid field. {hint}")


def _check_thinking(request: ApiRequest) -> ApiError | None:
    thinking = mapping(request.body.get("thinking"))
    if thinking.get("type", "enabled") not in ("enabled", "disabled"):
        return ApiError(400, "invalid request: thinking.type must be one of 'enabled' or 'disabled'.")
    budget = thinking.get("token_budget", 1)
    if isinstance(budget, int) and budget > 0:
        return None
    return ApiError(400, "invalid request: thinking.token_budget must be a positive integer.")


def _check_sampling(request: ApiRequest) -> ApiError | None:
    for name, (least, most) in _RANGES.items():
        value = request.body.get(name)
        if isinstance(value, int | float) and not least <= value <= most:
            return ApiError(400, f"invalid request: {name} must be between {least} and {most} inclusive.")
    if len(request.body.get("stop_sequences") or ()) > _MAX_STOP_SEQUENCES:
        return ApiError(400, f"invalid request: at most {_MAX_STOP_SEQUENCES} stop_sequences are allowed.")
    return None


def _check_tool_choice(request: ApiRequest) -> ApiError | None:
    choice = request.body.get("tool_choice")
    if choice not in (None, "REQUIRED", "NONE"):
        return ApiError(400, "invalid request: tool_choice must be one of 'REQUIRED' or 'NONE'.")
    if choice == "REQUIRED" and not request.body.get("tools"):
        return ApiError(400, "invalid request: tools must be passed with tool_choice 'REQUIRED'.")
    return None


def _check_output(request: ApiRequest) -> ApiError | None:
    if chat_format(request).get("type") != "json_object":
        return None
    for other in ("tools", "documents"):
        if request.body.get(other):
            return ApiError(400, f"invalid request: response_format is not supported with {other}.")
    schema = _output_schema(request)
    if schema.get("type", "object") != "object":
        return ApiError(400, "schema must be an object")
    properties = mapping(schema.get("properties"))
    for name in schema.get("required") or ():
        if name not in properties:
            return ApiError(400, f"required field {name} not found in properties")
    return None


def _output_schema(request: ApiRequest) -> Json:
    output_format = chat_format(request)
    return mapping(output_format.get("json_schema") or output_format.get("schema"))


def _check_system_first(request: ApiRequest) -> ApiError | None:
    roles = [message.get("role") for message in request_messages(request)]
    if "system" not in roles[1:]:
        return None
    return ApiError(400, "system turn must be the first in the list")


def _check_empty(request: ApiRequest) -> ApiError | None:
    for message in request_messages(request):
        empty = not message.get("content") and not tool_calls(message)
        if empty and message.get("role") != "tool":
            return ApiError(400, "message must not be empty in a turn")
    return None


def _parts(request: ApiRequest, role: str) -> list[Json]:
    parts = []
    for message in request_messages(request):
        if message.get("role") == role:
            parts += objects(message.get("content"))
    return parts


def _check_images(request: ApiRequest) -> ApiError | None:
    if model_row(request).sees or all(part.get("type") != "image_url" for part in _parts(request, "user")):
        return None
    return ApiError(400, f"invalid request: image inputs are not supported by the model '{request.model}'.")


def _check_result_parts(request: ApiRequest) -> ApiError | None:
    kinds = [part.get("type") for part in _parts(request, "tool")]
    if all(kind in ("text", "document") for kind in kinds):
        return None
    return ApiError(400, "invalid request: tool content must be of type text or document.")


def _check_call_ids(request: ApiRequest) -> ApiError | None:
    ids: set[str] = set()
    duplicate = False
    for message in request_messages(request):
        for call in tool_calls(message):
            if call.get("type") != "function":
                return ApiError(400, "tool call must be of type function")
            call_id = str(call.get("id"))
            duplicate = duplicate or call_id in ids
            ids.add(call_id)
    return ApiError(400, "cannot have duplicate tool ids") if duplicate else None


def _check_calls(request: ApiRequest) -> ApiError | None:
    waiting: list[object] = []
    for message in [*request_messages(request), {"role": "end"}]:
        if message.get("role") == "tool":
            if not message.get("tool_call_id"):
                return ApiError(400, "tool call id must be provided with tool message")
            if message["tool_call_id"] not in waiting:
                return ApiError(400, "tool call id not found in previous tool calls")
            waiting.remove(message["tool_call_id"])
        elif waiting:
            names = ", ".join(map(str, waiting))
            return ApiError(400, f"invalid request: tool calls without a tool message: {names}")
        else:
            waiting = [call.get("id") for call in tool_calls(message)]
    return None


RULES = (
    Rule("cohere.key", "missing or wrong key", "vendor docs: errors", _check_key),
    Rule("cohere.model", "unknown model", "vendor docs: errors", _check_model),
    Rule("cohere.messages", "no messages", "vendor docs: chat", _check_messages),
    Rule(
        "cohere.fields",
        "an unknown field of the request, of a tool or of a message",
        "agno#3503, openrouter-examples#71, cohere-ai/notebooks#226",
        _check_fields,
    ),
    Rule(
        "cohere.thinking",
        "an unknown thinking type, or a budget that is not positive",
        "vendor docs: chat, SDK types",
        _check_thinking,
    ),
    Rule(
        "cohere.sampling",
        "a sampling parameter out of its range, or more than five stop sequences",
        "vendor docs: chat, errors",
        _check_sampling,
    ),
    Rule(
        "cohere.tool-choice",
        "a tool choice other than REQUIRED and NONE, or REQUIRED without tools",
        "vendor docs: chat, bifrost#55",
        _check_tool_choice,
    ),
    Rule(
        "cohere.output",
        "JSON together with tools or documents, or a schema that is no object or needs an unknown field",
        "vendor docs: chat, errors",
        _check_output,
    ),
    Rule(
        "cohere.system-first",
        "a system message that is not the first",
        "vendor docs: errors",
        _check_system_first,
    ),
    Rule("cohere.empty", "a message without content and calls", "vendor docs: errors", _check_empty),
    Rule(
        "cohere.images",
        "an image for a model that does not see",
        "vendor docs: models, pydantic-ai#7646",
        _check_images,
    ),
    Rule(
        "cohere.result-parts",
        "a part of a tool result that is neither text nor a document",
        "SDK types",
        _check_result_parts,
    ),
    Rule(
        "cohere.call-id",
        "two calls with one id, or a call that is not of a function",
        "vendor docs: errors",
        _check_call_ids,
    ),
    Rule(
        "cohere.calls-open",
        "a call without its result, or the reverse",
        "vendor docs: errors, agentdojo#200",
        _check_calls,
    ),
)


_FINISH_REASONS = {
    "stop": "COMPLETE",
    "length": "MAX_TOKENS",
    "tool_calls": "TOOL_CALL",
    "refusal": "ERROR_TOXIC",
}
_PREAMBLE_TOKENS = 64
"""Tokens of the vendor's own prompt: they are used, and not billed."""


class _Message(NamedTuple):
    """What the model says: a plan, content blocks and calls."""

    plan: str
    content: list[Json]
    calls: list[Json]


def _read_prompt(request: ApiRequest) -> ReceivedPrompt:
    messages = request_messages(request)
    last = messages[-1] if messages else {}
    text = last.get("content") or ""
    if not isinstance(text, str):
        text = "".join(map(_part_text, objects(text)))
    choice = str(request.body.get("tool_choice") or "auto").lower()
    schema = None
    if chat_format(request).get("type") == "json_object":
        schema = _output_schema(request) or ANY_OBJECT
    return ReceivedPrompt(text, offered_tools(request), last.get("role") == "tool", choice, schema)


def _part_text(part: Json) -> str:
    return str(part.get("text") or mapping(part.get("document")).get("data") or "")


def _message(request: ApiRequest, answer: ScriptedAnswer) -> _Message:
    thought = "" if answer.redacted else "\n\n".join(answer.thoughts)
    thinks = model_row(request).reasons and mapping(request.body.get("thinking")).get("type") != "disabled"
    content = []
    if thought and thinks:
        content.append({"type": "thinking", "thinking": thought})
    if answer.text:
        content.append({"type": "text", "text": answer.text})
    calls = [
        {
            "id": f"{call.name}_{request.state.next_id()}",
            "type": "function",
            "function": {"name": call.name, "arguments": compact_json(call.arguments)},
        }
        for call in answer.tool_calls
    ]
    plan = thought if calls and not thinks else ""
    return _Message(plan, content, calls)


def _respond(request: ApiRequest, answer: ScriptedAnswer) -> SimulatedResponse:
    response_id = f"chat-{request.state.next_id()}"
    message = _message(request, answer)
    finish = _FINISH_REASONS[answer.finish_reason]
    usage = _usage(request, message)
    fields: Json = {"role": "assistant"}
    if message.calls:
        fields["tool_calls"] = message.calls
    if message.plan:
        fields["tool_plan"] = message.plan
    if message.content:
        fields["content"] = message.content
    whole = {"id": response_id, "finish_reason": finish, "message": fields, "usage": usage}
    if request.body.get("stream") is not True:
        return SimulatedResponse(whole, (), False)
    opened = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
    events = [
        {"type": "message-start", "id": response_id, "delta": {"message": opened}},
        *_deltas(message),
        {"type": "message-end", "delta": {"finish_reason": finish, "usage": usage}},
    ]
    return SimulatedResponse(whole, (*map(_named_event, events), sse_event("[DONE]")), True)


def _named_event(event: Json) -> bytes:
    return sse_event(event, event["type"])


def _deltas(message: _Message) -> Iterator[Json]:
    for piece in split_words(message.plan):
        yield {"type": "tool-plan-delta", "delta": {"message": {"tool_plan": piece}}}
    for index, block in enumerate(message.content):
        kind = block["type"]
        opened = {"type": kind, kind: ""}
        yield {"type": "content-start", "index": index, "delta": {"message": {"content": opened}}}
        for piece in split_words(block[kind]):
            words = {"message": {"content": {kind: piece}}}
            yield {"type": "content-delta", "index": index, "delta": words}
        yield {"type": "content-end", "index": index}
    for index, call in enumerate(message.calls):
        arguments = call["function"]["arguments"]
        empty = call | {"function": call["function"] | {"arguments": ""}}
        yield {"type": "tool-call-start", "index": index, "delta": {"message": {"tool_calls": empty}}}
        for piece in filter(None, (arguments[:7], arguments[7:])):
            delta = {"message": {"tool_calls": {"function": {"arguments": piece}}}}
            yield {"type": "tool-call-delta", "index": index, "delta": delta}
        yield {"type": "tool-call-end", "index": index}


def _usage(request: ApiRequest, message: _Message) -> Json:
    billed_input = count_tokens(compact_json(request.body["messages"]))
    texts = [message.plan, *(block[block["type"]] for block in message.content)]
    output = count_tokens(*texts, *(call["function"]["arguments"] for call in message.calls))
    return {
        "billed_units": {"input_tokens": billed_input, "output_tokens": output},
        "tokens": {"input_tokens": billed_input + _PREAMBLE_TOKENS, "output_tokens": output},
    }


def _error_body(error: ApiError) -> Json:
    return {"id": "simulated", "message": error.message}


def _interruption(event_index: int) -> bytes:
    delta = {"finish_reason": "ERROR", "error": "The server is overloaded"}
    return _named_event({"type": "message-end", "delta": delta})


def _list_models(request: ApiRequest) -> Json | ApiError:
    rows = [
        {"name": name, "endpoints": ["chat"], "finetuned": False, "context_length": row.context_tokens}
        for name, row in MODELS.items()
    ]
    return {"models": rows}


API = SimulatedApi(
    name="cohere",
    base_path="/v2",
    path_pattern="/v2/chat",
    rules=RULES,
    read_prompt=_read_prompt,
    respond=_respond,
    error_body=_error_body,
    interruption=_interruption,
    lookups=(Lookup("GET", "/v1/models", _list_models),),
)
