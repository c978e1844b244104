"""What Anthropic refuses in the conversation: thoughts altered, left out or moved, and calls left open.

A signature is bound to the text of its block, and on the newest models to everything before it as well:
system prompt, tools, earlier messages and earlier blocks.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from thinkaloud.simulators.anthropic_models import Claude, claude, thinking_type
from thinkaloud.simulators.anthropic_rules import bad
from thinkaloud.simulators.api import Asked, Json, Refusal, Rule, mapping, objects
from thinkaloud.simulators.signing import fingerprint

THOUGHTS = ("thinking", "redacted_thinking")
_BINDING = "thinking-binding-controls-2026-08-01"
_MISMATCH = "Invalid signature in thinking block. The block is bound to a different conversation."
_MESSAGE_FIELDS = {"role", "content", "output_config"}
_FIELDS = {
    "thinking": {"type", "thinking", "signature"},
    "redacted_thinking": {"type", "data"},
    "text": {"type", "text", "cache_control", "citations"},
    "tool_use": {"type", "id", "name", "input", "cache_control", "caller"},
    "tool_result": {"type", "tool_use_id", "content", "is_error", "cache_control"},
}


class Place(NamedTuple):
    """Where a block is."""

    message: int
    block: int

    def __str__(self) -> str:
        return f"messages.{self.message}.content.{self.block}"


def content(message: Json) -> list[Json]:
    """A message's blocks; plain text is one block."""
    told = message.get("content")
    return [{"type": "text", "text": told}] if isinstance(told, str) else objects(told)


def _messages(asked: Asked) -> list[Json]:
    return objects(asked.body["messages"])


def _row(asked: Asked) -> Claude:
    return claude(asked.model) or Claude(asked.model, ("disabled",))


def prefix(asked: Asked, messages: list[Json], blocks: list[Json]) -> str:
    """A fingerprint of all that stands before a block."""
    before = [(message.get("role"), _plain(content(message))) for message in messages]
    system = asked.body.get("system", "")
    system = [{"type": "text", "text": system}] if isinstance(system, str) else system
    return fingerprint(_plain(system), _plain(asked.body.get("tools") or []), before, _plain(blocks))


