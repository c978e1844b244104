"""Reads Gemini generateContent responses: JSON, SSE or a JSON array. Every chunk is a small whole response.

Reasoning parts are marked `thought`; their signature is on the next part, which may be an empty text at the
end. Parts are kept unchanged, because signed and unsigned parts must not be merged when they are sent back.
The candidates' token count excludes reasoning. Only the first candidate is read. Some Google endpoints wrap
the whole response in `response`.
"""

import re
from collections.abc import Hashable
from itertools import islice, pairwise
from typing import Any

import msgspec

from thinkaloud.core.canon import Finish, Kind, Provenance, SealForm, Usage, Wording
from thinkaloud.core.dialects.emitter import TurnEmitter
from thinkaloud.core.dialects.lenient import Count, LenientDecoder, Text, decode_object
from thinkaloud.core.dialects.message import (
    ABSENT,
    GrowingString,
    JsonObject,
    encode_json,
    present,
    raw_json,
    raw_json_array,
)
from thinkaloud.core.dialects.payload import add_counts, has_error, parse_error, read_unknown_frame
from thinkaloud.core.dialects.tags.profiles import TagProfile
from thinkaloud.core.dialects.tags.tagged_text import TaggedText
from thinkaloud.core.wire import Frame

_PATH_STEP = re.compile(
    r"""\.(?P<name>[^.\[\]]+)|\[(?P<index>\d+)\]|\[(?P<quote>['"])(?P<quoted>.*?)(?P=quote)\]"""
)


MAX_DEPTH = 64
"""The most steps of a path: deeper arguments could not be encoded, and no tool has them."""


class PartialArgument(msgspec.Struct, rename="camel"):
    """A value, or a piece of a string, at one path of the arguments."""

    json_path: str = ""
    string_value: Text | None = None
    number_value: msgspec.Raw = ABSENT
    bool_value: bool | None = None

    @property
    def value(self) -> object:
        """The value; None is null."""
        if self.string_value is not None:
            return GrowingString(self.string_value)
        return self.number_value if present(self.number_value) else self.bool_value


class PartialCall:
    """One call whose arguments still arrive; `part` is the part of the message that it becomes.

    Its arguments are values at JSON paths (`partialArgs`), such as `$.city` or `$.days[0].high`; a string may
    arrive in several pieces. A part with `willContinue` is followed by more of the same call.
    """

    def __init__(self, part: JsonObject) -> None:
        self._part = part
        call = part.get("functionCall")
        self._call: JsonObject = call if isinstance(call, dict) else {}
        self._call.pop("willContinue", None)
        self._call.pop("partialArgs", None)
        arguments = self._call.get("args")
        self._arguments: JsonObject = arguments if isinstance(arguments, dict) else {}
        self._call["args"] = self._arguments
        part["functionCall"] = self._call

    def continued_by(self, name: str | None, call_id: str | None) -> bool:
        """Return whether a part with this name and id, which most parts leave out, continues the call."""
        return name in (None, "", self._call.get("name")) and call_id in (None, "", self._call.get("id"))

    def add(self, argument: PartialArgument) -> bool:
        """Set a value at its path, or append to the string there; return False if the path is too deep."""
        matches = islice(_PATH_STEP.finditer(argument.json_path), MAX_DEPTH + 1)
        steps = [_step(match) for match in matches]
        if len(steps) > MAX_DEPTH:
            return False
        container: Any = self._arguments
        for step, next_step in pairwise(steps):
            container = _child(container, step, [] if isinstance(next_step, int) else {})
        if not steps:
            return True
        value, current = argument.value, _get(container, steps[-1])
        if isinstance(current, GrowingString) and isinstance(value, GrowingString):
            current.pieces += value.pieces
        else:
            _set(container, steps[-1], value)
        return True

    def arguments(self) -> str:
        """Return the arguments so far as JSON."""
        return encode_json(self._arguments)

    def encode_part(self) -> msgspec.Raw:
        """Return the part with the assembled call, to be sent back."""
        return msgspec.Raw(encode_json(self._part).encode())


def _step(match: re.Match[str]) -> str | int:
    if match["index"] is not None:
        return int(match["index"])
    return match["name"] if match["name"] is not None else match["quoted"]


def _get(container: Any, step: str | int) -> Any:
    if isinstance(container, list):
        return container[step] if isinstance(step, int) and step < len(container) else None
    return container.get(str(step))


def _set(container: Any, step: str | int, value: object) -> None:
    if isinstance(container, dict):
        container[str(step)] = value
    elif isinstance(step, int) and step < len(container):
        container[step] = value
    else:
        container.append(value)  # values arrive in order, so an index beyond the end is the next one


def _child(container: Any, step: str | int, empty: object) -> Any:
    """Return the object or list at a step of a path; an empty one is added if there is none."""
    child = _get(container, step)
    if not isinstance(child, dict | list):
        child = empty
        _set(container, step, child)
    return child


NAME = "gemini"

