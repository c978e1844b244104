"""One long turn does not keep others waiting: indexing and deleting take linear time, in short writes."""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import Connection, func, select
from tests.linear_time import assert_linear
from tests.store.engines import empty_tables
from tests.store.log_fixtures import NOW_MS, TURN_REQUEST, entries, temporary_database
from tests.store.query_fixtures import ask, block_events, finish, indexed_words, new_owner, new_session

from thinkaloud.core.canon import Event, Finish, Kind, TurnEnded, TurnStarted
from thinkaloud.gateway.store.log.finish import finished_from_entries, save_finished
from thinkaloud.gateway.store.queries import sessions, turns, users
from thinkaloud.gateway.store.queries.delete import delete_hidden, delete_session
from thinkaloud.gateway.store.queries.sessions import SessionGone, TurnRunning
from thinkaloud.gateway.store.rows import Owner, SearchKind, Session
from thinkaloud.gateway.store.schema import messages, parts, search_rows, unindexed
from thinkaloud.gateway.store.search import index as search_index
from thinkaloud.gateway.store.search.find import find_hits
from thinkaloud.gateway.store.search.index import SLICE_BLOCKS


def alternating_blocks(count: int) -> list[Event]:
    """The events of a provider that alternates thought and answer."""
    kinds = Kind.REASONING, Kind.TEXT
    return [event for n in range(count) for event in block_events(n, kinds[n % 2], f"word{n}")]


def test_indexing_and_deleting_take_linear_time_in_the_number_of_blocks(conn: Connection) -> None:
    session_of = partial(new_session, conn, new_owner(conn, "ana"))

    def save_and_remove(count: int) -> Callable[[], object]:
        turn, events = ask(conn, session_of(), "go").turn, alternating_blocks(count)

        def run() -> None:
            finish(conn, turn, *events)
            message_keys = conn.scalars(select(messages.c.key).where(messages.c.turn == turn.key)).all()
            search_index.remove_messages(conn, message_keys)

        return run

    assert_linear(save_and_remove, 1_000)


def test_search_joins_parts_by_their_primary_key() -> None:
    """The number of a block is its position; a join by another column would scan the whole message."""
    with empty_tables() as conn:
        check_join_of_parts(conn)


def check_join_of_parts(conn: Connection) -> None:
    session = new_session(conn, new_owner(conn, "ana"))
    finish(conn, ask(conn, session, "go").turn, *alternating_blocks(20))
    assert conn.scalar(select(func.count()).where(parts.c.position != parts.c.number)) == 0
    plan = "\n".join(
        row[-1] for row in conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {search_index.SEARCH_ROWS}")
    )
    assert "SEARCH parts USING PRIMARY KEY" in plan or "SEARCH parts USING INDEX" in plan
    assert "position=?" in plan


