"""Makes the events of a reply, from a provider's own message or block by block.

A provider's own message is read by its dialect, as if it had just arrived: its signatures and encrypted
content are kept with the dialect and the model, so a continued conversation sends them back.
"""

from typing import Any

import msgspec

from thinkaloud.core.canon import (
    BlockEnded,
    BlockGrew,
    BlockStarted,
    Event,
    Finish,
    Kind,
    Provenance,
    ToolFinished,
    TurnEnded,
    TurnFailed,
    TurnStarted,
    Usage,
    UsageReported,
    Wording,
)
from thinkaloud.core.dialects import Reader
from thinkaloud.core.transcript import fold
from thinkaloud.importers.source_conversation import SourceReply, TimedEvent


def read_reply(dialect: str, body: dict[str, Any], model: str, at_ms: int | None = None) -> SourceReply:
    """Return a provider's own response, decoded from JSON, as a reply that ended at this time."""
    reader = Reader(dialect, model=model)
    events = [*reader.feed(msgspec.json.encode(body)), *reader.close()]
    return SourceReply(tuple((event, _end_time(event, at_ms)) for event in events))


def anthropic_reply(message: dict[str, Any], model: str, at_ms: int | None = None) -> SourceReply:
    """Return an assistant's message of Anthropic's API as a reply."""
    body = {
        "type": "message",
        "role": "assistant",
        "model": message.get("model") or model,
        "content": message.get("content"),
        "stop_reason": message.get("stop_reason"),
        "usage": message.get("usage"),
    }
    if isinstance(body["content"], str):
        body["content"] = [{"type": "text", "text": body["content"]}]
    return read_reply("anthropic_messages", body, model, at_ms)


def chat_reply(message: dict[str, Any], model: str, at_ms: int | None = None) -> SourceReply:
    """Return an assistant's message of OpenAI's Chat Completions as a reply."""
    finish = "tool_calls" if message.get("tool_calls") else "stop"
    choice = {"index": 0, "message": message, "finish_reason": finish}
    body = {"object": "chat.completion", "model": model, "choices": [choice]}
    return read_reply("openai_chat", body, model, at_ms)


def responses_reply(
    items: list[Any], model: str, at_ms: int | None = None, usage: dict[str, Any] | None = None
) -> SourceReply:
    """Return output items of OpenAI's Responses API as a reply."""
    body = {"object": "response", "status": "completed", "model": model, "output": items, "usage": usage}
    return read_reply("openai_responses", body, model, at_ms)


def _end_time(event: Event, at_ms: int | None) -> int | None:
    """Only the end of a reply is known: a time at its blocks would be shown as how long they took."""
    return at_ms if isinstance(event, TurnEnded | TurnFailed) else None


class ReplyBuilder:
    """Builds a reply block by block. It has no dialect, so none of it is sent back as a provider's own."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._events: list[TimedEvent] = [(TurnStarted("", model), None)]
        self._next_block = 0

    def add_thought(
        self,
        text: str,
        *,
        provenance: Provenance = Provenance.UNKNOWN,
        started_ms: int | None = None,
        duration_ms: int | None = None,
    ) -> None:
        """Add a thought; with a duration it ended that long after its start."""
        ended_ms = None if started_ms is None or duration_ms is None else started_ms + duration_ms
        started = BlockStarted(self._next_block, Kind.REASONING, provenance=provenance)
        self._add_block(started, text, started_ms if ended_ms is not None else None, ended_ms)

    def add_text(self, text: str) -> None:
        """Add a part of the answer. Thoughts in tags at its beginning become thoughts."""
        for block in fold(event for event, _ in _tagged_events(text, self._model)).blocks:
            if block.text.strip():
                self._add_block(BlockStarted(self._next_block, block.kind), block.text)

    def add_call(self, name: str, call_id: str, arguments: str) -> int:
        """Add a tool call; return its number."""
        number = self._next_block
        self._add_block(BlockStarted(number, Kind.TOOL_CALL, name, call_id), arguments)
        return number

    def add_result(self, call: int, result: str, *, failed: bool = False) -> None:
        """Add the result of a call that was run before the reply went on."""
        self._events.append((tool_finished(call, result, failed=failed), None))

    def end(
        self, *, at_ms: int | None = None, usage: Usage | None = None, finish: Finish = Finish.STOP
    ) -> SourceReply:
        """Return the reply."""
        if usage is not None and usage != Usage():
            self._events.append((UsageReported(usage), None))
        return SourceReply((*self._events, (TurnEnded(finish), at_ms)))

    def fail(self, message: str, at_ms: int | None = None) -> SourceReply:
        """Return the reply as one that failed."""
        return SourceReply((*self._events, (TurnFailed.of("failed", Wording.plain(message)), at_ms)))

    @property
    def empty(self) -> bool:
        """Whether nothing was added."""
        return self._next_block == 0

    def _add_block(
        self,
        started: BlockStarted,
        text: str,
        started_ms: int | None = None,
        ended_ms: int | None = None,
    ) -> None:
        number, self._next_block = self._next_block, self._next_block + 1
        self._events.append((started, started_ms))
        if text:
            self._events.append((BlockGrew(number, text), ended_ms))
        self._events.append((BlockEnded(number), ended_ms))


def _tagged_events(text: str, model: str) -> tuple[TimedEvent, ...]:
    if "<" not in text and "◁" not in text:
        return (
            (BlockStarted(0, Kind.TEXT), None),
            (BlockGrew(0, text), None),
            (BlockEnded(0), None),
        )
    return chat_reply({"role": "assistant", "content": text}, model).events


def tool_finished(block: int, result: str, *, failed: bool) -> ToolFinished:
    """Return the event of a result."""
    return ToolFinished(block, error=result or "failed") if failed else ToolFinished(block, result)
