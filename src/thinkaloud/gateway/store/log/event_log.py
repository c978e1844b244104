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
from thinkaloud.core.wire.frames import KIB
from thinkaloud.gateway.store.engine.database import Database, NotSaved, Query, in_sequence
from thinkaloud.gateway.store.log.archive import ArchiveReader, stored_positions
from thinkaloud.gateway.store.log.commit_queue import Commit, CommitQueue, QueuedBatch
from thinkaloud.gateway.store.log.finish import finished_from_log, save_finished, save_lines
from thinkaloud.gateway.store.log.follow import TurnFollower
from thinkaloud.gateway.store.log.live import ENDS, LiveLog, LogSpan
from thinkaloud.gateway.store.log.states import LogEvent, LogState
from thinkaloud.gateway.store.search.index import index_rest

logger = logging.getLogger(__name__)


class LogConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How often the log is committed, and how much is cached in memory."""

    commit_interval_s: float = 0.05
    """How long an ordinary delta waits. Twenty commits a second; the delay is not noticeable."""
    reader_interval_s: float = 0.03
    """The same while a reader of this turn waits for it: it gets the delta after the commit."""
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
    """How often a turn without a writer here is polled, where no other process can write it."""
    follow_poll_s: float = 1.0
    """How often turns of other gateways are read even if no notification comes."""


DEFAULT_LOG_CONFIG = LogConfig()

_SHORT_LOG_BYTES = 16 * KIB
"""A log up to this size is compressed by the thread that writes it: another thread would cost more."""


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
        self._archive = ArchiveReader(database)
        self._diverged: set[int] = set()
        """Turns of which readers here have entries that the database does not have and will not get."""
        self._unexpected = False
        """Whether the last ended turn could not be saved, for another reason than the disk. Only the first of
        several failures is logged: all turns may fail for the same reason."""
        self._commit_due = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._pending_bytes = 0
        self._pending_since_s: float | None = None
        self._queue = CommitQueue(
            database,
            slow_commit_s=config.slow_commit_s,
            on_change=self._notify_all,
            on_late_end=self._commit_due.set,
        )
        self._commit_task: asyncio.Task[None] | None = None
        self.follower: TurnFollower | None = None
        """Follows the turns of other gateways, where there are any."""
        if not database.exclusive:
            self.follower = TurnFollower(
                database, poll_s=config.follow_poll_s, cached_bytes=config.cached_bytes
            )
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
        if await self._queue.wait():  # a slow disk: save what came meanwhile
            await self._commit()

    @property
    def saved(self) -> bool:
        """Whether all published entries are on disk."""
        return not self._queue.failing

    @property
    def unsaved_bytes(self) -> int:
        """Bytes that are only in memory because writes fail."""
        return self._queue.size_bytes if self._queue.failing else 0

    @property
    def waiting_s(self) -> float:
        """The age of the oldest entry that is not on disk; 0 if all are."""
        since_s = self._queue.since_s or self._pending_since_s
        return 0.0 if since_s is None else time.monotonic() - since_s

    def writer(
        self, turn: int, epoch: int, after: int = -1, turn_id: str = "", *, start: Query[object] | None = None
    ) -> "LogWriter":
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
            return live.span(after, saved=not self._queue.failing)
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

    def _drop(self, live: LiveLog, event: LogEvent = LogEvent.TAKEN) -> None:
        live.move(event)
        if live.state is LogState.DIVERGED:
            self._diverged.add(live.turn)
        if self._pending.get(live.turn) is live:
            del self._pending[live.turn]
        self._forget(live)

    def append(self, live: LiveLog, entry: Entry) -> bool:
        """Append an entry. Readers see it after its commit. False if another writer has the turn."""
        if live.lost:
            return False
        event = entry.event
        unsaved_bytes = self._queue.size_bytes + self._pending_bytes
        if unsaved_bytes > self._config.max_unsaved_bytes and type(event) is BlockGrew:
            # Only text is refused: ends are always taken.
            raise NotSaved("The disk accepts no writes and the buffer for unsaved entries is full.")
        line = _encode(entry)
        size = live.add(line, last=type(event) in ENDS)
        self._pending_bytes += len(line)
        if type(event) is not BlockGrew:
            live.urgent = True
        elif event.block not in live.started_blocks:
            live.started_blocks.add(event.block)
            live.urgent = True
        at_once = live.urgent and live.due_at_once(event, alone=self._database.exclusive)
        if at_once or size >= self._config.commit_bytes:
            self._commit_due.set()
        if live.turn not in self._pending:
            self._wait_for_commit(live)
        return True

    def _wait_for_commit(self, live: LiveLog) -> None:
        """Let the next commit have what waits of a turn."""
        self._pending[live.turn] = live
        if self._pending_since_s is None:
            self._pending_since_s = time.monotonic()
        if self._commit_due.is_set():
            return
        interval_s = self._config.commit_interval_s
        if live.waited_for:
            interval_s = min(interval_s, self._config.reader_interval_s)
        loop = asyncio.get_running_loop()
        if self._timer is None:
            self._timer = loop.call_later(interval_s, self._commit_due.set)
        elif live.waited_for and self._timer.when() > loop.time() + interval_s:
            self._timer.cancel()
            self._timer = loop.call_later(interval_s, self._commit_due.set)

    async def flush(self, live: LiveLog) -> None:
        """Wait until all entries of a turn are on disk, or another writer has taken the turn over."""
        self._commit_due.set()
        while not live.lost and live.saved < live.last:
            await live.wait()

    async def close(self, live: LiveLog, turn: Turn | None = None) -> Turn | None:
        """Save a turn that is over and stop tracking it; readers go on in the database.

        `turn` is what the log folds to; without it the log is folded here.
        """
        assert live.complete or live.lost, "a turn is closed by its last entry"
        try:
            if turn is not None and await self._save_at_once(live, turn):
                return turn
            return await self._save_finished(live, turn)
        finally:
            self._forget(live)

    async def _save_at_once(self, live: LiveLog, turn: Turn) -> bool:
        """Save the last entries of a short turn together with the turn, in one commit; False if it failed."""
        if not self._database.exclusive:
            return False
        while self.saved and not live.lost and not live.nothing_in_flight:
            await live.wait()
        lines = live.all_lines()
        if lines is None or sum(map(len, lines)) > _SHORT_LOG_BYTES or live.lost or not self.saved:
            return False
        logged = live.saved >= 0
        first, waiting = self._take_pending(live)
        start, live.start = live.start, None
        try:
            save = partial(save_lines, key=live.turn, turn=turn, lines=lines, epoch=live.epoch, logged=logged)
            save_short = save if start is None else in_sequence(start, save)
            finished = await self._database.write_short(save_short)
        except Exception as error:  # any failure: the usual path tries again
            if self._first_unexpected(error):
                logger.exception("a finished turn could not be saved; retrying")
            if not live.lost:
                live.undrain(waiting, start)
                self._pending_bytes += sum(map(len, waiting))
                self._wait_for_commit(live)
            return False
        if finished is None:
            live.move(LogEvent.TAKEN)
            return False
        live.move(LogEvent.FINISHED)
        live.saved = live.last
        live.publish(first, waiting, self._config.cached_bytes)
        if finished.long:
            await index_rest(self._database, live.turn, finished.normalized_texts)
        return True

    def _take_pending(self, live: LiveLog) -> tuple[int, list[bytes]]:
        """Take the waiting lines of one turn out of the next commit."""
        first, lines = live.drain()
        self._pending.pop(live.turn, None)
        self._pending_bytes -= sum(map(len, lines))
        if not self._pending:
            self._pending_since_s = None
        return first, lines

    def _first_unexpected(self, error: Exception) -> bool:
        """Whether this is the first failure that the disk does not explain, since a turn was saved."""
        first = not self._unexpected and not isinstance(error, NotSaved)
        self._unexpected = self._unexpected or first
        return first

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
        while True:
            await self.flush(live)  # each time: after a failover the database may lack entries that it had
            if live.lost:
                return None
            try:
                finished = await self._database.read(lambda conn: finished_from_log(conn, key, turn))
                save = partial(save_finished, key=key, epoch=live.epoch, finished=finished)
                saved = await self._database.write(save)
                if saved and finished.long:
                    await index_rest(self._database, key, finished.normalized_texts)
            except (msgspec.MsgspecError, OutOfOrder):  # no retry can read such a log; recovery ends the turn
                raise
            except Exception as error:  # any other failure may pass
                if self._first_unexpected(error):
                    logger.exception("a finished turn could not be saved; retrying")
                await asyncio.sleep(self._config.retry_s)
            else:
                self._unexpected = False
                live.move(LogEvent.FINISHED if saved else LogEvent.TAKEN)
                return finished.turn if saved else None

    async def _commit_loop(self) -> None:
        while True:
            if self._queue.failing:
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._config.retry_s):
                        await self._commit_due.wait()
            else:
                await self._commit_due.wait()
            started_s = time.monotonic()
            try:
                await self._commit()
            except Exception:  # a fault in this program: without the loop, every turn would stand still
                logger.exception("a commit of the event log failed unexpectedly")
            await asyncio.sleep(self._config.commit_spacing_s - (time.monotonic() - started_s))

    async def _commit(self) -> None:
        """Commit all waiting entries of all turns in one transaction, then publish them."""
        self._commit_due.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        drained = [(live, live.drain()) for live in self._pending.values()]
        self._pending.clear()
        batches = [(live, live.batch(first, lines)) for live, (first, lines) in drained]
        self._queue.put(batches, self._pending_since_s)
        self._pending_bytes, self._pending_since_s = 0, None
        await self._save_queue()
        for live, (first, lines) in drained:
            if not live.lost:
                live.publish(first, lines, self._config.cached_bytes)

    async def _save_queue(self) -> None:
        """Append the queue. If that fails or hangs, the rest stays in memory."""
        while self._queue:
            if self._queue.replaced and not await self._restore():
                return
            commit = await self._queue.commit()
            if commit is None:
                return
            self._mark_saved(commit)

    def _mark_saved(self, commit: Commit) -> None:
        count = 0
        for live, batch in commit.batches:
            count += batch.last_seq - batch.first_seq + 1
            if live.lost:
                continue
            if batch.turn in commit.stale:
                self._drop(live)
            else:
                live.take_saved(batch)
        if self._on_commit is not None:
            self._on_commit(CommitStats(count, commit.size_bytes, commit.seconds))

    async def _restore(self) -> bool:
        """After a failover, queue again what the database lacks. Give up turns of which it is not cached.

        A replica that takes over lacks what it had not received. Without this a gateway would continue the
        log of a turn after a hole, or the log of another turn that got the same key.
        """
        running = tuple(self._live_logs.values())
        try:
            positions = await self._database.read(lambda conn: stored_positions(conn, running))
        except NotSaved:
            return False
        missing: list[QueuedBatch] = []
        lost_count = 0
        for live in running:
            if live.lost:  # by another event, while the database was read
                continue
            stored = positions.get(live.turn)
            if stored is None or stored + 1 < min(live.first_cached, live.saved + 1):
                self._drop(live, LogEvent.LOST)
                lost_count += 1
            elif stored < live.saved:
                missing.append((live, live.missing_batch(stored)))
        self._queue.restore(missing)
        message = "the database is another server now; %d turns were saved again, %d are lost"
        logger.warning(message, len(missing), lost_count)
        return True

    def _notify_all(self) -> None:
        for live in self._live_logs.values():
            live.notify()


class LogWriter:
    """Appends to the log of one turn."""

    def __init__(self, log: EventLog, live: LiveLog) -> None:
        self._log = log
        self._live = live
        self.append: Callable[[Entry], bool] = partial(log.append, live)
        """Appends an entry. Numbers must be consecutive. Returns False if another writer has the turn."""

    @property
    def taken_over(self) -> bool:
        """Whether another writer has taken the turn over. Then appends are ignored."""
        return self._live.lost

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
