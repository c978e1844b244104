"""The table of states of a turn's log: every move, made by real work, and random faults that keep to it."""

import asyncio
from collections import deque
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test
from sqlalchemy import delete, update
from tests.patience import PATIENCE_S
from tests.store.log_fixtures import entries, new_turn, turn_events
from tests.store.test_log import NEVER, DatabaseWrapper
from tests.store.test_sqlite_log import unsaved_turn

from thinkaloud.core.canon import BlockGrew, Entry
from thinkaloud.core.transcript import fold_entries
from thinkaloud.gateway.store.engine.database import Batch, DatabaseReplaced, NotSaved, Query, T
from thinkaloud.gateway.store.engine.sqlite import SqliteDatabase, open_database
from thinkaloud.gateway.store.log.archive import encode_entry, log_lines
from thinkaloud.gateway.store.log.event_log import EventLog, LogConfig, LogWriter
from thinkaloud.gateway.store.log.live import LiveLog
from thinkaloud.gateway.store.log.states import MOVES, IllegalMove, LogEvent, LogState, next_state
from thinkaloud.gateway.store.queries.keys import KeyReserve
from thinkaloud.gateway.store.rows import TurnRow
from thinkaloud.gateway.store.schema import log as log_rows
from thinkaloud.gateway.store.schema import turns

ROWS = [(state, event) for state, moves in MOVES.items() for event in moves]
FAILOVER = (LogEvent.REQUEUED, LogEvent.LOST)


def path_to(goal: LogState, start: LogState) -> list[LogEvent]:
    """Return a shortest way through the table."""
    paths: dict[LogState, list[LogEvent]] = {start: []}
    unvisited = deque([start])
    while unvisited:
        state = unvisited.popleft()
        for event, following in MOVES[state].items():
            if following not in paths:
                paths[following] = [*paths[state], event]
                unvisited.append(following)
    return paths[goal]


class WalkedLog(LiveLog):
    """A log that is moved as the event log does it, one event at a time."""

    def __init__(self, *, stored: bool) -> None:
        super().__init__(1, 0, start=None if stored else lambda conn: None)
        self.events: list[LogEvent] = []
        self._queue: deque[Batch] = deque()
        self._unpublished: list[tuple[int, list[bytes]]] = []
        self._returned: tuple[list[bytes], Query[object] | None] = ([], None)
        if stored:  # something that a failover can lose
            for event in (LogEvent.DRAINED, LogEvent.PUBLISHED):
                self.do(event)

    def move(self, event: LogEvent) -> None:
        super().move(event)
        self.events.append(event)

    def do(self, event: LogEvent) -> None:
        """Do what causes an event."""
        match event:
            case LogEvent.DRAINED:
                self._drain_line()
            case LogEvent.STARTED:
                self.take_saved(self._queue.popleft())
            case LogEvent.PUBLISHED | LogEvent.SHOWN:
                self._publish_all(saved=event is LogEvent.PUBLISHED)
            case LogEvent.CAUGHT_UP | LogEvent.SAVED:
                if event is LogEvent.CAUGHT_UP:
                    self._drain_line()
                while self.state is LogState.UNSAVED:
                    self.take_saved(self._queue.popleft())
            case LogEvent.RETURNED:
                self.undrain(*self._returned)
            case LogEvent.REQUEUED:
                self._queue.appendleft(self.missing_batch(self.saved - 1))
            case _:
                self.move(event)

    def _drain_line(self) -> None:
        start = self.start
        if start is None:  # the first commit of a turn may store the turn alone
            self.add(b"{}", last=False)
        first, lines = self.drain()
        self._returned = lines, start
        self._queue.append(self.batch(first, lines))
        self._unpublished.append((first, lines))

    def _publish_all(self, *, saved: bool) -> None:
        if not saved and not any(lines for _, lines in self._unpublished):
            self._drain_line()
        while saved and self._queue:
            self.take_saved(self._queue.popleft())
        for first, lines in self._unpublished:
            self.publish(first, lines, cached_bytes=1_000)
        self._unpublished.clear()


@pytest.mark.parametrize(("state", "event"), ROWS)
def test_every_move_of_the_table_is_made_by_what_causes_it(state: LogState, event: LogEvent) -> None:
    # A turn that is stored late is on SQLite, and a failover is of PostgreSQL.
    of_postgres = event in FAILOVER
    log = WalkedLog(stored=of_postgres)
    for step in path_to(state, log.state):
        log.do(step)
    assert log.state is state
    log.do(event)
    assert log.events[-1] is event
    assert log.state is MOVES[state][event]
    if log.state not in (LogState.ENDED, LogState.TAKEN_OVER, LogState.DIVERGED):
        assert (log.state is LogState.UNSAVED) == (log.published > log.saved)


