"""Anthropic Messages: blocks with signed thoughts, streamed block by block."""

from dataclasses import replace

from thinkaloud.simulators.anthropic import cache, history, rules, threads
from thinkaloud.simulators.anthropic.cache import billed_input, input_tokens
from thinkaloud.simulators.anthropic.history import content_blocks, dropped_blocks, prefix_fingerprint, sign
from thinkaloud.simulators.anthropic.models import ClaudeModel, find_model, list_models, thinking_type
from thinkaloud.simulators.anthropic.rules import output_schema
from thinkaloud.simulators.api import (
    ApiError,
    ApiRequest,
    Json,
    Lookup,
    SimulatedApi,
    SimulatedResponse,
    answer_tokens,
    compact_json,
    first_violation,
    mapping,
    objects,
    sse_event,
)
from thinkaloud.simulators.script import (
    OfferedTool,
    ReceivedPrompt,
    ScriptedAnswer,
    count_tokens,
    split_words,
)

_STOP_REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "refusal": "refusal"}
_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
    503: "overloaded_error",
}


def _read_prompt(request: ApiRequest) -> ReceivedPrompt:
    blocks = content_blocks(objects(request.body["messages"])[-1])
    tools = objects(request.body.get("tools"))
    choice = mapping(request.body.get("tool_choice"))
    return ReceivedPrompt(
        text="".join(str(block.get("text") or block.get("content") or "") for block in blocks),
        tools=tuple(OfferedTool(tool.get("name", ""), tool.get("input_schema")) for tool in tools),
        after_tool=any(block.get("type") == "tool_result" for block in blocks),
        tool_choice=str(choice.get("name") or choice.get("type") or "auto"),
        output_schema=output_schema(request),
    )


def _thinking_display(request: ApiRequest, model: ClaudeModel, after_tool: bool) -> str | None:
    """Return how thoughts are shown in this response: summarized, omitted, or None for no thought at all."""
    kind = thinking_type(request, model)
    if kind == "disabled":
        return None
    if kind == "between_tools" and not after_tool:
        return None
    display = mapping(request.body.get("thinking")).get("display") or model.display
    if display == "updates" and after_tool:
        return "summarized"
    return str(display)


def _content_blocks(request: ApiRequest, answer: ScriptedAnswer) -> list[Json]:
    model = find_model(request.model) or ClaudeModel(request.model, ())
    display = _thinking_display(request, model, _read_prompt(request).after_tool)
    messages = objects(request.body["messages"])
    blocks: list[Json] = []
    for thought in answer.thoughts if display else []:
        prefix = prefix_fingerprint(request, messages, blocks)
        if answer.redacted:
            blocks.append(
                {"type": "redacted_thinking", "data": sign(request, "redacted_thinking", "", prefix)}
            )
            continue
        text = thought if display == "summarized" else ""
        blocks.append(
            {"type": "thinking", "thinking": text, "signature": sign(request, "thinking", text, prefix)}
        )
    has_thought = bool(blocks)
    if answer.text:
        blocks.append({"type": "text", "text": answer.text})
    for call in answer.tool_calls:
        call_id = f"toolu_{request.state.next_id()}"
        if has_thought:
            request.state.calls_after_thought.add(f"{call_id} {model.id}")
        blocks.append({"type": "tool_use", "id": call_id, "name": call.name, "input": call.arguments})
    return blocks


def _usage(request: ApiRequest, answer: ScriptedAnswer, thought: bool) -> Json:
    thinking = count_tokens(*answer.thoughts) if thought else 0
    output = answer_tokens(answer)
    return {
        **billed_input(request),
        "output_tokens": max(1, thinking + output),
        "output_tokens_details": {"thinking_tokens": thinking},
    }


def _respond(request: ApiRequest, answer: ScriptedAnswer) -> SimulatedResponse:
    blocks = _content_blocks(request, answer)
    message: Json = {
        "id": f"msg_{request.state.next_id()}",
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "content": blocks,
        "stop_reason": _STOP_REASONS[answer.finish_reason],
        "stop_sequence": None,
        "usage": _usage(request, answer, any(block["type"] in history.THOUGHT_TYPES for block in blocks)),
    }
    if request.has_beta("thinking-binding-controls-2026-08-01"):
        message["input_transformations"] = dropped_blocks(request)
    threads.hold(request, message)
    stream = request.body.get("stream") is True
    return SimulatedResponse(
        message, tuple(_stream_events(message)) if stream else (), stream, headers={"request-id": "req_sim"}
    )


def _stream_events(message: Json) -> list[bytes]:
    usage = message["usage"]
    started = message | {"content": [], "stop_reason": None, "usage": usage | {"output_tokens": 1}}
    started["usage"].pop("output_tokens_details")
    payloads: list[Json] = [{"type": "message_start", "message": started}]
    for index, block in enumerate(message["content"]):
        payloads += _block_events(index, block)
        if index == 0:
            payloads.append({"type": "ping"})
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    payloads.append({"type": "message_delta", "delta": delta, "usage": usage})
    payloads.append({"type": "message_stop"})
    return [sse_event(payload, payload["type"]) for payload in payloads]


def _block_events(index: int, block: Json) -> list[Json]:
    match block["type"]:
        case "thinking":
            empty = {"type": "thinking", "thinking": "", "signature": ""}
            deltas = [
                {"type": "thinking_delta", "thinking": piece} for piece in split_words(block["thinking"])
            ]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
        case "text":
            empty = {"type": "text", "text": ""}
            deltas = [{"type": "text_delta", "text": piece} for piece in split_words(block["text"])]
        case "tool_use":
            empty = block | {"input": {}}
            arguments = compact_json(block["input"])
            deltas = [
                {"type": "input_json_delta", "partial_json": part}
                for part in ("", arguments[:7], arguments[7:])
            ]
        case _:
            empty, deltas = block, []
    return [
        {"type": "content_block_start", "index": index, "content_block": empty},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def _error_body(error: ApiError) -> Json:
    kind = error.kind or _ERROR_TYPES.get(error.status, "api_error")
    detail: Json = {"type": kind, "message": error.message}
    if error.details:
        detail["details"] = error.details[0]
    return {"type": "error", "error": detail, "request_id": "req_sim"}


def _count_tokens(request: ApiRequest) -> Json | ApiError:
    """Return the input tokens of a request, or refuse it as the request itself would be."""
    budget = mapping(request.body.get("thinking")).get("budget_tokens", 0)
    sized = replace(request, body={**request.body, "max_tokens": budget + 1})
    if violation := first_violation(API.rules, sized):
        return violation[1]
    return {"input_tokens": input_tokens(request)}


API = SimulatedApi(
    name="anthropic",
    base_path="",
    path_pattern=r"/v1/messages",
    rules=(
        *rules.KEY_RULES,
        *threads.RULES,
        *rules.RULES,
        *cache.RULES,
        *history.RULES,
    ),
    read_prompt=_read_prompt,
    respond=_respond,
    error_body=_error_body,
    interruption=lambda place: sse_event(_error_body(ApiError(529, "Overloaded")), "error"),
    lookups=(
        Lookup("GET", r"/v1/models(?:/(?P<model>[^/]+))?", list_models),
        Lookup("POST", r"/v1/messages/count_tokens", _count_tokens),
    ),
    keep_alive=sse_event({"type": "ping"}, "ping"),
    overload_status=529,
    complete=threads.with_held_messages,
)
