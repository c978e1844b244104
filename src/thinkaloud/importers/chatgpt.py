"""ChatGPT's account export: `conversations.json`, a list of conversations, each a tree of messages.

A conversation has a `mapping` of nodes with `parent` and `children`; `current_node` is the last message that
was shown. Thoughts are messages with `content_type` `thoughts`; a `reasoning_recap` after them says how long
they took. Calls are messages of the assistant to a tool (`recipient`), and results are messages of the tool.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from thinkaloud.core.canon import Provenance
from thinkaloud.core.canon.requests import ToolMessage, UserMessage
from thinkaloud.importers.json_items import Item
from thinkaloud.importers.json_values import array, count, mapping, string, time_ms
from thinkaloud.importers.replies import ReplyBuilder
from thinkaloud.importers.source_conversation import (
    SourceContent,
    SourceConversation,
    SourceNode,
    UnreadCounter,
)

_HIDDEN = "is_visually_hidden_from_conversation"
_CONTEXT_TYPES = frozenset(("user_editable_context", "model_editable_context"))
_MESSAGE_FIELDS = frozenset(
    (
        *("id", "author", "create_time", "update_time", "content", "status", "end_turn", "weight"),
        *("metadata", "recipient", "channel"),
    )
)
_CONTENT_FIELDS = frozenset(
    (
        *("content_type", "parts", "thoughts", "content", "text", "language", "source_analysis_msg_id"),
        *("response_format_name", "result", "summary", "title", "url", "domain", "assets", "tether_id"),
    )
)


def recognises(value: Any) -> bool:
    """Return whether an item is such a conversation."""
    return isinstance(value, dict) and isinstance(value.get("mapping"), dict)


def read(items: Iterable[Item], unread: UnreadCounter) -> Iterator[SourceConversation]:
    """Yield the conversations of an export."""
    for item in items:
        unread.line = item.line
        if recognises(item.value):
            yield _conversation(item.value, unread)
        else:
            unread.add("entry without a conversation")


def _conversation(value: dict[str, Any], unread: UnreadCounter) -> SourceConversation:
    created_ms = time_ms(value.get("create_time"))
    reader = _MessageReader(value["mapping"], unread)
    nodes = tuple(reader.nodes())
    name = string(value, "conversation_id") or string(value, "id")
    return SourceConversation(
        id=name or f"{created_ms}/{string(value, 'title')}",
        nodes=nodes,
        title=string(value, "title"),
        created_ms=created_ms,
        model=string(value, "default_model_slug"),
        leaf=string(value, "current_node"),
    )


class _MessageReader:
    """Reads the messages of one conversation."""

    def __init__(self, nodes: dict[str, Any], unread: UnreadCounter) -> None:
        self._nodes = nodes
        self._unread = unread
        self._recaps = {
            string(node, "parent"): mapping(node, "message")
            for node in nodes.values()
            if _content_type(mapping(node, "message")) == "reasoning_recap"
        }

    def nodes(self) -> Iterator[SourceNode]:
        """Yield the nodes in the order of the file."""
        for name, node in self._nodes.items():
            message = mapping(node, "message")
            content = self._content(name, message) if message else None
            at_ms = time_ms(message.get("create_time"))
            yield SourceNode(name, string(node, "parent"), content, at_ms)

    def _content(self, name: str, message: dict[str, Any]) -> SourceContent:
        content_type, role = _content_type(message), string(mapping(message, "author"), "role")
        hidden = mapping(message, "metadata").get(_HIDDEN) is True
        self._unread.add_fields("a message", message, _MESSAGE_FIELDS)
        self._unread.add_fields("a message's content", message.get("content"), _CONTENT_FIELDS)
        if content_type in _CONTEXT_TYPES or role == "system" or (hidden and role != "tool"):
            if self._text(message):
                self._unread.add("hidden message: instructions, memory or a system prompt")
            return None
        match role:
            case "user":
                text = self._text(message)
                return UserMessage(text) if text else None
            case "assistant":
                return self._reply(name, message, content_type)
            case "tool":
                text = self._text(message)
                return (ToolMessage(self._caller(name), text),) if text else None
        self._unread.add(f"message of {role[:40]!r}")
        return None

    def _reply(self, name: str, message: dict[str, Any], content_type: str) -> SourceContent:
        model = string(mapping(message, "metadata"), "model_slug")
        at_ms = time_ms(message.get("create_time"))
        builder = ReplyBuilder(model)
        if content_type == "thoughts":
            self._add_thoughts(builder, name, message)
        elif content_type == "reasoning_recap":
            return None  # its duration is read with the thoughts
        elif (recipient := string(message, "recipient") or "all") != "all":
            builder.add_call(recipient, name, self._text(message))
        else:
            builder.add_text(self._text(message))
        return None if builder.empty else builder.end(at_ms=at_ms)

    def _add_thoughts(self, builder: ReplyBuilder, name: str, message: dict[str, Any]) -> None:
        thoughts = [
            "\n\n".join(filter(None, (_heading(thought), string(thought, "content"))))
            for thought in array(mapping(message, "content"), "thoughts")
        ]
        recap = self._recaps.get(name, {})
        seconds = count(mapping(recap, "metadata"), "finished_duration_sec")
        ended_ms = time_ms(recap.get("create_time"))
        timed = seconds is not None and ended_ms is not None and len(thoughts) == 1
        for thought in filter(None, thoughts):
            builder.add_thought(
                thought,
                provenance=Provenance.SUMMARY,
                started_ms=ended_ms - seconds * 1000 if timed and ended_ms and seconds else None,
                duration_ms=seconds * 1000 if timed and seconds else None,
            )

    def _caller(self, name: str) -> str:
        """Return the id of the message with the call that a result answers: the nearest one before it."""
        seen: set[str] = set()
        while name and name not in seen:
            seen.add(name)
            name = string(self._nodes.get(name), "parent")
            message = mapping(self._nodes.get(name), "message")
            if string(message, "recipient") not in ("", "all"):
                return name
        return ""

    def _text(self, message: dict[str, Any]) -> str:
        """Return the text of a message; parts that are not text are counted."""
        content = mapping(message, "content")
        texts = []
        for part in array(content, "parts"):
            if isinstance(part, str):
                texts.append(part)
            elif string(part, "content_type") == "audio_transcription":
                texts.append(string(part, "text"))
            elif isinstance(part, dict):
                self._unread.add(f"part of type {string(part, 'content_type')[:40]!r}")
        fields = [string(content, name) for name in ("text", "result", "content")]
        return "\n\n".join(text for text in (*texts, *fields) if text.strip())


def _content_type(message: dict[str, Any]) -> str:
    return string(mapping(message, "content"), "content_type")


def _heading(thought: Any) -> str:
    summary = string(thought, "summary")
    return f"**{summary}**" if summary else ""
