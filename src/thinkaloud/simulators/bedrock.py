"""Bedrock Converse: strict messages, signed thoughts of Claude, withheld ones of Nova, AWS event streams."""

import json
import struct
import zlib
from collections.abc import Iterator
from itertools import pairwise

from thinkaloud.simulators.api import (
    ApiError,
    ApiRequest,
    Json,
    Rule,
    SimulatedApi,
    SimulatedResponse,
    compact_json,
    mapping,
    objects,
)
from thinkaloud.simulators.output_rules import claude_violation
from thinkaloud.simulators.script import (
    OfferedTool,
    ReceivedPrompt,
    ScriptedAnswer,
    count_tokens,
    split_words,
)
from thinkaloud.simulators.seals import fingerprint

MODELS = (
    "us.anthropic.claude-opus-4-5-20251101-v1:0",
    "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "amazon.nova-2-lite-v1:0",
    "global.amazon.nova-2-lite-v1:0",
)
_NOVA_EFFORTS = ("low", "medium", "high")
_FIELDS = {
    "messages",
    "system",
    "inferenceConfig",
    "toolConfig",
    "guardrailConfig",
    "additionalModelRequestFields",
    "additionalModelResponseFieldPaths",
    "promptVariables",
    "requestMetadata",
    "performanceConfig",
    "serviceTier",
    "outputConfig",
}


def request_messages(request: ApiRequest) -> list[Json]:
    """Return the messages of the request."""
    return objects(request.body.get("messages"))


def message_blocks(message: Json) -> list[Json]:
    """Return the content of a message."""
    return objects(message.get("content"))


def output_schema(request: ApiRequest) -> Json | None:
    """Return the JSON Schema that the answer must match. It is sent as text."""
    text_format = mapping(mapping(request.body.get("outputConfig")).get("textFormat"))
    schema = mapping(mapping(text_format.get("structure")).get("jsonSchema")).get("schema")
    try:
        return mapping(json.loads(schema)) if isinstance(schema, str) else None
    except ValueError:
        return {}


def thinking_on(request: ApiRequest) -> bool:
    """Return whether the request turns thinking on."""
    if is_nova(request):
        return _nova_reasoning(request).get("type") == "enabled"
    return _claude_thinking(request).get("type") in ("enabled", "adaptive")


def is_nova(request: ApiRequest) -> bool:
    """Return whether the request is for a model of Amazon, which thinks by other parameters than Claude."""
    return "amazon.nova" in request.model


def _nova_reasoning(request: ApiRequest) -> Json:
    return mapping(mapping(request.body.get("additionalModelRequestFields")).get("reasoningConfig"))


def _invalid(message: str) -> ApiError:
    return ApiError(400, message, "ValidationException")


def _check_key(request: ApiRequest) -> ApiError | None:
    signed = request.headers.get("authorization", "").startswith("AWS4-HMAC-SHA256 Credential=")
    if signed or request.accepts_key(request.bearer):
        return None
    return ApiError(403, "The security token included in the request is invalid.")


def _check_model(request: ApiRequest) -> ApiError | None:
    return None if request.model in MODELS else _invalid("The provided model identifier is invalid.")


def _check_fields(request: ApiRequest) -> ApiError | None:
    for name in request.body:
        if name not in _FIELDS:
            return _invalid(f"Unknown parameter in input: {name}")
    return None


def _check_order(request: ApiRequest) -> ApiError | None:
    roles = [message.get("role") for message in request_messages(request)]
    if not roles or roles[0] != "user":
        return _invalid(
            "A conversation must start with a user message. Try again with a conversation that "
            "starts with a user message."
        )
    if any(first == second for first, second in pairwise(roles)):
        return _invalid("A conversation must alternate between user and assistant roles.")
    return None


def _check_blank(request: ApiRequest) -> ApiError | None:
    for index, message in enumerate(request_messages(request)):
        if not message_blocks(message):
            return _invalid(f"The content field in the Message object at messages.{index} is empty.")
        for number, block in enumerate(message_blocks(message)):
            results = objects(mapping(block.get("toolResult")).get("content"))
            if any("text" in part and not str(part["text"]).strip() for part in (block, *results)):
                return _invalid(
                    f"The text field in the ContentBlock object at messages.{index}.content.{number} is "
                    "blank. Add text to the text field, and try again."
                )
    return None


def _call_ids(message: Json, kind: str) -> set[str]:
    return {str(block.get("toolUseId")) for block in _blocks_of(message, kind)}


def _check_results(request: ApiRequest) -> ApiError | None:
    for index, (message, answer) in enumerate(pairwise([*request_messages(request), {}])):
        calls = _call_ids(message, "toolUse")
        results = _call_ids(answer, "toolResult")
        if calls - results:
            return _invalid(
                f"Expected toolResult blocks at messages.{index + 1}.content for the following Ids: "
                f"{', '.join(sorted(calls - results))}"
            )
        if results - calls:
            return _invalid(
                f"The number of toolResult blocks at messages.{index + 1}.content exceeds the number of "
                "toolUse blocks of previous turn."
            )
    return None


def _thoughts(message: Json) -> list[Json]:
    return _blocks_of(message, "reasoningContent")


def _blocks_of(message: Json, kind: str) -> list[Json]:
    return [mapping(block[kind]) for block in message_blocks(message) if kind in block]


def _check_signatures(request: ApiRequest) -> ApiError | None:
    for index, message in enumerate(request_messages(request)):
        for thought in _thoughts(message):
            text = mapping(thought.get("reasoningText"))
            claims = request.signing_key.read_seal(text.get("signature") or thought.get("redactedContent"))
            altered = claims is None or (text and claims["text"] != fingerprint(text.get("text")))
            if altered:
                return _invalid(f"messages.{index}.content.0: Invalid `signature` in `thinking` block")
    return None