@pytest.mark.usefixtures("each_engine")
def test_session_is_deleted_in_slices_and_leaves_no_word_in_the_index(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with temporary_database(tmp_path) as database:

            def fill(conn: Connection) -> Session:
                owner = users.ensure_local(conn, NOW_MS)
                session = sessions.create(conn, owner, now_ms=NOW_MS)
                for number in range(120):  # more than one slice
                    turn = ask(conn, session, f"prompt{number}").turn
                    finish(conn, turn, *block_events(0, Kind.TEXT, f"answer{number}"))
                return session

            session = await database.write(fill)
            assert await delete_session(database, session.owner, session.id)
            assert not await delete_session(database, session.owner, session.id)
            counts = await database.read(
                lambda conn: [
                    conn.scalar(select(func.count()).select_from(table)) for table in (messages, search_rows)
                ]
            )
            assert counts == [0, 0]
            assert await database.write(indexed_words) == []

    asyncio.run(scenario())


def test_session_that_is_being_deleted_starts_no_turn(conn: Connection) -> None:
    ana = new_owner(conn, "ana")
    running, idle = new_session(conn, ana), new_session(conn, ana)
    ask(conn, running, "go")
    with pytest.raises(TurnRunning):
        sessions.hide_for_deletion(conn, ana, running.id)
    assert sessions.hide_for_deletion(conn, ana, idle.id) == idle
    assert sessions.get(conn, ana, idle.id) is None
    with pytest.raises(SessionGone):
        ask(conn, idle, "go")


def test_texts_are_normalized_before_the_write(conn: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """The writer serves all turns, so it must not normalize a long text of one."""
    session = new_session(conn, new_owner(conn, "ana"))
    events = [*block_events(0, Kind.TEXT, "答え 42"), *block_events(1, Kind.TOOL_CALL, "{}", "look")]
    finished = finished_from_entries(
        entries([TurnStarted("openai_chat", "demo"), *events, TurnEnded(Finish.STOP)])
    )
    normalized = turns.normalized_texts(TURN_REQUEST.messages)

    def refuse(text: str) -> str:
        raise AssertionError(f"{text!r} was normalized within the write")

    monkeypatch.setattr(search_index, "normalize_for_index", refuse)
    request = turns.NewTurnRow(messages=TURN_REQUEST.messages, model="m", normalized_texts=normalized)
    turn = turns.start_turn(conn, session, request, now_ms=1, writer="w").turn
    save_finished(conn, turn.key, finished, turn.epoch)
    assert conn.scalar(select(func.count()).select_from(search_rows)) == 3


def hits(conn: Connection, owner: Owner, *words: str) -> list[int]:
    """Return the number of hits of each word."""
    kinds = frozenset((SearchKind.ANSWER, SearchKind.THOUGHT))
    return [len(find_hits(conn, owner, word, kinds=kinds, limit=10).items) for word in words]


def save_long_turn(conn: Connection, blocks: int) -> tuple[Session, int]:
    """Save a turn that is too long to be indexed with it."""
    session = new_session(conn, users.ensure_local(conn, NOW_MS))
    turn = ask(conn, session, "go").turn
    events = [TurnStarted("openai_chat", "demo"), *alternating_blocks(blocks), TurnEnded(Finish.STOP)]
    finished = finished_from_entries(entries(events))
    assert finished.long
    save_finished(conn, turn.key, finished, turn.epoch)
    return session, turn.key


@pytest.mark.usefixtures("each_engine")
def test_long_turn_is_indexed_in_slices_and_the_rest_after_a_restart(tmp_path: Path) -> None:
    blocks = 3 * SLICE_BLOCKS - 1

    async def scenario() -> None:
        async with temporary_database(tmp_path) as database:
            session, turn = await database.write(partial(save_long_turn, blocks=blocks))
            words = "word0", f"word{SLICE_BLOCKS - 1}", f"word{SLICE_BLOCKS}", f"word{blocks - 1}"
            assert await database.read(lambda conn: hits(conn, session.owner, *words)) == [0, 0, 0, 0]
            next_slice = partial(search_index._next_slice, turn=turn, normalized={})
            with pytest.MonkeyPatch.context() as patch:  # long texts make a slice of fewer blocks
                patch.setattr(search_index, "SLICE_CHARS", 1)
                one_block = await database.read(next_slice)
            assert one_block is not None
            assert (one_block.until, one_block.last) == (0, False)
            first = await database.read(next_slice)
            assert first is not None
            await database.write(partial(search_index._add_slice, index_slice=first))
            await database.write(partial(search_index._add_slice, index_slice=first))  # by another task
            assert await database.read(lambda conn: hits(conn, session.owner, *words)) == [1, 1, 0, 0]
            await search_index.index_rest(database)
            assert await database.read(lambda conn: hits(conn, session.owner, *words)) == [1, 1, 1, 1]
            assert await database.read(lambda conn: conn.scalar(select(func.count(unindexed.c.message)))) == 0

    asyncio.run(scenario())


@pytest.mark.usefixtures("each_engine")
def test_session_deleted_while_it_is_indexed_leaves_no_word_in_the_index(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with temporary_database(tmp_path) as database:
            session, turn = await database.write(partial(save_long_turn, blocks=2 * SLICE_BLOCKS))
            first = await database.read(partial(search_index._next_slice, turn=turn, normalized={}))
            assert first is not None
            await database.write(lambda conn: sessions.hide_for_deletion(conn, session.owner, session.id))
            await database.write(partial(search_index._add_slice, index_slice=first))
            await delete_hidden(database, session)
            assert await database.write(indexed_words) == []

    asyncio.run(scenario())
