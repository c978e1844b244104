"""Writes Ollama chat responses: a JSON object per line, or one object. A call is written when it is whole."""

import re
from datetime import UTC, datetime

from thinkaloud.core.canon import BlockEnded, BlockGrew, Event, Finish, Kind, TurnEnded, TurnFailed
from thinkaloud.core.dialects.relay import JSON_LINES, RelayRules
from thinkaloud.core.dialects.writer import (
    ErrorReport,
    JoinedTexts,
    ResponseFormat,
    ResponseHead,
    arguments_object,
    encode_json,
    failure_report,
    finish_of,
    shown_blocks,
)
from thinkaloud.core.transcript import Block, Turn

_TEXT_FIELDS = {Kind.REASONING: "thinking", Kind.TEXT: "content"}


class Writer:
    """Writes one streamed chat response."""

    def __init__(self, head: ResponseHead) -> None:
        self._head = head
        self._texts = JoinedTexts()

    def feed(self, event: Event, turn: Turn) -> bytes:
        """Return the lines for an event."""
        match event:
            case BlockGrew() if (block := turn.blocks[event.block]).parent is None:
                field = _TEXT_FIELDS.get(block.kind)
                if field is None:
                    return b""
                return self._line({"content": "", field: self._texts.append(turn, block, event.text)})
            case BlockEnded() if (block := turn.blocks[event.block]).parent is None and block.awaiting_result:
                return self._line({"content": "", "tool_calls": [_call(block)]})
            case TurnEnded():
                return self._line({"content": ""}, **_ending(turn))
            case TurnFailed():
                return encode_json(error_body(failure_report(event, self._head))) + b"\n"
        return b""

    def keep_alive(self) -> bytes:
        """Return an empty piece of the answer; the format has nothing else that clients pass over."""
        return self._line({"content": ""})

    def _line(self, message: dict[str, object], **ending: object) -> bytes:
        return encode_json(_envelope(self._head, message) | {"done": False} | ending) + b"\n"


def write_whole(turn: Turn, head: ResponseHead) -> bytes:
    """Return the body of a response that is not streamed."""
    blocks = shown_blocks(turn)
    message: dict[str, object] = {"content": turn.answer}
    if any(block.kind is Kind.REASONING for block in blocks):
        message["thinking"] = JoinedTexts().append_all(turn, blocks, Kind.REASONING)
    if calls := [_call(block) for block in blocks if block.kind is Kind.TOOL_CALL]:
        message["tool_calls"] = calls
    return encode_json(_envelope(head, message) | _ending(turn))


def error_body(error: ErrorReport) -> dict[str, object]:
    """Return the body that tells about a failure, with or without a status."""
    return {"error": error.message}


def _envelope(head: ResponseHead, message: dict[str, object]) -> dict[str, object]:
    created_at = datetime.fromtimestamp(head.created_s, UTC).isoformat().replace("+00:00", "Z")
    return {"model": head.model, "created_at": created_at, "message": {"role": "assistant", **message}}


def _call(block: Block) -> dict[str, object]:
    return {"function": {"name": block.name, "arguments": arguments_object(block.text)}}


def _ending(turn: Turn) -> dict[str, object]:
    reason = "length" if finish_of(turn) is Finish.LENGTH else "stop"
    counts = {"prompt_eval_count": turn.usage.input, "eval_count": turn.usage.output}
    known_counts = {name: count for name, count in counts.items() if count is not None}
    return {"done": True, "done_reason": reason, **known_counts}


RESPONSE_FORMAT = ResponseFormat(
    Writer,
    write_whole,
    error_body,
    "application/x-ndjson",
    relay_rules=RelayRules(
        thought_marks=(b'"thinking"',), end_marks=(re.compile(rb'"done"\s*:\s*true'),), framing=JSON_LINES
    ),
)
