"""Reads Anthropic Messages responses, also from Azure, Vertex, DeepSeek, llama.cpp and Ollama.

Reasoning may be empty and still have a signature; redacted reasoning has only data. The results of tools that
the provider runs itself are blocks of their own, matched to the call by its id. An event without an index
belongs to the latest block; one without a type is told by its fields.
"""

import msgspec

from thinkaloud.core.canon import Finish, Kind, Provenance, SealForm, Usage
from thinkaloud.core.canon.events import reported_fields
from thinkaloud.core.dialects.emitter import TurnEmitter
from thinkaloud.core.dialects.lenient import Count, LenientDecoder, OddFields, Text, decode_object, type_name
from thinkaloud.core.dialects.message import (
    ABSENT,
    JsonObject,
    append_item,
    append_json,
    append_text,
    encode_json,
    finish_json,
    present,
    raw_json,
    raw_json_array,
    string_or_json,
    text_of,
)
from thinkaloud.core.dialects.payload import add_counts, has_error, read_unknown_frame
from thinkaloud.core.dialects.tags.profiles import TagProfile
from thinkaloud.core.dialects.tags.tagged_text import TaggedBlocks
from thinkaloud.core.wire import Frame

NAME = "anthropic_messages"

_FINISH_BY_REASON = {
    "end_turn": Finish.STOP,
    "stop_sequence": Finish.STOP,
    "max_tokens": Finish.LENGTH,
    "model_context_window_exceeded": Finish.LENGTH,
    "tool_use": Finish.TOOL_CALLS,
    "refusal": Finish.REFUSAL,
}

_EVENT_TYPES = frozenset(("content_block_delta", "content_block_start", "content_block_stop", "message"))
"""The most frequent types of events."""


class OutputDetails(msgspec.Struct):
    """The parts of the output tokens."""

    thinking_tokens: Count | None = None


class Counts(msgspec.Struct):
    """Cumulative usage; `output_tokens` includes thinking, `input_tokens` excludes the cache."""

    input_tokens: Count | None = None
    output_tokens: Count | None = None
    output_tokens_details: OutputDetails | None = None
    cache_read_input_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None


class Content(msgspec.Struct):
    """A content block, at its start or complete."""

    type: str = ""
    text: Text | None = None
    thinking: Text | None = None
    signature: str | None = None
    data: str | None = None
    id: str | None = None
    name: str | None = None
    input: msgspec.Raw = ABSENT
    tool_use_id: str | None = None
    content: msgspec.Raw = ABSENT
    is_error: bool | None = None


class Delta(msgspec.Struct):
    """More of a content block, or the stop reason."""

    text: Text | None = None
    thinking: Text | None = None
    signature: str | None = None
    partial_json: Text | None = None
    content: Text | None = None
    encrypted_content: str | None = None
    citation: msgspec.Raw = ABSENT
    stop_reason: str | None = None


class Message(msgspec.Struct):
    """The message that a stream starts with."""

    model: str | None = None
    usage: Counts | None = None


class Update(msgspec.Struct):
    """One stream event, or a whole message."""

    type: str = ""
    index: int | None = None
    message: Message | None = None
    content_block: msgspec.Raw = ABSENT
    delta: Delta | None = None
    usage: Counts | None = None
    error: msgspec.Raw = ABSENT
    model: str | None = None
    content: list[msgspec.Raw] | None = None
    stop_reason: str | None = None


class ToolFailure(msgspec.Struct):
    """The result of a server tool that failed."""

    error_code: str = ""


_update_decoder = LenientDecoder(Update)
_content_decoder = LenientDecoder(Content, "content[]")
_failure_decoder = LenientDecoder(ToolFailure, "content")


