"""Anthropic's rules for the conversation: thoughts altered, omitted or moved, and calls without results.

A signature is bound to the text of its block, and on the newest models also to everything before it: system
prompt, tools, earlier messages and earlier blocks.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from thinkaloud.simulators.anthropic.models import ClaudeModel, find_model, thinking_type
from thinkaloud.simulators.anthropic.rules import invalid_request
from thinkaloud.simulators.api import ApiError, ApiRequest, Json, Rule, mapping, objects
from thinkaloud.simulators.seals import fingerprint

_CALL_ID = re.compile("^[a-zA-Z0-9_-]+$")
THOUGHT_TYPES = ("thinking", "redacted_thinking")
_BINDING_BETA = "thinking-binding-controls-2026-08-01"
_MISMATCH_MESSAGE = "Invalid signature in thinking block. The block is bound to a different conversation."
_MESSAGE_FIELDS = {"role", "content", "output_config"}
_BLOCK_FIELDS = {
    "thinking": {"type", "thinking", "signature"},
    "redacted_thinking": {"type", "data"},
    "text": {"type", "text", "cache_control", "citations"},
    "tool_use": {"type", "id", "name", "input", "cache_control", "caller"},
    "tool_result": {"type", "tool_use_id", "content", "is_error", "cache_control"},
}


class BlockPath(NamedTuple):
    """The path of a block in the request."""

    message: int
    block: int

    def __str__(self) -> str:
        return f"messages.{self.message}.content.{self.block}"


def content_blocks(message: Json) -> list[Json]:
    """Return the blocks of a message; plain text is one block."""
    value = message.get("content")
    return [{"type": "text", "text": value}] if isinstance(value, str) else objects(value)


def _messages(request: ApiRequest) -> list[Json]:
    return objects(request.body["messages"])


def _model_row(request: ApiRequest) -> ClaudeModel:
    return find_model(request.model) or ClaudeModel(request.model, ("disabled",))


def prefix_fingerprint(request: ApiRequest, messages: list[Json], blocks: list[Json]) -> str:
    """Return a fingerprint of everything before a block."""
    earlier_messages = [
        (message.get("role"), without_cache_marks(content_blocks(message))) for message in messages
    ]
    system = request.body.get("system", "")
    system = [{"type": "text", "text": system}] if isinstance(system, str) else system
    return fingerprint(
        without_cache_marks(system),
        without_cache_marks(request.body.get("tools") or []),
        earlier_messages,
        without_cache_marks(blocks),
    )


def without_cache_marks(value: Any) -> Any:
    """Return the value without cache marks and empty fields, which do not change its meaning."""
    if isinstance(value, list):
        kept = [item for item in value if not _blank_text(item)]
        return [without_cache_marks(item) for item in kept]
    if not isinstance(value, dict):
        return value
    fields = {}
    for name, item in value.items():
        if name != "cache_control" and item is not None:
            fields[name] = without_cache_marks(item)
    return fields


def _blank_text(block: Any) -> bool:
    """Return whether this is a text block without any visible character, which no request may contain."""
    return isinstance(block, dict) and block.get("type") == "text" and not str(block.get("text", "")).strip()


def _thought_blocks(request: ApiRequest) -> Iterator[tuple[BlockPath, Json, str]]:
    """Return every thought of the conversation, with its path and the fingerprint of what precedes it."""
    messages = _messages(request)
    for index, message in enumerate(messages):
        blocks = content_blocks(message)
        for block_index, block in enumerate(blocks):
            if block.get("type") in THOUGHT_TYPES:
                yield (
                    BlockPath(index, block_index),
                    block,
                    prefix_fingerprint(request, messages[:index], blocks[:block_index]),
                )


def sign(request: ApiRequest, kind: str, text: str, prefix: str) -> str:
    """Return the signature of a new block."""
    bound_prefix = prefix if _model_row(request).prefix_bound else ""
    return request.signing_key.seal(
        kind=kind, model=_model_row(request).id, text=fingerprint(text), before=bound_prefix
    )


def _read_signature(request: ApiRequest, block: Json) -> dict[str, str] | None:
    """Return the content of a thought's signature, or None if it does not sign this text."""
    seal, text = block.get("signature"), block.get("thinking", "")
    if block["type"] == "redacted_thinking":
        seal, text = block.get("data"), ""
    claims = request.signing_key.read_seal(seal)
    if claims is None or claims.get("kind") != block["type"] or claims.get("text") != fingerprint(text):
        return None
    return claims


