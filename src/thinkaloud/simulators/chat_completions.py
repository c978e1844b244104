"""Chat Completions as all vendors of this API share it.

Each vendor decides where the thought goes: it passes the deltas of a stream and the fields of a whole
message, and gets both forms of the response.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
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
    content_text,
    mapping,
    objects,
    sse_event,
)
from thinkaloud.simulators.output_rules import chat_format, json_word_violation, requested_schema
from thinkaloud.simulators.script import (
    OfferedTool,
    ReceivedPrompt,
    ScriptedAnswer,
    count_tokens,
    split_words,
)

FINISH_REASONS = {"stop": "stop", "length": "length", "tool_calls": "tool_calls", "refusal": "content_filter"}
MESSAGE_FIELDS = {
    "role",
    "content",
    "name",
    "tool_calls",
    "tool_call_id",
    "refusal",
    "audio",
    "function_call",
}


class ThoughtParts(NamedTuple):
    """A thought as deltas before and after the text, and as fields of the message."""

    deltas: tuple[Json, ...] = ()
    fields: Mapping[str, Any] = MappingProxyType({})
    late_deltas: tuple[Json, ...] = ()
    tokens: int = 0
    tagged_text: str = ""


def request_messages(request: ApiRequest) -> list[Json]:
    """Return the messages of the request."""
    return objects(request.body.get("messages"))


def tool_calls(message: Json) -> list[Json]:
    """Return the tool calls of an assistant message."""
    return objects(message.get("tool_calls")) if message.get("role") == "assistant" else []


def read_prompt(request: ApiRequest) -> ReceivedPrompt:
    """Return what the default answer depends on."""
    messages = request_messages(request)
    last = messages[-1] if messages else {}
    choice = request.body.get("tool_choice", "auto")
    if not isinstance(choice, str):
        choice = str(mapping(choice.get("function")).get("name", "auto"))
    return ReceivedPrompt(
        text=content_text(last.get("content") or ""),
        tools=offered_tools(request),
        after_tool=last.get("role") == "tool",
        tool_choice=choice,
        output_schema=requested_schema(chat_format(request)),
    )


def offered_tools(request: ApiRequest) -> tuple[OfferedTool, ...]:
    """Return the functions that the request offers."""
    functions = [mapping(tool.get("function")) for tool in objects(request.body.get("tools"))]
    return tuple(OfferedTool(function.get("name", ""), function.get("parameters")) for function in functions)


def forces_tool(request: ApiRequest) -> bool:
    """Return whether the request forces a tool call."""
    choice = request.body.get("tool_choice")
    return choice == "required" or isinstance(choice, dict)


def check_messages(request: ApiRequest) -> ApiError | None:
    """Refuse a request without messages."""
    if request_messages(request):
        return None
    return ApiError(400, "Missing required parameter: 'messages'.", param="messages")


def check_calls(request: ApiRequest) -> ApiError | None:
    """Refuse a call without its result right after it, and a result without its call."""
    waiting: list[object] = []
    for message in [*request_messages(request), {"role": "end"}]:
        if message.get("role") == "tool":
            if message.get("tool_call_id") not in waiting:
                return ApiError(
                    400,
                    "Invalid parameter: messages with role 'tool' must be a response to a preceding message "
                    "with 'tool_calls'.",
                    param="messages",
                )
            waiting.remove(message.get("tool_call_id"))
        elif waiting:
            return ApiError(
                400,
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
                f"'tool_call_id'. The following tool_call_ids did not have response messages: "
                f"{', '.join(map(str, waiting))}",
                param="messages",
            )
        else:
            waiting = [call.get("id") for call in tool_calls(message)]
    return None


def check_result_parts(request: ApiRequest) -> ApiError | None:
    """Refuse images in a tool result."""
    for index, message in enumerate(request_messages(request)):
        parts = objects(message.get("content"))
        if message.get("role") == "tool" and any(part.get("type") == "image_url" for part in parts):
            return ApiError(
                400,
                f"Invalid 'messages[{index}]'. Image URLs are only allowed for messages with role 'user', "
                "but this message with role 'tool' contains an image URL.",
                param=f"messages[{index}]",
            )
    return None


def check_json_word(request: ApiRequest) -> ApiError | None:
    """Refuse to write any JSON where no message says the word."""
    return json_word_violation(chat_format(request), request.body.get("messages"), "response_format")


def check_bearer(request: ApiRequest) -> ApiError | None:
    """Refuse a missing or wrong key."""
    if request.accepts_key(request.bearer):
        return None
    return ApiError(401, "Invalid Authentication", "authentication_error")


def reasoning_in_field(answer: ScriptedAnswer, name: str, shown: bool) -> ThoughtParts:
    """Return a thought in its own field, word by word."""
    text = "" if answer.redacted else "\n\n".join(answer.thoughts)
    if not shown:
        return ThoughtParts()
    deltas = tuple({name: piece, "content": None} for piece in split_words(text))
    return ThoughtParts(deltas, {name: text}, tokens=count_tokens(text))


def respond(
    request: ApiRequest,
    answer: ScriptedAnswer,
    thought: ThoughtParts,
    *,
    usage_always: bool = False,
    compact_calls: bool = False,
    extra_fields: Mapping[str, Any] = MappingProxyType({}),
) -> SimulatedResponse:
    """Return the response in both forms. `extra_fields` are in every chunk of it.

    Compact calls have ids of nine characters without a prefix, and arrive in one chunk each.
    """
    response_id = request.state.next_id()
    tool_calls_made = [
        {
            "id": _call_id(request, short=compact_calls),
            "type": "function",
            "function": {"name": call.name, "arguments": compact_json(call.arguments)},
        }
        for call in answer.tool_calls
    ]
    text = thought.tagged_text + answer.text
    if thought.deltas or thought.late_deltas or thought.tagged_text:
        request.state.calls_after_thought |= {str(call["id"]) for call in tool_calls_made}
    message: Json = {
        "role": "assistant",
        "content": text if text or not tool_calls_made else None,
        **thought.fields,
    }
    if tool_calls_made:
        message["tool_calls"] = tool_calls_made
    finish = FINISH_REASONS[answer.finish_reason]
    frame: Json = {
        "id": f"chatcmpl-{response_id}",
        "object": "chat.completion",
        "created": 0,
        "model": request.model,
        "system_fingerprint": "fp_simulated",
        **extra_fields,
    }
    usage = _usage(request, answer, thought)
    whole = frame | {"choices": [{"index": 0, "message": message, "finish_reason": finish}], "usage": usage}
    if request.body.get("stream") is not True:
        return SimulatedResponse(whole, (), False)
    with_usage = usage_always or mapping(request.body.get("stream_options")).get("include_usage")
    chunks = _chunks(
        frame | {"object": "chat.completion.chunk"},
        _deltas(text, tool_calls_made, thought, whole_calls=compact_calls),
        finish,
    )
    usage_chunks = (
        [frame | {"object": "chat.completion.chunk", "choices": [], "usage": usage}] if with_usage else []
    )
    return SimulatedResponse(whole, (*map(sse_event, [*chunks, *usage_chunks]), sse_event("[DONE]")), True)


def _call_id(request: ApiRequest, *, short: bool) -> str:
    number = request.state.next_id()
    return number[-9:].rjust(9, "0") if short else f"call_{number}"


def _usage(request: ApiRequest, answer: ScriptedAnswer, thought: ThoughtParts) -> Json:
    prompt_tokens = count_tokens(compact_json(request.body["messages"]))
    completion_tokens = thought.tokens + answer_tokens(answer)
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
        "completion_tokens_details": {"reasoning_tokens": thought.tokens},
    }


def _deltas(
    text: str, tool_calls_made: list[Json], thought: ThoughtParts, *, whole_calls: bool
) -> Iterator[Json]:
    yield {"role": "assistant", "content": ""}
    yield from thought.deltas
    for piece in split_words(text):
        yield {"content": piece}
    for index, call in enumerate(tool_calls_made):
        if whole_calls:
            yield {"tool_calls": [{"index": index, **call}]}
            continue
        arguments = call["function"]["arguments"]
        yield {"tool_calls": [{"index": index, **call, "function": call["function"] | {"arguments": ""}}]}
        for piece in filter(None, (arguments[:7], arguments[7:])):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
    yield from thought.late_deltas


def _chunks(frame: Json, deltas: Iterator[Json], finish: str) -> Iterator[Json]:
    for delta in deltas:
        yield frame | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield frame | {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}


def error_body(error: ApiError) -> Json:
    """Return an error body as vendors of this API send it."""
    kinds = {401: "authentication_error", 429: "rate_limit_error", 500: "server_error", 503: "server_error"}
    kind = error.kind or kinds.get(error.status, "invalid_request_error")
    detail: Json = {
        "message": error.message,
        "type": kind,
        "param": error.param,
        "code": error.code or kind,
    }
    return {"error": detail}


def interruption(event_index: int) -> bytes:
    """Return the event that ends an interrupted stream."""
    return sse_event({"error": {"message": "The server is overloaded", "type": "server_error", "code": None}})


def model_list(names: list[str]) -> Json:
    """Return the body of the models endpoint."""
    return {
        "object": "list",
        "data": [{"id": name, "object": "model", "created": 0, "owned_by": "simulator"} for name in names],
    }


def simulated_api(
    name: str,
    rules: tuple[Rule, ...],
    respond: Callable[[ApiRequest, ScriptedAnswer], SimulatedResponse],
    models: Iterable[str],
    error_body: Callable[[ApiError], Json] = error_body,
    prefix: str = "/v1",
) -> SimulatedApi:
    """Return the API of a vendor. Its paths begin with the prefix."""
    names = list(models)
    return SimulatedApi(
        name=name,
        base_path=prefix,
        path_pattern=f"{prefix}/chat/completions",
        rules=rules,
        read_prompt=read_prompt,
        respond=respond,
        error_body=error_body,
        interruption=interruption,
        lookups=(Lookup("GET", f"{prefix}/models", lambda request: model_list(names)),),
    )
