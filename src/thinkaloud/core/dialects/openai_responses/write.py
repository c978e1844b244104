"""Writes OpenAI Responses, streamed and whole.

Thoughts are summary parts of reasoning items, because that is what clients show. The `encrypted_content` of
an item is a reference of ours; the provider's own data stays in the gateway.
"""

import re

from thinkaloud.core.canon import (
    BlockEnded,
    BlockGrew,
    BlockStarted,
    Event,
    Finish,
    Kind,
    TurnEnded,
    TurnFailed,
    Usage,
)
from thinkaloud.core.dialects.relay import RelayRules
from thinkaloud.core.dialects.writer import (
    ResponseFormat,
    ResponseHead,
    arguments_object,
    call_id,
    encode_json,
    finish_of,
    openai_error,
    sent_to_client,
    shown_blocks,
    thought_reference,
)
from thinkaloud.core.transcript import Block, BlockStatus, Turn
from thinkaloud.core.wire import sse

_INCOMPLETE_REASONS = {Finish.LENGTH: "max_output_tokens", Finish.REFUSAL: "content_filter"}
_ITEM_PREFIXES = {Kind.REASONING: "rs", Kind.TEXT: "msg", Kind.TOOL_CALL: "fc"}
_DELTA_TYPES = {
    Kind.REASONING: "response.reasoning_summary_text.delta",
    Kind.TEXT: "response.output_text.delta",
    Kind.TOOL_CALL: "response.function_call_arguments.delta",
}
_TEXT_INPUT = "response.custom_tool_call_input"
_PART_PLACES: dict[Kind, dict[str, object]] = {
    Kind.REASONING: {"summary_index": 0},
    Kind.TEXT: {"content_index": 0},
    Kind.TOOL_CALL: {},
}


class Writer:
    """Writes one streamed response."""

    def __init__(self, head: ResponseHead) -> None:
        self._head = head
        self._sequence_number = -1
        self._open: dict[int, tuple[int, Kind]] = {}
        """The index and the kind of the items that are open, by block."""
        self._item_count = 0
        self._started = False

    def feed(self, event: Event, turn: Turn) -> bytes:
        """Return the events of the stream for an event of the turn."""
        match event:
            case BlockGrew():
                return self._grow(turn.blocks[event.block], event.text)
            case BlockStarted(kind=Kind.TOOL_CALL, parent=None):
                return self._add_item(turn.blocks[event.block])
            case BlockEnded() if turn.blocks[event.block].parent is None:
                return self._end_item(turn.blocks[event.block])
            case TurnEnded() | TurnFailed():
                return self._end(turn)
        return b""

    def keep_alive(self) -> bytes:
        """Return a comment."""
        return b": keep-alive\n\n"

    def _event(self, event_type: str, **fields: object) -> bytes:
        self._sequence_number += 1
        return sse({"type": event_type, "sequence_number": self._sequence_number, **fields}, event_type)

    def _start(self) -> bytes:
        if self._started:
            return b""
        self._started = True
        response = _response(self._head, status="in_progress")
        created = self._event("response.created", response=response)
        return created + self._event("response.in_progress", response=response)

    def _add_item(self, block: Block) -> bytes:
        """Start an item, and the part that its text goes to."""
        index, kind = self._item_count, block.kind
        self._item_count += 1
        self._open[block.number] = index, kind
        item = _item(self._head, block, kind, status="in_progress")
        written = self._start() + self._event("response.output_item.added", output_index=index, item=item)
        return written + self._part_event("added", block, "")

    def _part_event(self, name: str, block: Block, text: str) -> bytes:
        index, kind = self._open[block.number]
        place = {"item_id": _item_id(self._head, block, kind), "output_index": index, **_PART_PLACES[kind]}
        match kind:
            case Kind.REASONING:
                return self._event(f"response.reasoning_summary_part.{name}", part=_summary(text), **place)
            case Kind.TEXT:
                return self._event(f"response.content_part.{name}", part=_output_text(text), **place)
        return b""

    def _grow(self, block: Block, text: str) -> bytes:
        if block.kind not in _DELTA_TYPES or block.parent is not None:
            return b""
        added = b"" if block.number in self._open else self._add_item(block)
        if _takes_text(self._head, block):
            return added  # its text is in the JSON of the arguments, which is not whole yet
        index, kind = self._open[block.number]
        place = {"item_id": _item_id(self._head, block, kind), "output_index": index, **_PART_PLACES[kind]}
        extra: dict[str, object] = {"logprobs": []} if kind is Kind.TEXT else {}
        return added + self._event(_DELTA_TYPES[kind], delta=text, **place, **extra)

    def _end_item(self, block: Block) -> bytes:
        written = b""
        if block.number not in self._open:
            if not sent_to_client(block) or block.kind not in _DELTA_TYPES:
                return b""
            written = self._add_item(block)  # a thought without text
        index, kind = self._open[block.number]
        written += self._text_done(block) + self._part_event("done", block, block.text)
        del self._open[block.number]
        item = _item(self._head, block, kind, status=_item_status(block))
        return written + self._event("response.output_item.done", output_index=index, item=item)

    def _text_done(self, block: Block) -> bytes:
        index, kind = self._open[block.number]
        event_type = _DELTA_TYPES[kind].removesuffix("delta") + "done"
        place = {"item_id": _item_id(self._head, block, kind), "output_index": index, **_PART_PLACES[kind]}
        match kind:
            case Kind.TOOL_CALL if _takes_text(self._head, block):
                text = _plain_input(block.text)
                delta = self._event(f"{_TEXT_INPUT}.delta", delta=text, **place)
                return delta + self._event(f"{_TEXT_INPUT}.done", input=text, **place)
            case Kind.TOOL_CALL:
                return self._event(event_type, arguments=block.text, name=block.name, **place)
            case Kind.TEXT:
                return self._event(event_type, text=block.text, logprobs=[], **place)
        return self._event(event_type, text=block.text, **place)

    def _end(self, turn: Turn) -> bytes:
        response = whole_response(turn, self._head)
        return self._start() + self._event(f"response.{response['status']}", response=response)


