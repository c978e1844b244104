"""Gemini generateContent, whole, as SSE or as a JSON array: every piece is a small whole response.

Thoughts are parts marked `thought`; signatures sit on the part that follows them, maybe on an empty text
at the very end. Parts are kept as they came: signed and unsigned ones must not be merged when they go
back. Counts of candidates leave the thoughts out. Only the first candidate counts.
"""

import msgspec

from thinkaloud.canon import Finish, Kind, Provenance, SealForm, Usage
from thinkaloud.dialects.blocks import Blocks
from thinkaloud.dialects.counts import total
from thinkaloud.dialects.faults import is_error, read_error
from thinkaloud.dialects.verbatim import ABSENT, raw_array, raw_text
from thinkaloud.wire import Frame

NAME = "gemini"

_FINISHES: dict[str | int, Finish] = {
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
"""Some clients record the reason as its number."""


class FunctionCall(msgspec.Struct):
    """A call, always whole."""

    id: str | None = None
    name: str | None = None
    args: msgspec.Raw = ABSENT


class Code(msgspec.Struct):
    """Code that the provider runs itself."""

    code: str | None = None


class CodeResult(msgspec.Struct):
    """What came of it."""

    outcome: str | None = None
    output: str | None = None


class Part(msgspec.Struct, rename="camel"):
    """A run of text or thought, a call, or a signature on nothing."""

    text: str | None = None
    thought: bool | None = None
    thought_signature: str | None = None
    function_call: FunctionCall | None = None
    executable_code: Code | None = None
    code_execution_result: CodeResult | None = None


class Content(msgspec.Struct):
    """The parts of one piece."""

    parts: list[msgspec.Raw] | None = None


class Candidate(msgspec.Struct, rename="camel"):
    """One candidate."""

    content: Content | None = None
    finish_reason: str | int | None = None
    index: int = 0


class Counts(msgspec.Struct, rename="camel"):
    """Usage so far; candidates leave the thoughts out."""

    prompt_token_count: int | None = None
    tool_use_prompt_token_count: int | None = None
    candidates_token_count: int | None = None
    thoughts_token_count: int | None = None
    cached_content_token_count: int | None = None


class Feedback(msgspec.Struct, rename="camel"):
    """Why a prompt was not answered at all."""

    block_reason: str | None = None


class Piece(msgspec.Struct, rename="camel"):
    """A piece of a stream, or a whole response."""

    candidates: list[Candidate] | None = None
    model_version: str | None = None
    usage_metadata: Counts | None = None
    prompt_feedback: Feedback | None = None
    error: msgspec.Raw = ABSENT


_piece = msgspec.json.Decoder(Piece)
_part = msgspec.json.Decoder(Part)


class Reader:
    """Reads one response."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self._parts: list[msgspec.Raw] = []
        self._last: object = None
        self._calls = 0
        self._waiting = 0
        self._finish: Finish | None = None
        self._said = ""

    def feed(self, frame: Frame) -> None:
        """One piece."""
        if frame.data == b"[DONE]":
            return
        piece = _piece.decode(frame.data)
        self._blocks.begin(piece.model_version)
        if is_error(piece.error):
            self._blocks.fail(*read_error(piece.error))
        for candidate in piece.candidates or ():
            if candidate.index == 0:
                self._read(candidate)
        if piece.usage_metadata is not None:
            self._count(piece.usage_metadata)
        if piece.prompt_feedback is not None and piece.prompt_feedback.block_reason:
            self._finish, self._said = Finish.REFUSAL, piece.prompt_feedback.block_reason

    def close(self) -> None:
        """The bytes ended: that is an end if the provider had said why it stopped."""
        if self._finish is None:
            self._blocks.cut_off("finishReason")
            return
        finish = Finish.TOOL_CALLS if self._waiting and self._finish is Finish.STOP else self._finish
        self._blocks.finish(finish, self._said, f'{{"role":"model","parts":{raw_array(self._parts)}}}')

    def _read(self, candidate: Candidate) -> None:
        for raw in (candidate.content and candidate.content.parts) or ():
            self._parts.append(raw)
            self._tell(_part.decode(raw))
        if candidate.finish_reason:
            self._finish = _FINISHES.get(candidate.finish_reason, Finish.UNKNOWN)
            self._said = str(candidate.finish_reason)

    def _tell(self, part: Part) -> None:
        if part.function_call is not None:
            call = part.function_call
            self._waiting += 1
            self._call(call.name or "", call.id or "", raw_text(call.args) or "{}")
        elif part.executable_code is not None:
            self._call("code_execution", "", part.executable_code.code or "")
        elif part.code_execution_result is not None:
            result = part.code_execution_result
            failed = "" if result.outcome in (None, "OUTCOME_OK") else str(result.outcome)
            self._blocks.finish_tool(("call", self._calls), result.output or "", failed)
        elif part.text:
            self._say(Kind.REASONING if part.thought else Kind.TEXT, part.text)
        if part.thought_signature:
            self._seal(part.thought_signature)

    def _say(self, kind: Kind, text: str) -> None:
        if not self._blocks.is_open(kind):
            self._blocks.end_all()
        self._last = kind
        self._blocks.say(
            kind, kind, text, Provenance.SUMMARY if kind is Kind.REASONING else Provenance.UNKNOWN
        )

    def _call(self, name: str, call_id: str, arguments: str) -> None:
        self._blocks.end_all()
        self._calls += 1
        self._last = ("call", self._calls)
        self._blocks.start(self._last, Kind.TOOL_CALL, name=name, call_id=call_id)
        self._blocks.grow(self._last, arguments)
        self._blocks.end(self._last)

    def _seal(self, signature: str) -> None:
        """The signature belongs to the part it came on; on an empty first part, to an answer yet to come."""
        if self._last is None:
            self._last = Kind.TEXT
            self._blocks.start(Kind.TEXT, Kind.TEXT)
        self._blocks.seal(self._last, SealForm.SIGNATURE, signature)

    def _count(self, counts: Counts) -> None:
        candidates, thoughts = counts.candidates_token_count, counts.thoughts_token_count
        output = total(candidates, thoughts) if candidates is not None else thoughts
        self._blocks.report(
            Usage(
                input=total(counts.prompt_token_count, counts.tool_use_prompt_token_count),
                output=output,
                reasoning=thoughts,
                cache_read=counts.cached_content_token_count,
            )
        )
