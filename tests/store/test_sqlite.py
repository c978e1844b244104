"""The SQLite engine: lock, file, migrations and readers."""

import asyncio
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError
from tests.store.log_fixtures import temporary_database

from thinkaloud.canon import Refused
from thinkaloud.store import users
from thinkaloud.store.database import DatabaseInUse, NotSaved
from thinkaloud.store.migrate import LATEST_VERSION, SCRIPTS
from thinkaloud.store.schema import metadata
from thinkaloud.store.sqlite import open_database


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


HOLD = """
import asyncio, sys
from pathlib import Path
from thinkaloud.store.sqlite import open_database
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


def test_migrations_make_the_schema_and_latest_version_is_current(tmp_path: Path) -> None:
    def difference(conn: Connection) -> list[object]:
        context = MigrationContext.configure(conn, opts={"include_name": include_name})
        return list(compare_metadata(context, metadata))

    def include_name(name: str | None, kind: str, _: object) -> bool:
        return kind != "table" or not (name or "").startswith("search_")

    async def scenario() -> None:
        async with temporary_database(tmp_path) as database:
            assert await database.read(difference) == []

    asyncio.run(scenario())
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    assert ScriptDirectory.from_config(config).get_heads() == [LATEST_VERSION]


def test_database_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with temporary_database(tmp_path) as database:
            await database.write(
                lambda conn: conn.execute(text("UPDATE alembic_version SET version_num = '9'"))
            )
        with pytest.raises(Refused, match="made by a newer version"):
            async with temporary_database(tmp_path):
                pass

    asyncio.run(scenario())


def test_readers_cannot_write_and_sql_errors_are_not_disk_errors(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with temporary_database(tmp_path) as database:
            with pytest.raises(NotSaved, match="read-only"):
                await database.read(lambda conn: users.ensure_local(conn, 1))
            with pytest.raises(DBAPIError, match="no such table"):
                await database.write(lambda conn: conn.execute(text("DELETE FROM nowhere")))

    asyncio.run(scenario())


def test_wal_is_checkpointed_on_close(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with temporary_database(tmp_path) as database:
            await database.write(lambda conn: users.ensure_local(conn, 1))

    asyncio.run(scenario())
    assert not (tmp_path / "thinkaloud.db-wal").exists()
