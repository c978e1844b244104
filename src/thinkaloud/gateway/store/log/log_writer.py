"""Appends to the log of one turn."""

from typing import TYPE_CHECKING

from thinkaloud.core.canon import Entry
from thinkaloud.core.transcript import Turn
from thinkaloud.gateway.store.log.live_log import LiveLog

if TYPE_CHECKING:
    from thinkaloud.gateway.store.log.event_log import EventLog


class LogWriter:
    """Appends to the log of one turn."""

    def __init__(self, log: "EventLog", live: LiveLog) -> None:
        self._log = log
        self._live = live

    @property
    def taken_over(self) -> bool:
        """Whether another writer has taken the turn over. Then appends are ignored."""
        return self._live.taken_over

    def append(self, entry: Entry) -> None:
        """Append an entry. Numbers must be consecutive."""
        self._log.append(self._live, entry)

    async def flush(self) -> None:
        """Wait until all appended entries are on disk, without a time limit."""
        await self._log.flush(self._live)

    async def release(self) -> None:
        """Release a turn that continues later."""
        await self._log.release(self._live)

    async def close(self, turn: Turn | None = None) -> Turn | None:
        """Save a turn that has ended, without a time limit; None if another writer has taken it over."""
        return await self._log.close(self._live, turn)
