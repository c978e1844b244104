"""Passes the entries of a running turn to one response in the same process, before they are committed.

With them come the provider's bytes, if the response can send them on. A response whose client reads too
slowly is not waited for: the feed closes, and the response reads the rest from the log. At last the feed
tells whether the turn is stored as it ended, because only then the end may be sent.
"""

import asyncio
from collections.abc import Callable

import msgspec

from thinkaloud.client.response import StallTimer
from thinkaloud.core.canon import BlockGrew, Entry
from thinkaloud.gateway.store.rows import TurnState

MAX_WAITING_ENTRIES = 1_000
"""A minute of a fast model."""
MAX_WAITING_BYTES = 1024 * 1024


class FeedBatch(msgspec.Struct, frozen=True):
    """Entries, and the bytes of the provider that they were read from."""

    entries: list[Entry]
    data: bytes = b""
    ended: bool = False
    """Whether the provider's response has ended with these bytes, or before."""
    with_bytes: bool = False
    """Whether the bytes come with or after their entries. Entries that were read from the log have none."""


class EntryFeed:
    """The entries of one turn that its response has not taken yet."""

    def __init__(self, dialect: str = "") -> None:
        self.dialect = dialect
        """The dialect whose bytes the response can send on; empty if it writes its own."""
        self.with_bytes = False
        """Whether the provider speaks that dialect, so that its bytes are added too."""
        self._entries: list[Entry] = []
        self._data: list[bytes] = []
        self._data_bytes = 0
        self._ended = False
        self._waiter: asyncio.Future[bool] | None = None
        self._loop = asyncio.get_running_loop()
        self._scheduled: asyncio.Handle | None = None
        self.on_change: Callable[[], None] | None = None
        """Called when something was added or the feed was closed: once for all that one read brings. That is
        where its bytes come, if they do, and else with the next round of the event loop."""
        self._timer = StallTimer(self._wake)
        self._finished = asyncio.Event()
        self._saved_state: TurnState | None = None
        self.closed = False
        """Whether no more entries are added."""
        self.overflowed = False
        """Whether it was closed because too much waits in it. Its bytes lack their last entries then."""

    @property
    def waiting(self) -> bool:
        """Whether there is something to take."""
        return bool(self._entries or self._data)

    @property
    def saved(self) -> bool:
        """Whether the turn is stored as it ended here."""
        return self._saved_state is not None

    @property
    def lost(self) -> bool:
        """Whether the turn is over and not stored as it ended here: another process has it, or nobody."""
        return self._finished.is_set() and not self.saved

    def append(self, entry: Entry) -> None:
        """Add the next entry of the turn, unless the feed is closed."""
        if len(self._entries) >= MAX_WAITING_ENTRIES or self._data_bytes > MAX_WAITING_BYTES:
            self.closed = self.overflowed = True
            self._wake()
        if not self.closed:
            self._entries.append(entry)
            # Text comes from a read, so its bytes follow.
            if self._scheduled is None and not (self.with_bytes and type(entry.event) is BlockGrew):
                self._wake()

    def append_bytes(self, data: bytes, *, ended: bool) -> None:
        """Add the bytes that the entries before were read from, unless the feed is closed."""
        if self.closed:
            return
        if data or ended:
            self._data.append(data)
            self._data_bytes += len(data)
            self._ended = ended
        if self._scheduled is not None:
            self._scheduled.cancel()
        self._tell()

    def finish(self, saved_state: TurnState | None) -> None:
        """Take no more entries: the turn is saved with this state, or lost. The first call counts."""
        if self._finished.is_set():
            return
        self._saved_state = saved_state
        self.closed = True
        if saved_state is None:
            self._entries, self._data = [], []
        self._finished.set()
        self._timer.stop()
        self._wake()

    async def wait_until_finished(self, timeout_s: float | None = None) -> bool:
        """Wait until the turn is saved or lost; False if the time is over first."""
        if self._finished.is_set():
            return True
        try:
            async with asyncio.timeout(timeout_s):
                await self._finished.wait()
        except TimeoutError:
            return False
        return True

    async def wait(self, timeout_s: float) -> None:
        """Wait until there are entries, the feed is closed, or the time is over."""
        if self.waiting or self.closed:
            return
        self._waiter = asyncio.get_running_loop().create_future()
        self._timer.start(timeout_s)
        try:
            await self._waiter
        finally:
            self._timer.pause()
            self._waiter = None

    def take(self) -> FeedBatch:
        """Return the entries that wait."""
        batch = FeedBatch(
            self._entries, b"".join(self._data), self._ended, self.with_bytes and not self.overflowed
        )
        self._entries, self._data, self._data_bytes = [], [], 0
        return batch

    def _wake(self) -> None:
        if self.on_change is not None:
            self._scheduled = self._loop.call_soon(self._tell)
        else:
            self._wake_waiter()

    def _tell(self) -> None:
        self._scheduled = None
        if self.on_change is not None:
            self.on_change()
        else:  # who has waited for changes waits for the next entries now
            self._wake_waiter()

    def _wake_waiter(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(True)
