"""Writes Anthropic Messages, streamed and whole.

A stream has one open block at a time, so what arrives for another block waits until it is that block's turn.
A thinking block needs a signature: one of Anthropic's is sent as it is, a thought of another provider gets a
reference of ours. The signature may follow the text, so a thinking block is closed only by what comes next.
"""

import re

from thinkaloud.core.canon import (
    BlockEnded,
    BlockGrew,
    BlockStarted,
    Event,
    Finish,
    Kind,
    SealForm,
    TurnEnded,
    TurnFailed,
    Usage,
    UsageReported,
)
from thinkaloud.core.dialects.anthropic_messages.parse import MESSAGE_PREFIX
from thinkaloud.core.dialects.anthropic_messages.read import NAME
from thinkaloud.core.dialects.relay import RelayRules
from thinkaloud.core.dialects.writer import (
    ErrorReport,
    ResponseFormat,
    ResponseHead,
    arguments_object,
    call_id,
    encode_json,
    failure_report,
    finish_of,
    sent_to_client,
    shown_blocks,
    thought_reference,
)
from thinkaloud.core.transcript import Block, BlockStatus, Turn
from thinkaloud.core.wire import sse

_STOP_REASONS = {
    Finish.LENGTH: "max_tokens",
    Finish.TOOL_CALLS: "tool_use",
    Finish.REFUSAL: "refusal",
}
_OWN_STOP_REASONS = frozenset(("stop_sequence", "pause_turn", "model_context_window_exceeded"))
"""Stop reasons of Anthropic that say more than why a turn ended."""
_DELTAS = {
    Kind.REASONING: ("thinking_delta", "thinking"),
    Kind.TEXT: ("text_delta", "text"),
    Kind.TOOL_CALL: ("input_json_delta", "partial_json"),
}
_KINDS_BY_STATUS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    402: "billing_error",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_THREAD_CODES = ("thread_not_found", "thread_continue_in_flight")
"""Codes by which Anthropic's clients know that they have to send the whole conversation again."""
_PING = sse({"type": "ping"}, "ping")


class Writer:
    """Writes one streamed message."""

    def __init__(self, head: ResponseHead) -> None:
        self._head = head
        self._started = False
        self._index = -1
        self._open_kind: Kind | None = None
        self._waiting: dict[int, list[str]] = {}
        """Text not yet written, by block, in the order in which the blocks started. The first one is open."""

    def feed(self, event: Event, turn: Turn) -> bytes:
        """Return the events of the stream for an event of the turn."""
        match event:
            case BlockGrew() if event.block in self._waiting:
                self._waiting[event.block].append(event.text)
                return self._advance(turn)
            case BlockStarted(parent=None) if event.kind in _DELTAS:
                self._waiting[event.block] = []
                return self._advance(turn)
            case BlockEnded():
                return self._advance(turn)
            case UsageReported():
                return self._start(turn.usage)
            case TurnEnded():
                return self._advance(turn) + self._end(turn)
            case TurnFailed():
                return sse(error_body(failure_report(event, self._head)), "error")
        return b""

    def keep_alive(self) -> bytes:
        """Return a ping, after the start of the message."""
        return self._start(Usage()) + _PING

    def _start(self, usage: Usage) -> bytes:
        """Start the message, once: with the counts of the input if they are known before the first block."""
        if self._started:
            return b""
        self._started = True
        message = _envelope(self._head) | {"content": [], "stop_reason": None, "stop_sequence": None}
        return sse({"type": "message_start", "message": message | {"usage": _usage(usage)}}, "message_start")

    def _advance(self, turn: Turn) -> bytes:
        """Write the text of the first block, and go on to the next one when nothing more can follow."""
        written = b""
        while self._waiting:
            number = next(iter(self._waiting))
            block, finished = turn.blocks[number], self._finished(turn.blocks[number], turn)
            written += self._write_texts(block, finished=finished, turn=turn)
            if not finished:
                break
            del self._waiting[number]
            written += self._close(block)
        return written

    def _finished(self, block: Block, turn: Turn) -> bool:
        """Whether a block is complete. The signature of a thought may follow its text."""
        if block.status is BlockStatus.RUNNING:
            return False
        return block.kind is not Kind.REASONING or len(self._waiting) > 1 or not turn.live

    def _write_texts(self, block: Block, *, finished: bool, turn: Turn) -> bytes:
        texts, written = self._waiting[block.number], b""
        if self._open_kind is None and (
            texts or block.kind is Kind.TOOL_CALL or (finished and sent_to_client(block))
        ):
            self._open_kind = block.kind
            self._index += 1
            content = _content(self._head, block, whole=False)
            written = self._start(turn.usage) + _block_event("start", self._index, content_block=content)
        if self._open_kind is not None:
            delta_type, field = _DELTAS[self._open_kind]
            for text in texts:
                written += _block_event("delta", self._index, delta={"type": delta_type, field: text})
        texts.clear()
        return written

    def _close(self, block: Block) -> bytes:
        kind, self._open_kind, signature = self._open_kind, None, b""
        if kind is None:
            return b""
        if kind is Kind.REASONING and not _redacted_data(block):
            delta = {"type": "signature_delta", "signature": _signature(self._head, block)}
            signature = _block_event("delta", self._index, delta=delta)
        return signature + _block_event("stop", self._index)

    def _end(self, turn: Turn) -> bytes:
        delta = {"stop_reason": _stop_reason(turn), "stop_sequence": None}
        last = {"type": "message_delta", "delta": delta, "usage": _usage(turn.usage)}
        stop = sse(last, "message_delta") + sse({"type": "message_stop"}, "message_stop")
        return self._start(turn.usage) + stop


