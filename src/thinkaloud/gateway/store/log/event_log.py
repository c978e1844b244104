"""The event log. Entries are committed first and published to readers after that.

All turns share one commit. It is due after 50 ms or 4 KB; at once for what a tool or a person did, and, while
a reader waits for it, for the first text of a block and every event that starts, ends or seals something. The
last entries of a turn are committed together with the turn. A reader holds only its position: it gets the
newest entries from memory and older ones from the database, by the same call.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Self

import msgspec

from thinkaloud.core.canon import BlockGrew, Entry, OutOfOrder
from thinkaloud.core.transcript import Turn
from thinkaloud.gateway.store.engine.database import (
    Batch,
    Database,
    DatabaseReplaced,
    NotSaved,
    Query,
    in_sequence,
)
from thinkaloud.gateway.store.log.archive_reader import ArchiveReader
from thinkaloud.gateway.store.log.failover import missing_batches, stored_positions
from thinkaloud.gateway.store.log.finish import finished_from_log, save_finished, save_lines
from thinkaloud.gateway.store.log.follow import TurnFollower
from thinkaloud.gateway.store.log.live_log import ENDS, LiveLog, LogSpan
from thinkaloud.gateway.store.log.log_config import (
    DEFAULT_LOG_CONFIG,
    SHORT_LOG_BYTES,
    CommitStats,
    LogConfig,
)
from thinkaloud.gateway.store.log.log_writer import LogWriter
from thinkaloud.gateway.store.search.index import index_rest

logger = logging.getLogger(__name__)


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
        self._archive = ArchiveReader(database)
        self._diverged: set[int] = set()
        """Turns of which readers here have entries that the database does not have and will not get."""
        self._replaced = False
        """Whether the running turns must be compared with a database that may lack the last commits."""
        self._unexpected = False
        """Whether the last ended turn could not be saved, for another reason than the disk. Only the first of
        several failures is logged: all turns may fail for the same reason."""
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
        self.follower = (
            None
            if database.exclusive
            else TurnFollower(database, poll_s=config.follow_poll_s, cached_bytes=config.cached_bytes)
        )
        """Follows the turns of other gateways, where there are any."""
        self._follow_task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._commit_task = asyncio.create_task(self._commit_loop(), name="thinkaloud-commits")
        if self.follower is not None:
            self._follow_task = asyncio.create_task(self.follower.run(), name="thinkaloud-follow")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._commit_task is not None
        if self._follow_task is not None:
            self._follow_task.cancel()
            await asyncio.wait((self._follow_task,))
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

    def writer(
        self, turn: int, epoch: int, after: int = -1, turn_id: str = "", *, start: Query[object] | None = None
    ) -> LogWriter:
        """Return the writer of a turn that was just started, or taken over with entries up to `after`.

        `start` saves the turn itself: with its first entries, and without any once they would be due.
        """
        if (old := self._live_logs.get(turn)) is not None:
            self._drop(old)
        live = self._live_logs[turn] = LiveLog(turn, epoch, after, turn_id, start=start)
        if start is not None:
            self._wait_for_commit(live)
        return LogWriter(self, live)

    async def read(self, turn: int, after: int = -1) -> LogSpan:
        """Return the entries after this number; empty if there are none yet."""
        live = self._live_logs.get(turn)
        if live is not None and after + 1 >= live.first_cached:
            return live.span(after, saved=self.saved)
        if live is None and self.follower and (span := self.follower.cached_span(turn, after)):
            return span
        return await self._archive.read(turn, after)

    async def wait_for_change(self, turn: int, after: int, timeout_s: float | None = None) -> bool:
        """Wait until a running turn has entries after this number, or writes begin or cease to fail.

        Return False if nothing changed in this time.
        """
        live = self._live_logs.get(turn)
        if live is None and self.follower is not None:
            return await self.follower.wait_for_change(turn, after, timeout_s)
        if live is None:
            await asyncio.sleep(self._config.poll_interval_s)
        elif live.published <= after:
            if live.urgent:
                self._commit_due.set()
            return await live.wait(timeout_s)
        return True

    def diverged(self, turn: int) -> bool:
        """Whether readers here have entries of a turn that are lost, because another gateway took it over."""
        return turn in self._diverged

    def drop(self, turn: int) -> None:
        """Stop writing a turn that another gateway has taken over. Its readers go on in the database."""
        if (live := self._live_logs.get(turn)) is not None:
            self._drop(live)

    def _drop(self, live: LiveLog) -> None:
        live.taken_over = True
        if self._pending.get(live.turn) is live:
            del self._pending[live.turn]
        if live.published > live.saved:
            self._diverged.add(live.turn)
        self._forget(live)

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
        event = entry.event
        size = live.add(line, ended=type(event) in ENDS)
        self._pending_bytes += len(line)
        if type(event) is not BlockGrew or live.first_delta(event.block):
            live.urgent = True
        at_once = live.urgent and live.due_at_once(event, alone=self._database.exclusive)
        if at_once or size >= self._config.commit_bytes:
            self._commit_due.set()
        self._wait_for_commit(live)

    def _wait_for_commit(self, live: LiveLog) -> None:
        """Let the next commit have what waits of a turn."""
        self._pending[live.turn] = live
        if self._pending_since_s is None:
            self._pending_since_s = time.monotonic()
        if self._timer is None and not self._commit_due.is_set():
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
            if turn is not None and await self._save_at_once(live, turn):
                return turn
            await self.flush(live)
            return None if live.taken_over else await self._save_finished(live, turn)
        finally:
            self._forget(live)

    async def _save_at_once(self, live: LiveLog, turn: Turn) -> bool:
        """Save the last entries of a short turn together with the turn, in one commit; False if it failed."""
        if not self._database.exclusive:
            return False
        while self.saved and not live.taken_over and not live.nothing_in_flight:
            await live.wait()
        lines = live.all_lines()
        if lines is None or sum(map(len, lines)) > SHORT_LOG_BYTES or live.taken_over or not self.saved:
            return False
        (first, waiting), start, logged = live.drain(), live.start, live.saved >= 0
        live.start = None
        self._pending.pop(live.turn, None)
        self._pending_bytes -= sum(map(len, waiting))
        if not self._pending:
            self._pending_since_s = None
        try:
            save = partial(save_lines, key=live.turn, turn=turn, lines=lines, epoch=live.epoch, logged=logged)
            save_short = save if start is None else in_sequence(start, save)
            finished = await self._database.write_short(save_short)
        except Exception as error:  # any failure: the usual path tries again
            if not isinstance(error, NotSaved) and not self._unexpected:
                logger.exception("a finished turn could not be saved; retrying")
                self._unexpected = True
            live.undrain(waiting)
            live.start = start
            self._pending_bytes += sum(map(len, waiting))
            self._wait_for_commit(live)
            return False
        live.taken_over = finished is None
        if finished is None:
            return False
        live.saved = live.last
        live.publish(first, waiting, self._config.cached_bytes)
        if finished.long:
            await index_rest(self._database, live.turn, finished.normalized_texts)
        return True

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

    async def _save_finished(self, live: LiveLog, turn: Turn | None) -> Turn | None:
        """Save a turn that has ended; None if another writer has it. What fails is repeated."""
        key = live.turn
        while not live.taken_over:
            try:
                finished = await self._database.read(lambda conn: finished_from_log(conn, key, turn))
                save = partial(save_finished, key=key, epoch=live.epoch, finished=finished)
                saved = await self._database.write(save)
                if saved and finished.long:
                    await index_rest(self._database, key, finished.normalized_texts)
            except (msgspec.MsgspecError, OutOfOrder):  # no retry can read such a log; recovery ends the turn
                raise
            except Exception as error:  # any other failure may pass
                if not isinstance(error, NotSaved) and not self._unexpected:
                    logger.exception("a finished turn could not be saved; retrying")
                    self._unexpected = True
                await asyncio.sleep(self._config.retry_s)
            else:
                self._unexpected = False
                live.taken_over = not saved
                return finished.turn if saved else None
        return None

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
        batches = [live.batch(first, lines) for live, (first, lines) in drained]
        self._queue += batches
        self._queue_bytes += sum(len(batch.entries) for batch in batches)
        if batches:
            self._queued_since_s = self._queued_since_s or self._pending_since_s
        self._pending_bytes, self._pending_since_s = 0, None
        while self._queue and await self._save():
            pass
        for live, (first, lines) in drained:
            if not live.taken_over:
                live.publish(first, lines, self._config.cached_bytes)

    async def _save(self) -> bool:
        """Append the queue. If that fails or hangs, it stays in memory, and the result is False."""
        if self._replaced and not await self._restore():
            return False
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
            self._replaced |= isinstance(error, DatabaseReplaced)
            self._note_failure(error)
            return False
        self._take_saved(append.result(), time.perf_counter() - started_s)
        return True

    async def _restore(self) -> bool:
        """After a failover, queue again what the database lacks. Give up turns of which it is not cached."""
        running = tuple(self._live_logs.values())
        try:
            positions = await self._database.read(lambda conn: stored_positions(conn, running))
        except NotSaved:
            return False
        batches, lost = missing_batches(running, positions)
        self._queue = [*batches, *(batch for batch in self._queue if batch.turn not in lost)]
        self._queue_bytes = sum(len(batch.entries) for batch in self._queue)
        for turn in lost:
            self._diverged.add(turn)
            self._drop(self._live_logs[turn])
        message = "the database is another server now; %d turns were saved again, %d are lost"
        logger.warning(message, len(batches), len(lost))
        self._replaced = False
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
            live.starting = live.starting and batch.start is None
            if batch.turn in stale:
                self._drop(live)
            else:
                live.saved = batch.last_seq

    def _notify_all(self) -> None:
        for live in self._live_logs.values():
            live.notify()


_encode = msgspec.json.Encoder().encode
