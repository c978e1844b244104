"""Passes the entries of a running turn to one response in the same process, before they are committed.

A response whose client reads too slowly is not waited for: the feed closes, and the response reads the rest
from the log.
"""

import asyncio

from thinkaloud.canon import Entry
from thinkaloud.client.response import StallTimer

MAX_WAITING_ENTRIES = 1_000
"""A minute of a fast model."""


class EntryFeed:
    """The entries of one turn that its response has not taken yet."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._waiter: asyncio.Future[bool] | None = None
        self._timer = StallTimer(self._wake)
        self.closed = False
        """Whether no more entries are added."""

    @property
    def waiting(self) -> bool:
        """Whether there are entries to take."""
        return bool(self._entries)

    def append(self, entry: Entry) -> None:
        """Add the next entry of the turn, unless the feed is closed."""
        if len(self._entries) >= MAX_WAITING_ENTRIES:
            self.closed = True
        if not self.closed:
            self._entries.append(entry)
            self._wake()

    def close(self) -> None:
        """Take no more entries: the turn is saved, or another process has it."""
        self.closed = True
        self._timer.stop()
        self._wake()

    async def take(self, timeout_s: float) -> list[Entry]:
        """Wait for entries and return them; none if the time is over, or the feed is closed."""
        if not self._entries and not self.closed:
            self._waiter = asyncio.get_running_loop().create_future()
            self._timer.start(timeout_s)
            try:
                await self._waiter
            finally:
                self._timer.pause()
                self._waiter = None
        entries, self._entries = self._entries, []
        return entries

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(True)
