"""Cohere's Chat API, version 2: thinking blocks, or a plan before the calls of models that do not reason."""

from collections.abc import Iterator
from typing import NamedTuple

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
from thinkaloud.simulators.chat_completions import request_messages
from thinkaloud.simulators.cohere.rules import MODELS, RULES, model_row
from thinkaloud.simulators.output_rules import ANY_OBJECT, chat_format
from thinkaloud.simulators.script import (
    OfferedTool,
    ReceivedPrompt,
    ScriptedAnswer,
    count_tokens,
    split_words,
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
    last = request_messages(request)[-1] if request_messages(request) else {}
    content = last.get("content") or ""
    text = content if isinstance(content, str) else "".join(map(_part_text, objects(content)))
    functions = [mapping(tool.get("function")) for tool in objects(request.body.get("tools"))]
    tools = tuple(OfferedTool(str(row.get("name", "")), row.get("parameters")) for row in functions)
    choice = str(request.body.get("tool_choice") or "auto").lower()
    output_format = chat_format(request)
    schema = mapping(output_format.get("json_schema") or output_format.get("schema")) or ANY_OBJECT
    wanted = schema if output_format.get("type") == "json_object" else None
    return ReceivedPrompt(text, tools, last.get("role") == "tool", choice, wanted)


def _part_text(part: Json) -> str:
    return str(part.get("text") or mapping(part.get("document")).get("data") or "")


def _message(request: ApiRequest, answer: ScriptedAnswer) -> _Message:
    thought = "" if answer.redacted else "\n\n".join(answer.thoughts)
    thinks = model_row(request).reasons and mapping(request.body.get("thinking")).get("type") != "disabled"
    blocks = [("thinking", thought if thinks else ""), ("text", answer.text)]
    calls = [
        {
            "id": f"{call.name}_{request.state.next_id()}",
            "type": "function",
            "function": {"name": call.name, "arguments": compact_json(call.arguments)},
        }
        for call in answer.tool_calls
    ]
    content = [{"type": kind, kind: text} for kind, text in blocks if text]
    return _Message(thought if calls and not thinks else "", content, calls)


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
