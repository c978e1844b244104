"""The batches of all turns that are not on disk yet, in the order in which they are appended.

One commit runs at a time and takes all batches that wait. If it fails or hangs, its batches stay here, and
the caller tries again.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable

import msgspec

from thinkaloud.gateway.store.engine.database import Batch, Database, DatabaseReplaced, NotSaved
from thinkaloud.gateway.store.log.live import LiveLog

logger = logging.getLogger(__name__)

QueuedBatch = tuple[LiveLog, Batch]


class Commit(msgspec.Struct, frozen=True):
    """A commit that has succeeded. `stale` has the keys of turns that another writer has taken over."""

    batches: list[QueuedBatch]
    stale: frozenset[int]
    size_bytes: int
    seconds: float


class CommitQueue:
    """Appends batches. `on_change` is called when appends begin or cease to fail."""

    def __init__(
        self,
        database: Database,
        *,
        slow_commit_s: float,
        on_change: Callable[[], None],
        on_late_end: Callable[[], None],
    ) -> None:
        self._database = database
        self._slow_commit_s = slow_commit_s
        self._on_change = on_change
        self._on_late_end = on_late_end
        """Called when a commit ends that was taken for failed, because it took too long."""
        self._batches: list[QueuedBatch] = []
        self._append: asyncio.Future[tuple[int, ...]] | None = None
        self._appended_count = 0
        self.size_bytes = 0
        self.since_s: float | None = None
        """The time of the oldest entry here."""
        self.failing = False
        self.replaced = False
        """Whether the running turns must be compared with a database that may lack the last commits."""

    def __len__(self) -> int:
        return len(self._batches)

    def put(self, batches: Iterable[QueuedBatch], since_s: float | None) -> None:
        """Add batches, the oldest entry of which is of this time."""
        for queued in batches:
            self._batches.append(queued)
            self.size_bytes += len(queued[1].entries)
            self.since_s = self.since_s or since_s

    def restore(self, missing: Iterable[QueuedBatch]) -> None:
        """After a failover, append first what the database lacks, and nothing of lost turns."""
        kept = [queued for queued in self._batches if not queued[0].lost]
        self._batches = [*missing, *kept]
        self.size_bytes = sum(len(batch.entries) for _, batch in self._batches)
        self.replaced = False

    async def commit(self) -> Commit | None:
        """Append all batches in one commit; None if that fails or takes too long."""
        started_s, timeout_s = time.perf_counter(), self._slow_commit_s
        if self._append is None:
            self._appended_count = len(self._batches)
            batches = tuple(batch for _, batch in self._batches)
            self._append = asyncio.ensure_future(self._database.append(batches))
        elif self.failing:
            timeout_s = 0.0  # the disk hangs: readers get new entries at once
        await asyncio.wait((self._append,), timeout=timeout_s)
        if not self._append.done():
            if not self.failing:
                self._append.add_done_callback(lambda _: self._on_late_end())
            self._fail(
                NotSaved(
                    "A commit takes longer than {slow_commit_s} s.", slow_commit_s=f"{self._slow_commit_s:g}"
                )
            )
            return None
        append, self._append = self._append, None
        if error := append.exception():  # any failure: readers get the entries anyway, marked as not saved
            if isinstance(error, DatabaseReplaced):
                self.replaced = True
            self._fail(error)
            return None
        return self._take(frozenset(append.result()), time.perf_counter() - started_s)

    async def wait(self) -> bool:
        """Wait for the commit that runs, however slow the disk is; False if none runs."""
        if self._append is None:
            return False
        await asyncio.wait((self._append,))
        return True

    def _take(self, stale: frozenset[int], seconds: float) -> Commit:
        """Remove the batches that were appended."""
        batches = self._batches[: self._appended_count]
        self._batches = self._batches[self._appended_count :]
        size_bytes = sum(len(batch.entries) for _, batch in batches)
        self.size_bytes -= size_bytes
        if not self._batches:
            self.since_s = None
            if self.failing:
                self.failing = False
                logger.warning("the log is written again")
                self._on_change()
        return Commit(batches, stale, size_bytes, seconds)

    def _fail(self, error: BaseException) -> None:
        if self.failing:
            return
        self.failing = True
        trace = None if isinstance(error, NotSaved) else error
        message = "the log cannot be written: %s Retrying; readers see the entries marked as not saved."
        logger.error(message, error, exc_info=trace)
        self._on_change()