def write_whole(turn: Turn, head: ResponseHead) -> bytes:
    """Return the body of a response that is not streamed."""
    return encode_json(whole_response(turn, head))


def whole_response(turn: Turn, head: ResponseHead) -> dict[str, object]:
    """Return a complete response."""
    reason = _INCOMPLETE_REASONS.get(finish_of(turn))
    outcome = turn.outcome
    failed = outcome is not None and bool(outcome.message)
    status = "completed"
    if failed:
        status = "failed"
    elif reason:
        status = "incomplete"
    response = _response(head, status=status)
    response["output"] = [_item(head, block, block.kind, _item_status(block)) for block in shown_blocks(turn)]
    response["usage"] = _usage(turn.usage)
    if failed and outcome is not None:
        response["error"] = {"code": outcome.cause or "server_error", "message": outcome.message}
    elif reason:
        response["incomplete_details"] = {"reason": reason}
    return response


def _response(head: ResponseHead, status: str) -> dict[str, object]:
    return {
        "id": f"resp_{head.turn}",
        "object": "response",
        "created_at": head.created_s,
        "status": status,
        "model": head.model,
        "output": [],
        "usage": None,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "temperature": None,
        "tool_choice": "auto",
        "tools": [],
        "top_p": None,
        "store": False,
    }


def _item_id(head: ResponseHead, block: Block, kind: Kind) -> str:
    return f"{_ITEM_PREFIXES[kind]}_{head.turn}_{block.number}"


def _item_status(block: Block) -> str:
    return "incomplete" if block.status is BlockStatus.INTERRUPTED else "completed"


def _item(head: ResponseHead, block: Block, kind: Kind, status: str) -> dict[str, object]:
    """Return an output item: with its content, or empty while it is in progress."""
    text = "" if status == "in_progress" else block.text
    item_id = _item_id(head, block, kind)
    match kind:
        case Kind.REASONING:
            reference = thought_reference(head, block)
            summary = [_summary(text)] if text else []
            return {"id": item_id, "type": "reasoning", "summary": summary, "encrypted_content": reference}
        case Kind.TOOL_CALL if _takes_text(head, block):
            text_call = {
                "call_id": call_id(head.turn, block),
                "name": block.name,
                "input": _plain_input(text),
            }
            return {"id": item_id, "type": "custom_tool_call", "status": status, **text_call}
        case Kind.TOOL_CALL:
            call = {"call_id": call_id(head.turn, block), "name": block.name, "arguments": text}
            return {"id": item_id, "type": "function_call", "status": status, **call}
    content = [_output_text(text)] if text else []
    return {"id": item_id, "type": "message", "role": "assistant", "status": status, "content": content}


def _takes_text(head: ResponseHead, block: Block) -> bool:
    return block.kind is Kind.TOOL_CALL and block.name in head.text_tools


def _plain_input(arguments: str) -> str:
    """Return the text for a tool that takes plain text; arguments without it are given as they are."""
    value = arguments_object(arguments).get("input")
    return value if isinstance(value, str) else arguments


def _summary(text: str) -> dict[str, object]:
    return {"type": "summary_text", "text": text}


def _output_text(text: str) -> dict[str, object]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _usage(usage: Usage) -> dict[str, object]:
    """Return the counts. Clients demand all of them, so an unknown one is 0."""
    return {
        "input_tokens": usage.input or 0,
        "input_tokens_details": {"cached_tokens": usage.cache_read or 0},
        "output_tokens": usage.output or 0,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning or 0},
        "total_tokens": (usage.input or 0) + (usage.output or 0),
    }


RESPONSE_FORMAT = ResponseFormat(
    Writer,
    write_whole,
    openai_error,
    relay_rules=RelayRules(
        thought_marks=(b'"reasoning"',),
        # The end of an item is not the end of the answer: any number of items may follow.
        end_marks=(
            re.compile(rb'"type"\s*:\s*"response\.(?:completed|incomplete|failed)\b'),
            re.compile(rb"event:(?<![^\r\n]event:)\s*response\.(?:completed|incomplete|failed)\b"),
        ),
    ),
)
