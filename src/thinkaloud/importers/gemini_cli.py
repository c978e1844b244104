"""Gemini CLI's session files: `~/.gemini/tmp/PROJECT/chats/session-….jsonl`, or `.json` of earlier versions.

The first line describes the session. A message that changes is written again under its id. `$rewindTo` goes
back to before a message, and `$set` changes the description or replaces all messages by a shorter history.
Thoughts are summaries with a subject. A message has its tool calls with their results.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from thinkaloud.core.canon import Finish, Provenance, Usage
from thinkaloud.core.canon.requests import ToolMessage, UserMessage
from thinkaloud.importers.json_items import Item
from thinkaloud.importers.json_values import array, count, mapping, string, time_ms
from thinkaloud.importers.prompts import joined_parts, text_of_parts
from thinkaloud.importers.qwen_code import FAILED_STATUSES, function_responses
from thinkaloud.importers.replies import ReplyBuilder
from thinkaloud.importers.source_conversation import (
    SourceConversation,
    SourceNode,
    SourceReply,
    UnreadCounter,
)

_OWN_TYPES = ("info", "error", "warning")


def recognises(value: Any) -> bool:
    """Return whether an item is such a file, or a line of it."""
    if string(value, "sessionId") and string(value, "projectHash"):
        return True
    return string(value, "type") == "gemini" and "id" in value and "content" in value


def read(items: Iterable[Item], unread: UnreadCounter) -> Iterator[SourceConversation]:
    """Yield the conversation of a file."""
    session = _Session(unread)
    for item in items:
        unread.line = item.line
        session.add(item.value)
    if session.has_content:
        yield session.conversation()


class _Message(NamedTuple):
    fields: dict[str, Any]
    before: str
    """The id of the message before it."""
    line: int


class _Session:
    """The messages of a file. A rewind leaves a branch behind."""

    def __init__(self, unread: UnreadCounter) -> None:
        self._unread = unread
        self._fields: dict[str, Any] = {}
        self._messages: dict[str, _Message] = {}
        self._last = ""

    def add(self, line: dict[str, Any]) -> None:
        """Add a line, or a whole file of an earlier version."""
        if rewind := string(line, "$rewindTo"):
            # The program forgets everything if it does not know the message.
            self._last = self._messages[rewind].before if rewind in self._messages else ""
        elif "$set" in line:
            self._set(mapping(line, "$set"))
        elif "projectHash" in line:
            self._set(line)
        elif string(line, "id") and string(line, "type"):
            self._add_message(line)
        else:
            self._unread.add("line of an unknown kind")

    def _set(self, fields: dict[str, Any]) -> None:
        self._fields |= {name: value for name, value in fields.items() if name != "messages"}
        messages = [message for message in array(fields, "messages") if string(message, "id")]
        if not messages:
            return
        if self._messages:
            self._unread.add("message that a shorter history replaced", len(self._messages))
            self._messages, self._last = {}, ""
        for message in messages:
            self._add_message(message)

    def _add_message(self, message: dict[str, Any]) -> None:
        name = string(message, "id")
        kind = string(message, "type")
        if kind in _OWN_TYPES:
            self._unread.add("message that Gemini CLI wrote itself")
        elif kind not in ("user", "gemini"):
            self._unread.add(f"message of type {kind[:40]!r}")
        elif name in self._messages:  # written again, with more in it
            self._messages[name] = self._messages[name]._replace(fields=message)
        else:
            self._messages[name] = _Message(message, self._last, self._unread.line)
            self._last = name

    @property
    def has_content(self) -> bool:
        """Whether there is a message."""
        return bool(self._messages)

    def conversation(self) -> SourceConversation:
        """Return the conversation of all messages."""
        nodes: list[SourceNode] = []
        ends: dict[str, str] = {"": ""}
        """The last node of each message: its reply, or the results of its calls."""
        for name, (message, before, line) in self._messages.items():
            self._unread.line = line
            at_ms = time_ms(message.get("timestamp"))
            content = self._prompt(message) if message["type"] == "user" else self._reply(message, at_ms)
            nodes.append(SourceNode(name, ends[before], content, at_ms))
            ends[name] = name
            if results := self._results(message):
                ends[name] = f"{name}/results"
                nodes.append(SourceNode(ends[name], name, results, at_ms))
        return SourceConversation(
            id=string(self._fields, "sessionId"),
            nodes=tuple(nodes),
            title=string(self._fields, "summary"),
            created_ms=time_ms(self._fields.get("startTime")),
            leaf=ends[self._last],
        )

    def _prompt(self, message: dict[str, Any]) -> UserMessage | None:
        content = message.get("content")
        prompt = joined_parts(content if isinstance(content, list) else [content], self._unread)
        if prompt is None:
            self._unread.add("user message of which nothing was understood")
        return prompt

    def _reply(self, message: dict[str, Any], at_ms: int | None) -> SourceReply | None:
        builder = ReplyBuilder(string(message, "model"))
        for thought in array(message, "thoughts"):
            subject, description = string(thought, "subject"), string(thought, "description")
            text = "\n".join(filter(None, (f"**{subject}**" if subject else "", description)))
            builder.add_thought(text, provenance=Provenance.SUMMARY)
        if text := text_of_parts(message.get("content")):
            builder.add_text(text)
        calls = _calls(message)
        for call in calls:
            arguments = msgspec.json.encode(mapping(call, "args")).decode()
            builder.add_call(string(call, "name"), string(call, "id"), arguments)
        if builder.empty:
            self._unread.add("reply of which nothing was understood")
            return None
        finish = Finish.TOOL_CALLS if calls else Finish.STOP
        return builder.end(at_ms=at_ms, usage=_usage(message.get("tokens")), finish=finish)

    def _results(self, message: dict[str, Any]) -> tuple[ToolMessage, ...]:
        results = []
        for call in _calls(message):
            if call.get("result") is None:
                continue
            failed = string(call, "status") in FAILED_STATUSES
            parts = call["result"] if isinstance(call["result"], list) else [call["result"]]
            text = "\n\n".join(answer.result for answer in function_responses(parts, self._unread))
            results.append(ToolMessage(string(call, "id"), text, string(call, "name"), failed=failed))
        return tuple(results)


def _calls(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [call for call in array(message, "toolCalls") if isinstance(call, dict)]


def _usage(tokens: Any) -> Usage:
    """Return the counts. Thoughts are counted beside the answer; here they are part of the output."""
    thoughts, answer = count(tokens, "thoughts"), count(tokens, "output")
    return Usage(
        input=count(tokens, "input"),
        output=None if answer is None else answer + (thoughts or 0),
        reasoning=thoughts,
        cache_read=count(tokens, "cached"),
    )
