"""Claude's account export: `conversations.json`, a list of conversations with `chat_messages`.

A message has `content` blocks: thinking, text, tool calls and their results. Earlier exports have only
`text`. `parent_message_uuid` is the message before; exports without it are one line of messages.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from thinkaloud.core.canon.requests import UserMessage
from thinkaloud.core.dialects.client_request import json_text
from thinkaloud.importers.json_items import Item
from thinkaloud.importers.json_values import array, string, time_ms
from thinkaloud.importers.prompts import result_text
from thinkaloud.importers.replies import ReplyBuilder
from thinkaloud.importers.source_conversation import (
    SourceContent,
    SourceConversation,
    SourceNode,
    UnreadCounter,
)

_MESSAGE_FIELDS = frozenset(
    (
        *("uuid", "text", "content", "sender", "created_at", "updated_at", "attachments", "files", "index"),
        *("parent_message_uuid", "files_v2", "sync_sources", "truncated", "stop_reason", "input_mode"),
    )
)


def recognises(value: Any) -> bool:
    """Return whether an item is such a conversation."""
    return isinstance(value, dict) and isinstance(value.get("chat_messages"), list)


def read(items: Iterable[Item], unread: UnreadCounter) -> Iterator[SourceConversation]:
    """Yield the conversations of an export."""
    for item in items:
        unread.line = item.line
        if not recognises(item.value):
            unread.add("entry without a conversation")
        elif nodes := tuple(_nodes(item.value["chat_messages"], unread)):
            created_ms = time_ms(item.value.get("created_at"))
            yield SourceConversation(
                id=string(item.value, "uuid") or f"{created_ms}/{string(item.value, 'name')}",
                nodes=nodes,
                title=string(item.value, "name"),
                created_ms=created_ms,
                model=string(item.value, "model"),
                leaf=string(item.value, "current_leaf_message_uuid"),
            )


def _nodes(messages: list[Any], unread: UnreadCounter) -> Iterator[SourceNode]:
    names = {string(message, "uuid") for message in messages}
    linked = any(string(message, "parent_message_uuid") in names for message in messages)
    before = ""
    for index, message in enumerate(messages):
        if not isinstance(message, dict):
            unread.add("message that is no object")
            continue
        unread.add_fields("a message", message, _MESSAGE_FIELDS)
        name = string(message, "uuid") or str(index)
        parent = string(message, "parent_message_uuid") if linked else before
        at_ms = time_ms(message.get("created_at"))
        is_prompt = string(message, "sender") == "human"
        content = _prompt(message, unread) if is_prompt else _reply(message, unread, at_ms)
        yield SourceNode(name, parent if parent in names else "", content, at_ms)
        before = name


def _prompt(message: dict[str, Any], unread: UnreadCounter) -> SourceContent:
    texts = [string(block, "text") for block in array(message, "content")] or [string(message, "text")]
    for attachment in array(message, "attachments"):
        name = string(attachment, "file_name")
        text = string(attachment, "extracted_content")
        if not text:
            unread.add("attached file without its text")
        elif name:
            texts.append(f"{name}:\n{text}")
        else:
            texts.append(text)
    if files := array(message, "files"):
        unread.add("attached file that the export does not hold", len(files))
    prompt = "\n\n".join(filter(None, texts))
    return UserMessage(prompt) if prompt else None


def _reply(message: dict[str, Any], unread: UnreadCounter, at_ms: int | None) -> SourceContent:
    builder = ReplyBuilder("")
    calls: dict[str, int] = {}
    for block in array(message, "content"):
        match string(block, "type"):
            case "thinking":
                started_ms = time_ms(block.get("start_timestamp"))
                ended_ms = time_ms(block.get("stop_timestamp"))
                known = started_ms is not None and ended_ms is not None and ended_ms >= started_ms
                duration_ms = ended_ms - started_ms if known and ended_ms and started_ms else None
                builder.add_thought(string(block, "thinking"), started_ms=started_ms, duration_ms=duration_ms)
            case "text":
                builder.add_text(string(block, "text"))
            case "tool_use":
                call_id = string(block, "id") or str(len(calls))
                arguments = json_text(block.get("input") or {})
                calls[call_id] = builder.add_call(string(block, "name"), call_id, arguments)
            case "tool_result":
                call = calls.get(string(block, "tool_use_id"), max(calls.values(), default=-1))
                if call < 0:
                    unread.add("tool result without a call")
                    continue
                text = result_text(block.get("content"), unread)
                builder.add_result(call, text, failed=block.get("is_error") is True)
            case kind:
                unread.add(f"block of type {kind[:40]!r}")
    if builder.empty and (text := string(message, "text")):
        builder.add_text(text)
    return None if builder.empty else builder.end(at_ms=at_ms)