def dropped_blocks(request: ApiRequest) -> list[Json]:
    """Return the thoughts that are ignored, each with its reason, as the response lists them."""
    drops: list[Json] = []
    model = _model_row(request)
    for path, block, prefix in _thought_blocks(request):
        claims = _read_signature(request, block)
        if claims is None:
            continue
        if claims["model"] != model.id:
            drops.append(_drop_entry(path, "model_binding_mismatch"))
        elif claims["before"] and claims["before"] != prefix:
            drops.append(_drop_entry(path, "prefix_binding_mismatch"))
    return drops


def _drop_entry(path: BlockPath, reason: str) -> Json:
    return {"type": "thinking_dropped", "path": str(path), "reason": reason}


def _check_messages(request: ApiRequest) -> ApiError | None:
    for index, message in enumerate(request.body["messages"]):
        if not isinstance(message, dict) or message.get("role") not in ("user", "assistant", "system"):
            return invalid_request(f"messages.{index}.role: Input should be 'user' or 'assistant'")
        unknown = next((name for name in message if name not in _MESSAGE_FIELDS), None)
        if unknown:
            return invalid_request(f"messages.{index}.{unknown}: Extra inputs are not permitted")
        if not content_blocks(message):
            return invalid_request(f"messages.{index}: all messages must have non-empty content")
    return None


def _check_blocks(request: ApiRequest) -> ApiError | None:
    for index, message in enumerate(_messages(request)):
        for block_index, block in enumerate(content_blocks(message)):
            known = _BLOCK_FIELDS.get(str(block.get("type")))
            unknown = next((name for name in block if known and name not in known), None)
            if unknown:
                return invalid_request(
                    f"{BlockPath(index, block_index)}.{block['type']}.{unknown}: Extra inputs are not "
                    "permitted"
                )
            if block.get("type") == "text" and not block.get("text"):
                return invalid_request("messages: text content blocks must be non-empty")
            if _blank_text(block):
                return invalid_request("messages: text content blocks must contain non-whitespace text")
    return None


def _check_signed(request: ApiRequest) -> ApiError | None:
    for path, block, _ in _thought_blocks(request):
        name = "data" if block["type"] == "redacted_thinking" else "signature"
        if name not in block:
            return invalid_request(f"{path}.{block['type']}.{name}: Field required")
        if not block[name]:
            return invalid_request(f"{path}: Invalid `{name}` in `{block['type']}` block")
    return None


def _check_unaltered(request: ApiRequest) -> ApiError | None:
    for path, block, _ in _thought_blocks(request):
        if _read_signature(request, block) is None:
            name = "data" if block["type"] == "redacted_thinking" else "signature"
            return invalid_request(f"{path}: Invalid `{name}` in `{block['type']}` block")
    return None


def _check_prefix_binding(request: ApiRequest) -> ApiError | None:
    binding = mapping(mapping(request.body.get("thinking")).get("block_binding"))
    if request.has_beta(_BINDING_BETA) and binding.get("prefix_mismatch_behavior") == "drop_block":
        return None
    for drop in dropped_blocks(request):
        if drop["reason"] == "prefix_binding_mismatch":
            return invalid_request(f"{drop['path']}: {_MISMATCH_MESSAGE}")
    return None


def _open_loop(request: ApiRequest) -> tuple[int, list[Json]] | None:
    """Return index and blocks of the last assistant message while its calls are being answered."""
    messages = _messages(request)
    if len(messages) < 2 or messages[-2].get("role") != "assistant":
        return None
    answered = any(block.get("type") == "tool_result" for block in content_blocks(messages[-1]))
    return (len(messages) - 2, content_blocks(messages[-2])) if answered else None


def _check_thinking_first(request: ApiRequest) -> ApiError | None:
    open_loop = _open_loop(request)
    if thinking_type(request, _model_row(request)) != "enabled" or open_loop is None:
        return None
    return _missing_thought_error(*open_loop)


def _check_thinking_kept(request: ApiRequest) -> ApiError | None:
    open_loop = _open_loop(request)
    model = _model_row(request)
    if open_loop is None or thinking_type(request, model) != "adaptive":
        return None
    for block in open_loop[1]:
        call = f"{block.get('id')} {model.id}"
        if block.get("type") == "tool_use" and call in request.state.calls_after_thought:
            return _missing_thought_error(*open_loop)
    return None


