"""The embedded engine: one writer, its own file, its own tables."""

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


def test_a_second_gateway_is_refused_and_a_guest_is_not(tmp_path: Path) -> None:
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


def test_a_lock_dies_with_its_process(tmp_path: Path) -> None:
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
def test_any_folder_will_do_and_is_private(tmp_path: Path, name: str) -> None:
    async def scenario() -> None:
        folder = tmp_path / name / "deep"
        async with temporary_database(folder) as database:
            await database.write(lambda conn: users.ensure_local(conn, 1))
            for file in folder.iterdir():
                assert stat.S_IMODE(file.stat().st_mode) == 0o600, file.name
        assert (folder / "thinkaloud.db").stat().st_size > 0

    asyncio.run(scenario())


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    async def scenario() -> None:
        with pytest.raises(Refused, match=r"cannot be opened: .*THINKALOUD_HOME"):
            async with temporary_database(tmp_path / "file"):
                pass

    asyncio.run(scenario())


def test_a_file_that_is_no_database_is_said(tmp_path: Path) -> None:
    (tmp_path / "thinkaloud.db").write_bytes(b"something else entirely, and long enough to be looked at" * 40)

    async def scenario() -> None:
        with pytest.raises(Refused, match="is not a database"):
            async with temporary_database(tmp_path):
                pass

    asyncio.run(scenario())


def test_migrations_make_the_tables_and_the_newest_is_known(tmp_path: Path) -> None:
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


def test_tables_of_a_newer_version_are_left_alone(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with temporary_database(tmp_path) as database:
            await database.write(
                lambda conn: conn.execute(text("UPDATE alembic_version SET version_num = '9'"))
            )
        with pytest.raises(Refused, match="made by a newer version"):
            async with temporary_database(tmp_path):
                pass

    asyncio.run(scenario())


def test_a_reader_cannot_write_and_an_error_is_no_full_disk(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with temporary_database(tmp_path) as database:
            with pytest.raises(NotSaved, match="read-only"):
                await database.read(lambda conn: users.ensure_local(conn, 1))
            with pytest.raises(DBAPIError, match="no such table"):
                await database.write(lambda conn: conn.execute(text("DELETE FROM nowhere")))

    asyncio.run(scenario())


def test_the_file_is_whole_after_a_normal_end(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with temporary_database(tmp_path) as database:
            await database.write(lambda conn: users.ensure_local(conn, 1))

    asyncio.run(scenario())
    assert not (tmp_path / "thinkaloud.db-wal").exists()
