"""Reads Bedrock Converse responses: an AWS event stream or one JSON object.

A reasoning block has no start event, so it starts with its first delta. The stop reason arrives before the
usage, so the turn ends only with the bytes. Reasoning tokens are not counted separately. Nova's invoke stream
has the same events, each in an object with its name.
"""

import msgspec

from thinkaloud.core.canon import Finish, Kind, SealForm, Usage, Wording
from thinkaloud.core.dialects.emitter import TurnEmitter
from thinkaloud.core.dialects.lenient import Count, LenientDecoder, Text
from thinkaloud.core.dialects.message import (
    ABSENT,
    JsonObject,
    append_json,
    append_text,
    encode_json,
    finish_json,
    present,
    raw_json,
    string_or_json,
    text_of,
)
from thinkaloud.core.dialects.payload import add_counts, parse_error, read_unknown_frame
from thinkaloud.core.dialects.tags.profiles import TagProfile
from thinkaloud.core.dialects.tags.tagged_text import TaggedBlocks
from thinkaloud.core.wire import Frame

NAME = "bedrock_converse"
EVENT_NAMES = (
    "messageStart",
    "contentBlockStart",
    "contentBlockDelta",
    "contentBlockStop",
    "messageStop",
    "metadata",
)

_PLACEHOLDER = "[REDACTED]"
"""What Nova sends in place of the text of a thought."""
_FINISH_BY_REASON = {
    "end_turn": Finish.STOP,
    "stop_sequence": Finish.STOP,
    "tool_use": Finish.TOOL_CALLS,
    "max_tokens": Finish.LENGTH,
    "model_context_window_exceeded": Finish.LENGTH,
    "guardrail_intervened": Finish.REFUSAL,
    "content_filtered": Finish.REFUSAL,
}


class Counts(msgspec.Struct, rename="camel"):
    """Usage; `input_tokens` excludes the cache."""

    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None
    cache_write_input_tokens: Count | None = None


class ReasoningText(msgspec.Struct):
    """The text of a whole reasoning block."""

    text: Text | None = None
    signature: str | None = None


class Reasoning(msgspec.Struct, rename="camel"):
    """A reasoning block, or more of it."""

    reasoning_text: ReasoningText | None = None
    text: Text | None = None
    signature: str | None = None
    redacted_content: str | None = None


class ToolUse(msgspec.Struct, rename="camel"):
    """A call; its input is an object in a whole response and pieces of JSON text in a stream."""

    tool_use_id: str | None = None
    name: str | None = None
    input: msgspec.Raw = ABSENT


class ContentBlock(msgspec.Struct, rename="camel"):
    """A content block, its start, or more of it."""

    text: Text | None = None
    reasoning_content: Reasoning | None = None
    tool_use: ToolUse | None = None


class Message(msgspec.Struct):
    """The assistant's message."""

    content: list[msgspec.Raw] | None = None


class Output(msgspec.Struct):
    """The output of a whole response."""

    message: msgspec.Raw = ABSENT


class Update(msgspec.Struct, rename="camel"):
    """One stream event, or the whole response."""

    content_block_index: int | None = None
    start: ContentBlock | None = None
    delta: ContentBlock | None = None
    stop_reason: str | None = None
    usage: Counts | None = None
    output: Output | None = None
    message: msgspec.Raw = ABSENT


_fields_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])
_update_decoder = LenientDecoder(Update)
_EMPTY_UPDATE = Update()
_message_decoder = LenientDecoder(Message, "output.message")
_block_decoder = LenientDecoder(ContentBlock, "output.message.content[]")


