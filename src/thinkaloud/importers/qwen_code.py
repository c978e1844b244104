"""Qwen Code's session logs: `~/.qwen/projects/PROJECT/chats/SESSION.jsonl`, one JSON object per line.

Each line is a whole message of Gemini's API with its `parts`, whichever provider answered, and refers to the
line before it by `parentUuid`. Results of tools are lines of their own. Lines of sub-agents (`isSidechain`)
make a conversation of their own for each agent.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from thinkaloud.core.canon import Finish, Usage
from thinkaloud.core.canon.requests import ToolMessage, UserMessage
from thinkaloud.importers.json_items import Item
from thinkaloud.importers.json_values import array, count, mapping, string, time_ms
from thinkaloud.importers.prompts import joined_parts
from thinkaloud.importers.replies import ReplyBuilder, read_reply
from thinkaloud.importers.source_conversation import (
    SourceContent,
    SourceConversation,
    SourceNode,
    SourceReply,
    UnreadCounter,
)

_MESSAGE_TYPES = ("user", "assistant", "tool_result")
FAILED_STATUSES = ("error", "cancelled")
"""Of a tool call, here and in Gemini CLI, from which Qwen Code descends."""


def recognises(value: Any) -> bool:
    """Return whether an item is a line of such a log."""
    if not string(value, "sessionId"):
        return False
    kind = string(value, "type")
    has_parts = isinstance(mapping(value, "message").get("parts"), list)
    return (kind in _MESSAGE_TYPES and has_parts) or (kind == "system" and "systemPayload" in value)


def read(items: Iterable[Item], unread: UnreadCounter) -> Iterator[SourceConversation]:
    """Yield the conversation of a log, and one for each sub-agent in it."""
    logs: dict[str, _SessionLog] = {}
    for item in items:
        unread.line = item.line
        line = item.value
        agent = ""
        if line.get("isSidechain") is True:
            agent = string(line, "agentId") or "agent"
        logs.setdefault(agent, _SessionLog(agent, unread)).add(line)
    for log in logs.values():
        if any(node.content is not None for node in log.nodes):
            yield log.conversation()


class _SessionLog:
    """The lines of one agent."""

    def __init__(self, agent: str, unread: UnreadCounter) -> None:
        self.nodes: list[SourceNode] = []
        self._agent = agent
        self._unread = unread
        self._session = ""
        self._title = ""

    def add(self, line: dict[str, Any]) -> None:
        """Add a line."""
        self._session = self._session or string(line, "sessionId")
        at_ms = time_ms(line.get("timestamp"))
        content: SourceContent = None
        match string(line, "type"):
            case "user":
                content = self._prompt(line)
            case "assistant":
                content = self._reply(line, at_ms)
            case "tool_result":
                content = self._results(line)
            case "system":
                self._add_system(line)
            case kind:
                self._unread.add(f"line of type {kind[:40]!r}")
        if name := string(line, "uuid"):
            self.nodes.append(SourceNode(name, string(line, "parentUuid"), content, at_ms))
        elif content is not None:
            self._unread.add("line without an id")

    def _prompt(self, line: dict[str, Any]) -> UserMessage | None:
        if line.get("subtype") and line["subtype"] != "mid_turn_user_message":
            self._unread.add(f"message of type {string(line, 'subtype')[:40]!r} that Qwen Code wrote itself")
            return None
        prompt = joined_parts(array(mapping(line, "message"), "parts"), self._unread)
        if prompt is None:
            self._unread.add("user line of which nothing was understood")
        return prompt

    def _reply(self, line: dict[str, Any], at_ms: int | None) -> SourceReply | None:
        parts = array(mapping(line, "message"), "parts")
        reply = gemini_parts(parts, string(line, "model"), at_ms, line.get("usageMetadata"), self._unread)
        if reply is None and "message" in line:  # a line may have the counts of tokens alone
            self._unread.add("assistant line of which nothing was understood")
        return reply

    def _results(self, line: dict[str, Any]) -> tuple[ToolMessage, ...] | None:
        results = function_responses(array(mapping(line, "message"), "parts"), self._unread)
        if string(mapping(line, "toolCallResult"), "status") in FAILED_STATUSES:
            results = tuple(msgspec.structs.replace(result, failed=True) for result in results)
        if not results:
            self._unread.add("tool result of which nothing was understood")
        return results or None

    def _add_system(self, line: dict[str, Any]) -> None:
        subtype = string(line, "subtype")
        if subtype == "custom_title":
            self._title = string(mapping(line, "systemPayload"), "customTitle") or self._title
        elif subtype == "chat_compression":
            self._unread.add("summary of a compacted history")

    def conversation(self) -> SourceConversation:
        """Return the conversation of all lines."""
        first = next((node.content.text for node in self.nodes if isinstance(node.content, UserMessage)), "")
        agent_title = f"Agent: {' '.join(first.split())[:80]}"
        return SourceConversation(
            id=f"{self._session}/{self._agent}" if self._agent else self._session,
            nodes=tuple(self.nodes),
            title=agent_title if self._agent else self._title,
            created_ms=next((node.at_ms for node in self.nodes if node.at_ms is not None), None),
            leaf=self.nodes[-1].id,
            belongs_to=self._session if self._agent else "",
        )


def gemini_parts(
    parts: list[Any], model: str, at_ms: int | None, usage: Any, unread: UnreadCounter
) -> SourceReply | None:
    """Return the parts of a reply in Gemini's form; None if nothing of them was understood.

    With signatures they are Gemini's own. Without, any provider may have answered.
    """
    if any(string(part, "thoughtSignature") for part in parts):
        candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}
        body = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": model}
        return read_reply("gemini", body, model, at_ms)
    builder = ReplyBuilder(model)
    finish = Finish.STOP
    for part in parts:
        call = mapping(part, "functionCall")
        text = part if isinstance(part, str) else string(part, "text")
        if call:
            arguments = msgspec.json.encode(call.get("args") or {}).decode()
            builder.add_call(string(call, "name"), string(call, "id"), arguments)
            finish = Finish.TOOL_CALLS
        elif text and isinstance(part, dict) and part.get("thought") is True:
            builder.add_thought(text)
        elif text:
            builder.add_text(text)
        elif isinstance(part, dict) and part.keys() - {"text", "thought"}:
            unread.add(f"part {sorted(part)[0][:40]!r} of a reply")
    if builder.empty:
        return None
    return builder.end(at_ms=at_ms, usage=_usage(usage), finish=finish)


def function_responses(parts: list[Any], unread: UnreadCounter) -> tuple[ToolMessage, ...]:
    """Return the tool results in parts of Gemini's form."""
    results = []
    for part in parts:
        answer = mapping(part, "functionResponse")
        if not answer:
            unread.add("part of a tool result that is no function response")
            continue
        response = mapping(answer, "response")
        error = string(response, "error")
        text = string(response, "output") or error or msgspec.json.encode(response).decode()
        results.append(ToolMessage(string(answer, "id"), text, string(answer, "name"), failed=bool(error)))
    return tuple(results)


def _usage(usage: Any) -> Usage:
    """Return the counts. Gemini counts thoughts beside the answer; here they are part of the output."""
    thoughts, answer = count(usage, "thoughtsTokenCount"), count(usage, "candidatesTokenCount")
    return Usage(
        input=count(usage, "promptTokenCount"),
        output=None if answer is None else answer + (thoughts or 0),
        reasoning=thoughts,
        cache_read=count(usage, "cachedContentTokenCount"),
    )
