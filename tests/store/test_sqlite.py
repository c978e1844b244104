"""The SQLite engine: lock, file, migrations and readers."""

import asyncio
import re
import stat
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, event, text
from sqlalchemy.exc import DBAPIError
from tests.store.engines import empty_tables
from tests.store.log_fixtures import append_all, entries, new_turn, temporary_database, turn_events

from thinkaloud.core.canon import Refused
from thinkaloud.gateway.store.engine.database import DatabaseInUse, NotSaved
from thinkaloud.gateway.store.engine.many_rows import padded
from thinkaloud.gateway.store.engine.prepared import PreparedStatement
from thinkaloud.gateway.store.engine.sqlite import open_database
from thinkaloud.gateway.store.log.event_log import EventLog
from thinkaloud.gateway.store.migrations.migrate import LATEST_VERSION, SCRIPTS, migrate, run_migrations
from thinkaloud.gateway.store.queries import sessions, users
from thinkaloud.gateway.store.queries.messages import messages_of
from thinkaloud.gateway.store.queries.values import ERASES_FACT
from thinkaloud.gateway.store.schema import metadata
from thinkaloud.gateway.store.search import index as search_index


def test_second_gateway_is_refused_but_a_guest_is_not(tmp_path: Path) -> None:
    async def scenario() -> None:
        path = tmp_path / "thinkaloud.db"
        async with open_database(path) as database:
            await database.write(lambda conn: users.ensure_local(conn, 1))
            with pytest.raises(DatabaseInUse, match=r"in use by another gateway \(process \d+\)"):
                async with open_database(path):
                    pass
            async with open_database(path, guest=True) as guest:
                await guest.write(lambda conn: users.add_user(conn, "ana", 2))
            assert len(await database.read(users.list_users)) == 2
        async with open_database(path):
            pass

    asyncio.run(scenario())


def execute(conn: Connection, statement: str) -> None:
    conn.execute(text(statement))


HOLD = """
import asyncio, sys
from functools import partial
from pathlib import Path
from thinkaloud.gateway.store.engine.sqlite import open_database
async def hold():
    async with open_database(Path(sys.argv[1])):
        print("held", flush=True)
        await asyncio.sleep(60)
asyncio.run(hold())
"""


def test_lock_is_released_when_its_process_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "thinkaloud.db"
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE)
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"

        async def try_it() -> None:
            async with open_database(path):
                pass

        with pytest.raises(DatabaseInUse, match=f"process {holder.pid}"):
            asyncio.run(try_it())
        holder.kill()
        holder.wait()
        asyncio.run(try_it())


@pytest.mark.parametrize("name", ["a b", "what?", "50%", "#1", "ação"])
def test_database_folder_is_created_and_private(tmp_path: Path, name: str) -> None:
    async def scenario() -> None:
        folder = tmp_path / name / "deep"
        async with temporary_database(folder) as database:
            await database.write(lambda conn: users.ensure_local(conn, 1))
            for file in folder.iterdir():
                assert stat.S_IMODE(file.stat().st_mode) == 0o600, file.name
        assert (folder / "thinkaloud.db").stat().st_size > 0

    asyncio.run(scenario())


def test_unwritable_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    async def scenario() -> None:
        with pytest.raises(Refused, match=r"cannot be opened: .*THINKALOUD_HOME"):
            async with temporary_database(tmp_path / "file"):
                pass

    asyncio.run(scenario())


def test_file_that_is_not_a_database_is_reported(tmp_path: Path) -> None:
    (tmp_path / "thinkaloud.db").write_bytes(b"something else entirely, and long enough to be looked at" * 40)

    async def scenario() -> None:
        with pytest.raises(Refused, match="is not a database"):
            async with temporary_database(tmp_path):
                pass

    asyncio.run(scenario())


def test_migrations_make_the_schema_and_latest_version_is_current() -> None:
    def include_name(name: str | None, kind: str, _: object) -> bool:
        return kind != "table" or not (name or "").startswith("search_")

    with create_engine("sqlite://").begin() as conn:
        run_migrations(conn)
        context = MigrationContext.configure(conn, opts={"include_name": include_name})
        assert compare_metadata(context, metadata) == []
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    assert ScriptDirectory.from_config(config).get_heads() == [LATEST_VERSION]


def test_new_database_is_the_same_as_one_that_was_migrated() -> None:
    def definitions(conn: Connection) -> dict[str, list[str]]:
        """Return the parts of each table and index. Their order differs: a migration adds a column last."""
        rows = conn.execute(text("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"))
        parts_by_name = {}
        for name, sql in rows:
            start, _, parts = re.sub(r"[\s\"]+", " ", sql).removesuffix(")").partition("(")
            parts_by_name[name] = [start.strip(), *sorted(re.split(r" *, *(?![^(]*\))", parts.strip()))]
        return parts_by_name

    def content(conn: Connection) -> list[list[object]]:
        queries = ("SELECT * FROM facts ORDER BY 1", "SELECT * FROM alembic_version")
        return [[*map(tuple, conn.execute(text(query)))] for query in queries]

    with create_engine("sqlite://").begin() as created, create_engine("sqlite://").begin() as migrated:
        migrate(created)
        run_migrations(migrated, "0001")
        migrate(migrated)
        assert definitions(created) == definitions(migrated)
        created.execute(text("DELETE FROM facts WHERE name = :name"), {"name": ERASES_FACT})
        assert content(created) == content(migrated)


