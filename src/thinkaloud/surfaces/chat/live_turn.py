"""A turn while it arrives: its clock, its events, and what they changed since it was last drawn.

Text that grew is appended to what is on the screen. Everything else is drawn from a new view: also a thought
whose first words are not complete yet, because headers show them.
"""

import time

from thinkaloud.core.canon import (
    BlockEnded,
    BlockGrew,
    BlockReclassified,
    BlockStarted,
    Event,
    Kind,
    TurnEnded,
    TurnFailed,
    TurnStarted,
)
from thinkaloud.core.transcript import Block, BlockStatus, Turn
from thinkaloud.core.view import preview
from thinkaloud.core.view.text import ELLIPSIS


class TurnClock:
    """Runs between two entries. The times of entries may count from any moment."""

    def __init__(self) -> None:
        self._last_at_ms: int | None = None
        self._arrived_s = 0.0

    def set(self, at_ms: int | None) -> None:
        """Set the clock to the time of an entry that has arrived now."""
        self._last_at_ms = at_ms
        self._arrived_s = time.monotonic()

    def now_ms(self) -> int | None:
        """Return the present time; None if the last entry had no time."""
        if self._last_at_ms is None:
            return None
        return self._last_at_ms + int((time.monotonic() - self._arrived_s) * 1000)


class DeltaEvents:
    """Makes the events of a turn from pieces of text, for programs that have no entries.

    Pieces with the same key are of one block. Thoughts and texts end where another block begins. Calls do
    not, because the arguments of several may arrive in turns.
    """

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._numbers: dict[object, int] = {}

    def append(self, key: object, kind: Kind, text: str, name: str = "") -> list[Event]:
        """Return the events for a piece of a block."""
        number = self._numbers.get(key, len(self._turn.blocks))
        events: list[Event] = []
        if number not in self._running() or self._turn.blocks[number].kind is not kind:
            self._numbers[key] = number = len(self._turn.blocks)
            events += self._start()
            for other in self._running():
                if self._turn.blocks[other].kind is not Kind.TOOL_CALL:
                    events.append(BlockEnded(other))
            events.append(BlockStarted(number, kind, name))
        if text:
            events.append(BlockGrew(number, text))
        return events

    def finish(self, end: TurnEnded | TurnFailed) -> list[Event]:
        """Return the events that end the turn; none if it has ended."""
        if not self._turn.live:
            return []
        interrupted = isinstance(end, TurnFailed)
        ended = [BlockEnded(number, interrupted) for number in reversed(self._running())]
        return [*self._start(), *ended, end]

    def _start(self) -> list[Event]:
        return [TurnStarted()] if self._turn.seq < 0 else []

    def _running(self) -> list[int]:
        return [block.number for block in self._turn.blocks if block.status is BlockStatus.RUNNING]


class TurnChanges:
    """Notes each event after it was applied to the turn."""

    def __init__(self, turn: Turn) -> None:
        self.new_answer: list[str] = []
        """Text at the end of the answer that is not drawn yet."""
        self.thought_grew = False
        self.turn_changed = False
        """Whether anything else changed than text that grew."""
        self.text_changed = False
        """Whether text that was drawn belongs elsewhere now."""
        self._growing_thoughts: set[int] = set()
        self._last_text: int | None = None
        self.drawn(turn)

    def note(self, event: Event) -> None:
        """Note an event."""
        if isinstance(event, BlockGrew) and event.block in self._growing_thoughts:
            self.thought_grew = True
        elif isinstance(event, BlockGrew) and event.block == self._last_text:
            self.new_answer.append(event.text)
        else:
            self.turn_changed = True
            self.text_changed = self.text_changed or isinstance(event, BlockReclassified)

    def drawn(self, turn: Turn) -> None:
        """Forget the changes: the turn is on the screen as it is. Note which of its texts only grow."""
        if self.turn_changed or not self._growing_thoughts:
            self._growing_thoughts = set()
            self._last_text = None
            for block in turn.blocks:
                if not block.blank and _only_grows(block):
                    self._growing_thoughts.add(block.number)
                elif not block.blank and block.kind is Kind.TEXT and block.parent is None:
                    self._last_text = block.number
        self.new_answer = []
        self.thought_grew = False
        self.turn_changed = False
        self.text_changed = False


def _only_grows(block: Block) -> bool:
    """Return whether new text changes only the end of a thought, and no longer its first words."""
    return block.kind is Kind.REASONING and preview(block.text).endswith(ELLIPSIS)
