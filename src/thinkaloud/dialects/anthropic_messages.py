"""Anthropic Messages, and everyone who speaks it: Azure, Vertex, DeepSeek, llama.cpp, Ollama.

A whole message is read as its blocks, started and stopped in one go. A thought may be empty and still
signed; a redacted one is nothing but its data. Tools that the provider ran itself bring their results as
blocks of their own, which are matched to the call by its id.
"""

from typing import Any

import msgspec

from thinkaloud.canon import Finish, Kind, Provenance, SealForm, Usage, newer
from thinkaloud.dialects.blocks import Blocks
from thinkaloud.dialects.counts import total
from thinkaloud.dialects.faults import is_error, read_error
from thinkaloud.dialects.verbatim import (
    ABSENT,
    JsonObject,
    encode,
    grow,
    grow_json,
    present,
    raw_array,
    raw_string,
    raw_text,
    settle_json,
    text_of,
)
from thinkaloud.wire import Frame

NAME = "anthropic_messages"

_FINISHES = {
    "end_turn": Finish.STOP,
    "stop_sequence": Finish.STOP,
    "max_tokens": Finish.LENGTH,
    "model_context_window_exceeded": Finish.LENGTH,
    "tool_use": Finish.TOOL_CALLS,
    "refusal": Finish.REFUSAL,
}


class Details(msgspec.Struct):
    """What is inside the output tokens."""

    thinking_tokens: int | None = None


class Counts(msgspec.Struct):
    """Cumulative usage; output includes thinking, input leaves out what came from the cache."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    output_tokens_details: Details | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class Content(msgspec.Struct):
    """A block of content, as it starts or as a whole."""

    type: str = ""
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    data: str | None = None
    id: str | None = None
    name: str | None = None
    input: msgspec.Raw = ABSENT
    tool_use_id: str | None = None
    content: msgspec.Raw = ABSENT
    is_error: bool | None = None


class Delta(msgspec.Struct):
    """More of a block, or the end of the message."""

    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    partial_json: str | None = None
    citation: msgspec.Raw = ABSENT
    stop_reason: str | None = None


class Message(msgspec.Struct):
    """The message that a stream starts with."""

    model: str | None = None
    usage: Counts | None = None


class Update(msgspec.Struct):
    """One event of a stream, or a whole message."""

    type: str = ""
    index: int = 0
    message: Message | None = None
    content_block: msgspec.Raw = ABSENT
    delta: Delta | None = None
    usage: Counts | None = None
    error: msgspec.Raw = ABSENT
    model: str | None = None
    content: list[msgspec.Raw] | None = None
    stop_reason: str | None = None


class Failure(msgspec.Struct):
    """What a tool's result holds when the tool failed."""

    error_code: str = ""


_update = msgspec.json.Decoder(Update)
_content = msgspec.json.Decoder(Content)
_object = msgspec.json.Decoder(dict[str, Any])
_failure = msgspec.json.Decoder(Failure)


