"""Reads responses of Ollama's own API, chat and generate: JSON lines, or a single one.

Reasoning is in `thinking`; for a model whose template Ollama does not know, it stays between tags in the
text. Tool calls are complete. Reasoning tokens are not counted.
"""

import msgspec

from thinkaloud.core.canon import Finish, Kind, Provenance, Usage
from thinkaloud.core.dialects.emitter import TurnEmitter
from thinkaloud.core.dialects.lenient import Count, LenientDecoder, Text
from thinkaloud.core.dialects.message import ABSENT, JsonObject, append_text, encode_json, raw_json
from thinkaloud.core.dialects.payload import has_error, parse_error, read_unknown_frame
from thinkaloud.core.dialects.tags.profiles import TagProfile
from thinkaloud.core.dialects.tags.tagged_text import REASONING_KEY, TaggedText
from thinkaloud.core.wire import Frame

NAME = "ollama"

_FINISH_BY_REASON = {"stop": Finish.STOP, "length": Finish.LENGTH}


class Function(msgspec.Struct):
    """The function of a call; its arguments are an object."""

    name: str | None = None
    arguments: msgspec.Raw = ABSENT


class ToolCall(msgspec.Struct):
    """A complete call."""

    id: str | None = None
    function: Function | None = None


class Message(msgspec.Struct):
    """A message, or more of it."""

    content: Text | None = None
    thinking: Text | None = None
    tool_calls: list[msgspec.Raw] | None = None


class ResponseLine(msgspec.Struct):
    """One line; the generate endpoint has `response` and `thinking` instead of a message."""

    model: str | None = None
    message: Message | None = None
    response: Text | None = None
    thinking: Text | None = None
    done: bool = False
    done_reason: str | None = None
    prompt_eval_count: Count | None = None
    eval_count: Count | None = None
    error: msgspec.Raw = ABSENT


_line_decoder = LenientDecoder(ResponseLine)
_tool_call_decoder = LenientDecoder(ToolCall, "tool_calls[]")


class Reader:
    """Reads one response."""

    def __init__(self, emitter: TurnEmitter, tags: TagProfile | None = None) -> None:
        self._emitter = emitter
        self._odd_fields = emitter.odd_fields
        self._tagged_text = TaggedText(emitter, tags)
        self._call_count = 0
        self._message: JsonObject = {"role": "assistant", "content": ""}

    def feed(self, frame: Frame) -> None:
        """Read one line."""
        line = _line_decoder.decode(frame.data, self._odd_fields)
        self._emitter.start_turn(line.model)
        if has_error(line.error):
            self._tagged_text.close()
            self._emitter.fail(*parse_error(line.error))
            return
        if line.message is None and line.response is None and line.thinking is None and not line.done:
            read_unknown_frame(self._emitter, frame, self._tagged_text.close)
        self._read_message(line.message or Message(line.response, line.thinking))
        if line.done:
            self._finish(line)

    def close(self) -> None:
        """Fail the turn: no line with `done` arrived."""
        self._tagged_text.close()
        self._emitter.fail_cut_off("done")

    def _read_message(self, message: Message) -> None:
        if message.thinking:
            self._tagged_text.disable_tags()
            if not self._emitter.has_open(REASONING_KEY):
                self._emitter.end_all_blocks()
            self._emitter.append_or_start(REASONING_KEY, Kind.REASONING, message.thinking, Provenance.RAW)
            append_text(self._message, "thinking", message.thinking)
        if message.content:
            self._tagged_text.feed(message.content)
            append_text(self._message, "content", message.content)
        for raw in message.tool_calls or ():
            self._add_call(raw)

    def _add_call(self, raw: msgspec.Raw) -> None:
        call = _tool_call_decoder.decode(raw, self._odd_fields)
        function = call.function
        if function is None:
            return
        self._tagged_text.close()
        self._emitter.end_all_blocks()
        self._call_count += 1
        key = ("tool", self._call_count)
        self._emitter.start_block(key, Kind.TOOL_CALL, name=function.name or "", call_id=call.id or "")
        self._emitter.append(key, raw_json(function.arguments) or "{}")
        self._emitter.end_block(key)
        self._message.setdefault("tool_calls", []).append(raw)

    def _finish(self, line: ResponseLine) -> None:
        self._tagged_text.close()
        self._emitter.report_usage(Usage(input=line.prompt_eval_count, output=line.eval_count))
        done_reason = line.done_reason or ""
        finish = _FINISH_BY_REASON.get(done_reason, Finish.UNKNOWN)
        if self._call_count and finish is Finish.STOP:
            finish = Finish.TOOL_CALLS
        self._emitter.finish(finish, done_reason, encode_json(self._message))
