"""Writes events of the AG-UI protocol, version 1.0.

A message is started by its first text. A thought ends with a reference of ours as its encrypted value, which
the front end sends back with the conversation.
"""

from thinkaloud.core.canon import (
    BlockEnded,
    BlockGrew,
    BlockStarted,
    Event,
    Kind,
    ToolFinished,
    TurnEnded,
    TurnFailed,
    TurnStarted,
    Usage,
)
from thinkaloud.core.dialects.writer import (
    ResponseFormat,
    ResponseHead,
    call_id,
    openai_error,
    sent_to_client,
    thought_reference,
)
from thinkaloud.core.transcript import Block, Turn
from thinkaloud.core.wire import sse

NAME = "ag_ui"


class Writer:
    """Writes one streamed run."""

    def __init__(self, head: ResponseHead) -> None:
        self._head = head
        self._started = False
        self._open: dict[int, Kind] = {}
        """The kind with which each open message was started: text cannot become reasoning later."""
        self._text_message = ""

    def feed(self, event: Event, turn: Turn) -> bytes:
        """Return the events of the run for an event of the turn."""
        match event:
            case TurnStarted():
                return self._start()
            case BlockStarted(kind=Kind.TOOL_CALL, parent=None):
                return self._start_call(turn.blocks[event.block])
            case BlockGrew() if turn.blocks[event.block].parent is None:
                return self._grow(turn.blocks[event.block], event.text)
            case BlockEnded() if turn.blocks[event.block].parent is None:
                return self._end_block(turn.blocks[event.block])
            case ToolFinished() if turn.blocks[event.block].parent is None:
                return self._result(turn.blocks[event.block])
            case TurnEnded():
                return self._start() + self._finish(turn.usage)
            case TurnFailed():
                return self._start() + _event("RUN_ERROR", message=event.message, code=event.code)
        return b""

    def keep_alive(self) -> bytes:
        """Return a comment."""
        return b": keep-alive\n\n"

    def _start(self) -> bytes:
        if self._started:
            return b""
        self._started = True
        return _event("RUN_STARTED", **self._run())

    def _run(self) -> dict[str, object]:
        ids = self._head.client_ids
        return {
            "threadId": ids.get("thread") or self._head.turn,
            "runId": ids.get("run") or self._head.turn,
        }

    def _message_id(self, block: Block) -> str:
        return f"msg_{self._head.turn}_{block.number}"

    def _grow(self, block: Block, text: str) -> bytes:
        if block.kind is Kind.TOOL_CALL:
            return _event("TOOL_CALL_ARGS", toolCallId=call_id(self._head.turn, block), delta=text)
        if block.kind not in (Kind.REASONING, Kind.TEXT):
            return b""
        written = self._open_message(block)
        name = "REASONING_MESSAGE" if self._open[block.number] is Kind.REASONING else "TEXT_MESSAGE"
        return written + _event(f"{name}_CONTENT", messageId=self._message_id(block), delta=text)

    def _open_message(self, block: Block) -> bytes:
        if block.number in self._open:
            return b""
        self._open[block.number] = block.kind
        message_id = self._message_id(block)
        if block.kind is Kind.TEXT:
            self._text_message = message_id
            return _event("TEXT_MESSAGE_START", messageId=message_id, role="assistant")
        started = _event("REASONING_START", messageId=message_id)
        return started + _event("REASONING_MESSAGE_START", messageId=message_id, role="reasoning")

    def _start_call(self, block: Block) -> bytes:
        # Without a parent the front end makes a message of its own for each call.
        parent = {"parentMessageId": self._text_message} if self._text_message else {}
        call = call_id(self._head.turn, block)
        return _event("TOOL_CALL_START", toolCallId=call, toolCallName=block.name, **parent)

    def _end_block(self, block: Block) -> bytes:
        if block.kind is Kind.TOOL_CALL:
            return _event("TOOL_CALL_END", toolCallId=call_id(self._head.turn, block))
        if block.kind not in (Kind.REASONING, Kind.TEXT):
            return b""
        if block.number not in self._open and not sent_to_client(block):
            return b""
        written = self._open_message(block)  # a thought without text is opened here
        message_id = self._message_id(block)
        if self._open.pop(block.number) is Kind.TEXT:
            return written + _event("TEXT_MESSAGE_END", messageId=message_id)
        reference = thought_reference(self._head, block)
        return b"".join(
            (
                written,
                _event("REASONING_MESSAGE_END", messageId=message_id),
                _event(
                    "REASONING_ENCRYPTED_VALUE",
                    subtype="message",
                    entityId=message_id,
                    encryptedValue=reference,
                ),
                _event("REASONING_END", messageId=message_id),
            )
        )

    def _result(self, block: Block) -> bytes:
        """Write the result of a tool that the provider ran."""
        return _event(
            "TOOL_CALL_RESULT",
            messageId=f"{self._message_id(block)}_result",
            toolCallId=call_id(self._head.turn, block),
            content=block.error or block.result or "",
            role="tool",
        )

    def _finish(self, usage: Usage) -> bytes:
        counts = {
            "inputTokens": usage.input,
            "outputTokens": usage.output,
            "reasoningTokens": usage.reasoning,
        }
        known_counts = {name: count for name, count in counts.items() if count is not None}
        extra = {"usage": [{"model": self._head.model, **known_counts}]} if known_counts else {}
        return _event("RUN_FINISHED", **self._run(), **extra)


def _event(event_type: str, **fields: object) -> bytes:
    return sse({"type": event_type, **fields})


RESPONSE_FORMAT = ResponseFormat(Writer, None, openai_error, "text/event-stream")
