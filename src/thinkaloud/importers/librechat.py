"""LibreChat's JSON export: one conversation, as a tree (`messagesTree`) or as a list (`messages`).

An answer is `text`, or `content` with parts: `think`, `text` and `tool_call`.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from thinkaloud.core.canon.requests import UserMessage
from thinkaloud.core.dialects.client_request import json_text
from thinkaloud.importers.json_items import Item
from thinkaloud.importers.json_values import array, mapping, string, time_ms
from thinkaloud.importers.replies import ReplyBuilder
from thinkaloud.importers.source_conversation import (
    SourceContent,
    SourceConversation,
    SourceNode,
    UnreadCounter,
)

_MESSAGE_LISTS = frozenset(("messages", "messagesTree"))
_MESSAGE_FIELDS = frozenset(
    (
        *("messageId", "parentMessageId", "conversationId", "text", "content", "sender", "isCreatedByUser"),
        *("createdAt", "updatedAt", "children", "model", "endpoint", "error", "unfinished", "tokenCount"),
        *("_id", "__v", "user", "isEdited", "depth", "siblingIndex", "submitting", "finish_reason"),
        *("iconURL", "files", "attachments", "summary", "summaryTokenCount", "clientId", "feedback"),
        *("conversationSignature", "expiredAt", "_meiliIndex", "addedConvo", "metadata", "thread_id"),
    )
)


def recognises(value: Any) -> bool:
    """Return whether an item is such a conversation."""
    return isinstance(value, dict) and "conversationId" in value and bool(value.keys() & _MESSAGE_LISTS)


def read(items: Iterable[Item], unread: UnreadCounter) -> Iterator[SourceConversation]:
    """Yield the conversations of an export."""
    for item in items:
        unread.line = item.line
        if not recognises(item.value):
            unread.add("entry without a conversation")
            continue
        nodes = tuple(_nodes(item.value, unread))
        options = mapping(item.value, "options")
        yield SourceConversation(
            id=string(item.value, "conversationId"),
            nodes=nodes,
            title=string(item.value, "title"),
            created_ms=next((node.at_ms for node in nodes if node.at_ms is not None), None),
            model=string(options, "model"),
        )


def _nodes(value: dict[str, Any], unread: UnreadCounter) -> Iterator[SourceNode]:
    """Yield all messages. In a tree, a message is inside of the one before it."""
    roots = array(value, "messagesTree") or array(value, "messages")
    stack = [(message, "") for message in reversed(roots)]
    position = 0
    while stack:
        message, above = stack.pop()
        if not isinstance(message, dict):
            unread.add("message that is no object")
            continue
        unread.add_fields("a message", message, _MESSAGE_FIELDS)
        name = string(message, "messageId") or str(position)
        position += 1
        at_ms = time_ms(message.get("createdAt"))
        is_prompt = message.get("isCreatedByUser") is True
        content = _prompt(message, unread) if is_prompt else _reply(message, unread, at_ms)
        yield SourceNode(name, above or string(message, "parentMessageId"), content, at_ms)
        stack += ((child, name) for child in reversed(array(message, "children")))


def _prompt(message: dict[str, Any], unread: UnreadCounter) -> SourceContent:
    if files := array(message, "files"):
        unread.add("attached file that the export does not hold", len(files))
    text = string(message, "text") or "\n\n".join(_part_text(part) for part in array(message, "content"))
    return UserMessage(text) if text else None


def _part_text(part: Any) -> str:
    """Return the text of a part, which may be wrapped in an object."""
    if not isinstance(part, dict):
        return ""
    text = part.get("text")
    return text if isinstance(text, str) else string(text, "value")


def _reply(message: dict[str, Any], unread: UnreadCounter, at_ms: int | None) -> SourceContent:
    builder = ReplyBuilder(string(message, "model"))
    for part in array(message, "content"):
        match string(part, "type"):
            case "think":
                think = part.get("think")
                builder.add_thought(think if isinstance(think, str) else string(think, "value"))
            case "text":
                builder.add_text(_part_text(part))
            case "tool_call":
                _add_call(builder, mapping(part, "tool_call"))
            case "error":
                return builder.fail(string(part, "error") or _part_text(part), at_ms)
            case kind:
                unread.add(f"part of type {kind[:40]!r} of an answer")
    if builder.empty and (text := string(message, "text")):
        if message.get("error") is True:
            return builder.fail(text, at_ms)
        builder.add_text(_with_tags(text))
    return None if builder.empty else builder.end(at_ms=at_ms)


def _with_tags(text: str) -> str:
    """Return a text in which thoughts of earlier versions, in `:::thinking`, are in common tags."""
    if not text.lstrip().startswith(":::thinking"):
        return text
    thought, _, answer = text.lstrip().removeprefix(":::thinking").partition(":::")
    return f"<think>{thought.strip()}</think>{answer.lstrip()}"


def _add_call(builder: ReplyBuilder, call: dict[str, Any]) -> None:
    function = mapping(call, "function") or call
    arguments = function.get("args", function.get("arguments"))
    number = builder.add_call(string(function, "name"), string(call, "id"), json_text(arguments or {}))
    output = function.get("output")
    if isinstance(output, str):
        builder.add_result(number, output)
