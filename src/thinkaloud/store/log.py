"""The event log. Entries are committed first and published to readers after that.

All turns share one commit. It is due immediately for the first text of a block and for every event that
starts, ends or seals something, otherwise after 50 ms or 4 KB. A reader holds only its position: it gets the
newest entries from memory and older ones from the database, by the same call during and after a turn.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Self
from weakref import WeakValueDictionary

import msgspec

from thinkaloud.canon import BlockGrew, Entry, OutOfOrder, TurnEnded, TurnFailed
from thinkaloud.store.archive import read_log
from thinkaloud.store.database import Batch, Database, NotSaved
from thinkaloud.store.finish import finished_from_log, save_finished
from thinkaloud.store.index_slices import index_rest
from thinkaloud.store.live_log import LiveLog, LogSpan
from thinkaloud.transcript import Turn

logger = logging.getLogger(__name__)

KIB = 1024


class LogConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How often the log is committed, and how much is cached in memory."""

    commit_interval_s: float = 0.05
    """How long an ordinary delta waits. Twenty commits a second; the delay is not noticeable."""
    commit_spacing_s: float = 0.01
    """The time from one commit to the next. Under load, what is due at once shares commits too."""
    commit_bytes: int = 4 * KIB
    """More waiting bytes of one turn are committed immediately."""
    cached_bytes: int = 256 * KIB
    """Cached for the readers of each running turn. A reader that is further behind reads the database."""
    max_unsaved_bytes: int = 16 * KIB * KIB
    """Of all turns together while writes fail. Beyond it further text is refused.

    In memory it is about five times as much: a line, its copy in a batch, and the text of the turn.
    """
    slow_commit_s: float = 1.0
    """A commit that takes longer counts as failed: readers get the entries, marked as not saved."""
    retry_s: float = 1.0
    """The time between retries of failed writes."""
    poll_interval_s: float = 0.25
    """How often a turn that another process writes is polled."""


DEFAULT_LOG_CONFIG = LogConfig()


class CommitStats(msgspec.Struct, frozen=True):
    """The size and duration of one commit, for metrics."""

    entries: int
    size_bytes: int
    seconds: float


