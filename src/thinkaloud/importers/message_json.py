"""Messages in OpenAI's or Anthropic's own form: a list, an object with `messages`, or JSON Lines of either.

A list, and lines that are messages, are one conversation. An object with `messages` is one, so a file of such
lines holds many. The dialect is told from the messages: thinking and tool blocks are Anthropic's, items with
a `type` and without a role are of OpenAI's Responses API, and all others are Chat Completions.
"""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Any

import msgspec

from thinkaloud.core.canon import Refused
from thinkaloud.core.canon.requests import ToolMessage
from thinkaloud.core.context import AnsweredTurn, Step
from thinkaloud.core.dialects.client_request import SYSTEM_ROLES
from thinkaloud.core.transcript import fold
from thinkaloud.importers.json_items import Item
from thinkaloud.importers.json_values import array, string, time_ms
from thinkaloud.importers.prompts import read_prompt, read_results, result_text
from thinkaloud.importers.replies import anthropic_reply, chat_reply, responses_reply
from thinkaloud.importers.source_conversation import (
    SourceContent,
    SourceConversation,
    SourceNode,
    SourceReply,
    UnreadCounter,
)

_ROLES = frozenset(("user", "assistant", "system", "developer", "tool", "function"))
_RESPONSE_ITEMS = frozenset(("reasoning", "function_call", "custom_tool_call", "web_search_call"))
_RESPONSE_RESULTS = frozenset(("function_call_output", "custom_tool_call_output"))
_ANTHROPIC_BLOCKS = frozenset(("thinking", "redacted_thinking", "tool_use", "server_tool_use", "tool_result"))
_CONVERSATION_LISTS = ("messages", "input", "conversation")
_deterministic = msgspec.json.Encoder(order="deterministic")


def recognises(value: Any) -> bool:
    """Return whether an item is a message, an item of the Responses API, or an object with messages."""
    if not isinstance(value, dict):
        return False
    return _is_message(value) or any(
        _is_message(next(iter(array(value, name)), None)) for name in _CONVERSATION_LISTS
    )


def read(items: Iterable[Item], unread: UnreadCounter) -> Iterator[SourceConversation]:
    """Yield one conversation of all messages, or one for each object with messages."""
    loose: list[Any] = []
    first_line = 0
    for item in items:
        unread.line = item.line
        if isinstance(item.value, dict) and _is_message(item.value):
            first_line = first_line or item.line
            loose.append(item.value)
        elif recognises(item.value):
            messages = next(filter(None, (array(item.value, name) for name in _CONVERSATION_LISTS)))
            if string(item.value, "system") or array(item.value, "system"):
                unread.add("system prompt")
            yield _conversation(messages, item.value, unread)
        else:
            unread.add("entry without a message")
    if loose:
        unread.line = first_line
        yield _conversation(loose, {}, unread)


def read_messages(messages: Sequence[Any], model: str) -> tuple[str, tuple[Step, ...]]:
    """Return a list of messages as the system prompt and the steps of a conversation with this model.

    Answers are read by their dialect, so thoughts that they carry can be sent back. What cannot be read is
    refused: it would be missing in the conversation.
    """
    unread, steps, system = UnreadCounter(), list[Step](), list[str]()
    plain = msgspec.to_builtins(list(messages))
    others = []
    for message in plain:
        if string(message, "role") in SYSTEM_ROLES:
            system.append(result_text(message.get("content"), unread))
        else:
            others.append(message)
    anthropic = any(map(_has_anthropic_block, others))
    for content, _ in _contents(others, model, anthropic, unread):
        if isinstance(content, SourceReply):
            steps.append(AnsweredTurn(fold(event for event, _ in content.events)))
        elif isinstance(content, tuple):
            steps += content
        elif content is not None:
            steps.append(content)
    if items := unread.items():
        raise Refused(
            "The messages have what cannot be read: {what}. Pass messages of OpenAI or Anthropic.",
            what=", ".join(item.what for item in items),
        )
    return "\n\n".join(system), tuple(steps)


def _is_message(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    if string(value, "role") in _ROLES:
        return bool(value.keys() & {"content", "tool_calls", "reasoning_content", "parts"})
    return string(value, "type") in _RESPONSE_ITEMS | _RESPONSE_RESULTS


def _conversation(messages: list[Any], value: dict[str, Any], unread: UnreadCounter) -> SourceConversation:
    model = string(value, "model")
    created_ms = time_ms(value.get("created_at")) or time_ms(value.get("created"))
    nodes: list[SourceNode] = []
    anthropic = any(_has_anthropic_block(message) for message in messages)
    for content, at_ms in _contents(messages, model, anthropic, unread):
        parent = nodes[-1].id if nodes else ""
        nodes.append(SourceNode(str(len(nodes)), parent, content, at_ms))
    name = string(value, "id") or string(value, "conversation_id")
    return SourceConversation(
        id=name or sha256(_deterministic.encode(messages)).hexdigest()[:32],
        nodes=tuple(nodes),
        title=string(value, "title"),
        created_ms=created_ms,
        model=model,
    )


def _has_anthropic_block(message: Any) -> bool:
    return any(string(block, "type") in _ANTHROPIC_BLOCKS for block in array(message, "content"))


def _contents(
    messages: list[Any], model: str, anthropic: bool, unread: UnreadCounter
) -> Iterator[tuple[SourceContent, int | None]]:
    """Yield prompts, replies and results. Items of the Responses API are collected into replies."""
    output: list[Any] = []
    responses = any(string(message, "type") in _RESPONSE_ITEMS for message in messages)
    for message in messages:
        kind, role = string(message, "type"), string(message, "role")
        at_ms = time_ms(message.get("timestamp")) if isinstance(message, dict) else None
        if kind in _RESPONSE_ITEMS or (responses and role == "assistant"):
            output.append(message)
            continue
        if output:
            yield responses_reply(output, model), None
            output = []
        if kind in _RESPONSE_RESULTS:
            text = result_text(message.get("output"), unread)
            yield (ToolMessage(string(message, "call_id"), text),), at_ms
        elif role == "assistant":
            own_model = string(message, "model") or model
            reply = anthropic_reply if anthropic else chat_reply
            yield reply(message, own_model, at_ms), at_ms
        elif role in ("tool", "function"):
            call_id = string(message, "tool_call_id") or string(message, "name")
            yield (ToolMessage(call_id, result_text(message.get("content"), unread)),), at_ms
        elif role == "user":
            yield from _user_contents(message, at_ms, unread)
        else:
            unread.add("system prompt" if role in ("system", "developer") else "message without a role")
    if output:
        yield responses_reply(output, model), None


def _user_contents(
    message: dict[str, Any], at_ms: int | None, unread: UnreadCounter
) -> Iterator[tuple[SourceContent, int | None]]:
    content = message.get("content")
    if results := read_results(content, unread):
        yield results, at_ms
    if (prompt := read_prompt(content, unread)) is not None:
        yield prompt, at_ms