def _check_thought_first(request: ApiRequest) -> ApiError | None:
    fields = mapping(request.body.get("additionalModelRequestFields"))
    if mapping(fields.get("thinking")).get("type") != "enabled":
        return None
    messages = list(enumerate(request_messages(request)))
    for index, message in reversed(messages):
        if message.get("role") == "user" and any(
            "toolResult" not in block for block in message_blocks(message)
        ):
            return None
        if message.get("role") == "assistant":
            if message_blocks(message) and "reasoningContent" not in message_blocks(message)[0]:
                return _invalid(
                    f"messages.{index}.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
                    "`tool_use`. When `thinking` is enabled, a final `assistant` message must start with a "
                    "thinking block"
                )
            return None
    return None


def _claude_thinking(request: ApiRequest) -> Json:
    return mapping(mapping(request.body.get("additionalModelRequestFields")).get("thinking"))


def _check_budget(request: ApiRequest) -> ApiError | None:
    thinking = _claude_thinking(request)
    if thinking.get("type") != "enabled":
        return None
    budget = thinking.get("budget_tokens")
    if not isinstance(budget, int) or budget < 1024:
        return _invalid("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
    max_tokens = mapping(request.body.get("inferenceConfig")).get("maxTokens")
    if max_tokens is not None and max_tokens <= budget:
        return _invalid("`max_tokens` must be greater than `thinking.budget_tokens`.")
    return None


def _check_nova(request: ApiRequest) -> ApiError | None:
    """Refuse the parameters of the other model, unknown efforts, and limits with the highest effort."""
    fields = mapping(request.body.get("additionalModelRequestFields"))
    foreign = {"thinking", "output_config"} if is_nova(request) else {"reasoningConfig"}
    if foreign & fields.keys():
        return _invalid(
            "Malformed input request: extraneous key is not permitted, please reformat your input."
        )
    if not thinking_on(request) or not is_nova(request):
        return None
    effort = _nova_reasoning(request).get("maxReasoningEffort")
    if effort not in _NOVA_EFFORTS:
        return _invalid("Malformed input request: the provided reasoning config value is invalid.")
    limits = {"maxTokens", "temperature", "topP"} & mapping(request.body.get("inferenceConfig")).keys()
    if effort == "high" and limits:
        return _invalid(f"{', '.join(sorted(limits))} must be unset when maxReasoningEffort is high.")
    return None


def _check_sampling(request: ApiRequest) -> ApiError | None:
    if is_nova(request):
        return None
    config = mapping(request.body.get("inferenceConfig"))
    if config.get("temperature") is not None and config.get("topP") is not None:
        return _invalid("`temperature` and `top_p` cannot both be specified for this model.")
    if thinking_on(request) and config.get("temperature", 1) != 1:
        return _invalid("`temperature` may only be set to 1 when thinking is enabled.")
    return None


def _check_forced_tool(request: ApiRequest) -> ApiError | None:
    choice = mapping(mapping(request.body.get("toolConfig")).get("toolChoice"))
    if _claude_thinking(request).get("type") == "enabled" and {"any", "tool"} & choice.keys():
        return _invalid("Thinking may not be enabled when tool_choice forces tool use.")
    return None


def _check_output(request: ApiRequest) -> ApiError | None:
    violation = claude_violation(output_schema(request), "output_config.format.schema")
    return violation and _invalid(violation.message)


RULES = (
    Rule("bedrock.key", "neither a bearer token nor a signature", "vendor docs: errors", _check_key),
    Rule("bedrock.model", "unknown model", "vendor docs: errors", _check_model),
    Rule("bedrock.fields", "an unknown parameter", "vendor docs: Converse", _check_fields),
    Rule(
        "bedrock.order",
        "a first message that is not the user's, or two of one role in a row",
        "vendor docs: Converse, hermes-agent#63983",
        _check_order,
    ),
    Rule(
        "bedrock.budget",
        "a budget under 1,024 tokens, or not below maxTokens",
        "vendor docs: extended thinking",
        _check_budget,
    ),
    Rule(
        "bedrock.nova",
        "another vendor's thinking parameters; for Nova an unknown effort, or with `high` an output limit",
        "vendor docs: Nova 2 extended thinking, inspect_ai#3767, inspect_ai#5301, bifrost#1116",
        _check_nova,
    ),
    Rule(
        "bedrock.sampling",
        "a temperature while thinking, or together with topP",
        "vendor docs: extended thinking, skydiscover#15",
        _check_sampling,
    ),
    Rule(
        "bedrock.forced-tool",
        "a forced tool, while Claude thinks with a budget",
        "vendor docs: extended thinking",
        _check_forced_tool,
    ),
    Rule(
        "bedrock.output",
        "a schema with open objects or with bounds",
        "vendor docs: structured outputs",
        _check_output,
    ),
    Rule(
        "bedrock.blank",
        "blank text, also in a tool result, or a message without content",
        "bedrock-engineer#8, hermes-agent#55092, pi#4975, archestra#4220",
        _check_blank,
    ),
    Rule(
        "bedrock.results",
        "a call without its result, or the reverse",
        "vendor docs: Converse",
        _check_results,
    ),
    Rule(
        "bedrock.signature",
        "a thought that was altered or is foreign",
        "vendor docs: extended thinking",
        _check_signatures,
    ),
    Rule(
        "bedrock.thought-first",
        "an open tool loop without a thought, while Claude thinks with a budget",
        "bedrock-access-gateway#119, opencode#3077",
        _check_thought_first,
    ),
)


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
    rules=RULES,
    read_prompt=_read_prompt,
    respond=_respond,
    error_body=_error_body,
    interruption=_interruption,
    lookups=(),
    keep_alive=b"",
)