def _plain(value: Any) -> Any:
    """Without cache marks and empty fields, which do not change what was said."""
    if isinstance(value, dict):
        kept = {name: inner for name, inner in value.items() if name != "cache_control" and inner is not None}
        return {name: _plain(inner) for name, inner in kept.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


def _thoughts(asked: Asked) -> Iterator[tuple[Place, Json, str]]:
    """Every thought of the conversation, where it is and what stands before it."""
    messages = _messages(asked)
    for at, message in enumerate(messages):
        blocks = content(message)
        for number, block in enumerate(blocks):
            if block.get("type") in THOUGHTS:
                yield Place(at, number), block, prefix(asked, messages[:at], blocks[:number])


def sign(asked: Asked, kind: str, text: str, before: str) -> str:
    """The signature of a new block."""
    bound = before if _row(asked).bound else ""
    return asked.secret.seal(kind=kind, model=_row(asked).id, text=fingerprint(text), before=bound)


def _note(asked: Asked, block: Json) -> dict[str, str] | None:
    """What a thought's signature says, or None when it is no signature of this text."""
    redacted = block["type"] == "redacted_thinking"
    note = asked.secret.open(block.get("data" if redacted else "signature"))
    text = "" if redacted else block.get("thinking", "")
    if note is None or note.get("kind") != block["type"] or note.get("text") != fingerprint(text):
        return None
    return note


def dropped(asked: Asked) -> list[Json]:
    """The thoughts that are left out unread, each with its reason, as the response lists them."""
    found: list[Json] = []
    model = _row(asked)
    for place, block, before in _thoughts(asked):
        note = _note(asked, block)
        if note is None:
            continue
        if note["model"] != model.id:
            found.append(_left_out(place, "model_binding_mismatch"))
        elif note["before"] and note["before"] != before:
            found.append(_left_out(place, "prefix_binding_mismatch"))
    return found


def _left_out(place: Place, reason: str) -> Json:
    return {"type": "thinking_dropped", "path": str(place), "reason": reason}


def _roles(asked: Asked) -> Refusal | None:
    for at, message in enumerate(asked.body["messages"]):
        if not isinstance(message, dict) or message.get("role") not in ("user", "assistant", "system"):
            return bad(f"messages.{at}.role: Input should be 'user' or 'assistant'")
        unknown = next((name for name in message if name not in _MESSAGE_FIELDS), None)
        if unknown:
            return bad(f"messages.{at}.{unknown}: Extra inputs are not permitted")
        if not content(message):
            return bad(f"messages.{at}: all messages must have non-empty content")
    return None


def _blocks(asked: Asked) -> Refusal | None:
    for at, message in enumerate(_messages(asked)):
        for number, block in enumerate(content(message)):
            known = _FIELDS.get(str(block.get("type")))
            unknown = next((name for name in block if known and name not in known), None)
            if unknown:
                return bad(f"{Place(at, number)}.{block['type']}.{unknown}: Extra inputs are not permitted")
            if block.get("type") == "text" and not block.get("text"):
                return bad("messages: text content blocks must be non-empty")
    return None


def _unsigned(asked: Asked) -> Refusal | None:
    for place, block, _ in _thoughts(asked):
        name = "data" if block["type"] == "redacted_thinking" else "signature"
        if name not in block:
            return bad(f"{place}.{block['type']}.{name}: Field required")
        if not block[name]:
            return bad(f"{place}: Invalid `{name}` in `{block['type']}` block")
    return None


def _altered(asked: Asked) -> Refusal | None:
    for place, block, _ in _thoughts(asked):
        if _note(asked, block) is None:
            name = "data" if block["type"] == "redacted_thinking" else "signature"
            return bad(f"{place}: Invalid `{name}` in `{block['type']}` block")
    return None


def _moved(asked: Asked) -> Refusal | None:
    binding = mapping(mapping(asked.body.get("thinking")).get("block_binding"))
    if asked.beta(_BINDING) and binding.get("prefix_mismatch_behavior") == "drop_block":
        return None
    broken = [drop for drop in dropped(asked) if drop["reason"] == "prefix_binding_mismatch"]
    return bad(f"{broken[0]['path']}: {_MISMATCH}") if broken else None


def _open_loop(asked: Asked) -> tuple[int, list[Json]] | None:
    """The last assistant message while its calls are being answered: its place and its blocks."""
    messages = _messages(asked)
    if len(messages) < 2 or messages[-2].get("role") != "assistant":
        return None
    answered = any(block.get("type") == "tool_result" for block in content(messages[-1]))
    return (len(messages) - 2, content(messages[-2])) if answered else None


def _thinking_first(asked: Asked) -> Refusal | None:
    found = _open_loop(asked)
    if thinking_type(asked, _row(asked)) != "enabled" or found is None:
        return None
    return _without_thought(*found)


def _thinking_left_out(asked: Asked) -> Refusal | None:
    found = _open_loop(asked)
    if thinking_type(asked, _row(asked)) != "adaptive" or found is None:
        return None
    model = _row(asked).id
    calls = {f"{block.get('id')} {model}" for block in found[1] if block.get("type") == "tool_use"}
    return _without_thought(*found) if calls & asked.memory.after_thought else None


def _without_thought(at: int, blocks: list[Json]) -> Refusal | None:
    first = blocks[0].get("type")
    if first in THOUGHTS:
        return None
    return bad(
        f"messages.{at}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{first}`. "
        "When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceding "
        "the lastmost set of `tool_use` and `tool_result` blocks)."
    )


def _ids(message: Json, kind: str, name: str) -> list[Any]:
    return [block.get(name) for block in content(message) if block.get("type") == kind]


def _calls_open(asked: Asked) -> Refusal | None:
    messages = [*_messages(asked), {}]
    for at, (message, after) in enumerate(pairwise(messages)):
        answered = _ids(after, "tool_result", "tool_use_id")
        missing = [call for call in _ids(message, "tool_use", "id") if call not in answered]
        if missing:
            return bad(
                f"messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: "
                f"{', '.join(map(str, missing))}. Each `tool_use` block must have a corresponding "
                "`tool_result` block in the next message."
            )
    return None


def _results_alone(asked: Asked) -> Refusal | None:
    messages = [{}, *_messages(asked)]
    for at, (before, message) in enumerate(pairwise(messages)):
        called = _ids(before, "tool_use", "id")
        alone = [call for call in _ids(message, "tool_result", "tool_use_id") if call not in called]
        if alone:
            return bad(
                f"messages.{at}.content.0: unexpected `tool_use_id` found in `tool_result` blocks: "
                f"{alone[0]}. Each `tool_result` block must have a corresponding `tool_use` block in the "
                "previous message."
            )
    return None


RULES = (
    Rule(
        "anthropic.message-shape", "a message with an unknown role or field, or empty", "vendor docs", _roles
    ),
    Rule("anthropic.block-shape", "a block with an unknown field, or an empty text", "vendor docs", _blocks),
    Rule("anthropic.unsigned", "a thought without a signature", "onyx#13691", _unsigned),
    Rule("anthropic.altered", "a thought that is not as it was signed", "vendor docs", _altered),
    Rule(
        "anthropic.calls-open",
        "a call whose result does not follow at once",
        "vendor docs: tool use",
        _calls_open,
    ),
    Rule(
        "anthropic.results-alone",
        "a result whose call is not just before it",
        "vendor docs: tool use",
        _results_alone,
    ),
    Rule(
        "anthropic.thinking-first",
        "manual thinking, and the open tool loop does not begin with a thought",
        "opencode#3077, continue#4470",
        _thinking_first,
    ),
    Rule(
        "anthropic.thinking-left-out",
        "adaptive thinking, and the thought before this model's own call in the open tool loop was left out",
        "vendor docs: thinking with tool use",
        _thinking_left_out,
    ),
    Rule(
        "anthropic.moved",
        "a thought bound to its conversation, sent in another (unless drop_block is asked for)",
        "vendor docs: thinking block binding",
        _moved,
    ),
)