class Reader:
    """Reads one response."""

    def __init__(self, emitter: TurnEmitter, tags: TagProfile | None = None) -> None:
        self._emitter = emitter
        self._odd_fields = emitter.odd_fields
        self._texts = TaggedBlocks(emitter, tags)
        self._latest_index = 0
        self._content_by_index: dict[int, JsonObject] = {}
        self._held_thoughts: dict[int, str] = {}
        self._begun_thoughts: set[int] = set()
        self._whole_message = ""
        self._stop_reason = ""

    def feed(self, frame: Frame) -> None:
        """Read one stream event, or the whole response."""
        if not frame.event:
            frame = _named_event(frame)
        if frame.event.endswith(("Exception", "Error")):
            self._close_texts()
            code, message = parse_error(frame.data)
            self._emitter.fail(frame.event, message if str(message) else Wording.plain(code))
            return
        update = _update_decoder.decode(frame.data, self._odd_fields)
        index = update.content_block_index
        if index is None:
            index = self._latest_index + (update.start is not None)
        self._latest_index = index
        if update.message and bytes(update.message)[:1] == b'"':
            self._close_texts()
            self._emitter.fail("provider_error", Wording.plain(string_or_json(update.message)))
        elif update.output is not None and present(update.output.message):
            self._read_whole_message(update.output.message)
        elif update.start is not None and update.start.tool_use is not None:
            self._start_call(index, update.start.tool_use)
        elif update.delta is not None:
            self._apply_delta(index, update.delta)
        elif frame.event == "contentBlockStop":
            self._end_block(index)
        elif frame.event in ("", "error") and update == _EMPTY_UPDATE:
            read_unknown_frame(self._emitter, frame, self._close_texts)
        self._stop_reason = update.stop_reason or self._stop_reason
        self._report_usage(update.usage)

    def close(self) -> None:
        """End the turn if a stop reason arrived, else fail it as cut off."""
        self._close_texts()
        if not (self._stop_reason or (self._whole_message and self._emitter.block_count)):
            self._emitter.fail_cut_off("messageStop")
            return
        content = encode_json([self._content_by_index[index] for index in sorted(self._content_by_index)])
        message = self._whole_message or f'{{"role":"assistant","content":{content}}}'
        self._emitter.finish(
            _FINISH_BY_REASON.get(self._stop_reason, Finish.UNKNOWN), self._stop_reason, message
        )

    def _read_whole_message(self, raw_message: msgspec.Raw) -> None:
        self._whole_message = raw_json(raw_message)
        message = _message_decoder.decode(raw_message, self._odd_fields)
        for position, raw in enumerate(message.content or ()):
            self._read_block(position, _block_decoder.decode(raw, self._odd_fields))

    def _read_block(self, index: int, block: ContentBlock) -> None:
        if block.tool_use is not None:
            self._start_call(index, block.tool_use)
            self._emitter.append(index, raw_json(block.tool_use.input))
        elif block.reasoning_content is not None:
            reasoning_text = block.reasoning_content.reasoning_text or ReasoningText()
            self._texts.disable_tags()
            self._emitter.start_block(index, Kind.REASONING)
            self._append_thought(index, reasoning_text.text or "")
            self._end_thought(index)
            self._emitter.seal(index, SealForm.SIGNATURE, reasoning_text.signature or "")
            self._emitter.seal(index, SealForm.REDACTED, block.reasoning_content.redacted_content or "")
        elif block.text is not None:
            self._texts.append(index, block.text)
        self._texts.end(index)

    def _start_call(self, index: int, call: ToolUse) -> None:
        call_id = call.tool_use_id or ""
        self._emitter.start_block(index, Kind.TOOL_CALL, name=call.name or "", call_id=call_id)
        self._content_by_index[index] = {"toolUse": {"toolUseId": call_id, "name": call.name, "input": {}}}

    def _apply_delta(self, index: int, delta: ContentBlock) -> None:
        block = self._content_by_index.setdefault(index, {})
        if delta.text is not None:
            self._texts.append(index, delta.text)
            append_text(block, "text", delta.text)
        elif delta.tool_use is not None:
            text = string_or_json(delta.tool_use.input)
            self._emitter.append(index, text)
            append_json(block, text)
        elif delta.reasoning_content is not None:
            self._apply_reasoning(index, block.setdefault("reasoningContent", {}), delta.reasoning_content)

    def _apply_reasoning(self, index: int, block: JsonObject, delta: Reasoning) -> None:
        if self._texts.enabled:
            self._texts.disable_tags()
        self._emitter.start_block(index, Kind.REASONING)
        if delta.redacted_content:
            append_text(block, "redactedContent", delta.redacted_content)
            return
        reasoning_text = block.setdefault("reasoningText", {"text": ""})
        if delta.text:
            self._append_thought(index, delta.text)
            append_text(reasoning_text, "text", delta.text)
        if delta.signature:
            append_text(reasoning_text, "signature", delta.signature)

    def _append_thought(self, index: int, text: str) -> None:
        """Emit the text of a thought, which is held while it may be only the placeholder for one."""
        held = self._held_thoughts.get(index, "") + text
        if index not in self._begun_thoughts and _PLACEHOLDER.startswith(held):
            self._held_thoughts[index] = held
            return
        self._begun_thoughts.add(index)
        self._held_thoughts.pop(index, None)
        self._emitter.append(index, held)

    def _close_texts(self) -> None:
        for index in list(self._held_thoughts):
            self._end_thought(index)
        self._texts.close()

    def _end_thought(self, index: int) -> None:
        held = self._held_thoughts.pop(index, "")
        if held == _PLACEHOLDER:
            self._emitter.seal(index, SealForm.REDACTED, held)
        else:
            self._emitter.append(index, held)

    def _end_block(self, index: int) -> None:
        self._end_thought(index)
        block = self._content_by_index.get(index, {})
        if "toolUse" in block and not finish_json(block, block["toolUse"], "input"):
            self._emitter.append(index, "{}")  # a call without arguments streams no input at all
        reasoning = block.get("reasoningContent", {})
        self._emitter.seal(
            index, SealForm.SIGNATURE, text_of(reasoning.get("reasoningText", {}).get("signature"))
        )
        self._emitter.seal(index, SealForm.REDACTED, text_of(reasoning.get("redactedContent")))
        self._texts.end(index)

    def _report_usage(self, counts: Counts | None) -> None:
        if counts is None:
            return
        self._emitter.report_usage(
            Usage(
                input=add_counts(
                    counts.input_tokens, counts.cache_read_input_tokens, counts.cache_write_input_tokens
                ),
                output=counts.output_tokens,
                cache_read=counts.cache_read_input_tokens,
                cache_write=counts.cache_write_input_tokens,
            )
        )


def _named_event(frame: Frame) -> Frame:
    """Return the event in an object such as `{"contentBlockDelta": {...}}`; any other frame is unchanged."""
    fields = _fields_decoder.decode(frame.data)
    for name, value in fields.items():
        if bytes(value)[:1] == b"{" and (name in EVENT_NAMES or name.endswith("Exception")):
            return Frame(bytes(value), name)
    return frame