def _missing_thought_error(index: int, blocks: list[Json]) -> ApiError | None:
    first = blocks[0].get("type")
    if first in THOUGHT_TYPES:
        return None
    return invalid_request(
        f"messages.{index}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{first}`. "
        "When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceding "
        "the lastmost set of `tool_use` and `tool_result` blocks)."
    )


def _ids(message: Json, kind: str, name: str) -> list[Any]:
    return [block.get(name) for block in content_blocks(message) if block.get("type") == kind]


def _check_call_ids(request: ApiRequest) -> ApiError | None:
    seen: set[object] = set()
    for index, message in enumerate(_messages(request)):
        for block_index, block in enumerate(content_blocks(message)):
            if block.get("type") != "tool_use":
                continue
            path = BlockPath(index, block_index)
            if not _CALL_ID.fullmatch(str(block.get("id"))):
                return invalid_request(
                    f"{path}.tool_use.id: String should match pattern '{_CALL_ID.pattern}'"
                )
            if block["id"] in seen:
                return invalid_request(f"{path}: `tool_use` ids must be unique")
            seen.add(block["id"])
    return None


def _check_results_first(request: ApiRequest) -> ApiError | None:
    for index, message in enumerate(_messages(request)):
        kinds = [block.get("type") == "tool_result" for block in content_blocks(message)]
        if any(kinds) and kinds != sorted(kinds, reverse=True):
            return invalid_request(
                f"messages.{index}: `tool_result` blocks must come before all other content of the message."
            )
    return None


def _check_calls_answered(request: ApiRequest) -> ApiError | None:
    messages = [*_messages(request), {}]
    for index, (message, following) in enumerate(pairwise(messages)):
        answered = _ids(following, "tool_result", "tool_use_id")
        missing = [call for call in _ids(message, "tool_use", "id") if call not in answered]
        if missing:
            return invalid_request(
                f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately "
                "after: "
                f"{', '.join(map(str, missing))}. Each `tool_use` block must have a corresponding "
                "`tool_result` block in the next message."
            )
    return None


def _check_results_called(request: ApiRequest) -> ApiError | None:
    messages = [{}, *_messages(request)]
    for index, (previous, message) in enumerate(pairwise(messages)):
        called = _ids(previous, "tool_use", "id")
        uncalled = [call for call in _ids(message, "tool_result", "tool_use_id") if call not in called]
        if uncalled:
            return invalid_request(
                f"messages.{index}.content.0: unexpected `tool_use_id` found in `tool_result` blocks: "
                f"{uncalled[0]}. Each `tool_result` block must have a corresponding `tool_use` block in the "
                "previous message."
            )
    return None


RULES = (
    Rule(
        "anthropic.message-shape",
        "a message that is empty or has an unknown role or field",
        "vendor docs",
        _check_messages,
    ),
    Rule(
        "anthropic.block-shape",
        "a block with an unknown field, or an empty text",
        "vendor docs",
        _check_blocks,
    ),
    Rule("anthropic.unsigned", "a thought without a signature", "onyx#13691", _check_signed),
    Rule("anthropic.altered", "a thought that differs from what was signed", "vendor docs", _check_unaltered),
    Rule(
        "anthropic.call-ids",
        "a call id twice, or with other characters than letters, digits, _ and -",
        "litellm#23510, opencode#1279",
        _check_call_ids,
    ),
    Rule(
        "anthropic.results-first",
        "other content before a tool result",
        "vendor docs: tool use",
        _check_results_first,
    ),
    Rule(
        "anthropic.calls-open",
        "a call whose result does not follow immediately",
        "vendor docs: tool use",
        _check_calls_answered,
    ),
    Rule(
        "anthropic.results-alone",
        "a result whose call is not in the previous message",
        "vendor docs: tool use",
        _check_results_called,
    ),
    Rule(
        "anthropic.thinking-first",
        "manual thinking, if the open tool loop does not begin with a thought",
        "opencode#3077, continue#4470",
        _check_thinking_first,
    ),
    Rule(
        "anthropic.thinking-left-out",
        "adaptive thinking, if the thought before this model's own call in the open tool loop is missing",
        "vendor docs: thinking with tool use",
        _check_thinking_kept,
    ),
    Rule(
        "anthropic.moved",
        "a thought bound to its conversation, sent in another one (unless drop_block is set)",
        "vendor docs: thinking block binding",
        _check_prefix_binding,
    ),
)
