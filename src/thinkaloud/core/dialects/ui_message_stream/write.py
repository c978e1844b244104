"""Writes the UI message stream of the Vercel AI SDK (protocol v1).

A part is started by its first text. A reasoning part ends with a reference of ours in its metadata, which the
front end sends back with the message.
"""

from thinkaloud.core.canon import (
    BlockEnded,
    BlockGrew,
    BlockStarted,
    Event,
    Finish,
    Kind,
    ToolFinished,
    TurnEnded,
    TurnFailed,
    TurnStarted,
    Usage,
)
from thinkaloud.core.dialects.writer import (
    SSE_DONE,
    ResponseFormat,
    ResponseHead,
    arguments_object,
    call_id,
    finish_of,
    openai_error,
    sent_to_client,
    thought_reference,
)
from thinkaloud.core.transcript import Block, Turn
from thinkaloud.core.wire import sse

NAME = "ui_message_stream"
METADATA_KEY = "thinkaloud"
"""The name of our entry in the metadata of a part."""
_FINISH_REASONS = {
    Finish.LENGTH: "length",
    Finish.TOOL_CALLS: "tool-calls",
    Finish.REFUSAL: "content-filter",
}
_PART_NAMES = {Kind.REASONING: "reasoning", Kind.TEXT: "text"}


class Writer:
    """Writes one streamed message."""

    def __init__(self, head: ResponseHead) -> None:
        self._head = head
        self._started = False
        self._open: dict[int, Kind] = {}
        """The kind with which each open part was started: text cannot become reasoning later."""

    def feed(self, event: Event, turn: Turn) -> bytes:
        """Return the chunks for an event."""
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
                return self._output(turn.blocks[event.block])
            case TurnEnded():
                return self._end(turn)
            case TurnFailed():
                return self._start() + sse({"type": "error", "errorText": event.message}) + SSE_DONE
        return b""

    def keep_alive(self) -> bytes:
        """Return a comment."""
        return b": keep-alive\n\n"

    def _start(self) -> bytes:
        if self._started:
            return b""
        self._started = True
        message_id = self._head.client_ids.get("message") or f"msg_{self._head.turn}"
        return sse({"type": "start", "messageId": message_id}) + sse({"type": "start-step"})

    def _part_id(self, block: Block) -> str:
        return f"{self._head.turn}_{block.number}"

    def _grow(self, block: Block, text: str) -> bytes:
        if block.kind is Kind.TOOL_CALL:
            call = call_id(self._head.turn, block)
            return sse({"type": "tool-input-delta", "toolCallId": call, "inputTextDelta": text})
        if block.kind not in _PART_NAMES:
            return b""
        written = self._open_part(block)
        name = _PART_NAMES[self._open[block.number]]
        return written + sse({"type": f"{name}-delta", "id": self._part_id(block), "delta": text})

    def _open_part(self, block: Block) -> bytes:
        if block.number in self._open:
            return b""
        self._open[block.number] = block.kind
        return sse({"type": f"{_PART_NAMES[block.kind]}-start", "id": self._part_id(block)})

    def _start_call(self, block: Block) -> bytes:
        call = call_id(self._head.turn, block)
        return sse({"type": "tool-input-start", "toolCallId": call, "toolName": block.name})

    def _end_block(self, block: Block) -> bytes:
        if block.kind is Kind.TOOL_CALL:
            call = {"toolCallId": call_id(self._head.turn, block), "toolName": block.name}
            return sse({"type": "tool-input-available", **call, "input": arguments_object(block.text)})
        if block.kind not in _PART_NAMES or not (block.number in self._open or sent_to_client(block)):
            return b""
        written = self._open_part(block)  # a thought without text is opened here
        end: dict[str, object] = {
            "type": f"{_PART_NAMES[self._open.pop(block.number)]}-end",
            "id": self._part_id(block),
        }
        if block.kind is Kind.REASONING:
            reference = {"reference": thought_reference(self._head, block)}
            end["providerMetadata"] = {METADATA_KEY: reference}
        return written + sse(end)

    def _output(self, block: Block) -> bytes:
        """Write the result of a tool that the provider ran."""
        call = call_id(self._head.turn, block)
        if block.error:
            return sse({"type": "tool-output-error", "toolCallId": call, "errorText": block.error})
        output = {"type": "tool-output-available", "toolCallId": call, "output": block.result}
        return sse(output | {"providerExecuted": True})

    def _end(self, turn: Turn) -> bytes:
        finish: dict[str, object] = {
            "type": "finish",
            "finishReason": _FINISH_REASONS.get(finish_of(turn), "stop"),
        }
        if usage := _usage(turn.usage):
            finish["messageMetadata"] = {"usage": usage}
        return self._start() + sse({"type": "finish-step"}) + sse(finish) + SSE_DONE


def _usage(usage: Usage) -> dict[str, object]:
    """Return the known counts, under the SDK's own names."""
    counts = {
        "inputTokens": usage.input,
        "outputTokens": usage.output,
        "reasoningTokens": usage.reasoning,
        "cachedInputTokens": usage.cache_read,
    }
    return {name: count for name, count in counts.items() if count is not None}


RESPONSE_FORMAT = ResponseFormat(
    Writer, None, openai_error, "text/event-stream", ((b"x-vercel-ai-ui-message-stream", b"v1"),)
)