@pytest.mark.parametrize("state", LogState)
def test_move_that_the_table_does_not_have_is_an_error(state: LogState) -> None:
    illegal = set(LogEvent).difference(MOVES[state])
    assert illegal
    for event in illegal:
        with pytest.raises(IllegalMove, match=f"is {state}, so it cannot be {event}"):
            next_state(state, event)


def test_table_keeps_the_promises_to_readers() -> None:
    into = {state: {row for row in ROWS if MOVES[row[0]][row[1]] is state} for state in LogState}
    new_moves = {state: {row for row in rows if row[0] is not state} for state, rows in into.items()}
    assert {event for _, event in new_moves[LogState.ENDED]} == {LogEvent.FINISHED}
    assert (LogState.UNSAVED, LogEvent.TAKEN) in into[LogState.DIVERGED]
    assert LogState.UNSAVED not in {state for state, _ in into[LogState.TAKEN_OVER]}
    for state in (LogState.ENDED, LogState.TAKEN_OVER, LogState.DIVERGED):
        assert {LogEvent.DRAINED, LogEvent.PUBLISHED, LogEvent.SHOWN}.isdisjoint(MOVES[state])


class FaultyDatabase(DatabaseWrapper):
    """A database that fails or hangs for a while, or becomes another server."""

    def __init__(self, database: SqliteDatabase, *, exclusive: bool) -> None:
        super().__init__(database)
        self._exclusive = exclusive
        self.failing = self.replaced = False
        self.gate = asyncio.Event()
        self.gate.set()

    @property
    def exclusive(self) -> bool:
        return self._exclusive

    async def append(self, batches: Any) -> tuple[int, ...]:
        await self._pass()
        if self.replaced:
            self.replaced = False
            raise DatabaseReplaced("It is another server now.")
        return await super().append(batches)

    async def write(self, change: Query[T]) -> T:
        await self._pass()
        return await super().write(change)

    async def write_short(self, change: Query[T]) -> T:
        await self._pass()
        return await super().write_short(change)

    async def _pass(self) -> None:
        await self.gate.wait()
        if self.failing:
            raise NotSaved("The disk is full.")


@dataclass
class ModelTurn:
    row: TurnRow
    writer: LogWriter
    live: LiveLog
    entries: list[Entry] = field(default_factory=list)
    received: list[bytes] = field(default_factory=list)
    received_saved: int = 0
    """How many of them were received as saved."""
    closed: bool = False


