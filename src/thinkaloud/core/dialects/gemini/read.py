"""Reads Gemini generateContent responses: JSON, SSE or a JSON array. Every chunk is a small whole response.

Reasoning parts are marked `thought`; their signature is on the next part, which may be an empty text at the
end. Parts are kept unchanged, because signed and unsigned parts must not be merged when they are sent back.
The candidates' token count excludes reasoning. Only the first candidate is read. Some Google endpoints wrap
the whole response in `response`.
"""

from collections.abc import Hashable

import msgspec

from thinkaloud.core.canon import Finish, Kind, Provenance, SealForm, Usage, Wording
from thinkaloud.core.dialects.emitter import TurnEmitter
from thinkaloud.core.dialects.gemini.partial_call import MAX_DEPTH, PartialArgument, PartialCall
from thinkaloud.core.dialects.lenient import Count, LenientDecoder, Text, decode_object
from thinkaloud.core.dialects.message import ABSENT, present, raw_json, raw_json_array
from thinkaloud.core.dialects.payload import add_counts, has_error, parse_error, read_unknown_frame
from thinkaloud.core.dialects.tags.profiles import TagProfile
from thinkaloud.core.dialects.tags.tagged_text import TaggedText
from thinkaloud.core.wire import Frame

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
