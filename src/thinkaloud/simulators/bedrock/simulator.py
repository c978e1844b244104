"""Bedrock Converse: strict messages, signed thoughts of Claude, withheld ones of Nova, AWS event streams."""

import struct
import zlib
from collections.abc import Iterator

from thinkaloud.simulators.api import (
    ApiError,
    ApiRequest,
    Json,
    SimulatedApi,
    SimulatedResponse,
    compact_json,
    mapping,
    objects,
)
from thinkaloud.simulators.bedrock import rules as bedrock_rules
from thinkaloud.simulators.bedrock.rules import (
    is_nova,
    message_blocks,
    output_schema,
    request_messages,
    thinking_on,
)
from thinkaloud.simulators.script import (
    OfferedTool,
    ReceivedPrompt,
    ScriptedAnswer,
    count_tokens,
    split_words,
)
from thinkaloud.simulators.seals import fingerprint

NOVA_THOUGHT = "[REDACTED]"
"""All that Nova shows of a thought."""
_STOP_REASONS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "refusal": "content_filtered",
}
_STRING_TYPE = 7
"""The number of a string in the headers of an event stream."""


def _read_prompt(request: ApiRequest) -> ReceivedPrompt:
    blocks = message_blocks(request_messages(request)[-1])
    results = [block for block in blocks if "toolResult" in block]
    text = "".join(str(block.get("text", "")) for block in blocks)
    config = mapping(request.body.get("toolConfig"))
    specs = [mapping(tool.get("toolSpec")) for tool in objects(config.get("tools"))]
    tools = [
        OfferedTool(spec.get("name", ""), mapping(spec.get("inputSchema")).get("json")) for spec in specs
    ]
    choice = mapping(mapping(config.get("toolChoice")).get("tool")).get("name", "auto")
    return ReceivedPrompt(text, tuple(tools), bool(results), str(choice), output_schema(request))


def _content(request: ApiRequest, answer: ScriptedAnswer) -> list[Json]:
    blocks: list[Json] = []
    for thought in answer.thoughts if thinking_on(request) else []:
        if is_nova(request):
            blocks.append({"reasoningContent": {"reasoningText": {"text": NOVA_THOUGHT}}})
            continue
        kind = "redacted" if answer.redacted else "thinking"
        seal = request.signing_key.seal(kind=kind, model=request.model, text=fingerprint(thought))
        part: Json = {"reasoningText": {"text": thought, "signature": seal}}
        if answer.redacted:
            part = {"redactedContent": seal}
        blocks.append({"reasoningContent": part})
    blocks += [{"text": answer.text}] if answer.text else []
    for call in answer.tool_calls:
        call_id = f"tooluse_{request.state.next_id()}"
        blocks.append({"toolUse": {"toolUseId": call_id, "name": call.name, "input": call.arguments}})
    return blocks


def _respond(request: ApiRequest, answer: ScriptedAnswer) -> SimulatedResponse:
    content = _content(request, answer)
    stop_reason = _STOP_REASONS[answer.finish_reason]
    output = count_tokens(compact_json(content))
    entered = count_tokens(compact_json(request.body["messages"]))
    usage = {"inputTokens": entered, "outputTokens": output, "totalTokens": entered + output}
    body: Json = {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": stop_reason,
        "usage": usage,
        "metrics": {"latencyMs": 0},
    }
    if not request.path.endswith("/converse-stream"):
        return SimulatedResponse(body, (), False)
    events: list[tuple[str, Json]] = [("messageStart", {"role": "assistant"})]
    for index, block in enumerate(content):
        events += [(name, {"contentBlockIndex": index, **payload}) for name, payload in _block_events(block)]
    events += [("messageStop", {"stopReason": stop_reason}), ("metadata", {"usage": usage})]
    data = tuple(_encode_event(name, payload) for name, payload in events)
    return SimulatedResponse(body, data, True, "application/vnd.amazon.eventstream")


def _block_events(block: Json) -> Iterator[tuple[str, Json]]:
    """Yield the events of one block. Only a call has a start event."""
    if "toolUse" in block:
        call = block["toolUse"]
        start = {"toolUseId": call["toolUseId"], "name": call["name"]}
        yield "contentBlockStart", {"start": {"toolUse": start}}
        yield "contentBlockDelta", {"delta": {"toolUse": {"input": compact_json(call["input"])}}}
    elif "text" in block:
        for piece in split_words(block["text"]):
            yield "contentBlockDelta", {"delta": {"text": piece}}
    elif "redactedContent" in block["reasoningContent"]:
        yield "contentBlockDelta", {"delta": block}
    else:
        thought = block["reasoningContent"]["reasoningText"]
        for piece in split_words(thought["text"]):
            yield "contentBlockDelta", {"delta": {"reasoningContent": {"text": piece}}}
        if "signature" in thought:
            signature = {"signature": thought["signature"]}
            yield "contentBlockDelta", {"delta": {"reasoningContent": signature}}
    yield "contentBlockStop", {}


def _encode_event(name: str, payload: Json, kind: str = "event") -> bytes:
    """Encode a message of an event stream: lengths and headers with their checksums, and the payload."""
    headers = {f":{kind}-type": name, ":content-type": "application/json", ":message-type": kind}
    header_data = b"".join(
        bytes([len(key)])
        + key.encode()
        + bytes([_STRING_TYPE])
        + struct.pack(">H", len(value))
        + value.encode()
        for key, value in headers.items()
    )
    data = compact_json(payload).encode()
    prelude = struct.pack(">II", 16 + len(header_data) + len(data), len(header_data))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + header_data + data
    return message + struct.pack(">I", zlib.crc32(message))


def _interruption(event_index: int) -> bytes:
    return _encode_event("throttlingException", {"message": "Too many requests"}, "exception")


def _error_body(error: ApiError) -> Json:
    return {"message": error.message}


API = SimulatedApi(
    name="bedrock",
    base_path="",
    path_pattern=r"/model/(?P<model>[^/]+)/converse(?:-stream)?",
    rules=bedrock_rules.RULES,
    read_prompt=_read_prompt,
    respond=_respond,
    error_body=_error_body,
    interruption=_interruption,
    lookups=(),
    keep_alive=b"",
)
