"""Writes OpenAI Chat Completions, streamed and whole. Thoughts have the field `reasoning_content`."""

import re

import msgspec

from thinkaloud.core.canon import (
    BlockGrew,
    BlockStarted,
    Event,
    Finish,
    Kind,
    TurnEnded,
    TurnFailed,
    TurnStarted,
    Usage,
)
from thinkaloud.core.dialects.relay import RelayRules
from thinkaloud.core.dialects.writer import (
    SSE_DONE,
    JoinedTexts,
    ResponseFormat,
    ResponseHead,
    call_id,
    encode_json,
    failure_report,
    finish_of,
    openai_error,
    shown_blocks,
)
from thinkaloud.core.transcript import Block, Turn
from thinkaloud.core.wire import sse

_FINISH_REASONS = {
    Finish.LENGTH: "length",
    Finish.TOOL_CALLS: "tool_calls",
    Finish.REFUSAL: "content_filter",
}
_KEEP_ALIVE = b": keep-alive\n\n"
REASONING_DETAILS = "reasoning_details"


class Writer:
    """Writes one streamed completion."""

    def __init__(self, head: ResponseHead) -> None:
        self._head = head
        chunk = encode_json(_envelope(head, "chat.completion.chunk"))
        self._before = b"data: " + chunk[:-1] + b',"choices":[{"index":0,"delta":'
        self._after = b',"finish_reason":null}]}\n\n'
        self._usage = chunk[:-1] + b',"choices":[],"usage":'
        self._call_indexes: dict[int, int] = {}
        self._texts = JoinedTexts()

    def feed(self, event: Event, turn: Turn) -> bytes:
        """Return the chunks for an event."""
        match event:
            case BlockGrew():
                return self._grow(turn, turn.blocks[event.block], event.text)
            case TurnStarted():
                return self._chunk({"role": "assistant", "content": ""})
            case BlockStarted(kind=Kind.TOOL_CALL, parent=None):
                return self._start_call(turn.blocks[event.block])
            case TurnEnded():
                return self._end(turn)
            case TurnFailed():
                return sse(openai_error(failure_report(event, self._head)))
        return b""

    def keep_alive(self) -> bytes:
        """Return a comment."""
        return _KEEP_ALIVE

    def _chunk(self, delta: object) -> bytes:
        return self._before + encode_json(delta) + self._after

    def _grow(self, turn: Turn, block: Block, text: str) -> bytes:
        if block.parent is not None:
            return b""
        match block.kind:
            case Kind.TEXT:
                return self._chunk({"content": self._texts.append(turn, block, text)})
            case Kind.REASONING:
                joined = self._texts.append(turn, block, text)
                return self._chunk(_reasoning(self._head, [(block.number, text)], joined))
            case Kind.TOOL_CALL:
                call = {"index": self._call_indexes[block.number], "function": {"arguments": text}}
                return self._chunk({"tool_calls": [call]})
        return b""

    def _start_call(self, block: Block) -> bytes:
        index = self._call_indexes[block.number] = len(self._call_indexes)
        return self._chunk({"tool_calls": [{"index": index, **_call(self._head, block, "")}]})

    def _end(self, turn: Turn) -> bytes:
        reason = encode_json(_finish_reason(turn))
        last_chunk = self._before + b'{},"finish_reason":' + reason + b"}]}\n\n"
        counts = b""
        if self._head.include_usage:
            counts = b"data: " + self._usage + encode_json(_usage(turn.usage)) + b"}\n\n"
        return last_chunk + counts + SSE_DONE


def write_whole(turn: Turn, head: ResponseHead) -> bytes:
    """Return the body of a response that is not streamed."""
    message: dict[str, object] = {"role": "assistant"}
    blocks = shown_blocks(turn)
    # Before the content: whoever reads it in this order takes no tag in the answer for a thought.
    if thoughts := [block for block in blocks if block.kind is Kind.REASONING]:
        joined = JoinedTexts().append_all(turn, thoughts, Kind.REASONING)
        message |= _reasoning(head, [(block.number, block.text) for block in thoughts], joined)
    message["content"] = turn.answer or None
    if calls := [_call(head, block, block.text) for block in blocks if block.kind is Kind.TOOL_CALL]:
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "finish_reason": _finish_reason(turn), "logprobs": None}
    return encode_json(
        _envelope(head, "chat.completion") | {"choices": [choice], "usage": _usage(turn.usage)}
    )


def _envelope(head: ResponseHead, object_name: str) -> dict[str, object]:
    return {
        "id": f"chatcmpl-{head.turn}",
        "object": object_name,
        "created": head.created_s,
        "model": head.model,
    }


def _finish_reason(turn: Turn) -> str:
    return _FINISH_REASONS.get(finish_of(turn), "stop")


def _call(head: ResponseHead, block: Block, arguments: str) -> dict[str, object]:
    function = {"name": block.name, "arguments": arguments}
    return {"id": call_id(head.turn, block), "type": "function", "function": function}


def _reasoning(head: ResponseHead, thoughts: list[tuple[int, str]], joined: str) -> dict[str, object]:
    """Return the fields for thoughts, each given as the number of its block and its text; or joined."""
    details = [{"type": "reasoning.text", "text": text, "index": number} for number, text in thoughts]
    fields: dict[str, object] = dict.fromkeys(head.reasoning_fields, joined)
    if REASONING_DETAILS in fields:
        fields[REASONING_DETAILS] = details
    return fields


def _usage(usage: Usage) -> dict[str, object] | None:
    """Return the counts; unknown ones are left out, and without any there is no report."""
    if usage.input is None and usage.output is None:
        return None
    counts: dict[str, object] = {
        "prompt_tokens": usage.input or 0,
        "completion_tokens": usage.output or 0,
        "total_tokens": (usage.input or 0) + (usage.output or 0),
    }
    if usage.reasoning is not None:
        counts["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning}
    if usage.cache_read is not None:
        counts["prompt_tokens_details"] = {"cached_tokens": usage.cache_read}
    return counts


class _UsageChunk(msgspec.Struct):
    choices: list[msgspec.Raw]
    usage: msgspec.Raw


_usage_decoder = msgspec.json.Decoder(_UsageChunk)


def _is_usage(frame: bytes) -> bool:
    """Return whether a chunk has counts and no choice. Clients that did not ask for it may fail on it."""
    try:
        return not _usage_decoder.decode(frame.strip().removeprefix(b"data:")).choices
    except msgspec.MsgspecError:
        return False


RESPONSE_FORMAT = ResponseFormat(
    Writer,
    write_whole,
    openai_error,
    relay_rules=RelayRules(
        thought_marks=(b'"reasoning_content"',),
        # Some servers send an empty reason, or null, with every chunk.
        end_marks=(
            re.compile(rb'"finish_reason"\s*:\s*(?:"[^"]|\d)'),
            re.compile(rb'"stop_reason"\s*:\s*(?:"[^"]|\d)'),
            re.compile(rb"data:\s*\[DONE\]"),
        ),
        foreign_marks=(b'"reasoning"', b'"reasoning_details"'),
        is_usage=_is_usage,
        usage_mark=b"[]",
    ),
)
