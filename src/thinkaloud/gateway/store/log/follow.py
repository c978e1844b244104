"""Follows turns that other gateways write: one query for all of them, whenever the database wakes this one.

Each followed turn has a log in memory like those that run here, so its readers share what was read once.
"""

import asyncio
import logging
import time

import msgspec
from sqlalchemy import Connection, text

from thinkaloud.gateway.store.engine.coordination import Wakeup
from thinkaloud.gateway.store.engine.database import Database, NotSaved
from thinkaloud.gateway.store.log.archive import decompressed_lines
from thinkaloud.gateway.store.log.live import LiveLog, LogSpan
from thinkaloud.gateway.store.rows import TurnState

logger = logging.getLogger(__name__)

_MAX_ROWS = 2_000
_IDLE_S = 10.0
"""A turn that nobody has waited for is no longer followed after this time."""
_READ_TAILS = text(
    "SELECT tail.turn, turns.state, rest.first_seq, rest.packed, rest.entries "
    "FROM unnest(CAST(:turns AS bigint[]), CAST(:afters AS int[])) AS tail (turn, after) "
    "LEFT JOIN turns ON turns.key = tail.turn "
    "LEFT JOIN LATERAL (SELECT first_seq, packed, entries FROM log "
    "WHERE log.turn = tail.turn AND log.last_seq > tail.after AND log.first_seq >= "
    "(SELECT max(first_seq) FROM log WHERE log.turn = tail.turn AND first_seq <= tail.after + 1) "
    "ORDER BY first_seq LIMIT :most) AS rest ON turns.state = 'running' "
    "ORDER BY tail.turn, rest.first_seq LIMIT :most"
)
"""Reads new rows only, however long the log is: each turn is looked up in the index, after its last row.

As a plain join the server would read the whole table, as long as it has not counted the rows of the turns.
"""


class _TailRow(msgspec.Struct, frozen=True):
    turn: int
    running: bool
    first_seq: int | None
    lines: list[bytes]


class TurnFollower:
    """The turns of other gateways that have readers here."""

    def __init__(self, database: Database, *, poll_s: float, cached_bytes: int) -> None:
        self._database = database
        self._poll_s = poll_s
        self._cached_bytes = cached_bytes
        self._tails: dict[int, LiveLog] = {}
        self._waited_at_s: dict[int, float] = {}
        self._woken: set[int] = set()
        self._wake = asyncio.Event()
        self.failing = False
        """Whether the last read failed. Then readers wait for the database."""
        self.query_count = 0

    @property
    def followed(self) -> int:
        """The number of turns that are followed."""
        return len(self._tails)

    def cached_span(self, turn: int, after: int) -> LogSpan | None:
        """Return the cached entries of a followed turn after this number; None if they are not cached."""
        tail = self._tails.get(turn)
        if tail is None or after + 1 < tail.first_cached:
            return None
        return tail.span(after, saved=not self.failing)

    async def wait_for_change(self, turn: int, after: int, timeout_s: float | None) -> bool:
        """Follow a turn from this entry on, and wait until it has changed; False after this time."""
        tail = self._tails.get(turn)
        if tail is None:
            tail = self._tails[turn] = LiveLog(turn, 0, after)
            self.wake(Wakeup(frozenset({turn})))  # it may have changed since it was read
        self._waited_at_s[turn] = time.monotonic()
        return True if tail.published > after else await tail.wait(timeout_s)

    def forget_all(self) -> None:
        """Follow nothing any more: the database may lack what was read."""
        for turn in tuple(self._tails):
            self._forget(turn)

    def wake(self, wakeup: Wakeup) -> None:
        """Read what another gateway has written."""
        self._woken |= set(self._tails) if wakeup.turns is None else wakeup.turns & self._tails.keys()
        if self._woken:
            self._wake.set()

    async def run(self) -> None:
        """Follow until cancelled."""
        while True:
            try:
                async with asyncio.timeout(self._poll_s):
                    await self._wake.wait()
            except TimeoutError:  # a notification may have been lost
                self._woken |= self._tails.keys()
                self._drop_idle()
            due, self._woken = self._woken & self._tails.keys(), set()
            self._wake.clear()
            if due:
                await self._read(due)

    async def _read(self, due: set[int]) -> None:
        positions = {turn: self._tails[turn].published for turn in due}
        try:
            rows = await self._database.read(lambda conn: _read_tails(conn, positions))
        except Exception as error:  # any failure may pass, and the readers wait for it
            if not self.failing:
                logger.warning(
                    "turns of other gateways cannot be read: %s Retrying.",
                    error,
                    exc_info=None if isinstance(error, NotSaved) else error,
                )
            self._set_failing(True)
            self._woken |= due
            await asyncio.sleep(self._poll_s / 4)
            return
        self.query_count += 1
        self._set_failing(False)
        if len(rows) == _MAX_ROWS:
            self._woken |= due
            self._wake.set()
        for row in rows:
            self._take(row)

    def _take(self, row: _TailRow) -> None:
        tail = self._tails.get(row.turn)
        if tail is None:
            return
        if not row.running:  # its readers go on in the database, where its log is complete
            self._forget(row.turn)
        elif row.first_seq is not None:
            first = max(row.first_seq, tail.published + 1)
            lines = row.lines[first - row.first_seq :]
            if lines and first == tail.published + 1:
                tail.last = tail.saved = first + len(lines) - 1
                tail.publish(first, lines, self._cached_bytes)

    def _set_failing(self, failing: bool) -> None:
        if failing is not self.failing:
            self.failing = failing
            for tail in self._tails.values():
                tail.notify()

    def _drop_idle(self) -> None:
        before_s = time.monotonic() - _IDLE_S
        for turn in [turn for turn, at_s in self._waited_at_s.items() if at_s < before_s]:
            if self._tails[turn].waited_for:
                self._waited_at_s[turn] = time.monotonic()
            else:
                self._forget(turn)

    def _forget(self, turn: int) -> None:
        tail = self._tails.pop(turn)
        del self._waited_at_s[turn]
        tail.notify()


def _read_tails(conn: Connection, positions: dict[int, int]) -> list[_TailRow]:
    values = {"turns": list(positions), "afters": list(positions.values()), "most": _MAX_ROWS}
    return [
        _TailRow(
            row.turn,
            row.state == TurnState.RUNNING,
            row.first_seq,
            [] if row.first_seq is None else decompressed_lines(row.entries, row.packed),
        )
        for row in conn.execute(_READ_TAILS, values)
    ]