class EventLog:
    """The logs of all turns. A context manager: on exit it makes a last attempt to save everything."""

    def __init__(
        self,
        database: Database,
        config: LogConfig = DEFAULT_LOG_CONFIG,
        *,
        on_commit: Callable[[CommitStats], None] | None = None,
    ) -> None:
        self._database = database
        self._config = config
        self._on_commit = on_commit
        self._live_logs: dict[int, LiveLog] = {}
        self._pending: dict[int, LiveLog] = {}
        self._spans: WeakValueDictionary[tuple[int, int], LogSpan] = WeakValueDictionary()
        self._reads: dict[tuple[int, int], asyncio.Future[LogSpan]] = {}
        self._commit_due = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._queue: list[Batch] = []
        self._queue_bytes = 0
        self._queued_since_s: float | None = None
        self._pending_bytes = 0
        self._pending_since_s: float | None = None
        self._append: asyncio.Future[tuple[int, ...]] | None = None
        self._appended_count = 0
        self.saved = True
        """Whether all published entries are on disk."""
        self._commit_task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._commit_task = asyncio.create_task(self._commit_loop(), name="thinkaloud-commits")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._commit_task is not None
        self._commit_task.cancel()
        with suppress(asyncio.CancelledError):
            await self._commit_task
        await self._commit()
        if self._append is not None:  # a slow disk: wait for it, then save what came meanwhile
            await asyncio.wait((self._append,))
            await self._commit()

    @property
    def unsaved_bytes(self) -> int:
        """Bytes that are only in memory because writes fail."""
        return 0 if self.saved else self._queue_bytes

    @property
    def waiting_s(self) -> float:
        """The age of the oldest entry that is not on disk; 0 if all are."""
        since_s = self._queued_since_s or self._pending_since_s
        return 0.0 if since_s is None else time.monotonic() - since_s

    def writer(self, turn: int, epoch: int, after: int = -1) -> "LogWriter":
        """Return the writer of a turn that was just started, or taken over with entries up to `after`."""
        live = self._live_logs[turn] = LiveLog(turn, epoch, after)
        return LogWriter(self, live)

    async def read(self, turn: int, after: int = -1) -> LogSpan:
        """Return the entries after this number; empty if there are none yet."""
        live = self._live_logs.get(turn)
        if live is not None and after + 1 >= live.first_cached:
            return live.span(after, saved=self.saved)
        return self._spans.get((turn, after)) or await self._read_archive(turn, after)

    async def _read_archive(self, turn: int, after: int) -> LogSpan:
        """Read from the database. Readers at the same position share one result, which saves memory."""
        position = turn, after
        pending_read = self._reads.get(position)
        if pending_read is None:
            query = self._database.read(lambda conn: read_log(conn, turn, after))
            pending_read = self._reads[position] = asyncio.ensure_future(query)
            pending_read.add_done_callback(lambda _: self._reads.pop(position))
        span = await asyncio.shield(pending_read)
        if span.truncated or span.ended:  # otherwise the next read may return more
            self._spans[position] = span
        return span

    async def wait_for_change(self, turn: int, after: int, timeout_s: float | None = None) -> bool:
        """Wait until a running turn has entries after this number, or writes begin or cease to fail.

        Return False if nothing changed in this time.
        """
        live = self._live_logs.get(turn)
        if live is None:
            await asyncio.sleep(self._config.poll_interval_s)
        elif live.published <= after:
            return await live.wait(timeout_s)
        return True

    def append(self, live: LiveLog, entry: Entry) -> None:
        """Append an entry. Readers see it after its commit."""
        if live.taken_over:
            return
        if (
            self._queue_bytes + self._pending_bytes > self._config.max_unsaved_bytes
            and type(entry.event) is BlockGrew
        ):  # ends are always taken
            raise NotSaved("The disk accepts no writes and the buffer for unsaved entries is full.")
        line = _encode(entry)
        size = live.add(line, ended=isinstance(entry.event, TurnEnded | TurnFailed))
        self._pending[live.turn] = live
        self._pending_bytes += len(line)
        if self._pending_since_s is None:
            self._pending_since_s = time.monotonic()
        event = entry.event
        if type(event) is not BlockGrew or live.first_delta(event.block) or size >= self._config.commit_bytes:
            self._commit_due.set()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(
                self._config.commit_interval_s, self._commit_due.set
            )

    async def flush(self, live: LiveLog) -> None:
        """Wait until all entries of a turn are on disk, or another writer has taken the turn over."""
        self._commit_due.set()
        while not live.taken_over and live.saved < live.last:
            await live.wait()

    async def close(self, live: LiveLog, turn: Turn | None = None) -> Turn | None:
        """Save a turn that is over and stop tracking it; readers go on in the database.

        `turn` is what the log folds to; without it the log is folded here.
        """
        assert live.ended or live.taken_over, "a turn is closed by its last entry"
        try:
            await self.flush(live)
            return None if live.taken_over else await self._save_finished(live.turn, turn)
        finally:
            self._forget(live)

    async def release(self, live: LiveLog) -> None:
        """Release a turn that another writer will continue, after all its entries are on disk."""
        try:
            await self.flush(live)
        finally:
            self._forget(live)

    def _forget(self, live: LiveLog) -> None:
        """Stop tracking a turn. Its readers go on in the database."""
        if self._live_logs.get(live.turn) is live:
            del self._live_logs[live.turn]
        live.notify()

    async def _save_finished(self, key: int, turn: Turn | None) -> Turn:
        """Save a turn that has ended. A failed read or write is repeated: readers must not wait forever."""
        while True:
            try:
                finished = await self._database.read(lambda conn: finished_from_log(conn, key, turn))
                await self._database.write(partial(save_finished, key=key, finished=finished))
                if finished.long:
                    await index_rest(self._database, key, finished.normalized_texts)
            except (msgspec.MsgspecError, OutOfOrder):  # no retry can read such a log; recovery ends the turn
                raise
            except Exception as error:  # any other failure may pass
                if not isinstance(error, NotSaved):
                    logger.exception("a finished turn could not be saved; retrying")
                await asyncio.sleep(self._config.retry_s)
            else:
                return finished.turn

    async def _commit_loop(self) -> None:
        while True:
            if not self.saved:
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._config.retry_s):
                        await self._commit_due.wait()
            else:
                await self._commit_due.wait()
            started_s = time.monotonic()
            await self._commit()
            await asyncio.sleep(self._config.commit_spacing_s - (time.monotonic() - started_s))

    async def _commit(self) -> None:
        """Commit all waiting entries of all turns in one transaction, then publish them."""
        self._commit_due.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        drained = [(live, live.drain()) for live in self._pending.values()]
        self._pending.clear()
        batches = [
            Batch(live.turn, live.epoch, first, first + len(lines) - 1, b"\n".join(lines))
            for live, (first, lines) in drained
        ]
        self._queue += batches
        self._queue_bytes += sum(len(batch.entries) for batch in batches)
        self._queued_since_s = self._queued_since_s or self._pending_since_s
        self._pending_bytes, self._pending_since_s = 0, None
        while self._queue and await self._save():
            pass
        for live, (first, lines) in drained:
            if not live.taken_over:
                live.publish(first, lines, self._config.cached_bytes)

    async def _save(self) -> bool:
        """Append the queue. If that fails or hangs, it stays in memory, and the result is False."""
        started_s, timeout_s = time.perf_counter(), self._config.slow_commit_s
        if self._append is None:
            self._appended_count = len(self._queue)
            self._append = asyncio.ensure_future(self._database.append(tuple(self._queue)))
        elif not self.saved:
            timeout_s = 0.0  # the disk hangs: readers get new entries at once
        await asyncio.wait((self._append,), timeout=timeout_s)
        if not self._append.done():
            if self.saved:
                self._append.add_done_callback(lambda _: self._commit_due.set())
            self._note_failure(NotSaved(f"A commit takes longer than {self._config.slow_commit_s:g} s."))
            return False
        append, self._append = self._append, None
        if error := append.exception():  # any failure: readers get the entries anyway, marked as not saved
            self._note_failure(error)
            return False
        self._take_saved(append.result(), time.perf_counter() - started_s)
        return True

    def _note_failure(self, error: BaseException) -> None:
        if not self.saved:
            return
        self.saved = False
        logger.error(
            "the log cannot be written: %s Retrying; readers see the entries marked as not saved.",
            error,
            exc_info=None if isinstance(error, NotSaved) else error,
        )
        self._notify_all()

    def _take_saved(self, stale: tuple[int, ...], seconds: float) -> None:
        """Remove the appended batches from the queue."""
        batches, self._queue = self._queue[: self._appended_count], self._queue[self._appended_count :]
        size = sum(len(batch.entries) for batch in batches)
        self._queue_bytes -= size
        self._mark_saved(batches, frozenset(stale))
        if not self._queue:
            self._queued_since_s = None
            if not self.saved:
                self.saved = True
                logger.warning("the log is written again")
                self._notify_all()
        if self._on_commit is not None:
            count = sum(batch.last_seq - batch.first_seq + 1 for batch in batches)
            self._on_commit(CommitStats(count, size, seconds))

    def _mark_saved(self, batches: list[Batch], stale: frozenset[int]) -> None:
        for batch in batches:
            live = self._live_logs.get(batch.turn)
            if live is None or live.epoch != batch.epoch:
                continue
            if batch.turn in stale:
                live.taken_over = True
                self._forget(live)
            else:
                live.saved = batch.last_seq

    def _notify_all(self) -> None:
        for live in self._live_logs.values():
            live.notify()


class LogWriter:
    """Appends to the log of one turn."""

    def __init__(self, log: EventLog, live: LiveLog) -> None:
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


_encode = msgspec.json.Encoder().encode
