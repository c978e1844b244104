"""The rules no dialect can break: a turn starts first, a block starts before it grows and ends before
the turn does, and there is exactly one end.

A dialect names its blocks by whatever key the provider uses: an index, an item's id, a word. Text of one
block that comes together is told as one event, whatever number of frames it came in.
"""

from collections.abc import Hashable

from thinkaloud.canon import (
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
)

_EMPTY_USAGE = Usage()


class TurnEmitter:
    """Collects the events of one turn; `take` gives away those not taken yet."""

    def __init__(self, dialect: str, model: str = "") -> None:
        self.dialect = dialect
        self.model = model
        self.ended = False
        self._started = False
        self._events: list[Event] = []
        self._numbers_by_key: dict[Hashable, int] = {}
        self._open_keys: dict[Hashable, None] = {}
        self._next_number = 0
        self._pending_key: Hashable = None
        self._pending_text: list[str] = []

    def start_turn(self, model: str | None) -> None:
        """The provider said which model speaks; the turn starts with that, or with the first thing told."""
        if model and not self._started:
            self.model = model
            self._emit_turn_started()

    def has_open(self, key: Hashable) -> bool:
        """Whether a block has this key and has not ended."""
        return key in self._open_keys

    def has_block(self, key: Hashable) -> bool:
        """Whether a block ever had this key."""
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
        """Start a block, unless one of that key is open already."""
        if key in self._open_keys or self.ended:
            return
        self._emit(BlockStarted(self._next_number, kind, name, call_id, provenance=provenance))
        self._numbers_by_key[key] = self._next_number
        self._open_keys[key] = None
        self._next_number += 1

    def append(self, key: Hashable, text: str) -> None:
        """Add text to an open block; no text is nothing."""
        if self._pending_key == key and self._pending_text:
            if text:
                self._pending_text.append(text)
        elif text and key in self._open_keys:
            self._flush_text()
            self._pending_key = key
            self._pending_text.append(text)

    def append_or_start(
        self, key: Hashable, kind: Kind, text: str, provenance: Provenance = Provenance.UNKNOWN
    ) -> None:
        """Add text, starting the block when the provider did not."""
        if not text:
            return
        if key not in self._open_keys:
            self.start_block(key, kind, provenance=provenance)
        self.append(key, text)

    def seal(self, key: Hashable, form: SealForm, payload: str) -> None:
        """Keep opaque data with the block that last had this key, ended or not."""
        number = self._numbers_by_key.get(key)
        if number is not None and payload and not self.ended:
            self._emit(BlockSealed(number, Seal(self.dialect, form, payload, self.model)))

    def finish_tool(self, key: Hashable, result: str, error: str = "") -> None:
        """A tool that the provider itself ran came back."""
        number = self._numbers_by_key.get(key)
        if number is not None and not self.ended:
            self._emit(ToolFinished(number, result, error))

    def reclassify(self, key: Hashable, kind: Kind, tail: int | None = None) -> None:
        """What was told in a block (or the last of it) turned out to be of another kind."""
        number = self._numbers_by_key.get(key)
        if number is None or self.ended:
            return
        if tail is None:
            self._emit(BlockReclassified(number, kind))
        else:
            self._emit(BlockReclassified(number, kind, tail, self._next_number))
            self._next_number += 1

    def end_block(self, key: Hashable) -> None:
        """End a block, if it is open."""
        if key in self._open_keys:
            del self._open_keys[key]
            self._emit(BlockEnded(self._numbers_by_key[key]))

    def end_all_blocks(self, *, except_key: Hashable = None) -> None:
        """End every open block, except one."""
        for key in [key for key in self._open_keys if key != except_key]:
            self.end_block(key)

    def report_usage(self, usage: Usage) -> None:
        """Counts came, if there is one among them."""
        if usage != _EMPTY_USAGE and not self.ended:
            self._emit(UsageReported(usage))

    def add_notice(self, code: str, text: str) -> None:
        """Something to know that changes nothing."""
        if not self.ended:
            self._emit(NoticeGiven(code, text))

    def finish(self, finish: Finish, stop_reason: str = "", message: str = "") -> None:
        """The turn came to its end; `message` is the provider's own assistant message, as JSON."""
        if self.ended:
            return
        self.end_all_blocks()
        seal = Seal(self.dialect, SealForm.MESSAGE, message, self.model) if message else None
        self._emit(TurnEnded(finish, stop_reason, seal))
        self.ended = True

    def fail(self, code: str, message: str) -> None:
        """The turn broke: what is open was interrupted, what was told stands."""
        if self.ended:
            return
        for key in list(self._open_keys):
            self._emit(BlockEnded(self._numbers_by_key[key], interrupted=True))
        self._open_keys.clear()
        self._emit(TurnFailed(code, message))
        self.ended = True

    def fail_cut_off(self, expected: str) -> None:
        """The bytes ended before the provider said that the turn did."""
        self.fail("cut_off", f"{self.dialect} stopped before {expected}")

    def drain(self) -> list[Event]:
        """The events since the last time."""
        self._flush_text()
        events, self._events = self._events, []
        return events

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
