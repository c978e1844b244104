"""The log of a running turn in memory: entries that wait for their commit, and the newest published ones.

Its state moves by the table in `states.py` only.
"""

import asyncio
from collections import deque
from itertools import chain
from typing import NamedTuple

import msgspec

from thinkaloud.core.canon import (
    ApprovalAsked,
    ApprovalSettled,
    Event,
    OutOfOrder,
    ReplyEnded,
    ToolFinished,
    TurnEnded,
    TurnFailed,
)
from thinkaloud.gateway.store.engine.database import Batch, Query
from thinkaloud.gateway.store.log.states import LogEvent, LogState, next_state

ENDS = (TurnEnded, TurnFailed)
_JOINED_BYTES = 4096
"""Lines are added to a text that is shorter."""
NOT_REPEATED = (ApprovalAsked, ApprovalSettled, ReplyEnded, ToolFinished)
"""What a resumed turn must know: it is committed at once, whoever reads."""


class LogSpan(msgspec.Struct, frozen=True, weakref=True):
    """Consecutive entries as lines of JSON: `lines[i]` is entry `first + i`."""

    first: int
    lines: tuple[bytes, ...] = ()
    ended: bool = False
    """Whether the log ends with these entries."""
    saved: bool = True
    """Whether all entries are on disk."""
    truncated: bool = False
    """Whether more entries exist but did not fit into one span."""

    @property
    def last(self) -> int:
        """The number of the last entry; the next read continues after it."""
        return self.first + len(self.lines) - 1


class _CachedLines(NamedTuple):
    """Consecutive published lines, as one text."""

    first: int
    last: int
    text: bytes


