"""Reads the logs of turns from the database, once for all readers at the same position."""

import asyncio
from weakref import WeakValueDictionary

from thinkaloud.gateway.store.engine.database import Database
from thinkaloud.gateway.store.log.archive import read_log
from thinkaloud.gateway.store.log.live_log import LogSpan


class ArchiveReader:
    """Reads spans. Readers at the same position share one result, which saves memory."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._spans: WeakValueDictionary[tuple[int, int], LogSpan] = WeakValueDictionary()
        self._reads: dict[tuple[int, int], asyncio.Future[LogSpan]] = {}

    async def read(self, turn: int, after: int) -> LogSpan:
        """Return the stored entries of a turn after this number."""
        position = turn, after
        if (known := self._spans.get(position)) is not None:
            return known
        pending_read = self._reads.get(position)
        if pending_read is None:
            query = self._database.read(lambda conn: read_log(conn, turn, after))
            pending_read = self._reads[position] = asyncio.ensure_future(query)
            pending_read.add_done_callback(lambda read: self._forget(position, read))
        span = await asyncio.shield(pending_read)
        if span.truncated or span.ended:  # otherwise the next read may return more
            self._spans[position] = span
        return span

    def _forget(self, position: tuple[int, int], read: asyncio.Future[LogSpan]) -> None:
        del self._reads[position]
        if not read.cancelled():
            read.exception()  # if all readers have left, nobody else looks at it
