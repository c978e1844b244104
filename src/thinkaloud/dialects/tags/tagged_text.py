"""Emits the blocks of text that may contain thinking tags, for the dialects whose text can.

Without a given profile, the model's name selects one when the first text arrives.
"""

from thinkaloud.canon import Kind, Provenance
from thinkaloud.dialects.emitter import TurnEmitter
from thinkaloud.dialects.tags.families import profile_for_model
from thinkaloud.dialects.tags.markers import CallStarted, Piece, Reclassified
from thinkaloud.dialects.tags.profiles import TagProfile
from thinkaloud.dialects.tags.splitter import Splitter, make_splitter

REASONING_KEY = "reasoning"
TEXT_KEY = "text"


class TaggedText:
    """Emits text as reasoning, answer and tool call blocks, one open block at a time."""

    def __init__(self, emitter: TurnEmitter, profile: TagProfile | None, *, raw: bool = False) -> None:
        self._emitter = emitter
        self._profile = profile
        self._raw = raw
        self._splitter: Splitter | None = None
        self._tags_disabled = False
        self._call_count = 0

    def feed(self, text: str) -> None:
        """Split and emit more text."""
        if self._tags_disabled:
            self._append(Kind.TEXT, text)
            return
        if self._splitter is None:
            self._splitter = make_splitter(
                self._profile or profile_for_model(self._emitter.model, raw=self._raw)
            )
        self._emit(self._splitter.feed(text))

    def disable_tags(self) -> None:
        """Treat tags as plain text from now on, because reasoning arrives in a field of its own."""
        if not self._tags_disabled:
            self.close()
            self._tags_disabled = True

    def close(self) -> None:
        """Emit the text that was held back."""
        if self._splitter is not None:
            self._emit(self._splitter.close())
            self._splitter = None

    def _emit(self, pieces: list[Piece]) -> None:
        for piece in pieces:
            if isinstance(piece, Reclassified):
                self._reclassify(piece)
            elif isinstance(piece, CallStarted):
                self._start_call(piece.name)
            elif piece[0] is Kind.TOOL_CALL:
                self._emitter.append(("call", self._call_count), piece[1])
            else:
                self._append(*piece)

    def _reclassify(self, piece: Reclassified) -> None:
        key = REASONING_KEY if piece.kind is Kind.TEXT else TEXT_KEY
        if piece.kind is Kind.REASONING and not self._emitter.has_open(key):
            return  # there is no text before the marker; an earlier text block stays what it is
        self._emitter.reclassify(key, piece.kind, piece.tail)
        self._emitter.end_block(key)

    def _append(self, kind: Kind, text: str) -> None:
        key = TEXT_KEY if kind is Kind.TEXT else REASONING_KEY
        if not self._emitter.has_open(key):
            self._emitter.end_all_blocks(except_key=key)
        self._emitter.append_or_start(
            key, kind, text, Provenance.UNKNOWN if kind is Kind.TEXT else Provenance.RAW
        )

    def _start_call(self, name: str) -> None:
        self._emitter.end_all_blocks()
        self._call_count += 1
        self._emitter.start_block(("call", self._call_count), Kind.TOOL_CALL, name=name)
