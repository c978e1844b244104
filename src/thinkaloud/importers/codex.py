"""Codex's session logs: `~/.codex/sessions/YEAR/MONTH/DAY/rollout-….jsonl`, one JSON object per line.

`session_meta` names the session, `turn_context` the model, and each `response_item` is an item of OpenAI's
Responses API: a message, a reasoning item with its summary and encrypted content, a call or its output.
`event_msg` lines repeat the items for the screen; of them only the token counts are read.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from thinkaloud.core.canon.requests import ToolMessage
from thinkaloud.importers.json_items import Item
from thinkaloud.importers.json_values import count, mapping, string, time_ms
from thinkaloud.importers.prompts import read_prompt, result_text
from thinkaloud.importers.replies import responses_reply
from thinkaloud.importers.source_conversation import SourceConversation, SourceNode, UnreadCounter

LINE_TYPES = frozenset(("session_meta", "response_item", "turn_context", "event_msg", "compacted"))
_OTHER_TYPES = frozenset(("world_state", "security_risk_score", "inter_agent_communication_metadata"))
_OUTPUT_TYPES = frozenset(
    ("reasoning", "function_call", "custom_tool_call", "local_shell_call", "web_search_call")
)
_RESULT_TYPES = frozenset(("function_call_output", "custom_tool_call_output"))
_CONTEXT_STARTS = ("<environment_context>", "<user_instructions>", "<turn_aborted>", "# AGENTS.md")
"""Beginnings of messages with the role of a user that Codex wrote itself."""


def recognises(value: Any) -> bool:
    """Return whether an item is a line of such a log."""
    return string(value, "type") in LINE_TYPES and isinstance(value.get("payload"), dict)


def read(items: Iterable[Item], unread: UnreadCounter) -> Iterator[SourceConversation]:
    """Yield the conversation of a log."""
    log = _Rollout(unread)
    for item in items:
        unread.line = item.line
        log.add(item.value)
    log.end_reply()
    if log.nodes:
        yield SourceConversation(
            id=log.session,
            nodes=tuple(log.nodes),
            created_ms=log.created_ms,
            model=log.model,
        )


class _Rollout:
    """Collects the items of a log into replies: what the model said until a result or a prompt came."""

    def __init__(self, unread: UnreadCounter) -> None:
        self.session = ""
        self.model = ""
        self.created_ms: int | None = None
        self.nodes: list[SourceNode] = []
        self._unread = unread
        self._items: list[dict[str, Any]] = []
        self._usage: dict[str, Any] | None = None
        self._at_ms: int | None = None

    def add(self, line: dict[str, Any]) -> None:
        """Add a line."""
        kind, payload = string(line, "type"), mapping(line, "payload")
        at_ms = time_ms(line.get("timestamp"))
        match kind:
            case "session_meta":
                self.session = self.session or string(payload, "id")
                self.created_ms = self.created_ms or time_ms(payload.get("timestamp")) or at_ms
            case "turn_context":
                self.model = string(payload, "model") or self.model
            case "response_item":
                self._add_item(payload, at_ms)
            case "event_msg":
                self._add_event(payload)
            case "compacted":
                self._unread.add("summary of a compacted history")
            case _ if kind not in _OTHER_TYPES:
                self._unread.add(f"line of type {kind[:40]!r}")

    def _add_event(self, payload: dict[str, Any]) -> None:
        """Read the counts of the last reply, which come after its items."""
        usage = mapping(mapping(payload, "info"), "last_token_usage")
        if string(payload, "type") == "token_count" and usage:
            self._usage = {
                "input_tokens": count(usage, "input_tokens"),
                "output_tokens": count(usage, "output_tokens"),
                "input_tokens_details": {"cached_tokens": count(usage, "cached_input_tokens")},
                "output_tokens_details": {"reasoning_tokens": count(usage, "reasoning_output_tokens")},
            }

    def _add_item(self, item: dict[str, Any], at_ms: int | None) -> None:
        kind, role = string(item, "type"), string(item, "role")
        if kind in _OUTPUT_TYPES or (kind == "message" and role == "assistant"):
            self._items.append(item)
            self._at_ms = at_ms
        elif kind in _RESULT_TYPES:
            self.end_reply()
            self._append((self._result(item),), at_ms)
        elif kind == "message" and role == "user":
            prompt = read_prompt(item.get("content"), self._unread)
            if prompt is not None and not prompt.text.startswith(_CONTEXT_STARTS):
                self.end_reply()
                self._append(prompt, at_ms)
            else:
                self._unread.add("context that Codex wrote itself")
        elif kind == "message":
            self._unread.add("system prompt")
        else:
            self._unread.add(f"item of type {kind[:40]!r}")

    def end_reply(self) -> None:
        """End the reply whose items were collected."""
        if self._items:
            items = [_api_item(item) for item in self._items]
            self._append(responses_reply(items, self.model, self._at_ms, self._usage), self._at_ms)
        self._items, self._usage = [], None

    def _append(self, content: Any, at_ms: int | None) -> None:
        parent = self.nodes[-1].id if self.nodes else ""
        self.nodes.append(SourceNode(str(len(self.nodes)), parent, content, at_ms))

    def _result(self, item: dict[str, Any]) -> ToolMessage:
        output = item.get("output")
        if isinstance(output, dict):  # earlier versions: {"content": …, "success": …}
            text = result_text(output.get("content"), self._unread)
            return ToolMessage(string(item, "call_id"), text, failed=output.get("success") is False)
        return ToolMessage(string(item, "call_id"), result_text(output, self._unread))


def _api_item(item: dict[str, Any]) -> dict[str, Any]:
    """Return an item as the API has it, without what Codex added."""
    return {name: value for name, value in item.items() if not name.startswith("internal_")}
