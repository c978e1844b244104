"""Claude Code's session logs: `~/.claude/projects/PROJECT/SESSION.jsonl`, one JSON object per line.

A reply of the model is spread over several lines, one per content block, with the same `message.id`; the last
of them has its final usage. Lines refer to the line before them by `parentUuid`. Lines of sub-agents
(`isSidechain`) make a conversation of their own for each agent.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from thinkaloud.core.canon.requests import ToolMessage, UserMessage
from thinkaloud.importers.json_items import Item
from thinkaloud.importers.json_values import array, mapping, string, time_ms
from thinkaloud.importers.prompts import read_prompt, read_results, text_of_parts
from thinkaloud.importers.replies import anthropic_reply
from thinkaloud.importers.source_conversation import SourceConversation, SourceNode, UnreadCounter

_CONNECTORS = frozenset(("system", "progress", "attachment", "file-history-snapshot", "queue-operation"))
"""Lines about the program itself. Others may follow them."""
_OTHER_TYPES = frozenset(
    ("summary", "custom-title", "ai-title", "last-prompt", "mode", "permission-mode", "agent-name", "tag")
)
"""Lines that nothing is read from and that nothing follows: skipped without a word, but for a title."""
_COMMAND_TAGS = ("<command-name>", "<command-message>", "<local-command-", "<bash-input>", "<bash-stdout>")
_SYNTHETIC = "<synthetic>"
"""The model of messages that Claude Code wrote itself, for example about an error of the API."""


def recognises(value: Any) -> bool:
    """Return whether an item is a line of such a log."""
    kind = string(value, "type")
    if kind in ("user", "assistant"):
        return "sessionId" in value and "content" in mapping(value, "message")
    return (
        (kind == "summary" and "leafUuid" in value)
        or (kind in _CONNECTORS | _OTHER_TYPES and ("sessionId" in value or "messageId" in value))
        or (kind == "queue-operation" and "operation" in value)
    )


def read(items: Iterable[Item], unread: UnreadCounter) -> Iterator[SourceConversation]:
    """Yield the conversation of a log, and one for each sub-agent in it."""
    logs: dict[str, _SessionLog] = {}
    title = ""
    for item in items:
        unread.line = item.line
        line, kind = item.value, string(item.value, "type")
        if kind in ("summary", "custom-title", "ai-title"):
            found = string(line, "customTitle") or string(line, "aiTitle") or string(line, "summary")
            title = found if kind != "summary" or not title else title
        elif kind in ("user", "assistant") or kind in _CONNECTORS:
            agent = string(line, "agentId") or "agent" if line.get("isSidechain") is True else ""
            logs.setdefault(agent, _SessionLog(agent, unread)).add(line, kind)
        elif kind not in _OTHER_TYPES:
            unread.add(f"line of type {kind[:40]!r}")
    for agent, log in logs.items():
        if log.session and (conversation := log.conversation("" if agent else title)).nodes:
            yield conversation


class _SessionLog:
    """The lines of one agent."""

    def __init__(self, agent: str, unread: UnreadCounter) -> None:
        self.session = ""
        self._agent = agent
        self._unread = unread
        self._nodes: dict[str, SourceNode] = {}
        self._replies: dict[str, _LoggedReply] = {}
        self._callers: dict[str, _LoggedReply] = {}
        """The reply of each tool call."""
        self._last = ""

    def add(self, line: dict[str, Any], kind: str) -> None:
        """Add a line."""
        self.session = self.session or string(line, "sessionId")
        name = string(line, "uuid")
        if not name:
            return  # a snapshot or an operation that no other line follows
        parent = string(line, "parentUuid") or string(line, "logicalParentUuid")
        if parent and parent not in self._nodes:
            parent = self._last  # logs refer to lines that were never written
        node = SourceNode(name, parent, None, time_ms(line.get("timestamp")))
        message = mapping(line, "message")
        if kind == "assistant":
            self._add_assistant(node, message)
        elif kind == "user" and line.get("isMeta") is not True:
            node = self._user_node(node, message.get("content"))
        self._nodes[name] = node
        self._last = name

    def _user_node(self, node: SourceNode, content: Any) -> SourceNode:
        """Return a prompt; results of tools go to the reply that called them."""
        text = content if isinstance(content, str) else text_of_parts(content)
        if text.startswith(_COMMAND_TAGS):
            self._unread.add("local command of Claude Code")
            return node
        prompt = read_prompt(content, self._unread)
        parent = node.parent
        results = read_results(content, self._unread)
        if prompt is None and not results:
            self._unread.add("user line of which nothing was understood")
        for result in results:
            caller = self._callers.get(result.call_id)
            if caller is None:
                self._unread.add("tool result without a call")
                continue
            caller.results.append(result)
            caller.results_ms = node.at_ms
            parent = caller.results_id
        return msgspec.structs.replace(node, parent=parent, content=prompt)

    def _add_assistant(self, node: SourceNode, message: dict[str, Any]) -> None:
        """Add a content block to its reply. The first line of a reply is its place; the others connect."""
        if string(message, "model") == _SYNTHETIC:
            self._unread.add("message that Claude Code wrote itself")
            return
        reply_id = string(message, "id") or node.id
        reply = self._replies.get(reply_id)
        if reply is None:
            reply = self._replies[reply_id] = _LoggedReply(node, {**message, "content": []})
        blocks = array(message, "content")
        if isinstance(text := message.get("content"), str):
            blocks = [{"type": "text", "text": text}]
        if not blocks:
            self._unread.add("assistant line of which nothing was understood")
        reply.message["content"] += blocks
        reply.message |= {field: message[field] for field in ("usage", "stop_reason") if message.get(field)}
        reply.ended_ms = node.at_ms
        for block in blocks:
            if string(block, "type") == "tool_use":
                self._callers[string(block, "id")] = reply

    def conversation(self, title: str) -> SourceConversation:
        """Return the conversation of all lines."""
        for reply in self._replies.values():
            content = anthropic_reply(reply.message, "", reply.ended_ms)
            parent = self._nodes[reply.place.id].parent
            place = SourceNode(reply.place.id, parent, content, reply.ended_ms)
            self._nodes[place.id] = place
            if reply.results:
                results = SourceNode(reply.results_id, place.id, tuple(reply.results), reply.results_ms)
                self._nodes[results.id] = results
        nodes = tuple(self._nodes.values())
        has_content = any(node.content is not None for node in nodes)
        first = next((node.content.text for node in nodes if isinstance(node.content, UserMessage)), "")
        return SourceConversation(
            id=f"{self.session}/{self._agent}" if self._agent else self.session,
            nodes=nodes if has_content else (),
            title=f"Agent: {' '.join(first.split())[:80]}" if self._agent else title,
            created_ms=next((node.at_ms for node in nodes if node.at_ms is not None), None),
            leaf=self._last,
            belongs_to=self.session if self._agent else "",
        )


class _LoggedReply:
    """A reply that is collected from its lines, and the results of its calls.

    The results have one place: programs run calls at the same time, and the next line follows any of them.
    """

    def __init__(self, place: SourceNode, message: dict[str, Any]) -> None:
        self.place = place
        self.message = message
        self.ended_ms: int | None = None
        self.results: list[ToolMessage] = []
        self.results_id = f"{place.id}/results"
        self.results_ms: int | None = None
