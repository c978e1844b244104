"""Random operations of two users on each database, compared with a plain model in memory."""

import asyncio
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test
from sqlalchemy import Connection
from tests.store.log_fixtures import NOW_MS, entries, temporary_database
from tests.store.query_fixtures import new_owner

from thinkaloud.core.canon import (
    BlockEnded,
    BlockGrew,
    BlockStarted,
    Event,
    Finish,
    Kind,
    TurnEnded,
    TurnStarted,
)
from thinkaloud.core.canon.requests import UserMessage
from thinkaloud.gateway.store.engine.database import Batch, Database, Query, T
from thinkaloud.gateway.store.log.archive import encode_entry, log_lines
from thinkaloud.gateway.store.log.finish import finished_from_log, save_finished
from thinkaloud.gateway.store.queries import branches, delete, preferences, sessions, turns
from thinkaloud.gateway.store.queries.messages import messages_of
from thinkaloud.gateway.store.queries.sessions import TurnRunning
from thinkaloud.gateway.store.queries.turns import IdempotencyConflict, NewTurnRow
from thinkaloud.gateway.store.rows import Preferences, SearchKind, Session, TurnRow, TurnState
from thinkaloud.gateway.store.search.find import find_hits

WORDS = ("apple", "Ação", "中文", "x-y", "½")
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
chances = st.integers(min_value=0, max_value=10**6)
"""Chooses among what there is at that moment."""
_numbers = count()


@dataclass
class ModelTurn:
    row: TurnRow
    prompt: str
    parent: "ModelTurn | None"
    key: str
    lines: list[bytes] = field(default_factory=list)
    answer: str = ""
    running: bool = True


@dataclass
class ModelSession:
    stored: Session
    owner: int
    title: str
    used: int
    pinned: bool = False
    turns: list[ModelTurn] = field(default_factory=list)

    @property
    def branch(self) -> list[ModelTurn]:
        """The turns that lead to the newest one, the oldest first."""
        found, turn = [], self.turns[-1] if self.turns else None
        while turn is not None:
            found.append(turn)
            turn = turn.parent
        return found[::-1]

    @property
    def running(self) -> ModelTurn | None:
        return next((turn for turn in self.turns if turn.running), None)


