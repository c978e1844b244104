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

_NO_COUNTS = Usage()


class Blocks:
    """Collects the events of one turn; `take` gives away those not taken yet."""

    def __init__(self, dialect: str, model: str = "") -> None:
        self.dialect = dialect
        self.model = model
        self.over = False
        self._begun = False
        self._told: list[Event] = []
        self._numbers: dict[Hashable, int] = {}
        self._open: dict[Hashable, None] = {}
        self._next = 0
        self._growing: Hashable = None
        self._pieces: list[str] = []

    def begin(self, model: str | None) -> None:
        """The provider said which model speaks; the turn starts with that, or with the first thing told."""
        if model and not self._begun:
            self.model = model
            self._begin()

    def is_open(self, key: Hashable) -> bool:
        """Whether a block has this key and has not ended."""
        return key in self._open

    def known(self, key: Hashable) -> bool:
        """Whether a block ever had this key."""
        return key in self._numbers

    def start(
        self,
        key: Hashable,
        kind: Kind,
        *,
        name: str = "",
        call_id: str = "",
        provenance: Provenance = Provenance.UNKNOWN,
    ) -> None:
        """Start a block, unless one of that key is open already."""
        if key in self._open or self.over:
            return
        self._tell(BlockStarted(self._next, kind, name, call_id, provenance=provenance))
        self._numbers[key] = self._next
        self._open[key] = None
        self._next += 1

    def grow(self, key: Hashable, text: str) -> None:
        """Add text to an open block; no text is nothing."""
        if self._growing == key and self._pieces:
            if text:
                self._pieces.append(text)
        elif text and key in self._open:
            self._flush()
            self._growing = key
            self._pieces.append(text)

    def say(self, key: Hashable, kind: Kind, text: str, provenance: Provenance = Provenance.UNKNOWN) -> None:
        """Add text, starting the block when the provider did not."""
        if not text:
            return
        if key not in self._open:
            self.start(key, kind, provenance=provenance)
        self.grow(key, text)

    def seal(self, key: Hashable, form: SealForm, payload: str) -> None:
        """Keep opaque data with the block that last had this key, ended or not."""
        number = self._numbers.get(key)
        if number is not None and payload and not self.over:
            self._tell(BlockSealed(number, Seal(self.dialect, form, payload, self.model)))

    def finish_tool(self, key: Hashable, result: str, error: str = "") -> None:
        """A tool that the provider itself ran came back."""
        number = self._numbers.get(key)
        if number is not None and not self.over:
            self._tell(ToolFinished(number, result, error))

    def refile(self, key: Hashable, kind: Kind, tail: int | None = None) -> None:
        """What was told in a block (or the last of it) turned out to be of another kind."""
        number = self._numbers.get(key)
        if number is None or self.over:
            return
        if tail is None:
            self._tell(BlockReclassified(number, kind))
        else:
            self._tell(BlockReclassified(number, kind, tail, self._next))
            self._next += 1

    def end(self, key: Hashable) -> None:
        """End a block, if it is open."""
        if key in self._open:
            del self._open[key]
            self._tell(BlockEnded(self._numbers[key]))

    def end_all(self, *, but: Hashable = None) -> None:
        """End every open block, except one."""
        for key in [key for key in self._open if key != but]:
            self.end(key)

    def report(self, usage: Usage) -> None:
        """Counts came, if there is one among them."""
        if usage != _NO_COUNTS and not self.over:
            self._tell(UsageReported(usage))

    def notice(self, code: str, text: str) -> None:
        """Something to know that changes nothing."""
        if not self.over:
            self._tell(NoticeGiven(code, text))

    def finish(self, finish: Finish, said: str = "", message: str = "") -> None:
        """The turn came to its end; `message` is the provider's own assistant message, as JSON."""
        if self.over:
            return
        self.end_all()
        seal = Seal(self.dialect, SealForm.MESSAGE, message, self.model) if message else None
        self._tell(TurnEnded(finish, said, seal))
        self.over = True

    def fail(self, code: str, message: str) -> None:
        """The turn broke: what is open was interrupted, what was told stands."""
        if self.over:
            return
        for key in list(self._open):
            self._tell(BlockEnded(self._numbers[key], interrupted=True))
        self._open.clear()
        self._tell(TurnFailed(code, message))
        self.over = True

    def cut_off(self, awaited: str) -> None:
        """The bytes ended before the provider said that the turn did."""
        self.fail("cut_off", f"{self.dialect} stopped before {awaited}")

    def take(self) -> list[Event]:
        """The events since the last time."""
        self._flush()
        told, self._told = self._told, []
        return told

    def _begin(self) -> None:
        if not self._begun:
            self._begun = True
            self._told.append(TurnStarted(self.dialect, self.model))

    def _tell(self, event: Event) -> None:
        self._flush()
        self._begin()
        self._told.append(event)

    def _flush(self) -> None:
        if self._pieces:
            text = self._pieces[0] if len(self._pieces) == 1 else "".join(self._pieces)
            self._told.append(BlockGrew(self._numbers[self._growing], text))
            self._pieces = []
            self._growing = None
