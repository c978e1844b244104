"""Reads Cohere v2 Chat responses: thinking and text blocks, then tool calls.

The plan that older models write before their tool calls is reasoning too.
"""

from collections.abc import Hashable

import msgspec

from thinkaloud.core.canon import Finish, Kind, Provenance, Usage, Wording
from thinkaloud.core.dialects.emitter import TurnEmitter
from thinkaloud.core.dialects.lenient import Count, LenientDecoder, Text, type_name
from thinkaloud.core.dialects.message import (
    ABSENT,
    JsonObject,
    append_text,
    encode_json,
    raw_json,
    string_or_json,
)
from thinkaloud.core.dialects.payload import has_error, parse_error, read_unknown_frame
from thinkaloud.core.dialects.tags.profiles import TagProfile
from thinkaloud.core.dialects.tags.tagged_text import TaggedBlocks
from thinkaloud.core.wire import Frame

NAME = "cohere_v2"

_FINISH_BY_REASON = {
    "COMPLETE": Finish.STOP,
    "STOP_SEQUENCE": Finish.STOP,
    "MAX_TOKENS": Finish.LENGTH,
    "TOOL_CALL": Finish.TOOL_CALLS,
    "ERROR_TOXIC": Finish.REFUSAL,
}
_PLAN_KEY = "plan"


class Tokens(msgspec.Struct):
    """Token counts; `output_tokens` includes reasoning. Its SDK has them as floats."""

    input_tokens: Count | float | None = None
    output_tokens: Count | float | None = None
    reasoning_tokens: Count | float | None = None


class Counts(msgspec.Struct):
    """Usage, with the cached tokens."""

    tokens: Tokens | None = None
    cached_tokens: Count | float | None = None


class Function(msgspec.Struct):
    """The function of a call."""

    name: str | None = None
    arguments: Text | None = None


class ToolCall(msgspec.Struct):
    """A call, or more of it."""

    id: str | None = None
    function: Function | None = None


class Content(msgspec.Struct):
    """A content block, or more of it."""

    type: str | None = None
    thinking: Text | None = None
    text: Text | None = None


class Message(msgspec.Struct):
    """A message; a whole one holds lists, a delta holds single values."""

    content: list[Content] | Content | None = None
    tool_plan: Text | None = None
    tool_calls: list[ToolCall] | ToolCall | None = None


class Delta(msgspec.Struct):
    """The delta of a stream event."""

    message: Message | None = None
    finish_reason: str | None = None
    usage: Counts | None = None
    error: str | None = None


class Update(msgspec.Struct):
    """One stream event, or the whole response."""

    type: str = ""
    index: int | None = None
    delta: Delta | None = None
    message: msgspec.Raw = ABSENT
    finish_reason: str | None = None
    usage: Counts | None = None
    error: msgspec.Raw = ABSENT


_update_decoder = LenientDecoder(Update)
_message_decoder = LenientDecoder(Message, "message")


