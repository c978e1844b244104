"""The PostgreSQL engine: migrations, texts that it cannot store, a server that goes away and returns."""

import asyncio
import os
import re
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, func, select, text
from sqlalchemy.exc import DBAPIError
from tests.patience import PATIENCE_S
from tests.postgres_server import PostgresServer, shared_server
from tests.store.engines import POSTGRES, empty_tables, migrated_template
from tests.store.log_fixtures import append_all, entries, new_turn, read_all, turn_events
from tests.store.query_fixtures import ask, block_events, exchange, finish, new_owner, new_session

from thinkaloud.core.canon import Kind, Refused
from thinkaloud.core.export.record import Source
from thinkaloud.core.transcript import Turn
from thinkaloud.gateway.server.files.imports import ImportHeader
from thinkaloud.gateway.server.handlers.figures import figures_of
from thinkaloud.gateway.server.handlers.imports import _start_import
from thinkaloud.gateway.server.http.route import Grant, RouteRequest
from thinkaloud.gateway.store.engine.coordination import (
    ALL_TURNS,
    LOG_CHANNEL,
    Wakeup,
    read_wakeup,
    turns_payload,
)
from thinkaloud.gateway.store.engine.database import Batch, NotSaved, Query
from thinkaloud.gateway.store.engine.postgres import (
    PostgresConfig,
    PostgresDatabase,
    open_postgres,
    open_postgres_snapshot,
)
from thinkaloud.gateway.store.engine.postgres_connect import TimeLimits, escape, public_name, unescape
from thinkaloud.gateway.store.log.event_log import EventLog, LogConfig
from thinkaloud.gateway.store.queries import sessions, users
from thinkaloud.gateway.store.queries.figures import EndedTurn, save_figures
from thinkaloud.gateway.store.queries.messages import messages_of
from thinkaloud.gateway.store.rows import SearchKind, Session, SessionClient, ThinkingShown
from thinkaloud.gateway.store.schema import log as log_rows
from thinkaloud.gateway.store.schema import metadata, search_rows, turn_figures
from thinkaloud.gateway.store.schema import turns as turn_rows
from thinkaloud.gateway.store.search import index as search_index
from thinkaloud.gateway.store.search.find import find_hits

_MORE_TURNS = (
    "INSERT INTO turns (id, session, position, created_ms, state, writer) SELECT 't' || number, session, "
    "number, created_ms, state, writer FROM turns, generate_series(1, 5000) AS number"
)


@asynccontextmanager
async def fresh_database(config: PostgresConfig | None = None) -> AsyncIterator[PostgresDatabase]:
    """A new database with all tables, deleted afterwards."""
    name = shared_server().new_database(migrated_template())
    try:
        async with open_postgres(shared_server().url(name), config or PostgresConfig()) as database:
            yield database
    finally:
        shared_server().drop_database(name)


def test_nodes_that_start_at_once_migrate_once_and_make_the_schema() -> None:
    url = shared_server().url(shared_server().new_database())

    def difference(conn: Connection) -> list[object]:
        context = MigrationContext.configure(conn, opts={"include_name": include_name})
        return list(compare_metadata(context, metadata))

    def include_name(name: str | None, kind: str, _: object) -> bool:
        return kind != "table" or not (name or "").startswith("search_")

    async def start() -> list[object]:
        async with open_postgres(url) as database:
            await database.write(lambda conn: users.ensure_local(conn, 1))
            return await database.read(difference)

    async def scenario() -> None:
        assert await asyncio.gather(*(start() for _ in range(4))) == [[]] * 4

    asyncio.run(scenario())


@settings(deadline=None)
@given(st.text(st.characters(), max_size=20) | st.text("\x00\ud800\udfff\U0010ffff0\ue000a", max_size=8))
def test_every_text_survives_the_escape(original: str) -> None:
    stored = escape(original)
    assert "\x00" not in stored
    stored.encode()
    assert unescape(stored) == original


def test_nul_and_lone_surrogates_are_read_back() -> None:
    told = "a\x00b \U0010ffff \ud800"
    with empty_tables(POSTGRES) as conn:
        session = new_session(conn, new_owner(conn, "ana"))
        turn = exchange(conn, session, "ask", told[:-1], told[:-1])
        message = messages_of(conn, [turn.key])[turn.key][-1]
        assert (message.thinking, message.content) == (told[:-1], told[:-1])
        assert conn.execute(text("SELECT CAST(:told AS text)"), {"told": told}).scalar() == told
        hits = find_hits(conn, session.owner, "a", kinds=frozenset(SearchKind), limit=5)
        assert [hit.kind for hit in hits.items] == [SearchKind.ANSWER, SearchKind.THOUGHT]