class Reader:
    """Reads one message."""

    def __init__(self, emitter: TurnEmitter, tags: TagProfile | None = None) -> None:
        self._emitter = emitter
        self._odd_fields = emitter.odd_fields
        self._texts = TaggedBlocks(emitter, tags)
        self._latest_index = 0
        self._content_by_index: dict[int, JsonObject] = {}
        self._index_by_call_id: dict[str, int] = {}
        self._counts = Counts()
        self._stop_reason = ""

    def feed(self, frame: Frame) -> None:
        """Read one stream event, or the whole message."""
        update = _update_decoder.decode(frame.data, self._odd_fields)
        event_type = update.type if update.type in _EVENT_TYPES else _event_type(update, frame)
        index = self._latest_index if update.index is None else update.index
        match event_type:
            case "content_block_delta" if update.delta is not None:
                self._apply_delta(index, update.delta)
            case "content_block_start" if present(update.content_block):
                if update.index is None and self._content_by_index:
                    index += 1
                self._latest_index = index
                self._content_by_index[index] = decode_object(update.content_block)
                content = _content_decoder.decode(update.content_block, self._odd_fields)
                self._start_block(index, content)
            case "content_block_stop":
                self._end_block(index)
            case "message_start" if update.message is not None:
                self._emitter.start_turn(update.message.model)
                self._report_usage(update.message.usage)
            case "message_delta":
                self._stop_reason = (update.delta and update.delta.stop_reason) or self._stop_reason
                self._report_usage(update.usage)
            case "message_stop":
                self._finish(
                    encode_json([self._content_by_index[index] for index in sorted(self._content_by_index)])
                )
            case "message":
                self._read_whole_message(update)
            case _ if event_type in ("", "error") or has_error(update.error):
                read_unknown_frame(self._emitter, frame, self._texts.close)

    def close(self) -> None:
        """Fail the turn: `message_stop` did not arrive."""
        self._texts.close()
        self._emitter.fail_cut_off("message_stop")

    def _read_whole_message(self, message: Update) -> None:
        self._emitter.start_turn(message.model)
        contents = message.content or []
        for index, raw in enumerate(contents):
            content = _content_decoder.decode(raw, self._odd_fields)
            self._start_block(index, content)
            self._emitter.seal(index, SealForm.SIGNATURE, content.signature or "")
            self._texts.end(index)
        self._stop_reason = message.stop_reason or ""
        self._report_usage(message.usage)
        self._finish(raw_json_array(map(_text_block, contents)))

    def _start_block(self, index: int, content: Content) -> None:
        match _content_type(content):
            case "text":
                self._texts.append(index, content.text or "")
            case "thinking":
                self._texts.disable_tags()
                self._emitter.start_block(index, Kind.REASONING, provenance=Provenance.SUMMARY)
                self._emitter.append(index, content.thinking or "")
            case "redacted_thinking":
                self._texts.disable_tags()
                self._emitter.start_block(index, Kind.REASONING)
                self._emitter.seal(index, SealForm.REDACTED, content.data or "")
            case "tool_use" | "server_tool_use" | "mcp_tool_use":
                self._start_call(index, content)
            case _ if content.tool_use_id in self._index_by_call_id:
                result = string_or_json(content.content)
                error = (result or "failed") if content.is_error else _error_code(result)
                self._emitter.finish_tool(self._index_by_call_id[content.tool_use_id], result, error)

    def _start_call(self, index: int, content: Content) -> None:
        call_id = content.id or ""
        self._index_by_call_id[call_id] = index
        self._emitter.start_block(index, Kind.TOOL_CALL, name=content.name or "", call_id=call_id)
        # A stream starts every call with the placeholder {}; only in a whole message it is the real input.
        if (arguments := raw_json(content.input)) != "{}" or index not in self._content_by_index:
            self._emitter.append(index, arguments)

    def _apply_delta(self, index: int, delta: Delta) -> None:
        block = self._content_by_index.setdefault(index, {})
        if delta.thinking:
            if self._texts.enabled:
                self._texts.disable_tags()
            self._emitter.append_or_start(index, Kind.REASONING, delta.thinking, Provenance.SUMMARY)
            append_text(block, "thinking", delta.thinking)
        elif delta.text:
            self._texts.append(index, delta.text)
            append_text(block, "text", delta.text)
        elif delta.partial_json:
            self._emitter.append(index, delta.partial_json)
            append_json(block, delta.partial_json)
        elif delta.signature:
            append_text(block, "signature", delta.signature)
        elif present(delta.citation):
            append_item(block, "citations", delta.citation)
        elif delta.content is not None or delta.encrypted_content:
            self._apply_compaction(block, delta)

    def _apply_compaction(self, block: JsonObject, delta: Delta) -> None:
        """Keep the summary that replaces the conversation so far; it is sent back, and is no answer."""
        if delta.content is not None:
            append_text(block, "content", delta.content)
        if delta.encrypted_content:
            block["encrypted_content"] = delta.encrypted_content

    def _end_block(self, index: int) -> None:
        block = self._content_by_index.get(index, {})
        streamed = finish_json(block, block, "input")
        if str(block.get("type")).endswith("tool_use") and not streamed and not block.get("input"):
            self._emitter.append(index, "{}")  # a call without arguments streams no input at all
        self._emitter.seal(index, SealForm.SIGNATURE, text_of(block.get("signature")))
        self._texts.end(index)

    def _report_usage(self, counts: Counts | None) -> None:
        if counts is None:
            return
        # Merged before the sum: a later event may repeat only some of the counts that make up the input.
        self._counts = counts = msgspec.structs.replace(self._counts, **reported_fields(counts))
        details = counts.output_tokens_details
        self._emitter.report_usage(
            Usage(
                input=add_counts(
                    counts.input_tokens, counts.cache_read_input_tokens, counts.cache_creation_input_tokens
                ),
                output=counts.output_tokens,
                reasoning=details.thinking_tokens if details else None,
                cache_read=counts.cache_read_input_tokens,
                cache_write=counts.cache_creation_input_tokens,
            )
        )

    def _finish(self, content: str) -> None:
        self._texts.close()
        finish = _FINISH_BY_REASON.get(self._stop_reason, Finish.UNKNOWN)
        self._emitter.finish(finish, self._stop_reason, f'{{"role":"assistant","content":{content}}}')


def _event_type(update: Update, frame: Frame) -> str:
    """Return the type of an event, from its other fields if it is not named."""
    if type_name(update.type):
        return update.type
    if present(update.content_block):
        return "content_block_start"
    if update.delta is not None:
        return "message_delta" if update.delta.stop_reason else "content_block_delta"
    if update.content is not None:
        return "message"
    return "message_start" if update.message is not None else frame.event


def _content_type(content: Content) -> str:
    """Return the type of a content block, from its other fields if it is not named."""
    if type_name(content.type):
        return content.type
    fields = {"thinking": content.thinking, "text": content.text, "tool_use": content.name}
    return next((name for name, value in fields.items() if value is not None), "")


def _text_block(raw: msgspec.Raw) -> msgspec.Raw:
    """Return a content block; a string, which some servers send in its place, as a text block."""
    return msgspec.Raw(b'{"type":"text","text":%s}' % bytes(raw)) if bytes(raw)[:1] == b'"' else raw


def _error_code(result: str) -> str:
    """Return the error code of a server tool's result, which is an object only if the tool failed."""
    if not result.startswith("{"):
        return ""
    try:
        return _failure_decoder.decode(result.encode(), OddFields()).error_code
    except msgspec.DecodeError:
        return ""  # text that only looks like an object