_FINISH_BY_REASON: dict[str | int, Finish] = {
    "STOP": Finish.STOP,
    "MAX_TOKENS": Finish.LENGTH,
    "SAFETY": Finish.REFUSAL,
    "RECITATION": Finish.REFUSAL,
    "BLOCKLIST": Finish.REFUSAL,
    "PROHIBITED_CONTENT": Finish.REFUSAL,
    "SPII": Finish.REFUSAL,
    "IMAGE_SAFETY": Finish.REFUSAL,
    1: Finish.STOP,
    2: Finish.LENGTH,
    3: Finish.REFUSAL,
    4: Finish.REFUSAL,
}
"""Some clients record the enum number of the reason instead of its name."""


class FunctionCall(msgspec.Struct, rename="camel"):
    """A complete call, or more of one whose arguments are streamed."""

    id: str | None = None
    name: str | None = None
    args: msgspec.Raw = ABSENT
    partial_args: list[PartialArgument] | None = None
    will_continue: bool | None = None


class Code(msgspec.Struct):
    """Code that the provider runs."""

    code: Text | None = None


class CodeResult(msgspec.Struct):
    """The result of code that the provider ran."""

    outcome: str | None = None
    output: Text | None = None


class Part(msgspec.Struct, rename="camel"):
    """A text, reasoning or call part, or only a signature."""

    text: Text | None = None
    thought: bool | None = None
    thought_signature: str | None = None
    function_call: FunctionCall | None = None
    executable_code: Code | None = None
    code_execution_result: CodeResult | None = None


class Content(msgspec.Struct):
    """The parts of one chunk."""

    parts: list[msgspec.Raw] | None = None


class Candidate(msgspec.Struct, rename="camel"):
    """One candidate."""

    content: Content | None = None
    finish_reason: str | int | None = None
    index: int = 0


class Counts(msgspec.Struct, rename="camel"):
    """Cumulative usage; `candidates_token_count` excludes reasoning."""

    prompt_token_count: Count | None = None
    tool_use_prompt_token_count: Count | None = None
    candidates_token_count: Count | None = None
    thoughts_token_count: Count | None = None
    cached_content_token_count: Count | None = None


class PromptFeedback(msgspec.Struct, rename="camel"):
    """Why a prompt was blocked."""

    block_reason: str | None = None


class ResponseChunk(msgspec.Struct, rename="camel"):
    """A chunk of a stream, or a whole response."""

    candidates: list[Candidate] | None = None
    model_version: str | None = None
    usage_metadata: Counts | None = None
    prompt_feedback: PromptFeedback | None = None
    error: msgspec.Raw = ABSENT
    response: msgspec.Raw = ABSENT


_chunk_decoder = LenientDecoder(ResponseChunk)
_part_decoder = LenientDecoder(Part, "parts[]")