def test_text_with_more_words_than_a_tsvector_holds_is_found_exactly() -> None:
    words = " ".join(f"словословослово{number}x" for number in range(20_000))
    long_word = "z" * 900
    with empty_tables(POSTGRES) as conn:
        owner = new_owner(conn, "ana")
        turn = ask(conn, new_session(conn, owner), "go").turn
        finish(conn, turn, *block_events(0, Kind.TEXT, f"{long_word} {words}"))
        search_index.rebuild_index(conn)  # a long message is indexed after its write

        def hits(typed: str) -> int:
            return len(find_hits(conn, owner, typed, kinds=frozenset(SearchKind), limit=5).items)

        crowded = conn.scalars(text("SELECT crowded FROM search_text ORDER BY key")).all()
        assert crowded == [False, True]
        word = "словословослово"
        found = f"{word}7x", f'"{word}118x {word}119x"', f"{word}1199*", long_word
        missing = f"{word}7", f'"{word}119x {word}118x"', "nothing*", long_word[1:]
        assert [*map(hits, found), *map(hits, missing)] == [1, 1, 1, 1, 0, 0, 0, 0]
        assert conn.scalar(select(func.count()).select_from(search_rows)) == 2


def test_lost_acknowledgement_of_a_commit_leaves_no_duplicate() -> None:
    async def scenario() -> None:
        async with fresh_database() as database:
            row, other = await new_turn(database), await new_turn(database)
            batches = [Batch(row.key, row.epoch, 0, 1, b"{}\n{}"), Batch(other.key, other.epoch, 0, 0, b"{}")]
            assert await database.append(batches) == ()
            assert await database.append([*batches, Batch(row.key, row.epoch, 2, 2, b"{}")]) == ()
            assert await database.append([Batch(row.key, row.epoch + 1, 3, 3, b"{}")]) == (row.key,)
            rows = await database.read(
                lambda conn: conn.execute(select(log_rows.c.turn, log_rows.c.first_seq)).all()
            )
            assert sorted(map(tuple, rows)) == [(row.key, 0), (row.key, 2), (other.key, 0)]

    asyncio.run(scenario())


def test_commit_of_any_number_of_turns_fits_into_one_notification() -> None:
    """Point 8: a payload of 8,000 bytes would fail, and the commit with it."""
    keys = [10**18 + number for number in range(390)]
    assert len(turns_payload(keys)) < 8_000
    assert read_wakeup(LOG_CHANNEL, turns_payload(keys)) == Wakeup(frozenset(keys))
    assert turns_payload(range(5_000)) == ALL_TURNS
    assert {read_wakeup(LOG_CHANNEL, payload).turns for payload in (ALL_TURNS, "", "1,x")} == {None}

    async def scenario() -> None:
        woken: list[Wakeup] = []
        async with fresh_database() as database, database.listen(woken.append):
            await new_turn(database)
            await database.write(lambda conn: conn.execute(text(_MORE_TURNS)).rowcount)
            keys = await database.read(lambda conn: conn.scalars(select(turn_rows.c.key)).all())
            while not database.listener.connected:
                await asyncio.sleep(0.01)
            woken.clear()
            foreign = [Batch(key, 0, 0, 0, b"{}") for key in range(1_000_000, 1_000_100)]
            stale = await database.append([*(Batch(key, 0, 0, 0, b"{}") for key in keys), *foreign])
            assert set(stale) == {batch.turn for batch in foreign}
            count = select(func.count()).select_from(log_rows)
            assert await database.read(lambda conn: conn.scalar(count)) == len(keys) == 5_001
            async with asyncio.timeout(PATIENCE_S):
                while Wakeup() not in woken:
                    await asyncio.sleep(0.01)

    asyncio.run(scenario())


def test_long_transaction_elsewhere_does_not_fill_the_queue_of_notifications() -> None:
    """Point 17: only a listener in a transaction could hold it back, and a gateway's is never in one."""

    async def scenario() -> None:
        async with fresh_database() as database, database.listen(lambda _: None):
            row = await new_turn(database)
            with psycopg.connect(database.url) as long_transaction:
                long_transaction.execute("SELECT count(*) FROM turns")
                while not database.listener.connected:
                    await asyncio.sleep(0.01)
                for number in range(300):
                    await database.append([Batch(row.key, row.epoch, number, number, b"{}")])
                usage = text("SELECT pg_notification_queue_usage()")
                async with asyncio.timeout(PATIENCE_S):
                    while await database.read(lambda conn: conn.scalar(usage)):
                        await asyncio.sleep(0.05)
                state = text(
                    "SELECT state FROM pg_stat_activity WHERE application_name = 'thinkaloud listen'"
                )
                assert set(await database.read(lambda conn: conn.scalars(state).all())) == {"idle"}

    asyncio.run(scenario())


