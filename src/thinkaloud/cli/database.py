"""The database of this home: a SQLite file in it, or the PostgreSQL that the settings name."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from thinkaloud.cli.settings import database_path, user_config
from thinkaloud.core.canon import Refused
from thinkaloud.gateway.store.engine.file_lock import FileLock, lock_path

if TYPE_CHECKING:
    from thinkaloud.gateway.store.engine.database import Database

VARIABLE = "THINKALOUD_DATABASE"
POOL_VARIABLE = "THINKALOUD_DATABASE_POOL"
POSTGRES_SCHEMES = ("postgresql://", "postgres://")


def database_url(given: str = "") -> str:
    """Return the address of the PostgreSQL to use; empty for the SQLite file of this home.

    The given one, else `THINKALOUD_DATABASE`, else the setting `database`.
    """
    url = given or os.environ.get(VARIABLE, "") or user_config().text("database")
    pool_url = os.environ.get(POOL_VARIABLE, "")
    if pool_url and not (url and pool_url.startswith(POSTGRES_SCHEMES)):
        raise Refused(
            "{pool_variable} must begin with postgresql://. It names a pooler in front of the "
            "PostgreSQL of {variable}. Correct it, or leave it out.",
            pool_variable=POOL_VARIABLE,
            variable=VARIABLE,
        )
    if url and not url.startswith(POSTGRES_SCHEMES):
        raise Refused(
            "The address of the database must begin with postgresql://, such as "
            "postgresql://HOST/NAME. Correct --database, {variable} or the setting `database`. To "
            "use SQLite, leave all of them out: its file is {path}.",
            variable=VARIABLE,
            path=database_path(),
        )
    return url


@asynccontextmanager
async def open_home_database(
    url: str, *, guest: bool = False, full_sync: bool = False
) -> AsyncIterator["Database"]:
    """Open PostgreSQL if there is an address, else SQLite. A guest does not run turns.

    On PostgreSQL several gateways may run for one home. The lock tells other commands where the first is.
    """
    from thinkaloud.gateway.store.engine.copy import refuse_incomplete_copy

    if not url:
        from thinkaloud.gateway.store.engine import sqlite

        async with sqlite.open_database(database_path(), guest=guest, full_sync=full_sync) as file_database:
            await file_database.read(refuse_incomplete_copy)
            yield file_database
        return
    from thinkaloud.gateway.store.engine.postgres import PostgresConfig, open_postgres

    config = PostgresConfig(pool_url=os.environ.get(POOL_VARIABLE, ""))
    path = lock_path(database_path())
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with FileLock(path, enabled=not guest):
        async with open_postgres(url, config) as shared_database:
            await shared_database.read(refuse_incomplete_copy)
            yield shared_database