def write_whole(turn: Turn, head: ResponseHead) -> bytes:
    """Return the body of a response that is not streamed."""
    content = [_content(head, block, whole=True) for block in shown_blocks(turn)]
    ending = {"stop_reason": _stop_reason(turn), "stop_sequence": None, "usage": _usage(turn.usage)}
    return encode_json(_envelope(head) | {"content": content} | ending)


def error_body(error: ErrorReport) -> dict[str, object]:
    """Return the body that tells about a failure, with or without a status."""
    kind = _KINDS_BY_STATUS.get(error.status, "invalid_request_error" if error.status < 500 else "api_error")
    if error.code in _KINDS_BY_STATUS.values():
        kind = error.code  # Anthropic's own word, which a stream has no status for
    detail: dict[str, object] = {"type": kind, "message": error.message}
    if error.code in _THREAD_CODES:
        detail["details"] = {"error_code": error.code}
    body: dict[str, object] = {"type": "error", "error": detail}
    return body | ({"request_id": error.request_id} if error.request_id else {})


def _envelope(head: ResponseHead) -> dict[str, object]:
    return {"id": f"{MESSAGE_PREFIX}{head.turn}", "type": "message", "role": "assistant", "model": head.model}


def _block_event(name: str, index: int, **fields: object) -> bytes:
    kind = f"content_block_{name}"
    return sse({"type": kind, "index": index, **fields}, kind)


def _content(head: ResponseHead, block: Block, *, whole: bool) -> dict[str, object]:
    """Return a content block: with its content, or empty as at the start of a streamed block."""
    text = block.text if whole else ""
    match block.kind:
        case Kind.REASONING if data := _redacted_data(block):
            return {"type": "redacted_thinking", "data": data}
        case Kind.REASONING:
            signature = _signature(head, block) if whole else ""
            return {"type": "thinking", "thinking": text, "signature": signature}
        case Kind.TOOL_CALL:
            arguments = arguments_object(text)
            return {
                "type": "tool_use",
                "id": call_id(head.turn, block),
                "name": block.name,
                "input": arguments,
            }
    return {"type": "text", "text": text}


def _own_seal(block: Block, form: SealForm) -> str:
    return next((seal.payload for seal in block.seals if seal.dialect == NAME and seal.form is form), "")


def _redacted_data(block: Block) -> str:
    return _own_seal(block, SealForm.REDACTED)


def _signature(head: ResponseHead, block: Block) -> str:
    return _own_seal(block, SealForm.SIGNATURE) or thought_reference(head, block)


def _stop_reason(turn: Turn) -> str:
    if turn.outcome is not None and turn.outcome.cause in _OWN_STOP_REASONS:
        return turn.outcome.cause
    return _STOP_REASONS.get(finish_of(turn), "end_turn")


def _usage(usage: Usage) -> dict[str, object]:
    """Return the counts. The format demands numbers for input and output, so an unknown one is 0."""
    read, written = usage.cache_read, usage.cache_write
    uncached = max(0, (usage.input or 0) - (read or 0) - (written or 0))
    counts: dict[str, object] = {"input_tokens": uncached, "output_tokens": usage.output or 0}
    if read is not None:
        counts["cache_read_input_tokens"] = read
    if written is not None:
        counts["cache_creation_input_tokens"] = written
    if usage.reasoning is not None:
        counts["output_tokens_details"] = {"thinking_tokens": usage.reasoning}
    return counts


RESPONSE_FORMAT = ResponseFormat(
    Writer,
    write_whole,
    error_body,
    relay_rules=RelayRules(
        thought_marks=(b'"thinking"', b'"redacted_thinking"'),
        end_marks=(
            re.compile(rb'"stop_reason"\s*:\s*"'),
            re.compile(rb'"type"\s*:\s*"message_stop\b'),
            re.compile(rb"event:(?<![^\r\n]event:)\s*message_stop\b"),
        ),
    ),
)