class LogMachine(RuleBasedStateMachine):
    """Runs turns while the database fails, hangs, is replaced, or gives turns to another writer."""

    def __init__(self, runner: asyncio.Runner, database: SqliteDatabase, *, exclusive: bool) -> None:
        super().__init__()
        self._runner = runner
        self._sqlite = database
        self._database = FaultyDatabase(database, exclusive=exclusive)
        config = LogConfig(commit_interval_s=NEVER, slow_commit_s=0.05, retry_s=0.001, cached_bytes=500)
        self._log = self._run(self._make_log(config))
        self._reserve = KeyReserve(database)
        self._turns: list[ModelTurn] = []

    async def _make_log(self, config: LogConfig) -> EventLog:
        return EventLog(self._database, config)

    def _run(self, work: Any) -> Any:
        return self._runner.run(asyncio.wait_for(work, PATIENCE_S))

    def _running(self, chance: int, *, complete: bool = False) -> ModelTurn | None:
        running = [
            turn for turn in self._turns if turn.live.complete is complete and not turn.writer.taken_over
        ]
        return running[chance % len(running)] if running else None

    @precondition(lambda self: len(self._turns) < 4)
    @rule(late=st.booleans())
    def start(self, late: bool) -> None:
        async def begin() -> None:
            save: Query[object] | None = None
            if late and self._database.exclusive:
                row, save = await unsaved_turn(self._sqlite, self._reserve)
            else:
                row = await new_turn(self._sqlite)
            writer = self._log.writer(row.key, row.epoch, turn_id=row.id, start=save)
            self._turns.append(ModelTurn(row, writer, self._log._live_logs[row.key]))

        self._run(begin())

    @rule(chance=st.integers(0, 3), count=st.integers(1, 3))
    def append(self, chance: int, count: int) -> None:
        async def write(turn: ModelTurn) -> None:
            for _ in range(count):
                done = len(turn.entries)
                # The beginning of a turn with a thought and a text, then ever more of this text.
                event = turn_events()[done] if done < 5 else BlockGrew(1, "word " * 20)
                self._append(turn, *entries([event], done))

        if (turn := self._running(chance)) is not None:
            self._run(write(turn))

    @rule(chance=st.integers(0, 3))
    def end(self, chance: int) -> None:
        async def write(turn: ModelTurn) -> None:
            done = len(turn.entries)
            self._append(turn, *entries(turn_events()[min(done, 5) :], done))

        if (turn := self._running(chance)) is not None:
            self._run(write(turn))

    def _append(self, turn: ModelTurn, *new_entries: Entry) -> None:
        for entry in new_entries:
            turn.entries.append(entry)
            turn.writer.append(entry)

    @rule()
    def commit(self) -> None:
        self._run(self._log._commit())
        self.check()

    @rule(fault=st.sampled_from(["fail", "hang", "none"]))
    def change_database(self, fault: str) -> None:
        self._database.failing = fault == "fail"
        if fault == "hang":
            self._database.gate.clear()
        else:
            self._database.gate.set()

    @rule(chance=st.integers(0, 3), noticed=st.booleans())
    def take_over(self, chance: int, noticed: bool) -> None:
        async def claim(turn: ModelTurn) -> None:
            of_turn = update(turns).where(turns.c.key == turn.row.key)
            await self._sqlite.write(lambda conn: conn.execute(of_turn.values(epoch=7)).rowcount)
            if noticed:
                self._log.drop(turn.row.key)

        turn = self._running(chance)
        if turn is not None and turn.live.state not in (LogState.NEW, LogState.STARTING):
            self._run(claim(turn))
            self.check()

    @precondition(lambda self: not self._database.exclusive)
    @rule(chance=st.integers(0, 3), kept=st.integers(-1, 6))
    def fail_over(self, chance: int, kept: int) -> None:
        """Let another server take over that lacks the last entries of a turn."""
        if (turn := self._running(chance)) is not None:
            lost = delete(log_rows).where(log_rows.c.turn == turn.row.key, log_rows.c.first_seq > kept)
            self._run(self._sqlite.write(lambda conn: conn.execute(lost).rowcount))
            self._database.replaced = True

    @rule(chance=st.integers(0, 3))
    def read(self, chance: int) -> None:
        async def receive(turn: ModelTurn) -> None:
            span = await self._log.read(turn.row.key, len(turn.received) - 1)
            turn.received += span.lines
            if span.saved:
                turn.received_saved = len(turn.received)

        if (turn := self._running(chance)) is not None:
            self._run(receive(turn))

    @precondition(lambda self: self._database.gate.is_set() and not self._database.failing)
    @rule(chance=st.integers(0, 3), folded=st.booleans())
    def close(self, chance: int, folded: bool) -> None:
        async def finish(turn: ModelTurn) -> None:
            whole = fold_entries(turn.entries) if folded else None
            closing = asyncio.create_task(turn.writer.close(whole))
            while not closing.done():
                await self._log._commit()
                await asyncio.sleep(0.001)
            turn.closed = True
            assert (await closing is None) == turn.writer.taken_over

        turn = self._running(chance, complete=True)
        if turn is not None and not turn.closed:
            self._run(finish(turn))
            self.check()

    def check(self) -> None:
        for turn in self._turns:
            stored = self._run(self._sqlite.read(partial(_stored_lines, key=turn.row.key)))
            self._check_turn(turn, stored)

    def _check_turn(self, turn: ModelTurn, stored: list[bytes]) -> None:
        live, diverged = turn.live, self._log.diverged(turn.row.key)
        if live.state is LogState.UNSAVED:
            assert live.published > live.saved
            assert not self._log.saved
        if live.state is LogState.ENDED:
            assert stored == [encode_entry(entry) for entry in turn.entries]
        if not self._database.exclusive:
            return  # a server that lacks what was stored breaks what follows, until it is noticed
        if live.lost:
            readers_have_more = live.published >= len(stored)
            assert diverged == readers_have_more, "readers start again if and only if they have more"
        assert turn.received[: turn.received_saved] == stored[: turn.received_saved]
        if live.state is LogState.OPEN:
            assert live.published == live.saved == len(stored) - 1 or turn.closed

    def teardown(self) -> None:
        async def save_all() -> None:
            await self._log._commit()
            while not self._log.saved:
                await asyncio.sleep(0.001)
                await self._log._commit()

        self._database.failing = False
        self._database.gate.set()
        self._run(save_all())
        self.check()
        if self._log._timer is not None:
            self._log._timer.cancel()


def _stored_lines(conn: Any, key: int) -> list[bytes]:
    return list(log_lines(conn, key))


@pytest.mark.parametrize("exclusive", [True, False], ids=["one gateway", "several gateways"])
def test_log_keeps_to_its_table_under_faults(tmp_path: Path, exclusive: bool) -> None:
    """No event is illegal, whatever fails in whatever order, and what readers were promised holds."""
    with asyncio.Runner() as runner:
        opened = open_database(tmp_path / "thinkaloud.db")
        database = runner.run(opened.__aenter__())
        try:

            class ThisLog(LogMachine):
                def __init__(self) -> None:
                    super().__init__(runner, database, exclusive=exclusive)

            run_state_machine_as_test(
                ThisLog,
                settings=settings(
                    max_examples=25,
                    stateful_step_count=30,
                    deadline=None,
                    phases=[Phase.explicit, Phase.reuse, Phase.generate],
                    report_multiple_bugs=False,
                ),
            )
        finally:
            runner.run(opened.__aexit__(None, None, None))