class LiveLog:
    """The log of one running turn. `published` is the last entry readers see, `saved` the last on disk."""

    def __init__(
        self,
        turn: int,
        epoch: int,
        after: int = -1,
        turn_id: str = "",
        *,
        start: Query[object] | None = None,
    ) -> None:
        self.turn = turn
        self.id = turn_id
        """The id of the turn, where it is known. A key can be given again after a failover, an id cannot."""
        self.epoch = epoch
        self.start = start
        """Saves the turn itself; None once a commit has it."""
        self.state = LogState.OPEN if start is None else LogState.NEW
        self.lost = False
        """Whether another writer has the turn. Then this log takes and publishes nothing more."""
        self.last = self.published = self.saved = after
        self._waiters: set[asyncio.Future[bool]] = set()
        self.first_cached = after + 1
        self.complete = False
        """Whether the last entry of the turn was appended."""
        self.urgent = False
        """Whether lines wait that a reader should get at once."""
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._cached: deque[_CachedLines] = deque()
        self._cached_bytes = 0
        self._span: LogSpan | None = None
        """What was read last. Readers at the same place share it."""
        self.started_blocks: set[int] = set()
        """The blocks whose first text was appended. A reader gets it at once."""

    def move(self, event: LogEvent) -> None:
        """Move to the state after an event; an event that cannot happen now raises `IllegalMove`."""
        self.state = next_state(self.state, event)
        self.lost = self.state is LogState.TAKEN_OVER or self.state is LogState.DIVERGED

    @property
    def nothing_in_flight(self) -> bool:
        """Whether every line is either on disk and published, or waits for its commit."""
        return self.state is LogState.OPEN or self.state is LogState.NEW

    @property
    def drained(self) -> int:
        """The last entry that does not wait for its commit any more."""
        return self.last - len(self._pending)

    def add(self, line: bytes, *, last: bool) -> int:
        """Add a line that waits for its commit; return the number of waiting bytes."""
        if self.complete:
            raise OutOfOrder(f"turn {self.turn} has ended, but its writer appends more")
        self.complete = last
        self.last += 1
        self._pending.append(line)
        self._pending_bytes += len(line)
        return self._pending_bytes

    def due_at_once(self, event: Event, *, alone: bool) -> bool:
        """Whether somebody waits for this event, or might: readers at other gateways are not known here.

        Alone, the end of a turn is left to `EventLog.close`, which saves it together with the turn.
        """
        if not alone:
            return True
        return type(event) not in ENDS and (bool(self._waiters) or type(event) in NOT_REPEATED)

    def drain(self) -> tuple[int, list[bytes]]:
        """Remove and return the waiting lines for a commit, after the number of the first one."""
        self.move(LogEvent.DRAINED)
        lines, self._pending, self._pending_bytes = self._pending, [], 0
        self.urgent = False
        return self.last - len(lines) + 1, lines

    def undrain(self, lines: list[bytes], start: Query[object] | None) -> None:
        """Take back what was drained and could not be saved."""
        self.move(LogEvent.RETURNED)
        self._pending = lines + self._pending
        self._pending_bytes += sum(map(len, lines))
        self.start = start

    def batch(self, first: int, lines: list[bytes]) -> Batch:
        """Return drained lines, ready to be appended, and the start of the turn if it is not stored yet."""
        start, self.start = self.start, None
        return Batch(self.turn, self.epoch, first, first + len(lines) - 1, b"\n".join(lines), start)

    def take_saved(self, batch: Batch) -> None:
        """Note that a batch is on disk."""
        if batch.start is not None:
            self.move(LogEvent.STARTED)
        self.saved = batch.last_seq
        if self.state is LogState.UNSAVED and self.saved >= self.published:
            self.move(LogEvent.SAVED if self.saved == self.drained else LogEvent.CAUGHT_UP)

    def missing_batch(self, stored: int) -> Batch:
        """Return what was saved after the entry `stored`, to be saved again: the database lacks it now."""
        self.move(LogEvent.REQUEUED)
        lines = self.span(stored, saved=False).lines[: self.saved - stored]
        batch = Batch(self.turn, self.epoch, stored + 1, self.saved, b"\n".join(lines))
        self.saved = stored
        return batch

    def publish(self, first: int, lines: list[bytes], cached_bytes: int) -> None:
        """Publish lines to readers. Of older lines keep `cached_bytes`, and all that are not on disk yet."""
        if lines:
            self._cache(first, lines)
        self.published = first + len(lines) - 1
        if self.published > self.saved:
            self.move(LogEvent.SHOWN)
        elif self.state is LogState.IN_FLIGHT and self.published == self.last - len(self._pending):
            self.move(LogEvent.PUBLISHED)
        while self._cached_bytes > cached_bytes and len(self._cached) > 1:
            oldest = self._cached[0]
            if oldest.last > self.saved:
                break
            self._cached.popleft()
            self._cached_bytes -= len(oldest.text)
            self.first_cached = oldest.last + 1
        if self._waiters:
            self.notify()

    def _cache(self, first: int, lines: list[bytes]) -> None:
        """Cache published lines as one text: an object for each of them would be larger than they are."""
        text, last = b"\n".join(lines), first + len(lines) - 1
        self._cached_bytes += len(text)
        if self._cached and len(self._cached[-1].text) < _JOINED_BYTES:
            newest = self._cached.pop()
            first, text = newest.first, b"%b\n%b" % (newest.text, text)
            self._cached_bytes += 1
        self._cached.append(_CachedLines(first, last, text))

    def span(self, after: int, *, saved: bool) -> LogSpan:
        """Return the cached entries after this number."""
        ended = self.complete and self.published == self.last
        known = self._span
        wanted = after + 1, self.published, ended, saved
        if known is not None and (known.first, known.last, known.ended, known.saved) == wanted:
            return known
        newest: list[list[bytes]] = []
        for cached in reversed(self._cached):
            if cached.last <= after:
                break
            newest.append(cached.text.split(b"\n")[max(0, after + 1 - cached.first) :])
        lines = tuple(chain.from_iterable(reversed(newest)))
        self._span = LogSpan(after + 1, lines, ended and after + len(lines) >= self.published, saved)
        return self._span

    def all_lines(self) -> list[bytes] | None:
        """Return all lines of the turn; None if the oldest are in the database only."""
        if self.first_cached:
            return None
        cached = chain.from_iterable(cached.text.split(b"\n") for cached in self._cached)
        return [*cached, *self._pending]

    async def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for a change; return False if there is none in this time.

        Readers wait here for every entry. A future and a timer cost a fraction of an event and a time-out.
        """
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[bool] = loop.create_future()
        timer = None if timeout_s is None else loop.call_later(timeout_s, _wake, waiter, False)
        self._waiters.add(waiter)
        try:
            return await waiter
        finally:
            self._waiters.discard(waiter)
            if timer is not None:
                timer.cancel()

    @property
    def waited_for(self) -> bool:
        """Whether a reader waits."""
        return bool(self._waiters)

    def notify(self) -> None:
        """Wake all readers that wait for a change."""
        waiters, self._waiters = self._waiters, set()
        for waiter in waiters:
            _wake(waiter, True)


def _wake(waiter: asyncio.Future[bool], changed: bool) -> None:
    if not waiter.done():
        waiter.set_result(changed)