def test_server_that_is_killed_is_waited_for_and_nothing_is_lost_or_doubled() -> None:
    told = entries(turn_events(*("word " for _ in range(300))))

    async def scenario(server: PostgresServer) -> None:
        async with open_postgres(server.url(server.new_database())) as database:
            row = await new_turn(database)
            async with EventLog(database, LogConfig(retry_s=0.05)) as log:
                writer = log.writer(row.key, row.epoch)
                append_all(writer, told[:100])
                await writer.flush()
                await asyncio.to_thread(server.kill)
                append_all(writer, told[100:200])
                with pytest.raises(NotSaved, match="Cannot use the database test_0"):
                    await database.read(lambda conn: conn.execute(text("SELECT 1")).scalar())
                while log.saved:
                    await asyncio.sleep(0.01)
                assert (await log.read(row.key)).saved is False
                await asyncio.to_thread(server.start)
                append_all(writer, told[200:])
                assert await asyncio.wait_for(writer.close(), PATIENCE_S) is not None
                assert len(await read_all(log, row.key)) == len(told)

    server = PostgresServer()
    try:
        asyncio.run(scenario(server))
    finally:
        server.close()


def test_connections_that_the_server_ends_are_replaced() -> None:
    """Point 10: a read or change that was certainly undone is run again."""

    async def scenario() -> None:
        async with fresh_database() as database:
            row = await new_turn(database)
            name = await database.read(lambda conn: str(conn.scalar(select(func.current_database()))))
            end_all = (
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            for number in range(5):
                await asyncio.to_thread(shared_server().execute, end_all, name)
                await database.write(lambda conn: users.ensure_local(conn, 1))
                with_lost_connection = Batch(row.key, row.epoch, number, number, b"{}")
                try:
                    await database.append([with_lost_connection])
                except NotSaved:
                    await database.append([with_lost_connection])
            count = await database.read(lambda conn: conn.scalar(select(func.count()).select_from(log_rows)))
            assert count == 5

    asyncio.run(scenario())


def test_statement_that_takes_too_long_is_reported_and_too_many_queries_are_refused() -> None:
    async def scenario() -> None:
        config = PostgresConfig(readers=1, most_waiting=1, limits=TimeLimits(statement_s=0.3))
        async with fresh_database(config) as database:

            def sleep(conn: Connection) -> None:
                conn.execute(text("SELECT pg_sleep(5)"))

            first = asyncio.create_task(database.read(sleep))
            second = asyncio.create_task(database.read(sleep))
            await asyncio.sleep(0.05)
            assert database.waiting_queries == 1
            with pytest.raises(NotSaved, match="too slow"):
                await database.read(sleep)
            for task in (first, second):
                with pytest.raises(NotSaved, match="took too long"):
                    await task
            with pytest.raises(NotSaved, match="read-only"):
                await database.read(lambda conn: users.ensure_local(conn, 1))
            with pytest.raises(DBAPIError, match="nowhere"):
                await database.write(lambda conn: conn.execute(text("DELETE FROM nowhere")))

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://user:hush@127.0.0.1:1/base", r"database base at 127\.0\.0\.1:1: .*refused.*URL"),
        ("postgresql://user:hush@[bad/base", "is not valid"),
        ("postgresql://h/base?nonsense=1", "is not valid"),
    ],
)
def test_address_that_cannot_be_used_is_refused_without_its_password(url: str, said: str) -> None:
    async def scenario() -> None:
        async with open_postgres(url):
            pass

    with pytest.raises(Refused, match=said) as refused:
        asyncio.run(scenario())
    assert "hush" not in str(refused.value)


def test_database_of_another_encoding_is_refused() -> None:
    server = shared_server()
    server.execute("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")

    async def scenario() -> None:
        async with open_postgres(server.url("latin")):
            pass

    with pytest.raises(Refused, match=r"encoding LATIN1.*CREATE DATABASE"):
        asyncio.run(scenario())
    server.drop_database("latin")


def test_slow_import_of_the_migrations_holds_no_transaction_open() -> None:
    """On a slow machine the import takes longer than a transaction may do nothing."""
    url = shared_server().url(shared_server().new_database())
    program = """
import asyncio, sys, time
from importlib.abc import MetaPathFinder
from thinkaloud.gateway.store.engine import postgres
from thinkaloud.gateway.store.engine.postgres_connect import TimeLimits

class SlowImport(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name in ("alembic.command", "alembic.script"):
            time.sleep(1.5)

sys.meta_path.insert(0, SlowImport())
postgres._MIGRATION_LIMITS = TimeLimits(idle_s=1.0)

async def start():
    async with postgres.open_postgres(sys.argv[1]):
        print("migrated")

asyncio.run(start())
"""
    run = subprocess.run([sys.executable, "-c", program, url], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout.strip()) == (0, "migrated"), run.stderr[-2000:]


