"""Open WebUI's exports: a list of chats, each with `chat.history`, a map of messages by id.

Newer versions keep the parts of an answer in `output`, as items of OpenAI's Responses API. Earlier ones write
thoughts and tool calls into the text, as `<details type="reasoning">` and `<details type="tool_calls">`.
"""

import html
import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from thinkaloud.core.canon import Usage
from thinkaloud.core.canon.requests import UserMessage
from thinkaloud.importers.json_items import Item
from thinkaloud.importers.json_values import array, count, mapping, string, time_ms
from thinkaloud.importers.prompts import read_prompt, result_text
from thinkaloud.importers.replies import ReplyBuilder
from thinkaloud.importers.source_conversation import (
    SourceContent,
    SourceConversation,
    SourceNode,
    UnreadCounter,
)

_DETAILS = re.compile(
    r"<details\b(?P<attributes>(?:[^>\"]|\"[^\"]*\")*)>\s*(?:<summary>.*?</summary>)?\n?(?P<body>.*?)</details>\n?",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(r'([\w-]+)="([^"]*)"')
_QUOTE = re.compile(r"^> ?", re.MULTILINE)
_MESSAGE_FIELDS = frozenset(
    (
        *("id", "parentId", "childrenIds", "role", "content", "model", "modelName", "modelIdx", "timestamp"),
        *("done", "models", "userContext", "context", "output", "usage", "info", "files", "error"),
        *("completedAt", "lastSentence", "statusHistory", "sources", "followUps", "annotation", "merged"),
        *("originalContent", "selectedModelId", "user", "feedbackId", "arena", "status_history", "citations"),
    )
)


def recognises(value: Any) -> bool:
    """Return whether an item is such a chat."""
    return bool(mapping(mapping(mapping(value, "chat"), "history"), "messages")) or (
        isinstance(mapping(value, "chat").get("history"), dict) and "user_id" in value
    )


def read(items: Iterable[Item], unread: UnreadCounter) -> Iterator[SourceConversation]:
    """Yield the chats of an export."""
    for item in items:
        unread.line = item.line
        chat = mapping(item.value, "chat")
        history = mapping(chat, "history")
        if not mapping(history, "messages"):
            unread.add("entry without a conversation")
            continue
        created_ms = time_ms(item.value.get("created_at")) or time_ms(chat.get("timestamp"))
        yield SourceConversation(
            id=string(item.value, "id") or string(chat, "id") or f"{created_ms}/{string(chat, 'title')}",
            nodes=tuple(
                _node(name, message, unread) for name, message in mapping(history, "messages").items()
            ),
            title=string(item.value, "title") or string(chat, "title"),
            created_ms=created_ms,
            model=next((model for model in array(chat, "models") if isinstance(model, str)), ""),
            leaf=string(history, "currentId"),
        )


def _node(name: str, message: Any, unread: UnreadCounter) -> SourceNode:
    unread.add_fields("a message", message, _MESSAGE_FIELDS)
    at_ms = time_ms(message.get("timestamp")) if isinstance(message, dict) else None
    content: SourceContent = None
    match string(message, "role"):
        case "user":
            content = _prompt(message, unread)
        case "assistant":
            content = _reply(message, unread, at_ms)
        case role:
            unread.add(f"message of {role[:40]!r}")
    return SourceNode(name, string(message, "parentId"), content, at_ms)


def _prompt(message: dict[str, Any], unread: UnreadCounter) -> UserMessage | None:
    """Return the prompt with its images, which are data URLs; other files are references."""
    parts: list[dict[str, Any]] = []
    for file in array(message, "files"):
        if string(file, "type") == "image":
            parts.append({"type": "image_url", "image_url": string(file, "url")})
        else:
            unread.add("attached file that the export does not hold")
    content = message.get("content")
    text = content if isinstance(content, str) else ""
    return read_prompt([{"type": "text", "text": text}, *parts], unread)


def _reply(message: dict[str, Any], unread: UnreadCounter, at_ms: int | None) -> SourceContent:
    builder = ReplyBuilder(string(message, "model"))
    if output := array(message, "output"):
        _add_output(builder, output, unread)
    else:
        _add_details(builder, string(message, "content"), at_ms, unread)
    usage = mapping(message, "usage") or mapping(message, "info")
    if error := message.get("error"):
        return builder.fail(string(error, "content") or str(error)[:500], at_ms)
    return None if builder.empty else builder.end(at_ms=_ended_ms(message, at_ms), usage=_usage(usage))


def _ended_ms(message: dict[str, Any], at_ms: int | None) -> int | None:
    return time_ms(message.get("completedAt")) or at_ms


def _usage(usage: dict[str, Any]) -> Usage:
    """Return the counts, which have OpenAI's, Anthropic's or Ollama's names."""

    def first(*names: str) -> int | None:
        return next((number for name in names if (number := count(usage, name)) is not None), None)

    details = mapping(usage, "completion_tokens_details") or mapping(usage, "output_tokens_details")
    return Usage(
        input=first("prompt_tokens", "input_tokens", "prompt_eval_count"),
        output=first("completion_tokens", "output_tokens", "eval_count"),
        reasoning=count(details, "reasoning_tokens"),
    )


def _add_output(builder: ReplyBuilder, output: list[Any], unread: UnreadCounter) -> None:
    calls: dict[str, int] = {}
    for item in output:
        match string(item, "type"):
            case "reasoning":
                parts = [*array(item, "summary"), *array(item, "content")]
                duration = item.get("duration")
                seconds = duration if isinstance(duration, int | float) else None
                builder.add_thought(
                    "\n\n".join(filter(None, (string(part, "text") for part in parts))),
                    started_ms=time_ms(item.get("started_at")),
                    duration_ms=None if seconds is None else round(seconds * 1000),
                )
            case "message":
                builder.add_text("".join(string(part, "text") for part in array(item, "content")))
            case "function_call":
                call_id = string(item, "call_id")
                number = builder.add_call(string(item, "name"), call_id, string(item, "arguments"))
                calls[call_id] = number
            case "function_call_output" if string(item, "call_id") in calls:
                builder.add_result(calls[string(item, "call_id")], result_text(item.get("output"), unread))
            case kind:
                unread.add(f"part of type {kind[:40]!r} of an answer")


def _add_details(builder: ReplyBuilder, content: str, at_ms: int | None, unread: UnreadCounter) -> None:
    """Add the text of an answer, and the thoughts and calls in it."""
    end = 0
    for match in _DETAILS.finditer(content):
        attributes = dict(_ATTRIBUTE.findall(match["attributes"]))
        kind = attributes.get("type", "")
        if kind not in ("reasoning", "tool_calls"):
            continue
        if text := content[end : match.start()].strip():
            builder.add_text(text)
        end = match.end()
        if kind == "reasoning":
            body = match["body"]
            escaped = body.lstrip().startswith("&gt;")
            seconds = attributes.get("duration", "")
            builder.add_thought(
                _QUOTE.sub("", html.unescape(body) if escaped else body).strip(),
                started_ms=at_ms,
                duration_ms=int(seconds) * 1000 if seconds.isdecimal() and int(seconds) < 1e6 else None,
            )
        else:
            name, call_id = attributes.get("name", ""), attributes.get("id", "")
            call = builder.add_call(name, call_id, _embedded(attributes.get("arguments", "")))
            if attributes.get("done") == "true":
                builder.add_result(call, _embedded(attributes.get("result", "")))
    if text := content[end:].strip():
        builder.add_text(text)


def _embedded(attribute: str) -> str:
    """Return the text of an attribute: HTML that holds JSON, which may hold a text."""
    text = html.unescape(attribute)
    try:
        value = msgspec.json.decode(text)
    except msgspec.MsgspecError:
        return text
    return value if isinstance(value, str) else text