def test_database_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with temporary_database(tmp_path) as database:
            for statement in ("UPDATE alembic_version SET version_num = '9999'", "DELETE FROM facts"):
                await database.write(partial(execute, statement=statement))
        with pytest.raises(Refused, match="made by a newer version"):
            async with temporary_database(tmp_path):
                pass

    asyncio.run(scenario())


def test_database_to_which_a_newer_version_has_only_added_is_opened(tmp_path: Path) -> None:
    """Point 14: during a rolling upgrade an older gateway starts beside newer ones."""

    async def scenario() -> None:
        async with temporary_database(tmp_path) as database:
            newer = (
                "UPDATE alembic_version SET version_num = '9999'",
                "ALTER TABLE turns ADD COLUMN colour TEXT DEFAULT 'red' NOT NULL",
            )
            for statement in newer:
                await database.write(partial(execute, statement=statement))
        async with temporary_database(tmp_path) as database:
            row = await new_turn(database)
            async with EventLog(database) as log:
                append_all(writer := log.writer(row.key, row.epoch), entries(turn_events("51")))
                assert await writer.close() is not None

    asyncio.run(scenario())


def test_readers_cannot_write_and_sql_errors_are_not_disk_errors(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with temporary_database(tmp_path) as database:
            with pytest.raises(NotSaved, match="read-only"):
                await database.read(lambda conn: users.ensure_local(conn, 1))
            with pytest.raises(DBAPIError, match="no such table"):
                await database.write(lambda conn: conn.execute(text("DELETE FROM nowhere")))

    asyncio.run(scenario())


@pytest.mark.parametrize(("full_sync", "level"), [(False, 1), (True, 2)])
def test_full_sync_waits_for_the_disk_at_each_commit(tmp_path: Path, full_sync: bool, level: int) -> None:
    """SQLite writes the levels as numbers: 1 is NORMAL, 2 is FULL."""

    async def story() -> object:
        async with open_database(tmp_path / "t.db", full_sync=full_sync) as database:
            return await database.write(lambda conn: conn.exec_driver_sql("PRAGMA synchronous").scalar())

    assert asyncio.run(story()) == level


def test_wal_is_checkpointed_on_close(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with temporary_database(tmp_path) as database:
            await database.write(lambda conn: users.ensure_local(conn, 1))

    asyncio.run(scenario())
    assert not (tmp_path / "thinkaloud.db-wal").exists()


def test_short_writes_share_a_commit_and_fail_alone(tmp_path: Path) -> None:
    """Changes that wait for the writer are committed together; one that fails is undone by itself."""

    def add(conn: Connection, name: str) -> str:
        users.add_user(conn, name, 1)
        if name == "bad":
            raise ValueError("no such user")
        return name

    async def scenario() -> None:
        async with temporary_database(tmp_path) as database:
            blocker = asyncio.create_task(database.write(lambda conn: time.sleep(0.2)))
            await asyncio.sleep(0.05)
            names = ("ana", "bad", "eva", "bo")
            outcomes = await asyncio.gather(
                *(database.write_short(partial(add, name=name)) for name in names),
                return_exceptions=True,
            )
            await blocker
            assert [outcomes[0], *outcomes[2:]] == ["ana", "eva", "bo"]
            assert isinstance(outcomes[1], ValueError)
            stored = {user.name for user in await database.read(users.list_users)}
            assert stored >= {"ana", "eva", "bo"}
            assert "bad" not in stored
            with pytest.raises(ValueError, match="no such user"):
                await database.write_short(lambda conn: add(conn, "bad"))
            assert "bad" not in {user.name for user in await database.read(users.list_users)}

    asyncio.run(scenario())


def test_errors_of_prepared_statements_are_sqlalchemys_and_hide_parameters(tmp_path: Path) -> None:
    statement = PreparedStatement(text("INSERT INTO no_such_table VALUES (:secret)"))

    async def scenario() -> None:
        async with temporary_database(tmp_path) as database:
            with pytest.raises(DBAPIError, match="no such table") as error_info:
                await database.write(lambda conn: statement.run(conn, {"secret": "my diary"}))
            assert "my diary" not in str(error_info.value)

    asyncio.run(scenario())


@pytest.mark.parametrize("count", [0, 1, 2, 3, 100, 128, 129, 1_000])
def test_padded_list_has_the_same_values(count: int) -> None:
    keys = padded(range(count))
    assert set(keys) == set(range(count))
    assert len(keys) - count < max(count, 1)


def test_lists_of_any_length_share_a_few_prepared_statements() -> None:
    """A connection keeps each statement that it has prepared, with kilobytes of memory."""
    with empty_tables() as conn:
        statements = set()

        @event.listens_for(conn, "before_cursor_execute")
        def _note(_conn: object, _cursor: object, statement: str, *_: object) -> None:
            statements.add(statement)

        for count in range(1, 200):
            keys = list(range(count))
            sessions.running_among(conn, keys)
            messages_of(conn, keys)
            users.valid_tokens(conn, [b"%d" % key for key in keys])
            search_index.listed_entries(conn, keys)
        assert len(statements) <= 4 * 10