class Reader:
    """Reads one message."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self._content: dict[int, JsonObject] = {}
        self._calls: dict[str, int] = {}
        self._counts = Counts()
        self._stop_reason = ""

    def feed(self, frame: Frame) -> None:
        """One event of the stream, or the whole message."""
        update = _update.decode(frame.data)
        match update.type:
            case "content_block_delta" if update.delta is not None:
                self._grow(update.index, update.delta)
            case "content_block_start" if present(update.content_block):
                self._content[update.index] = _object.decode(update.content_block)
                self._start(update.index, _content.decode(update.content_block))
            case "content_block_stop":
                self._stop(update.index)
            case "message_start" if update.message is not None:
                self._blocks.begin(update.message.model)
                self._count(update.message.usage)
            case "message_delta":
                self._stop_reason = (update.delta and update.delta.stop_reason) or self._stop_reason
                self._count(update.usage)
            case "message_stop":
                self._finish(encode([self._content[index] for index in sorted(self._content)]))
            case "message":
                self._whole(update)
            case _ if is_error(update.error):
                self._blocks.fail(*read_error(update.error))

    def close(self) -> None:
        """The bytes ended."""
        self._blocks.cut_off("message_stop")

    def _whole(self, message: Update) -> None:
        self._blocks.begin(message.model)
        contents = message.content or []
        for index, raw in enumerate(contents):
            content = _content.decode(raw)
            self._start(index, content)
            self._blocks.seal(index, SealForm.SIGNATURE, content.signature or "")
            self._blocks.end(index)
        self._stop_reason = message.stop_reason or ""
        self._count(message.usage)
        self._finish(raw_array(contents))

    def _start(self, index: int, content: Content) -> None:
        match content.type:
            case "text":
                self._blocks.start(index, Kind.TEXT)
                self._blocks.grow(index, content.text or "")
            case "thinking":
                self._blocks.start(index, Kind.REASONING, provenance=Provenance.SUMMARY)
                self._blocks.grow(index, content.thinking or "")
            case "redacted_thinking":
                self._blocks.start(index, Kind.REASONING)
                self._blocks.seal(index, SealForm.REDACTED, content.data or "")
            case "tool_use" | "server_tool_use" | "mcp_tool_use":
                self._call(index, content)
            case _ if content.tool_use_id in self._calls:
                result = raw_string(content.content)
                error = (result or "failed") if content.is_error else _error_in(result)
                self._blocks.finish_tool(self._calls[content.tool_use_id], result, error)

    def _call(self, index: int, content: Content) -> None:
        call_id = content.id or ""
        self._calls[call_id] = index
        self._blocks.start(index, Kind.TOOL_CALL, name=content.name or "", call_id=call_id)
        if (arguments := raw_text(content.input)) != "{}" or index not in self._content:
            self._blocks.grow(index, arguments)

    def _grow(self, index: int, delta: Delta) -> None:
        block = self._content.setdefault(index, {})
        if delta.thinking:
            self._blocks.say(index, Kind.REASONING, delta.thinking, Provenance.SUMMARY)
            grow(block, "thinking", delta.thinking)
        elif delta.text:
            self._blocks.say(index, Kind.TEXT, delta.text)
            grow(block, "text", delta.text)
        elif delta.partial_json:
            self._blocks.grow(index, delta.partial_json)
            grow_json(block, delta.partial_json)
        elif delta.signature:
            grow(block, "signature", delta.signature)
        elif present(delta.citation):
            if not isinstance(block.get("citations"), list):
                block["citations"] = []
            block["citations"].append(delta.citation)

    def _stop(self, index: int) -> None:
        block = self._content.get(index, {})
        streamed = settle_json(block, block, "input")
        if str(block.get("type")).endswith("tool_use") and not streamed and not block.get("input"):
            self._blocks.grow(index, "{}")
        self._blocks.seal(index, SealForm.SIGNATURE, text_of(block.get("signature")))
        self._blocks.end(index)

    def _count(self, counts: Counts | None) -> None:
        if counts is None:
            return
        self._counts = counts = newer(self._counts, counts)
        details = counts.output_tokens_details
        self._blocks.report(
            Usage(
                input=total(
                    counts.input_tokens, counts.cache_read_input_tokens, counts.cache_creation_input_tokens
                ),
                output=counts.output_tokens,
                reasoning=details.thinking_tokens if details else None,
                cache_read=counts.cache_read_input_tokens,
                cache_write=counts.cache_creation_input_tokens,
            )
        )

    def _finish(self, content: str) -> None:
        finish = _FINISHES.get(self._stop_reason, Finish.UNKNOWN)
        self._blocks.finish(finish, self._stop_reason, f'{{"role":"assistant","content":{content}}}')


def _error_in(result: str) -> str:
    """A server tool's result is a list when it went well and an object with a code when it did not."""
    if not result.startswith("{"):
        return ""
    return _failure.decode(result).error_code