class StoreMachine(RuleBasedStateMachine):
    """Does everything twice: in the database, and in lists."""

    def __init__(self, runner: asyncio.Runner, database: Database) -> None:
        super().__init__()
        self._runner = runner
        self._database = database
        # The database is shared by all examples, so each has its own users.
        self._owners = [self._write(partial(new_owner, name=f"user{next(_numbers)}")) for _ in range(2)]
        self._uses = count()
        self._sessions: list[ModelSession] = []
        self._preferences = [Preferences(), Preferences()]

    @rule(owner=st.integers(0, 1), title=st.just("") | texts)
    def create_session(self, owner: int, title: str) -> None:
        stored = self._write(
            lambda conn: sessions.create(conn, self._owners[owner], now_ms=NOW_MS, title=title)
        )
        self._sessions.append(ModelSession(stored, owner, title, next(self._uses)))

    @precondition(lambda self: self._sessions)
    @rule(chance=chances, title=st.just("") | texts)
    def rename_session(self, chance: int, title: str) -> None:
        session = self._pick(chance)
        other = self._owners[1 - session.owner]
        assert self._write(lambda conn: sessions.rename(conn, other, session.stored.id, "mine", 1)) is None
        renamed = self._write(
            lambda conn: sessions.rename(conn, self._owners[session.owner], session.stored.id, title, NOW_MS)
        )
        assert renamed is not None
        session.title, session.used = title, next(self._uses)

    @precondition(lambda self: self._sessions)
    @rule(chance=chances, pinned=st.booleans())
    def pin_session(self, chance: int, pinned: bool) -> None:
        session = self._pick(chance)
        assert self._write(lambda conn: sessions.pin(conn, session.stored, pinned=pinned)) is not None
        session.pinned = pinned

    @precondition(lambda self: self._sessions)
    @rule(chance=chances)
    def delete_session(self, chance: int) -> None:
        session = self._pick(chance)
        owner, other = self._owners[session.owner], self._owners[1 - session.owner]
        assert not self._run(delete.delete_session(self._database, other, session.stored.id))
        if session.running:
            with pytest.raises(TurnRunning):
                self._run(delete.delete_session(self._database, owner, session.stored.id))
            return
        assert self._run(delete.delete_session(self._database, owner, session.stored.id))
        self._sessions.remove(session)
        assert self._read(lambda conn: sessions.get(conn, owner, session.stored.id)) is None
        for turn in session.turns:
            assert self._read(partial(turns.get, owner=owner, turn_id=turn.row.id)) is None

    @precondition(lambda self: self._sessions)
    @rule(chance=chances, prompt=texts, key=st.sampled_from(["", "", "k1", "k2"]), place=st.integers(0, 2))
    def ask(self, chance: int, prompt: str, key: str, place: int) -> None:
        session = self._pick(chance)
        before = session.turns[chance % len(session.turns)] if session.turns else None
        parent = session.turns[-1] if session.turns else None
        named = {}
        if before is not None and place:
            named = {"replaces": before.row.id} if place == 1 else {"follows": before.row.id}
            parent = before.parent if place == 1 else before

        def start(conn: Connection) -> turns.StartedTurn:
            followed = branches.parent_of_next(conn, session.stored, **named)
            request = NewTurnRow(
                messages=(UserMessage(prompt),),
                model="demo",
                idempotency_key=key,
                request_hash=prompt.encode(),
                parent=followed,
            )
            return turns.start_turn(conn, session.stored, request, now_ms=NOW_MS, writer="w")

        repeated = next((turn for turn in session.turns if key and turn.key == key), None)
        if repeated is not None and repeated.prompt != prompt:
            with pytest.raises(IdempotencyConflict):
                self._write(start)
        elif repeated is not None:
            again = self._write(start)
            assert (again.turn.id, again.new) == (repeated.row.id, False)
        elif session.running:
            with pytest.raises(TurnRunning):
                self._write(start)
        else:
            started = self._write(start)
            assert started.new
            turn = ModelTurn(started.turn, prompt, parent, key)
            session.turns.append(turn)
            session.title, session.used = session.title or prompt, next(self._uses)
            self._append(turn, TurnStarted("openai_chat", "demo"), BlockStarted(0, Kind.TEXT))

    @precondition(lambda self: self._running())
    @rule(chance=chances, text=texts)
    def append(self, chance: int, text: str) -> None:
        running = self._running()
        turn = running[chance % len(running)]
        stale = Batch(turn.row.key, turn.row.epoch + 1, len(turn.lines), len(turn.lines), b"{}\n")
        assert self._run(self._database.append([stale])) == (turn.row.key,)
        self._append(turn, BlockGrew(0, f"{text} "))
        turn.answer += f"{text} "

    @precondition(lambda self: self._running())
    @rule(chance=chances)
    def finish(self, chance: int) -> None:
        running = self._running()
        turn = running[chance % len(running)]
        self._append(turn, BlockEnded(0), TurnEnded(Finish.STOP))
        finished = self._read(partial(finished_from_log, key=turn.row.key))
        save = partial(save_finished, key=turn.row.key, finished=finished, epoch=turn.row.epoch)
        taken_over = partial(save, epoch=turn.row.epoch + 1)
        # Saving again changes nothing: the acknowledgement of the commit may have been lost.
        assert [self._write(change) for change in (save, save, taken_over)] == [True, True, False]
        turn.running = False

    @rule(owner=st.integers(0, 1), model=texts)
    def prefer(self, owner: int, model: str) -> None:
        self._preferences[owner] = Preferences(model=model)
        self._write(
            lambda conn: preferences.write(conn, self._owners[owner], self._preferences[owner], NOW_MS)
        )

    @rule(owner=st.integers(0, 1), word=st.sampled_from(WORDS))
    def search_for(self, owner: int, word: str) -> None:
        kinds = frozenset({SearchKind.PROMPT, SearchKind.ANSWER})
        page = self._read(lambda conn: find_hits(conn, self._owners[owner], word, kinds=kinds, limit=200))
        told = [turn for session in self._own(owner) for turn in session.turns]
        expected = [(SearchKind.PROMPT, turn.row.id) for turn in told if word in turn.prompt.split()]
        expected += [
            (SearchKind.ANSWER, turn.row.id)
            for turn in told
            if not turn.running and word in turn.answer.split()
        ]
        assert sorted((hit.kind, hit.turn) for hit in page.items) == sorted(expected)

    @rule()
    def compare_everything(self) -> None:
        for number, owner in enumerate(self._owners):
            assert self._read(partial(preferences.read, owner=owner)) == self._preferences[number]
            own = sorted(self._own(number), key=lambda session: -session.used)
            for pinned in (None, True, False):
                wanted = [session for session in own if pinned in (None, session.pinned)]
                page = self._read(partial(sessions.list_page, owner=owner, limit=200, pinned=pinned))
                listed = [(session.id, session.title, session.pinned) for session in page.items]
                assert listed == [(session.stored.id, session.title, session.pinned) for session in wanted]
            for session in own:
                self._read(partial(self._compare_session, session=session))

    def teardown(self) -> None:
        self.compare_everything()

    def _compare_session(self, conn: Connection, session: ModelSession) -> None:
        rows = turns.of_all_branches(conn, session.stored)
        assert [row.id for row in rows] == [turn.row.id for turn in session.turns]
        branch = turns.of_branch(conn, session.stored)
        assert [row.id for row in branch] == [turn.row.id for turn in session.branch]
        for row, turn in zip(rows, session.turns, strict=True):
            assert row.state == (TurnState.RUNNING if turn.running else TurnState.DONE)
            assert list(log_lines(conn, row.key)) == turn.lines
            told = [message.content for message in messages_of(conn, [row.key])[row.key]]
            assert told == [turn.prompt, *([] if turn.running else [turn.answer])]

    def _append(self, turn: ModelTurn, *events: Event) -> None:
        first = len(turn.lines)
        lines = [encode_entry(entry) for entry in entries(events, first)]
        content = b"\n".join(lines)
        batch = Batch(turn.row.key, turn.row.epoch, first, first + len(lines) - 1, content)
        assert self._run(self._database.append([batch])) == ()
        turn.lines += lines

    def _pick(self, chance: int) -> ModelSession:
        return self._sessions[chance % len(self._sessions)]

    def _own(self, owner: int) -> list[ModelSession]:
        return [session for session in self._sessions if session.owner == owner]

    def _running(self) -> list[ModelTurn]:
        return [turn for session in self._sessions if (turn := session.running) is not None]

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)

    def _read(self, query: Query[T]) -> T:
        return self._run(self._database.read(query))

    def _write(self, change: Query[T]) -> T:
        return self._run(self._database.write(change))


# A failure is not shrunk: every try writes to a database, and that takes minutes.
SETTINGS = settings(
    max_examples=20,
    stateful_step_count=30,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    report_multiple_bugs=False,
)


def test_store_behaves_like_the_model(each_engine: str, tmp_path: Path) -> None:
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        database = runner.run(stack.enter_async_context(temporary_database(tmp_path)))
        try:

            class ThisDatabase(StoreMachine):
                def __init__(self) -> None:
                    super().__init__(runner, database)

            run_state_machine_as_test(ThisDatabase, settings=SETTINGS)
        finally:
            runner.run(stack.aclose())
