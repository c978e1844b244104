"""Bedrock Converse: an AWS event stream, or one JSON object.

A thought has no start event of its own, so it starts with its first delta. The reason for the end comes
before the counts, and reasoning tokens are not counted apart.
"""

import msgspec

from thinkaloud.canon import Finish, Kind, Provenance, SealForm, Usage
from thinkaloud.dialects.blocks import Blocks
from thinkaloud.dialects.counts import total
from thinkaloud.dialects.faults import read_error
from thinkaloud.dialects.verbatim import (
    ABSENT,
    JsonObject,
    encode,
    grow,
    grow_json,
    present,
    raw_string,
    raw_text,
    settle_json,
    text_of,
)
from thinkaloud.wire import Frame

NAME = "bedrock_converse"

_FINISHES = {
    "end_turn": Finish.STOP,
    "stop_sequence": Finish.STOP,
    "tool_use": Finish.TOOL_CALLS,
    "max_tokens": Finish.LENGTH,
    "model_context_window_exceeded": Finish.LENGTH,
    "guardrail_intervened": Finish.REFUSAL,
    "content_filtered": Finish.REFUSAL,
}


class Counts(msgspec.Struct, rename="camel"):
    """Usage; input leaves the cache out."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_write_input_tokens: int | None = None


class ReasoningText(msgspec.Struct):
    """A whole thought."""

    text: str | None = None
    signature: str | None = None


class Reasoning(msgspec.Struct, rename="camel"):
    """A thought, or more of it."""

    reasoning_text: ReasoningText | None = None
    text: str | None = None
    signature: str | None = None
    redacted_content: str | None = None


class ToolUse(msgspec.Struct, rename="camel"):
    """A call; its input is an object when whole, and text in pieces when streamed."""

    tool_use_id: str | None = None
    name: str | None = None
    input: msgspec.Raw = ABSENT


class Block(msgspec.Struct, rename="camel"):
    """A block of content, or more of it, or its start."""

    text: str | None = None
    reasoning_content: Reasoning | None = None
    tool_use: ToolUse | None = None


class Message(msgspec.Struct):
    """The assistant's message."""

    content: list[msgspec.Raw] | None = None


class Output(msgspec.Struct):
    """Where a whole response keeps its message."""

    message: msgspec.Raw = ABSENT


class Update(msgspec.Struct, rename="camel"):
    """One event of a stream, or the whole response."""

    content_block_index: int = 0
    start: Block | None = None
    delta: Block | None = None
    stop_reason: str | None = None
    usage: Counts | None = None
    output: Output | None = None
    message: str | None = None


_update = msgspec.json.Decoder(Update)
_message = msgspec.json.Decoder(Message)
_block = msgspec.json.Decoder(Block)


class Reader:
    """Reads one response."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self._content: dict[int, JsonObject] = {}
        self._whole = ""
        self._stop_reason = ""

    def feed(self, frame: Frame) -> None:
        """One event, or the whole response."""
        if frame.event.endswith(("Exception", "Error")):
            code, message = read_error(frame.data)
            self._blocks.fail(frame.event, message or code)
            return
        update = _update.decode(frame.data)
        if update.message:
            self._blocks.fail("provider_error", update.message)
        elif update.output is not None and present(update.output.message):
            self._whole = raw_text(update.output.message)
            for index, raw in enumerate(_message.decode(update.output.message).content or ()):
                self._read_block(index, _block.decode(raw))
        elif update.start is not None and update.start.tool_use is not None:
            self._call(update.content_block_index, update.start.tool_use)
        elif update.delta is not None:
            self._grow(update.content_block_index, update.delta)
        elif frame.event == "contentBlockStop":
            self._stop(update.content_block_index)
        self._stop_reason = update.stop_reason or self._stop_reason
        if update.usage is not None:
            self._count(update.usage)

    def close(self) -> None:
        """The bytes ended: that is an end if the provider had said why it stopped."""
        if not self._stop_reason:
            self._blocks.cut_off("messageStop")
            return
        content = encode([self._content[index] for index in sorted(self._content)])
        message = self._whole or f'{{"role":"assistant","content":{content}}}'
        self._blocks.finish(_FINISHES.get(self._stop_reason, Finish.UNKNOWN), self._stop_reason, message)

    def _read_block(self, index: int, block: Block) -> None:
        if block.tool_use is not None:
            self._call(index, block.tool_use)
            self._blocks.grow(index, raw_text(block.tool_use.input))
        elif block.reasoning_content is not None:
            thought = block.reasoning_content
            whole = thought.reasoning_text or ReasoningText()
            self._blocks.start(index, Kind.REASONING, provenance=Provenance.UNKNOWN)
            self._blocks.grow(index, whole.text or "")
            self._blocks.seal(index, SealForm.SIGNATURE, whole.signature or "")
            self._blocks.seal(index, SealForm.REDACTED, thought.redacted_content or "")
        elif block.text is not None:
            self._blocks.start(index, Kind.TEXT)
            self._blocks.grow(index, block.text)
        self._blocks.end(index)

    def _call(self, index: int, call: ToolUse) -> None:
        call_id = call.tool_use_id or ""
        self._blocks.start(index, Kind.TOOL_CALL, name=call.name or "", call_id=call_id)
        self._content[index] = {"toolUse": {"toolUseId": call_id, "name": call.name, "input": {}}}

    def _grow(self, index: int, delta: Block) -> None:
        block = self._content.setdefault(index, {})
        if delta.text is not None:
            self._blocks.start(index, Kind.TEXT)
            self._blocks.grow(index, delta.text)
            grow(block, "text", delta.text)
        elif delta.tool_use is not None:
            text = raw_string(delta.tool_use.input)
            self._blocks.grow(index, text)
            grow_json(block, text)
        elif delta.reasoning_content is not None:
            self._think(index, block.setdefault("reasoningContent", {}), delta.reasoning_content)

    def _think(self, index: int, block: JsonObject, thought: Reasoning) -> None:
        self._blocks.start(index, Kind.REASONING)
        if thought.redacted_content:
            grow(block, "redactedContent", thought.redacted_content)
            return
        whole = block.setdefault("reasoningText", {"text": ""})
        if thought.text:
            self._blocks.grow(index, thought.text)
            grow(whole, "text", thought.text)
        if thought.signature:
            grow(whole, "signature", thought.signature)

    def _stop(self, index: int) -> None:
        block = self._content.get(index, {})
        if "toolUse" in block and not settle_json(block, block["toolUse"], "input"):
            self._blocks.grow(index, "{}")
        thought = block.get("reasoningContent", {})
        self._blocks.seal(
            index, SealForm.SIGNATURE, text_of(thought.get("reasoningText", {}).get("signature"))
        )
        self._blocks.seal(index, SealForm.REDACTED, text_of(thought.get("redactedContent")))
        self._blocks.end(index)

    def _count(self, counts: Counts) -> None:
        self._blocks.report(
            Usage(
                input=total(
                    counts.input_tokens, counts.cache_read_input_tokens, counts.cache_write_input_tokens
                ),
                output=counts.output_tokens,
                cache_read=counts.cache_read_input_tokens,
                cache_write=counts.cache_write_input_tokens,
            )
        )
