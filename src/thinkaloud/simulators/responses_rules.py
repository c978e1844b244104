"""What OpenAI Responses refuses: items whose partner is missing, unknown ids, seals that are not its own.

A reasoning item and the item it led to are an inseparable pair. The server knows which item came after
which thought by the ids it gave; an item that is sent by content, without its id, has no partner.
"""

from itertools import pairwise

from thinkaloud.simulators.api import Asked, Json, Refusal, Rule, mapping, names, objects
from thinkaloud.simulators.openai_shared import bad, check_effort, check_key, check_model, check_sampling

_FIELDS = names(
    """model input instructions store include reasoning stream stream_options tools tool_choice
    temperature top_p max_output_tokens max_tool_calls metadata parallel_tool_calls
    previous_response_id prompt prompt_cache_key prompt_cache_options prompt_cache_retention
    safety_identifier service_tier text top_logprobs truncation user background conversation
    context_management moderation access_programs image"""
)
_REASONING_FIELDS = {"effort", "summary", "generate_summary", "context", "mode"}
_OUTPUTS = ("message", "function_call", "custom_tool_call")


def items(asked: Asked) -> list[Json]:
    """The items of the input, those of an earlier response first."""
    told = asked.body.get("input")
    if isinstance(told, str):
        told = [{"type": "message", "role": "user", "content": told}]
    before = asked.memory.responses.get(str(asked.body.get("previous_response_id")), [])
    return [*before, *(_resolved(asked, item) for item in objects(told))]


def _resolved(asked: Asked, item: Json) -> Json:
    """An item by reference, or by id alone, as it was stored."""
    stored = asked.memory.items.get(str(item.get("id")))
    if stored is not None and (item.get("type") == "item_reference" or _bare(item)):
        return stored
    return item if "type" in item else {"type": "message", **item}


def _bare(item: Json) -> bool:
    return item.get("type") == "reasoning" and not item.get("encrypted_content")


def _shape(asked: Asked) -> Refusal | None:
    unknown = next((name for name in asked.body if name not in _FIELDS), None)
    if unknown:
        return bad(f"Unknown parameter: '{unknown}'.", "unknown_parameter", unknown)
    reasoning = mapping(asked.body.get("reasoning"))
    unknown = next((name for name in reasoning if name not in _REASONING_FIELDS), None)
    if unknown:
        return bad(f"Unknown parameter: 'reasoning.{unknown}'.", "unknown_parameter", f"reasoning.{unknown}")
    if not isinstance(asked.body.get("input"), str | list) or not asked.body["input"]:
        return bad("Missing required parameter: 'input'.", "missing_required_parameter", "input")
    return None


def _effort(asked: Asked) -> Refusal | None:
    return check_effort(asked, "reasoning.effort", mapping(asked.body.get("reasoning")).get("effort"))


def _previous(asked: Asked) -> Refusal | None:
    wanted = asked.body.get("previous_response_id")
    if wanted is None or str(wanted) in asked.memory.responses:
        return None
    words = f"Previous response with id '{wanted}' not found."
    return bad(words, "previous_response_not_found", "previous_response_id")


def _unknown_id(asked: Asked) -> Refusal | None:
    for item in items(asked):
        lost = item.get("type") == "item_reference" or (
            _bare(item) and str(item.get("id")) not in asked.memory.items
        )
        if not lost:
            continue
        words = f"Item with id '{item.get('id')}' not found."
        if asked.body.get("store") is False:
            words += (
                " Items are not persisted when `store` is set to false."
                " Try again with `store` set to true, or remove this item from your input."
            )
        return Refusal(404, words, "invalid_request_error", None, "input")
    return None


def _duplicate(asked: Asked) -> Refusal | None:
    seen: set[str] = set()
    for item in items(asked):
        given = str(item.get("id") or "")
        if given and given in seen:
            words = (
                f"Duplicate item found with id {given}. Remove duplicate items from your input and try again."
            )
            return bad(words, None, "input")
        seen.add(given)
    return None


