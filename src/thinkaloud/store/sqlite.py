"""The embedded engine: one SQLite file in WAL mode, one thread that writes, a few that read.

One gateway writes turns to a file at a time, held by a lock that dies with its process. Short visits of
other commands, such as adding a user, need no lock: SQLite itself puts them in order.
"""

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import QueuePool, StaticPool

from thinkaloud.canon import Refused
from thinkaloud.store.database import Batch, InUse, NotSaved, Query, T
from thinkaloud.store.file_lock import FileLock
from thinkaloud.store.migrating import migrate

READERS = 4
BUSY_MS = 5_000
WAL_LIMIT_BYTES = 64 * 1024 * 1024
"""A log that grew under a long reader is cut back to this at the next checkpoint."""

APPEND = """
    INSERT INTO log (turn, first_seq, last_seq, entries)
    SELECT ?1, ?3, ?4, ?5 FROM turns WHERE key = ?1 AND epoch = ?2
"""
"""The hot path. A turn whose epoch has moved on gets no row, so an old writer cannot add to it."""

_NOT_SAVED = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_READONLY: "the file or its folder is read-only",
    sqlite3.SQLITE_IOERR: "the disk reported an error",
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened",
    sqlite3.SQLITE_BUSY: "another process holds the file for too long",
    sqlite3.SQLITE_LOCKED: "another process holds the file for too long",
}
_PRIMARY_CODE = 0xFF


class Sqlite:
    """A `Database` in one file."""

    def __init__(self, path: Path, *, exclusive: bool) -> None:
        self.path = path
        self.exclusive = exclusive
        self._writing = ThreadPoolExecutor(1, "thinkaloud-writer")
        self._reading = ThreadPoolExecutor(READERS, "thinkaloud-reader")
        self._writer = _engine(path, writes=True)
        self._reader = _engine(path, writes=False)

    async def read(self, query: Query[T]) -> T:
        """Look at one snapshot, in one of the reading threads."""
        return await _in(self._reading, lambda: self._within(self._reader, query))

    async def write(self, change: Query[T]) -> T:
        """Change something in one transaction, in the writing thread."""
        return await _in(self._writing, lambda: self._within(self._writer, change))

    async def append(self, batches: Sequence[Batch]) -> tuple[int, ...]:
        """Add to the logs, all in one commit."""
        return await _in(self._writing, lambda: self._append(batches))

    async def prepare(self) -> None:
        """Bring the tables up to date."""
        try:
            await self.write(migrate)
        except DBAPIError as error:
            if getattr(error.orig, "sqlite_errorcode", None) != sqlite3.SQLITE_NOTADB:
                raise
            raise Refused(
                f"{self.path} is no database. Move it away, or name another folder with THINKALOUD_HOME."
            ) from None

    async def tidy(self) -> None:
        """Fold the write-ahead log into the file."""
        await _in(self._writing, self._checkpoint)

    def close(self) -> None:
        """Let both kinds of threads finish."""
        for pool in (self._writing, self._reading):
            pool.shutdown()
        self._reader.dispose()
        self._writer.dispose()

    def _within(self, engine: Engine, query: Query[T]) -> T:
        with _saving(self.path), engine.begin() as conn:
            return query(conn)

    def _append(self, batches: Sequence[Batch]) -> tuple[int, ...]:
        rows = [(b.turn, b.epoch, b.first_seq, b.last_seq, b.entries) for b in batches]
        with _saving(self.path), self._writer.connect() as conn, _transaction(_raw(conn)) as raw:
            added = raw.executemany(APPEND, rows).rowcount
            return () if added == len(rows) else _stale(raw, batches)

    def _checkpoint(self) -> None:
        with self._writer.connect() as conn:
            try:
                _raw(conn).execute("PRAGMA wal_checkpoint(TRUNCATE)")
            except sqlite3.OperationalError as error:
                # The log stays beside the file and is read with it the next time; nothing is lost.
                if not _refusal(error):
                    raise


@asynccontextmanager
async def opened(path: Path, *, guest: bool = False) -> AsyncIterator[Sqlite]:
    """The database in that file, made where there is none; a guest does not write turns and takes no lock."""
    _make(path)
    with FileLock(path.with_name(path.name + ".lock"), wanted=not guest) as lock:
        if not guest and not lock.held:
            raise InUse(
                f"{path} is in use by another gateway ({lock.holder}). Stop that one, or give this one a "
                "folder of its own with THINKALOUD_HOME."
            )
        database = Sqlite(path, exclusive=not guest)
        try:
            await database.prepare()
            yield database
            await database.tidy()
        finally:
            database.close()


def _make(path: Path) -> None:
    """An empty file for its owner's eyes only; SQLite gives its companions the same rights."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise Refused(
            f"The database {path} cannot be opened: {error.strerror}. Make its folder writable, or name "
            "another one with THINKALOUD_HOME."
        ) from None


def _engine(path: Path, *, writes: bool) -> Engine:
    place = f"file:{quote(str(path.absolute()))}?mode={'rw' if writes else 'ro'}"

    def connect() -> Any:
        return sqlite3.connect(
            place, uri=True, timeout=BUSY_MS / 1000, isolation_level=None, check_same_thread=False
        )

    pool = StaticPool(connect) if writes else QueuePool(connect, pool_size=READERS, max_overflow=0)
    engine = create_engine("sqlite://", pool=pool, hide_parameters=True)  # they are what people wrote

    @event.listens_for(engine, "connect")
    def _connected(raw: sqlite3.Connection, _: object) -> None:
        settings = ["foreign_keys=ON", "temp_store=MEMORY"]
        if writes:
            settings += ["journal_mode=WAL", "synchronous=NORMAL", f"journal_size_limit={WAL_LIMIT_BYTES}"]
        else:
            settings += ["query_only=ON"]
        for setting in settings:
            raw.execute(f"PRAGMA {setting}")

    @event.listens_for(engine, "begin")
    def _begun(conn: Connection) -> None:
        # The driver begins nothing by itself; a change takes the right to write before it looks at anything.
        conn.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


async def _in(pool: ThreadPoolExecutor, work: Callable[[], T]) -> T:
    # Work that has begun is finished also when nobody waits any more: a transaction is whole or not at all.
    return await asyncio.get_running_loop().run_in_executor(pool, work)


def _raw(conn: Connection) -> sqlite3.Connection:
    raw = conn.connection.driver_connection
    assert isinstance(raw, sqlite3.Connection)
    return raw


@contextmanager
def _transaction(raw: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    raw.execute("BEGIN IMMEDIATE")
    try:
        yield raw
        raw.execute("COMMIT")
    except BaseException:
        if raw.in_transaction:  # a full disk has ended it already
            raw.execute("ROLLBACK")
        raise


@contextmanager
def _saving(path: Path) -> Iterator[None]:
    """What a disk refuses as `NotSaved`; every other error as it is."""
    try:
        yield
    except (DBAPIError, sqlite3.OperationalError) as error:
        original = error.orig if isinstance(error, DBAPIError) else error
        if why := _refusal(original):
            raise NotSaved(f"Nothing can be saved to {path}: {why}.") from error
        raise


def _refusal(error: BaseException | None) -> str:
    code = getattr(error, "sqlite_errorcode", None)
    return "" if code is None else _NOT_SAVED.get(code & _PRIMARY_CODE, "")


def _stale(raw: sqlite3.Connection, batches: Sequence[Batch]) -> tuple[int, ...]:
    epochs = dict(raw.execute("SELECT key, epoch FROM turns WHERE state = 'running'"))
    return tuple(batch.turn for batch in batches if epochs.get(batch.turn) != batch.epoch)