class Reader:
    """Reads one response."""

    def __init__(self, emitter: TurnEmitter, tags: TagProfile | None = None) -> None:
        self._emitter = emitter
        self._texts = TaggedBlocks(emitter, tags)
        self._odd_fields = emitter.odd_fields
        self._content_by_index: dict[int, JsonObject] = {}
        self._calls_by_index: dict[int, JsonObject] = {}
        self._plan_fields: JsonObject = {}
        self._latest_index = 0

    def feed(self, frame: Frame) -> None:
        """Read one stream event, or the whole response."""
        if frame.data == b"[DONE]":
            return
        update = _update_decoder.decode(frame.data, self._odd_fields)
        delta = update.delta or Delta()
        event_type = type_name(update.type) or type_name(frame.event)
        self._latest_index = self._latest_index if update.index is None else update.index
        if has_error(update.error):
            self._texts.close()
            self._emitter.fail(*parse_error(update.error))
        elif event_type == "message-end" or (not event_type and delta.finish_reason is not None):
            self._finish(delta.finish_reason or "", delta.usage, self._encode_message(), delta.error)
        elif event_type.endswith("-end"):
            kind = "tool" if event_type.startswith("tool-call") else "content"
            self._texts.end((kind, self._latest_index))
        elif update.delta is not None:
            self._read_delta(self._latest_index, delta.message or Message())
        elif bytes(update.message)[:1] == b"{":
            self._read_whole_message(_message_decoder.decode(update.message, self._odd_fields))
            self._finish(update.finish_reason or "", update.usage, raw_json(update.message))
        elif update.message and bytes(update.message)[:1] == b'"':
            self._texts.close()
            self._emitter.fail("provider_error", Wording.plain(string_or_json(update.message)))
        elif event_type in ("", "error"):
            read_unknown_frame(self._emitter, frame, self._texts.close)

    def close(self) -> None:
        """Fail the turn: `message-end` did not arrive."""
        self._texts.close()
        self._emitter.fail_cut_off("message-end")

    def _read_whole_message(self, message: Message) -> None:
        self._append(_PLAN_KEY, Kind.REASONING, message.tool_plan or "")
        if isinstance(message.content, list):
            for index, content in enumerate(message.content):
                self._read_content(("content", index), content)
                self._texts.end(("content", index))
        if isinstance(message.tool_calls, list):
            for index, call in enumerate(message.tool_calls):
                self._read_call(("tool", index), call)

    def _read_delta(self, index: int, message: Message) -> None:
        if message.tool_plan:
            self._append(_PLAN_KEY, Kind.REASONING, message.tool_plan)
            append_text(self._plan_fields, "tool_plan", message.tool_plan)
        for part in message.content if isinstance(message.content, list) else (message.content,):
            if part is not None:
                self._read_content(("content", index), part)
                self._store_content(index, part)
        if isinstance(message.tool_calls, ToolCall):
            self._read_call(("tool", index), message.tool_calls)
            self._store_call(index, message.tool_calls)

    def _store_content(self, index: int, part: Content) -> None:
        content = self._content_by_index.setdefault(index, {"type": part.type or "text"})
        for field in ("thinking", "text"):
            if (text := getattr(part, field)) is not None:
                append_text(content, field, text)

    def _read_content(self, key: Hashable, content: Content) -> None:
        kind = Kind.REASONING if content.type == "thinking" or content.thinking is not None else Kind.TEXT
        if content.type is not None:
            self._emitter.end_block(_PLAN_KEY)
            if kind is Kind.REASONING:
                self._emitter.start_block(key, kind, provenance=Provenance.RAW)
        self._append(key, kind, content.thinking or content.text or "")

    def _read_call(self, key: Hashable, call: ToolCall) -> None:
        function = call.function or Function()
        self._emitter.end_block(_PLAN_KEY)
        self._emitter.start_block(key, Kind.TOOL_CALL, name=function.name or "", call_id=call.id or "")
        self._emitter.append(key, function.arguments or "")

    def _append(self, key: Hashable, kind: Kind, text: str) -> None:
        if kind is Kind.TEXT:
            self._texts.append(key, text)
            return
        if self._texts.enabled and text.strip():
            self._texts.disable_tags()
        self._emitter.append_or_start(key, kind, text, Provenance.RAW)

    def _store_call(self, index: int, call: ToolCall) -> None:
        function = call.function or Function()
        stored_call = self._calls_by_index.setdefault(
            index, {"id": call.id, "type": "function", "function": {"name": function.name, "arguments": ""}}
        )
        append_text(stored_call["function"], "arguments", function.arguments or "")

    def _encode_message(self) -> str:
        message: JsonObject = {"role": "assistant", **self._plan_fields}
        message["content"] = [self._content_by_index[index] for index in sorted(self._content_by_index)]
        if self._calls_by_index:
            message["tool_calls"] = [self._calls_by_index[index] for index in sorted(self._calls_by_index)]
        return encode_json(message)

    def _finish(
        self, finish_reason: str, counts: Counts | None, message: str, error: str | None = None
    ) -> None:
        self._texts.close()
        if counts is not None and counts.tokens is not None:
            tokens = counts.tokens
            reported = (
                tokens.input_tokens,
                tokens.output_tokens,
                tokens.reasoning_tokens,
                counts.cached_tokens,
            )
            self._emitter.report_usage(Usage(*map(_whole_number, reported)))
        if finish_reason in ("ERROR", "TIMEOUT"):
            reason = Wording("{dialect} ended with {reason}.", dialect=NAME, reason=finish_reason)
            self._emitter.fail(finish_reason.lower(), Wording.plain(error) if error else reason)
        else:
            self._emitter.finish(_FINISH_BY_REASON.get(finish_reason, Finish.UNKNOWN), finish_reason, message)


def _whole_number(count: float | None) -> int | None:
    return int(count) if count is not None and float(count).is_integer() else None
