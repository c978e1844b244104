"""The rules of Bedrock Converse: blank text, the order of messages, tool results, and thinking."""

import json
from itertools import pairwise

from thinkaloud.simulators.api import ApiError, ApiRequest, Json, Rule, mapping, objects
from thinkaloud.simulators.output_rules import claude_violation
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
    unknown = next((name for name in request.body if name not in _FIELDS), None)
    return _invalid(f"Unknown parameter in input: {unknown}") if unknown else None


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
    blocks = [mapping(block[kind]) for block in message_blocks(message) if kind in block]
    return {str(block.get("toolUseId")) for block in blocks}


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
    return [
        mapping(block["reasoningContent"]) for block in message_blocks(message) if "reasoningContent" in block
    ]


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
