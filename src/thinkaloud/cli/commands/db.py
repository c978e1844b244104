"""`thinkaloud db copy` and `thinkaloud backup`: copy a database into another one, or into a file.

A backup may be made while the gateway runs.
"""

import argparse
import asyncio
import sys
import time
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from thinkaloud.cli.database import POSTGRES_SCHEMES, database_url
from thinkaloud.cli.output.console import EXIT_OK, ProgressLine, add_json_option, print_json
from thinkaloud.cli.output.table import print_columns
from thinkaloud.cli.output.words import command_words
from thinkaloud.cli.parser import add_actions
from thinkaloud.cli.settings import database_path
from thinkaloud.core.canon import Refused, Wording
from thinkaloud.surfaces.terminal import clean

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from thinkaloud.gateway.store.engine.copy import TableDigest
    from thinkaloud.gateway.store.engine.database import Database

_SHOWN_EVERY_S = 0.1


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the actions of `db`."""
    copy = add_actions(parser)(
        "copy",
        "copy a database into another one",
        "Copy all users, sessions, turns and settings of a database into an empty one, and compare every "
        "table by its number of rows and a hash of them. Stop the gateways of both first. If the copy is "
        "stopped, run it again: it goes on where it was.",
        _run_copy,
    )
    place = "postgresql://HOST/NAME, a SQLite file, or a folder that has thinkaloud.db"
    copy.add_argument("source", metavar="FROM", help=place)
    copy.add_argument("target", metavar="TO", help="likewise; a file is created if it does not exist")
    add_json_option(copy, "a list of tables, with the number and the hash of their rows")


def _run_copy(options: argparse.Namespace) -> int:
    """Copy, and print what each table contains."""
    digests = asyncio.run(_copy(options.source, options.target))
    if options.json:
        print_json(digests)
        return EXIT_OK
    rows = [(digest.table, f"{digest.rows:,}", digest.sha256) for digest in digests]
    print_columns(rows, (Wording("table"), Wording("rows"), Wording("SHA-256")))
    total = sum(digest.rows for digest in digests)
    source, target = _name(options.source), _name(options.target)
    print(clean(command_words().text("db_copied", source=source, target=target, n=total)), file=sys.stderr)
    return EXIT_OK


async def _copy(source: str, target: str) -> "list[TableDigest]":
    from thinkaloud.gateway.store.engine.copy import copy_database

    if _name(source) == _name(target):
        raise Refused(
            "FROM and TO are the same database: {database}. Name another one as TO.", database=_name(source)
        )
    progress = _CopyProgress()
    with _open_source(source) as conn:
        try:
            async with _open_target(target) as database:
                return await copy_database(conn, _name(source), database, progress.show)
        finally:
            progress.clear()


class _CopyProgress(ProgressLine):
    """Shows at most some times a second how much of a table is copied."""

    def __init__(self) -> None:
        super().__init__()
        self._shown_at = 0.0

    def show(self, table: str, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._shown_at >= _SHOWN_EVERY_S:
            self._shown_at = now
            self.write(command_words().text("db_copying", name=table, n=done, total=f"{total:,}"))


def _open_source(address: str) -> "AbstractContextManager[Connection]":
    if _is_postgres(address):
        from thinkaloud.gateway.store.engine.postgres import open_postgres_snapshot

        return open_postgres_snapshot(address)
    from thinkaloud.gateway.store.engine.sqlite import open_sqlite_snapshot

    return open_sqlite_snapshot(_file(address))


def _open_target(address: str) -> "AbstractAsyncContextManager[Database]":
    if _is_postgres(address):
        from thinkaloud.gateway.store.engine.postgres import open_postgres

        return open_postgres(address)
    from thinkaloud.gateway.store.engine.sqlite import open_database

    return open_database(_file(address))


def _is_postgres(address: str) -> bool:
    if address.startswith(POSTGRES_SCHEMES):
        return True
    if "://" in address:
        raise Refused(
            "The address of a database must begin with postgresql://, such as postgresql://HOST/NAME, or be "
            "the path of a SQLite file."
        )
    return False


def _file(address: str) -> Path:
    path = Path(address).expanduser().resolve()
    return path / database_path().name if path.is_dir() else path


def _name(address: str) -> str:
    """Return the name of a database for messages, without a password."""
    if not _is_postgres(address):
        return str(_file(address))
    from thinkaloud.gateway.store.engine.postgres_connect import public_name

    return f"the {public_name(address)}"


def add_backup(parser: argparse.ArgumentParser) -> None:
    """Add the options of `backup`."""
    parser.add_argument("file", type=Path, metavar="FILE", help="the new file; it must not exist")
    parser.set_defaults(run=_run_backup)


def _run_backup(options: argparse.Namespace) -> int:
    """Write the copy and report its size."""
    if database_url():
        raise Refused("Your sessions are in PostgreSQL, which has its own backup. Run: pg_dump")
    from thinkaloud.gateway.store.engine.sqlite import back_up

    size = back_up(database_path(), options.file)
    print(clean(f"Copied {database_path()} to {options.file} ({size:,} bytes)."), file=sys.stderr)
    return EXIT_OK