def test_user_that_may_create_no_tables_is_told_what_to_grant() -> None:
    server = shared_server()
    name = server.new_database()
    server.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC", name)
    server.execute("CREATE ROLE guest LOGIN")

    async def scenario() -> None:
        async with open_postgres(re.sub("user=[a-z]+", "user=guest", server.url(name))):
            pass

    with pytest.raises(Refused, match=r"permission denied for schema public\. .*GRANT CREATE"):
        asyncio.run(scenario())
    server.drop_database(name)
    server.execute("DROP ROLE guest")


def test_snapshot_whose_connection_is_lost_is_refused_in_words() -> None:
    name = shared_server().new_database(migrated_template())
    kill = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"

    def read_on() -> None:
        with open_postgres_snapshot(shared_server().url(name)) as conn:
            conn.execute(text("SELECT 1"))
            shared_server().execute(kill)
            conn.execute(text("SELECT 1"))

    with pytest.raises(Refused, match=r"Cannot use the database .*terminating connection"):
        read_on()
    shared_server().drop_database(name)


def test_server_runs_as_a_user_other_than_root() -> None:
    with psycopg.connect(shared_server().url()) as connection:
        pid = connection.info.backend_pid
        assert os.stat(f"/proc/{pid}").st_uid != 0
    assert "hush" not in public_name("postgresql://ana:hush@example.org:5433/base?options=-csearch_path%3Dx")


async def race(database: PostgresDatabase, change: Query[object]) -> list[object]:
    """Run a change twice at once: the second begins before the first is committed, and waits for it."""
    made, commit = threading.Event(), threading.Event()

    def hold(conn: Connection) -> object:
        result = change(conn)
        made.set()
        assert commit.wait(PATIENCE_S)
        return result

    def waiting(conn: Connection) -> int:
        query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        return conn.scalar(text(f"{query} AND datname = current_database()")) or 0

    first = asyncio.create_task(database.write(hold))
    await asyncio.to_thread(made.wait, PATIENCE_S)
    second = asyncio.create_task(database.write(change))
    async with asyncio.timeout(PATIENCE_S):
        while not second.done() and not await database.read(waiting):
            await asyncio.sleep(0.02)
    commit.set()
    return list(await asyncio.gather(first, second))


def test_figures_and_rules_that_two_save_at_once_are_stored_once() -> None:
    async def scenario() -> None:
        async with fresh_database() as database:
            turn = await new_turn(database)
            owner = await database.write(lambda conn: users.ensure_local(conn, 1))
            ana = await database.write(lambda conn: users.add_user(conn, "ana", 1))
            figures = [figures_of(EndedTurn(turn, Turn()))]
            await race(database, lambda conn: save_figures(conn, owner, figures))
            await race(database, lambda conn: users.set_thinking_rule(conn, ana, "", ThinkingShown.NOTHING))
            count = select(func.count()).select_from(turn_figures)
            assert await database.read(lambda conn: conn.scalar(count)) == 1
            stored = await database.read(lambda conn: users.thinking_rules(conn, ana.key))
            assert stored == {"": ThinkingShown.NOTHING}

    asyncio.run(scenario())


def test_import_that_ends_while_another_begins_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other gateway makes its session visible between any two statements of this one."""
    client = SessionClient("chatgpt", "imported c-1")

    async def scenario() -> None:
        async with fresh_database() as database:
            owner = await database.write(lambda conn: users.ensure_local(conn, 1))
            first = sessions.NewClientSession(model="m", client=client)

            def begin(conn: Connection) -> Session:
                session = sessions.create_for_client(conn, owner, first, 1)
                sessions.hide(conn, session)
                return session

            session = await database.write(begin)
            of_conversation = sessions.of_conversation

            def look_and_end(*arguments: Any, **options: Any) -> Session | None:
                found = of_conversation(*arguments, **options)
                with psycopg.connect(database.url) as other:
                    other.execute("UPDATE sessions SET whole = true")
                return found

            monkeypatch.setattr(sessions, "of_conversation", look_and_end)
            gateway: Any = None
            request = RouteRequest(gateway=gateway, grant=Grant(owner=owner), headers={})
            header = ImportHeader(
                title="",
                created_ms=1,
                agent="",
                model="m",
                turns=0,
                thoughts=0,
                calls=0,
                source=Source("chatgpt", "c-1"),
            )
            start = partial(_start_import, request=request, header=header, client=client, now_ms=1)
            with pytest.raises(Refused, match="being imported"):
                await database.write(start)
            found, new = await database.write(start)
            assert (found.id, new) == (session.id, False)

    asyncio.run(scenario())
