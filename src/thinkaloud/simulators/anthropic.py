"""Anthropic Messages: blocks with signed thoughts, streamed block by block."""

from thinkaloud.simulators import anthropic_history, anthropic_rules
from thinkaloud.simulators.anthropic_history import content, dropped, prefix, sign
from thinkaloud.simulators.anthropic_models import Claude, claude, listed, thinking_type
from thinkaloud.simulators.api import (
    Api,
    Asked,
    Json,
    Lookup,
    Refusal,
    Reply,
    compact,
    event,
    mapping,
    objects,
)
from thinkaloud.simulators.script import Answer, Heard, Tool, pieces, tokens

_STOPS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "refusal": "refusal"}
_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
    503: "overloaded_error",
}


def _hear(asked: Asked) -> Heard:
    last = objects(asked.body["messages"])[-1]
    blocks = content(last)
    results = [block for block in blocks if block.get("type") == "tool_result"]
    said = "".join(str(block.get("text") or block.get("content") or "") for block in blocks)
    tools = [
        Tool(tool.get("name", ""), tool.get("input_schema")) for tool in objects(asked.body.get("tools"))
    ]
    choice = mapping(asked.body.get("tool_choice"))
    named = str(choice.get("name") or choice.get("type") or "auto")
    return Heard(said, tuple(tools), bool(results), named)


def _shown(asked: Asked, model: Claude, after_tool: bool) -> str | None:
    """How thoughts are shown in this answer: summarized, omitted, or None for no thought at all."""
    kind = thinking_type(asked, model)
    if kind == "disabled" or (kind == "between_tools" and not after_tool):
        return None
    display = mapping(asked.body.get("thinking")).get("display") or model.display
    return "summarized" if display == "updates" and after_tool else str(display)


def _blocks(asked: Asked, answer: Answer) -> list[Json]:
    model = claude(asked.model) or Claude(asked.model, ())
    shown = _shown(asked, model, _hear(asked).after_tool)
    messages = objects(asked.body["messages"])
    blocks: list[Json] = []
    for thought in answer.thoughts if shown else []:
        before = prefix(asked, messages, blocks)
        if answer.redacted:
            blocks.append({"type": "redacted_thinking", "data": sign(asked, "redacted_thinking", "", before)})
            continue
        text = thought if shown == "summarized" else ""
        blocks.append(
            {"type": "thinking", "thinking": text, "signature": sign(asked, "thinking", text, before)}
        )
    thought_first = bool(blocks)
    if answer.text:
        blocks.append({"type": "text", "text": answer.text})
    for call in answer.tool_calls:
        number = f"toolu_{asked.memory.number()}"
        if thought_first:
            asked.memory.after_thought.add(f"{number} {model.id}")
        blocks.append({"type": "tool_use", "id": number, "name": call.name, "input": call.arguments})
    return blocks


def _usage(asked: Asked, answer: Answer, thought: bool) -> Json:
    thinking = tokens(*answer.thoughts) if thought else 0
    said = tokens(answer.text, *[compact(call.arguments) for call in answer.tool_calls])
    return {
        "input_tokens": tokens(compact(asked.body["messages"])),
        "output_tokens": max(1, thinking + said),
        "output_tokens_details": {"thinking_tokens": thinking},
    }


def _answer(asked: Asked, answer: Answer) -> Reply:
    blocks = _blocks(asked, answer)
    message: Json = {
        "id": f"msg_{asked.memory.number()}",
        "type": "message",
        "role": "assistant",
        "model": asked.model,
        "content": blocks,
        "stop_reason": _STOPS[answer.ending],
        "stop_sequence": None,
        "usage": _usage(asked, answer, any(block["type"] in anthropic_history.THOUGHTS for block in blocks)),
    }
    if asked.beta("thinking-binding-controls-2026-08-01"):
        message["input_transformations"] = dropped(asked)
    stream = asked.body.get("stream") is True
    return Reply(
        message, tuple(_events(message)) if stream else (), stream, headers={"request-id": "req_sim"}
    )


def _events(message: Json) -> list[bytes]:
    usage = message["usage"]
    started = message | {"content": [], "stop_reason": None, "usage": usage | {"output_tokens": 1}}
    started["usage"].pop("output_tokens_details")
    told: list[Json] = [{"type": "message_start", "message": started}]
    for index, block in enumerate(message["content"]):
        told += _block_events(index, block)
        if index == 0:
            told.append({"type": "ping"})
    ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    told.append({"type": "message_delta", "delta": ending, "usage": usage})
    told.append({"type": "message_stop"})
    return [event(one, one["type"]) for one in told]


def _block_events(index: int, block: Json) -> list[Json]:
    match block["type"]:
        case "thinking":
            empty = {"type": "thinking", "thinking": "", "signature": ""}
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(block["thinking"])]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
        case "text":
            empty = {"type": "text", "text": ""}
            deltas = [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
        case "tool_use":
            empty = block | {"input": {}}
            told = compact(block["input"])
            deltas = [{"type": "input_json_delta", "partial_json": part} for part in ("", told[:7], told[7:])]
        case _:
            empty, deltas = block, []
    return [
        {"type": "content_block_start", "index": index, "content_block": empty},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def _error(refusal: Refusal) -> Json:
    kind = refusal.kind or _KINDS.get(refusal.status, "api_error")
    return {"type": "error", "error": {"type": kind, "message": refusal.message}, "request_id": "req_sim"}


API = Api(
    name="anthropic",
    base="",
    path=r"/v1/messages",
    rules=(*anthropic_rules.RULES, *anthropic_history.RULES),
    hear=_hear,
    answer=_answer,
    error=_error,
    interrupted=lambda place: event(_error(Refusal(529, "Overloaded")), "error"),
    lookups=(Lookup("GET", r"/v1/models(?:/(?P<model>[^/]+))?", listed),),
    keep_alive=event({"type": "ping"}, "ping"),
    overloaded=529,
)