def _sealed_id(asked: Asked, item: Json) -> str | None:
    """The id that a reasoning item was made with, as its seal tells it."""
    note = asked.secret.open(item.get("encrypted_content"))
    return note["id"] if note and note.get("kind") == "reasoning" else None


def _undecipherable(asked: Asked) -> Refusal | None:
    for item in items(asked):
        if item.get("type") != "reasoning" or not item.get("encrypted_content"):
            continue
        sealed = _sealed_id(asked, item)
        if sealed is not None and item.get("id", sealed) == sealed:
            continue
        why = "Encrypted content could not be decrypted or parsed."
        if sealed is not None:
            why = "Encrypted content item_id did not match the target item id."
        shown = str(item["encrypted_content"])[:8]
        words = f"The encrypted content {shown}... could not be verified. Reason: {why}"
        return bad(words, "invalid_encrypted_content", "input")
    return None


def _thought_alone(asked: Asked) -> Refusal | None:
    for item, after in pairwise([*items(asked), {}]):
        if item.get("type") != "reasoning":
            continue
        follows = (
            after.get("type") in ("reasoning", *_OUTPUTS) and after.get("role", "assistant") == "assistant"
        )
        if not follows:
            name = item.get("id") or _sealed_id(asked, item)
            words = f"Item '{name}' of type 'reasoning' was provided without its required following item."
            return bad(words, None, "input")
    return None


def _without_thought(asked: Asked) -> Refusal | None:
    seen: set[str] = set()
    for item in items(asked):
        if item.get("type") == "reasoning":
            seen |= {str(item.get("id")), str(_sealed_id(asked, item))}
        partner = asked.memory.partner.get(str(item.get("id")))
        if partner is not None and partner not in seen:
            words = (
                f"Item '{item['id']}' of type '{item['type']}' was provided without its required "
                f"'reasoning' item: '{partner}'."
            )
            return bad(words, None, "input")
    return None


def _calls_open(asked: Asked) -> Refusal | None:
    told = items(asked)
    called = [item.get("call_id") for item in told if item.get("type") == "function_call"]
    answered = [item.get("call_id") for item in told if item.get("type") == "function_call_output"]
    for call in called:
        if call not in answered:
            return bad(f"No tool output found for function call {call}.", None, "input")
    for call in answered:
        if call not in called:
            return bad(f"No tool call found for function call output with call_id {call}.", None, "input")
    return None


RULES = (
    Rule("openai-responses.key", "no key, or a wrong one", "vendor docs: error codes", check_key),
    Rule("openai-responses.model", "a model that does not exist", "vendor docs: error codes", check_model),
    Rule("openai-responses.shape", "an unknown parameter, or no input", "SDK types", _shape),
    Rule(
        "openai-responses.effort",
        "an effort that this model does not take",
        "vendor docs: reasoning",
        _effort,
    ),
    Rule(
        "openai-responses.sampling", "temperature or top_p while reasoning", "@ai-sdk/openai", check_sampling
    ),
    Rule("openai-responses.previous", "a previous_response_id that was not stored", "vendor docs", _previous),
    Rule(
        "openai-responses.unknown-id",
        "an item by its id alone that was not stored",
        "vercel/ai#7543, openai-agents-js#546, bifrost#5410",
        _unknown_id,
    ),
    Rule(
        "openai-responses.duplicate", "the same item twice", "OpenRouterTeam/ai-sdk-provider#254", _duplicate
    ),
    Rule(
        "openai-responses.undecipherable",
        "encrypted content that was altered, is foreign, or belongs to another item",
        "sub2api#3138",
        _undecipherable,
    ),
    Rule(
        "openai-responses.thought-alone",
        "a thought without the item it led to",
        "@ai-sdk/openai",
        _thought_alone,
    ),
    Rule(
        "openai-responses.without-thought", "an item without its thought", "@ai-sdk/openai", _without_thought
    ),
    Rule("openai-responses.calls-open", "a call without output, or the reverse", "vendor docs", _calls_open),
)
