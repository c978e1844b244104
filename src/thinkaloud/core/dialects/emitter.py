"""Emits the events of a turn and enforces their order for all dialects.

The turn starts first, a block starts before it grows and ends before the turn, and the turn ends exactly
once. A dialect identifies its blocks by any key that the provider uses: an index, an item id, a word.
Consecutive text of one block is emitted as one event, however many frames it arrived in.
"""

from collections.abc import Hashable

import msgspec

from thinkaloud.core.canon import (
    BlockEnded,
    BlockGrew,
    BlockReclassified,
    BlockSealed,
    BlockStarted,
    Event,
    Finish,
    Kind,
    NoticeGiven,
    Provenance,
    Seal,
    SealForm,
    ToolFinished,
    TurnEnded,
    TurnFailed,
    TurnStarted,
    Usage,
    UsageReported,
    Wording,
)
from thinkaloud.core.canon.events import MAX_NUMBER
from thinkaloud.core.dialects.lenient import OddFields
from thinkaloud.core.dialects.text_frame import TextFrame

ODD_FIELD = "odd_field"
"""The code of the notice about a field of the wrong type."""
_EMPTY_USAGE = Usage()


class TurnEmitter:
    """Collects the events of one turn; `drain` returns those not returned yet."""

    def __init__(self, dialect: str, model: str = "") -> None:
        self.dialect = dialect
        self.model = model
        self.ended = False
        self._started = False
        self._events: list[Event] = []
        self._numbers_by_key: dict[Hashable, int] = {}
        self._open_keys: dict[Hashable, Kind] = {}
        self._next_number = 0
        self._pending_key: Hashable = None
        self._pending_text: list[str] = []
        self.odd_fields = OddFields()
        self.text_frame: TextFrame | None = None
        """Reads most frames of a stream, in a dialect that has it."""
        self._fault: tuple[str, Wording] | None = None
        self.whole_body = False
        """Whether the response is one JSON value, to which nothing can be missing; known at its end."""
        self.unfinished = b""
        """The start of a frame that the end of the bytes cut off."""

    def start_turn(self, model: str | None) -> None:
        """Start the turn with the model's name; without a name, the first event starts it."""
        if model and not self._started:
            self.model = model
            self._emit_turn_started()

    @property
    def block_count(self) -> int:
        """The number of blocks so far."""
        return self._next_number

    def has_open(self, key: Hashable) -> bool:
        """Return whether a block with this key is open."""
        return key in self._open_keys

    def open_kind(self, key: Hashable) -> Kind | None:
        """Return the kind of the open block with this key; None if there is none."""
        return self._open_keys.get(key)

    def has_block(self, key: Hashable) -> bool:
        """Return whether a block with this key was ever started."""
        return key in self._numbers_by_key

    def start_block(
        self,
        key: Hashable,
        kind: Kind,
        *,
        name: str = "",
        call_id: str = "",
        provenance: Provenance = Provenance.UNKNOWN,
    ) -> None:
        """Start a block, unless a block with this key is open."""
        self.start(key, BlockStarted(0, kind, name, call_id, provenance=provenance))

    def start(self, key: Hashable, block: BlockStarted, parent: Hashable = None) -> None:
        """Start a block of any kind below the block with the key `parent`; its number is set here."""
        if key in self._open_keys or self.ended:
            return
        number, parent_number = self._next_number, self._numbers_by_key.get(parent)
        self._emit(msgspec.structs.replace(block, block=number, parent=parent_number))
        self._numbers_by_key[key] = self._next_number
        self._open_keys[key] = block.kind
        self._next_number += 1

    def append(self, key: Hashable, text: str) -> None:
        """Append text to an open block; empty text is ignored."""
        if self._pending_key == key and self._pending_text:
            if text:
                self._pending_text.append(text)
        elif text and key in self._open_keys:
            self._flush_text()
            self._pending_key = key
            self._pending_text.append(text)

    def grow(self, key: Hashable, kind: Kind, text: str) -> bool:
        """Append text to the open block of this key and kind; False if there is none."""
        if self._open_keys.get(key) is not kind:
            return False
        if text:
            if self._pending_text and self._pending_key != key:
                self._flush_text()
            self._pending_key = key
            self._pending_text.append(text)
        return True

    def append_or_start(
        self, key: Hashable, kind: Kind, text: str, provenance: Provenance = Provenance.UNKNOWN
    ) -> None:
        """Append text, and start the block first if the provider did not.

        Text of another kind than the open block's starts a block of its own, so that a provider that gives
        two blocks the same key never mixes thought and answer.
        """
        if text and not self.grow(key, kind, text):
            self.end_block(key)
            self.start_block(key, kind, provenance=provenance)
            self.append(key, text)

    def seal(self, key: Hashable, form: SealForm, payload: str) -> None:
        """Attach opaque data to the latest block with this key, ended or not."""
        number = self._numbers_by_key.get(key)
        if number is not None and payload and not self.ended:
            self._emit(BlockSealed(number, Seal(self.dialect, form, payload, self.model)))

    def finish_tool(self, key: Hashable, result: str, error: str = "") -> None:
        """Emit the result of a tool that the provider ran itself."""
        number = self._numbers_by_key.get(key)
        if number is not None and not self.ended:
            self._emit(ToolFinished(number, result, error))

    def reclassify(
        self, key: Hashable, kind: Kind, tail: int | None = None, *, new_key: Hashable = None
    ) -> None:
        """End a block and change its kind, or that of its last `tail` characters.

        A block that changes as a whole can then be sealed by its `new_key`.
        """
        number = self._numbers_by_key.get(key)
        if number is None or self.ended:
            return
        if tail is None:
            self._emit(BlockReclassified(number, kind))
            if new_key is not None:
                self._numbers_by_key[new_key] = number
        else:
            self._emit(BlockReclassified(number, kind, tail, self._next_number))
            self._next_number += 1
        self.end_block(key)

    def end_block(self, key: Hashable) -> None:
        """End a block if it is open."""
        if key in self._open_keys:
            del self._open_keys[key]
            self._emit(BlockEnded(self._numbers_by_key[key]))

    def end_all_blocks(self, *, except_key: Hashable = None) -> None:
        """End every open block except the one with `except_key`."""
        for key in [key for key in self._open_keys if key != except_key]:
            self.end_block(key)

    def report_usage(self, usage: Usage) -> None:
        """Emit a usage report, unless it has no counts.

        A number that cannot be a count is left out as unknown: no database could store it.
        """
        counts = msgspec.structs.asdict(usage)
        odd = {name: None for name, count in counts.items() if count and not 0 < count <= MAX_NUMBER}
        if odd:
            usage = msgspec.structs.replace(usage, **odd)
        if usage != _EMPTY_USAGE and not self.ended:
            self._emit(UsageReported(usage))

    def add_notice(self, code: str, message: Wording) -> None:
        """Emit a notice."""
        if not self.ended:
            self._emit(NoticeGiven.of(code, message))

    def finish(self, finish: Finish, stop_reason: str = "", message: str = "") -> None:
        """End all blocks and the turn; `message` is the provider's own assistant message, as JSON."""
        if self._fault is not None:
            self.fail(*self._fault)
        if self.ended:
            return
        self.end_all_blocks()
        if self.unfinished:
            self.odd_fields.add("The last frame", "complete", self.unfinished)
        self._add_odd_field_notices()
        seal = Seal(self.dialect, SealForm.MESSAGE, message, self.model) if message else None
        self._emit(TurnEnded(finish, stop_reason, seal))
        self.ended = True

    def fail(self, code: str, message: Wording) -> None:
        """Mark open blocks as interrupted and end the turn as failed; a fault before is the reason."""
        if self.ended:
            return
        code, message = self._fault or (code, message)
        for key in list(self._open_keys):
            self._emit(BlockEnded(self._numbers_by_key[key], interrupted=True))
        self._open_keys.clear()
        self._add_odd_field_notices()
        self._emit(TurnFailed.of(code, message))
        self.ended = True

    def add_fault(self, code: str, message: Wording) -> None:
        """Make the turn end as failed, and keep what still arrives until then; the first fault counts."""
        self._fault = self._fault or (code, message)

    def fail_cut_off(self, expected: str | Wording) -> None:
        """Fail the turn because the bytes ended before `expected`, the provider's end of the turn."""
        self.fail(
            "cut_off",
            Wording(
                "The {dialect} response is incomplete: it stopped before {expected}.",
                dialect=self.dialect,
                expected=expected,
            ),
        )

    def drain(self) -> list[Event]:
        """Return the events since the last call."""
        if self._pending_text:
            self._flush_text()
        events, self._events = self._events, []
        return events

    def _add_odd_field_notices(self) -> None:
        for message in self.odd_fields.messages():
            self._emit(NoticeGiven.of(ODD_FIELD, message))

    def _emit_turn_started(self) -> None:
        if not self._started:
            self._started = True
            self._events.append(TurnStarted(self.dialect, self.model))

    def _emit(self, event: Event) -> None:
        self._flush_text()
        self._emit_turn_started()
        self._events.append(event)

    def _flush_text(self) -> None:
        if self._pending_text:
            text = self._pending_text[0] if len(self._pending_text) == 1 else "".join(self._pending_text)
            self._events.append(BlockGrew(self._numbers_by_key[self._pending_key], text))
            self._pending_text = []
            self._pending_key = None
