"""The event log: what a writer appends is committed with everybody else's, and only then seen by readers.

All turns share one commit. It is due at once for the first words of a block and for whatever begins, ends or
seals something, else after 50 ms or 4 KB. Readers hold a place in the log and nothing more: they get the
newest entries from memory and older ones from the database, live or long after, by the same call.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self
from weakref import WeakValueDictionary

import msgspec

from thinkaloud.canon import BlockGrew, Entry, TurnEnded, TurnFailed
from thinkaloud.store.database import Batch, Database, NotSaved
from thinkaloud.store.folding import fold_stored, keep
from thinkaloud.store.live import Live, Span
from thinkaloud.store.stored import read_stored
from thinkaloud.transcript import Turn

logger = logging.getLogger(__name__)

KIB = 1024


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """How often the log is committed, and how much of it is kept in memory."""

    every_s: float = 0.05
    """So long an ordinary delta waits for company: nobody sees it, and commits are twenty a second."""
    at_bytes: int = 4 * KIB
    """So much of one turn does not wait."""
    kept_bytes: int = 256 * KIB
    """Of each live turn, for its readers; who is further behind reads the database."""
    held_bytes: int = 64 * KIB * KIB
    """Of all turns together while the disk takes nothing; beyond it turns are refused."""
    retry_s: float = 1.0
    """So often a disk that took nothing is tried again."""
    poll_s: float = 0.25
    """So often a turn is looked at that another process writes."""


PACE = Pace()


class Committed(msgspec.Struct, frozen=True):
    """What one commit did, for whoever counts."""

    entries: int
    size_bytes: int
    seconds: float


class EventLog:
    """The logs of all turns; used as a context, which ends when everything that can be saved is."""

    def __init__(
        self, database: Database, pace: Pace = PACE, *, told: Callable[[Committed], None] | None = None
    ) -> None:
        self._database = database
        self._pace = pace
        self._told = told
        self._live: dict[int, Live] = {}
        self._dirty: dict[int, Live] = {}
        self._spans: WeakValueDictionary[tuple[int, int], Span] = WeakValueDictionary()
        self._reading: dict[tuple[int, int], asyncio.Future[Span]] = {}
        self._due = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._held: list[Batch] = []
        self.held_bytes = 0
        """How much is in memory because the disk took nothing."""
        self._running: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._running = asyncio.create_task(self._commit_for_ever(), name="thinkaloud-commits")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._running is not None
        self._running.cancel()
        with suppress(asyncio.CancelledError):
            await self._running
        await self._commit()

    @property
    def saved(self) -> bool:
        """Whether everything that readers see is on disk."""
        return not self._held

    def writer(self, turn: int, epoch: int, after: int = -1) -> "Writer":
        """The one who may add to a turn that was just started, or claimed with entries up to `after`."""
        live = self._live[turn] = Live(turn, epoch, after)
        return Writer(self, live)

    async def read(self, turn: int, after: int = -1) -> Span:
        """Entries that come after this place; none where there are none yet."""
        live = self._live.get(turn)
        if live is not None and after + 1 >= live.first_kept:
            return live.span(after, saved=self.saved)
        return self._spans.get((turn, after)) or await self._read_stored(turn, after)

    async def _read_stored(self, turn: int, after: int) -> Span:
        """Readers at the same place share what is read: a hundred who take nothing hold it once."""
        place = turn, after
        reading = self._reading.get(place)
        if reading is None:
            query = self._database.read(lambda conn: read_stored(conn, turn, after))
            reading = self._reading[place] = asyncio.ensure_future(query)
            reading.add_done_callback(lambda _: self._reading.pop(place))
        span = await asyncio.shield(reading)
        if span.more or span.over:  # else more may have come by the next time
            self._spans[place] = span
        return span

    async def changed(self, turn: int, after: int) -> None:
        """Wait until a turn that runs has more than this, or the disk began or ceased to take it."""
        live = self._live.get(turn)
        if live is None:
            await asyncio.sleep(self._pace.poll_s)
        elif live.published <= after:
            await live.change.wait()

    def append(self, live: Live, entry: Entry) -> None:
        """Take an entry; it is seen once it is committed."""
        if live.lost:
            return
        if (
            self.held_bytes > self._pace.held_bytes and type(entry.event) is BlockGrew
        ):  # ends are always taken
            raise NotSaved("The disk takes nothing and the memory for what waits is full.")
        size = live.add(_encode(entry), over=isinstance(entry.event, TurnEnded | TurnFailed))
        self._dirty[live.turn] = live
        event = entry.event
        if type(event) is not BlockGrew or live.first_words(event.block) or size >= self._pace.at_bytes:
            self._due.set()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._pace.every_s, self._due.set)

    async def flush(self, live: Live) -> None:
        """Wait until all that a turn said is on disk, or the turn is somebody else's."""
        self._due.set()
        while not live.lost and live.saved < live.last:
            await live.change.wait()

    async def close(self, live: Live) -> Turn | None:
        """Fold a turn that is over, and let go of it; who still reads goes on in the database."""
        assert live.over, "a turn is closed by its last entry"
        try:
            await self.flush(live)
            return None if live.lost else await self._fold(live.turn)
        finally:
            del self._live[live.turn]
            live.changed()

    async def leave(self, live: Live) -> None:
        """Let go of a turn that is not over, once all it said is on disk: somebody will go on with it."""
        try:
            await self.flush(live)
        finally:
            del self._live[live.turn]
            live.changed()

    async def _fold(self, turn: int) -> Turn:
        folded = await self._database.read(lambda conn: fold_stored(conn, turn))
        while True:
            try:
                await self._database.write(lambda conn: keep(conn, turn, folded))
            except Exception as error:  # nobody may wait for ever because of rows that were refused once
                if not isinstance(error, NotSaved):
                    logger.exception("what a turn came to could not be kept; it is tried again")
                await asyncio.sleep(self._pace.retry_s)
            else:
                return folded.turn

    async def _commit_for_ever(self) -> None:
        while True:
            if self._held:
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._pace.retry_s):
                        await self._due.wait()
            else:
                await self._due.wait()
            await self._commit()

    async def _commit(self) -> None:
        """Everything that waits, of all turns, in one transaction; then the readers hear of it."""
        self._due.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        taken = [(live, live.take()) for live in self._dirty.values()]
        self._dirty.clear()
        batches = [
            Batch(live.turn, live.epoch, first, first + len(lines) - 1, b"\n".join(lines))
            for live, (first, lines) in taken
        ]
        if not batches and not self._held:
            return
        stale = await self._save(batches)
        for live, (first, lines) in taken:
            if live.turn in stale:
                live.lose()
            else:
                live.publish(first, lines, self._pace.kept_bytes)

    async def _save(self, batches: list[Batch]) -> frozenset[int]:
        """Append, with what is held from before; held, where the disk takes nothing."""
        before = time.perf_counter()
        waiting = [*self._held, *batches]
        try:
            stale = frozenset(await self._database.append(waiting))
        except Exception as error:  # whatever it is, readers must not wait in silence
            newly = not self._held
            if newly and not isinstance(error, NotSaved):
                logger.exception("the log could not be written; it is tried again")
            self._held = waiting
            self.held_bytes = sum(len(batch.entries) for batch in waiting)
            if newly:
                self._tell_all()
            return frozenset()
        self._mark(waiting, stale)
        if self._held:
            self._held, self.held_bytes = [], 0
            self._tell_all()
        if self._told is not None:
            count = sum(batch.last_seq - batch.first_seq + 1 for batch in waiting)
            size = sum(len(batch.entries) for batch in waiting)
            self._told(Committed(count, size, time.perf_counter() - before))
        return stale

    def _mark(self, batches: list[Batch], stale: frozenset[int]) -> None:
        for batch in batches:
            live = self._live.get(batch.turn)
            if live is None:
                continue
            if batch.turn in stale:
                live.lose()
            else:
                live.saved = batch.last_seq

    def _tell_all(self) -> None:
        for live in self._live.values():
            live.changed()


class Writer:
    """Adds to one turn's log."""

    def __init__(self, log: EventLog, live: Live) -> None:
        self._log = log
        self._live = live

    @property
    def lost(self) -> bool:
        """Whether another writer has taken the turn over; nothing more is written then."""
        return self._live.lost

    def append(self, entry: Entry) -> None:
        """Add an entry; numbers follow each other without a gap."""
        self._log.append(self._live, entry)

    async def flush(self) -> None:
        """Wait until all that was added is on disk; as long as it takes, when the disk takes nothing."""
        await self._log.flush(self._live)

    async def leave(self) -> None:
        """Let go of a turn that goes on some other time."""
        await self._log.leave(self._live)

    async def close(self) -> Turn | None:
        """Keep what stays of a turn that is over, however long the disk takes; None where it is another's."""
        return await self._log.close(self._live)


_encode = msgspec.json.Encoder().encode