class Reader:
    """Reads one response."""

    def __init__(self, emitter: TurnEmitter, tags: TagProfile | None = None) -> None:
        self._emitter = emitter
        self._text = TaggedText(emitter, tags, key=Kind.TEXT)
        self._odd_fields = emitter.odd_fields
        self._parts: list[msgspec.Raw] = []
        self._last_key: Hashable = None
        self._call_count = 0
        self._client_call_count = 0
        self._partial_call: PartialCall | None = None
        self._finish: Finish | None = None
        self._finish_reason = ""

    def feed(self, frame: Frame) -> None:
        """Read one chunk."""
        if frame.data == b"[DONE]":
            return
        chunk = _chunk_decoder.decode(frame.data, self._odd_fields)
        if chunk.candidates is None and bytes(chunk.response)[:1] == b"{":
            chunk = _chunk_decoder.decode(chunk.response, self._odd_fields)
        self._emitter.start_turn(chunk.model_version)
        if chunk.candidates is None and _unknown(chunk):
            read_unknown_frame(self._emitter, frame, self._text.close)
        for candidate in chunk.candidates or ():
            if candidate.index == 0:
                self._read_candidate(candidate)
        if chunk.usage_metadata is not None:
            self._report_usage(chunk.usage_metadata)
        if chunk.prompt_feedback is not None and chunk.prompt_feedback.block_reason:
            self._finish, self._finish_reason = Finish.REFUSAL, chunk.prompt_feedback.block_reason
        if has_error(chunk.error):
            self._text.close()
            self._emitter.fail(*parse_error(chunk.error))

    def close(self) -> None:
        """End the turn if a finish reason arrived, else fail it as cut off."""
        self._finish_partial_call()
        self._text.close()
        if self._finish is None and self._emitter.whole_body and self._parts:
            self._finish = Finish.UNKNOWN
        if self._finish is None:
            self._emitter.fail_cut_off("finishReason")
            return
        finish = (
            Finish.TOOL_CALLS if self._client_call_count and self._finish is Finish.STOP else self._finish
        )
        self._emitter.finish(
            finish, self._finish_reason, f'{{"role":"model","parts":{raw_json_array(self._parts)}}}'
        )

    def _read_candidate(self, candidate: Candidate) -> None:
        for raw in (candidate.content and candidate.content.parts) or ():
            part = _part_decoder.decode(raw, self._odd_fields)
            call = part.function_call
            if call is not None and self._streams_arguments(call):
                self._read_partial_call(part, call, raw)
            else:
                if self._partial_call is not None:
                    self._finish_partial_call()
                self._parts.append(raw)
                self._read_part(part)
        if candidate.finish_reason:
            self._finish = _FINISH_BY_REASON.get(candidate.finish_reason, Finish.UNKNOWN)
            self._finish_reason = str(candidate.finish_reason)

    def _streams_arguments(self, call: FunctionCall) -> bool:
        """Return whether a part starts or continues a call whose arguments arrive as values at paths."""
        if call.will_continue or call.partial_args is not None:
            return True
        continued = self._partial_call is not None and self._partial_call.continued_by(call.name, call.id)
        return continued and not present(call.args)

    def _read_partial_call(self, part: Part, call: FunctionCall, raw: msgspec.Raw) -> None:
        """Start or continue a call whose arguments are streamed; its last part does not continue."""
        if self._partial_call is None or not self._partial_call.continued_by(call.name, call.id):
            self._finish_partial_call()
            self._client_call_count += 1
            self._start_call(call.name or "", call.id or "")
            self._partial_call = PartialCall(decode_object(raw))
        for argument in call.partial_args or ():
            if not self._partial_call.add(argument):
                path = argument.json_path[:60]
                message = Wording(
                    "gemini sent an argument deeper than {max_depth} levels, which was left out: {path}",
                    max_depth=MAX_DEPTH,
                    path=path,
                )
                self._emitter.add_fault("bad_frame", message)
        if part.thought_signature:
            self._seal(part.thought_signature)
        if not call.will_continue:
            self._finish_partial_call()

    def _finish_partial_call(self) -> None:
        if self._partial_call is not None:
            self._emitter.append(self._last_key, self._partial_call.arguments())
            self._emitter.end_block(self._last_key)
            self._parts.append(self._partial_call.encode_part())
            self._partial_call = None

    def _read_part(self, part: Part) -> None:
        if part.function_call is not None:
            call = part.function_call
            self._client_call_count += 1
            self._add_call(call.name or "", call.id or "", raw_json(call.args) or "{}")
        elif part.executable_code is not None:
            self._add_call("code_execution", "", part.executable_code.code or "")
        elif part.code_execution_result is not None:
            result = part.code_execution_result
            error = "" if result.outcome in (None, "OUTCOME_OK") else str(result.outcome)
            self._emitter.finish_tool(("call", self._call_count), result.output or "", error)
        elif part.text:
            self._append(Kind.REASONING if part.thought else Kind.TEXT, part.text)
        if part.thought_signature:
            self._seal(part.thought_signature)

    def _append(self, kind: Kind, text: str) -> None:
        if kind is Kind.TEXT:
            if self._last_key is not kind:
                self._emitter.end_all_blocks()
            self._last_key = kind
            if self._text.plain:
                self._emitter.append_or_start(kind, kind, text)
            else:
                self._text.feed(text)
            return
        if self._last_key is not kind:
            if text.strip():
                self._text.disable_tags()
            self._emitter.end_all_blocks()
        self._last_key = kind
        self._emitter.append_or_start(kind, kind, text, Provenance.SUMMARY)

    def _start_call(self, name: str, call_id: str) -> None:
        self._text.close()
        self._emitter.end_all_blocks()
        self._call_count += 1
        self._last_key = ("call", self._call_count)
        self._emitter.start_block(self._last_key, Kind.TOOL_CALL, name=name, call_id=call_id)

    def _add_call(self, name: str, call_id: str, arguments: str) -> None:
        self._start_call(name, call_id)
        self._emitter.append(self._last_key, arguments)
        self._emitter.end_block(self._last_key)

    def _seal(self, signature: str) -> None:
        """Attach a signature to the block of its part; on an empty first part, start the answer's block."""
        if self._last_key in (None, Kind.TEXT) and not self._emitter.has_block(Kind.TEXT):
            self._last_key = Kind.TEXT
            self._text.close()
            if not self._emitter.has_block(Kind.TEXT):
                self._emitter.start_block(Kind.TEXT, Kind.TEXT)
        self._emitter.seal(self._last_key, SealForm.SIGNATURE, signature)

    def _report_usage(self, counts: Counts) -> None:
        candidates, thoughts = counts.candidates_token_count, counts.thoughts_token_count
        output = add_counts(candidates, thoughts) if candidates is not None else thoughts
        self._emitter.report_usage(
            Usage(
                input=add_counts(counts.prompt_token_count, counts.tool_use_prompt_token_count),
                output=output,
                reasoning=thoughts,
                cache_read=counts.cached_content_token_count,
            )
        )


def _unknown(chunk: ResponseChunk) -> bool:
    """Return whether a chunk has nothing of a response."""
    known = chunk.usage_metadata or chunk.prompt_feedback or chunk.model_version or has_error(chunk.error)
    return not known
