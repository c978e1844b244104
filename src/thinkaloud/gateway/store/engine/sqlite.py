"""The SQLite engine: one file in WAL mode, one writer thread and a few reader threads.

One gateway at a time may write turns to a file. It holds a lock that is released when its process exits.
Short writes of other commands, such as adding a user, need no lock: SQLite serializes them.
"""

import asyncio
import logging
import os
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing, contextmanager, nullcontext
from functools import cache, partial
from io import FileIO
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import Pool, QueuePool, StaticPool

from thinkaloud.core.canon import Refused, Wording, reason_of
from thinkaloud.gateway.store.engine.database import Batch, DatabaseInUse, NotSaved, OnWakeup, Query, T
from thinkaloud.gateway.store.engine.disk import PRIMARY_CODE_MASK, disk_problem, disk_remedy
from thinkaloud.gateway.store.engine.file_lock import FileLock, lock_holder, lock_path
from thinkaloud.gateway.store.engine.many_rows import grouped
from thinkaloud.gateway.store.engine.sqlite_pages import pages_with_remains, zero_unused_space
from thinkaloud.gateway.store.migrations.migrate import migrate
from thinkaloud.gateway.store.search import sqlite as search_sqlite

logger = logging.getLogger(__name__)

_FILE_START = b"SQLite format 3\0"
READER_THREADS = 4
LONG_READER_THREADS = 2
"""For exports. More would only share the same processor."""
BUSY_TIMEOUT_MS = 5_000
TRUNCATE_TIMEOUT_MS = 100
"""How long the writer waits for readers to empty the write-ahead log, before it tries again later."""
PAGES_PER_ERASURE = 1_000
"""The most pages in which one step zeroes unused space."""
WAL_LIMIT_BYTES = 64 * 1024 * 1024
"""The WAL grows while a long read runs. The next checkpoint truncates it to this size."""


class _ShortWrite(NamedTuple):
    """A short change that waits for the writer thread, and the future of its result."""

    change: Query[Any]
    future: asyncio.Future[Any]


_Outcome = tuple[Any, Exception | None]
"""The result of a short change, or its error."""


class SqliteDatabase:
    """A `Database` in one file."""

    def __init__(self, path: Path, *, exclusive: bool, full_sync: bool = False) -> None:
        self.path = path
        self.exclusive = exclusive
        self._busy_since_s: float | None = None
        self._wal_warning_bytes = WAL_LIMIT_BYTES
        self._writer_pool = ThreadPoolExecutor(1, "thinkaloud-writer")
        self._reader_pool = ThreadPoolExecutor(READER_THREADS, "thinkaloud-reader")
        self._long_reader_pool = ThreadPoolExecutor(LONG_READER_THREADS, "thinkaloud-long-reader")
        self._short_writes: list[_ShortWrite] = []
        self._short_writes_lock = Lock()
        self._writer_engine = _engine(path, writes=True, full_sync=full_sync)
        self._reader_engine = _engine(path, writes=False)
        self._merged_for = ""
        """The mark of the deletion after which the search index was merged completely."""
        self._file: FileIO | None = None
        """Stays open: closing a file drops all locks that this process has on it, also those of SQLite."""

    async def read(self, query: Query[T]) -> T:
        """Run a query on one snapshot, in a reader thread."""
        return await _run_in_pool(self._reader_pool, lambda: self._run_query(self._reader_engine, query))

    async def read_long(self, query: Query[T]) -> T:
        """Run a query that may take seconds, such as an export. Other reads do not wait for it."""
        return await _run_in_pool(self._long_reader_pool, lambda: self._run_query(self._reader_engine, query))

    async def write(self, change: Query[T]) -> T:
        """Run a change in one transaction, in the writer thread."""
        return await self._in_writer(lambda: self._run_query(self._writer_engine, change))

    async def _in_writer(self, work: Callable[[], T]) -> T:
        return await _run_in_pool(self._writer_pool, self._timed(work))

    def _timed(self, work: Callable[[], T]) -> Callable[[], T]:
        """Return the work of the writer thread, which notes since when it runs."""

        def run() -> T:
            self._busy_since_s = time.monotonic()
            try:
                return work()
            finally:
                self._busy_since_s = None

        return run

    @property
    def stuck_s(self) -> float:
        """How long the writer thread has been busy with one change. On a frozen disk it never ends."""
        since_s = self._busy_since_s
        return 0.0 if since_s is None else time.monotonic() - since_s

    async def write_urgent(self, change: Query[T]) -> T:
        """Run a short change, in the writer thread."""
        return await self.write(change)

    def listen(self, on_wakeup: OnWakeup) -> AbstractAsyncContextManager[None]:
        """Never call back: no other process writes turns."""
        return nullcontext()

    async def write_short(self, change: Query[T]) -> T:
        """Run a short change, in one transaction with all others that wait for the writer thread."""
        loop = asyncio.get_running_loop()
        write: _ShortWrite = _ShortWrite(change, loop.create_future())
        with self._short_writes_lock:
            first = not self._short_writes
            self._short_writes.append(write)
            writes = self._short_writes
        if first:
            running = loop.run_in_executor(self._writer_pool, self._timed(self._run_short_writes))
            running.add_done_callback(lambda running: _set_outcomes(writes, running))
        result: T = await write.future
        return result

    async def append(self, batches: Sequence[Batch]) -> tuple[int, ...]:
        """Append to the logs in one commit."""
        return await self._in_writer(lambda: self._append(batches))

    async def prepare(self) -> None:
        """Migrate the tables to this version."""
        try:
            await self.write(migrate)
        except NotSaved as error:
            raise Refused(
                "{reason} {remedy}", reason=reason_of(error), remedy=disk_remedy(error.reason)
            ) from None
        except DBAPIError as error:
            if getattr(error.orig, "sqlite_errorcode", None) != sqlite3.SQLITE_NOTADB:
                raise
            raise Refused(
                "{path} is not a database. Move it, or set THINKALOUD_HOME to another folder.", path=self.path
            ) from None

    async def checkpoint(self) -> None:
        """Copy the write-ahead log into the file."""
        await self._in_writer(self._checkpoint)

    async def erase_deleted(self, mark: str, *, old: bool = False) -> bool:
        """Erase the words of deleted rows from the file and its write-ahead log.

        SQLite zeroes deleted rows itself (`secure_delete`). This merges the search index, empties the
        write-ahead log, and zeroes what was left in unused space of pages. A guest leaves it to the gateway,
        if one runs: that has pages in memory, and would write their unused space again.
        """
        with FileLock(lock_path(self.path), enabled=not self.exclusive) as lock:
            if not self.exclusive and not lock.held:
                return False
            if mark != self._merged_for or old:
                merging = await self._in_writer(self._join_index_levels)
                while merging:
                    merging = await self._in_writer(self._merge_index)
                self._merged_for = mark
            if old:
                # Not timed: it may take minutes, while nothing else waits for the writer thread.
                await _run_in_pool(self._writer_pool, self._vacuum)
            if not await self._in_writer(self._empty_wal):
                return False
            pages = await _run_in_pool(self._long_reader_pool, self._pages_with_remains)
            for start in range(0, len(pages), PAGES_PER_ERASURE):
                group = pages[start : start + PAGES_PER_ERASURE]
                if not await self._in_writer(partial(self._zero_pages, group)):
                    return False
            return True

    def close(self) -> None:
        """Wait for all threads to finish, and close the connections."""
        for pool in (self._writer_pool, self._reader_pool, self._long_reader_pool):
            pool.shutdown()
        self._reader_engine.dispose()
        self._writer_engine.dispose()
        if self._file is not None:
            self._file.close()

    def _run_query(self, engine: Engine, query: Query[T]) -> T:
        with _translate_disk_errors(self.path), engine.begin() as conn:
            return query(conn)

    def _run_short_writes(self) -> list[_Outcome]:
        """Run all waiting changes in one transaction. If it fails as a whole, each of them has failed."""
        with self._short_writes_lock:
            writes, self._short_writes = self._short_writes, []
        try:
            return self._run_together(writes, lambda conn, change: (change(conn), None))
        except Exception:
            if len(writes) == 1:
                raise
        return self._run_together(writes, self._try)

    def _run_together(
        self, writes: Sequence[_ShortWrite], run: Callable[[Connection, Query[Any]], _Outcome]
    ) -> list[_Outcome]:
        outcomes: list[_Outcome] = []
        with _translate_disk_errors(self.path), self._writer_engine.begin() as conn:
            for write in writes:
                cancelled = write.future.cancelled()
                outcomes.append((None, None) if cancelled else run(conn, write.change))
        return outcomes

    def _try(self, conn: Connection, change: Query[Any]) -> _Outcome:
        """Run one of several changes. If it fails, it alone is undone.

        A savepoint for each costs as much as two statements, so changes are tried without them first.
        """
        raw = _raw(conn)
        raw.execute("SAVEPOINT change")
        try:
            with _translate_disk_errors(self.path):
                result = change(conn)
        except Exception as error:
            if not raw.in_transaction:  # SQLite itself has undone all changes, as when the disk is full
                raise
            raw.execute("ROLLBACK TO change")
            raw.execute("RELEASE change")
            return None, error
        raw.execute("RELEASE change")
        return result, None

    def _append(self, batches: Sequence[Batch]) -> tuple[int, ...]:
        filled = [batch for batch in batches if batch.entries]
        with _translate_disk_errors(self.path), self._writer_engine.begin() as conn:
            raw = _raw(conn)
            unsaved = [batch for batch in batches if not self._started(conn, batch)]
            added = sum(_insert_batches(raw, group) for group in grouped(filled))
            complete = not unsaved and added == len(filled)
            stale = () if complete else _stale_turns(raw, batches)
        self._check_wal()
        return stale

    def _started(self, conn: Connection, batch: Batch) -> bool:
        """Save a turn before its first entries. A turn that cannot be saved is given up; others are not."""
        if batch.start is None:
            return True
        _, error = self._try(conn, batch.start)
        if isinstance(error, NotSaved):
            raise error
        if error is not None:
            logger.error("a turn could not be saved, so it is given up", exc_info=error)
        return error is None

    def wal_bytes(self) -> int:
        """Return the size of the write-ahead log."""
        try:
            return os.stat(f"{self.path}-wal").st_size
        except FileNotFoundError:
            return 0

    def _check_wal(self) -> None:
        """Warn when the write-ahead log grows, again at each doubling."""
        size = self.wal_bytes()
        if size <= WAL_LIMIT_BYTES:
            self._wal_warning_bytes = WAL_LIMIT_BYTES
        elif size > self._wal_warning_bytes:
            self._wal_warning_bytes = 2 * size
            logger.warning(
                "The write-ahead log has %d MB and cannot be emptied, because another program has been "
                "reading %s for long. Stop that program; copy a database with `thinkaloud backup`.",
                size // 2**20,
                self.path,
            )

    def _join_index_levels(self) -> bool:
        with self._own_connection() as raw:
            return search_sqlite.join_levels(raw)

    def _merge_index(self) -> bool:
        with _translate_disk_errors(self.path), self._writer_engine.connect() as conn:
            return search_sqlite.merge(_raw(conn))

    def _vacuum(self) -> None:
        """Write the whole file anew. This connection keeps the copy in a file: it may need much space."""
        with self._own_connection() as raw:
            raw.execute("VACUUM")

    @contextmanager
    def _own_connection(self) -> Iterator[sqlite3.Connection]:
        connect = partial(sqlite3.connect, timeout=BUSY_TIMEOUT_MS / 1000, isolation_level=None)
        with _translate_disk_errors(self.path), closing(connect(self.path)) as raw:
            raw.execute("PRAGMA secure_delete=ON")
            yield raw

    def _pages_with_remains(self) -> list[int]:
        with _translate_file_errors(self.path):
            return pages_with_remains(self._open_file())

    def _open_file(self) -> FileIO:
        if self._file is None:
            self._file = FileIO(self.path, "r+")
        return self._file

    def _empty_wal(self) -> bool:
        """Truncate the write-ahead log; False if readers keep it from that."""
        with _translate_disk_errors(self.path), self._writer_engine.connect() as conn:
            return _empty_wal(_raw(conn))

    def _zero_pages(self, pages: Sequence[int]) -> bool:
        """Zero the unused space of pages while nobody can write; False if that was not possible."""
        with _translate_disk_errors(self.path), self._writer_engine.connect() as conn:
            raw = _raw(conn)
            if not _empty_wal(raw):
                return False
            raw.execute("BEGIN IMMEDIATE")
            try:
                if self.wal_bytes():  # another process has just written
                    return False
                with _translate_file_errors(self.path):
                    zero_unused_space(self._open_file(), pages)
                raw.execute("PRAGMA shrink_memory")  # the pages that this connection remembers are old now
            finally:
                raw.execute("ROLLBACK")
        return True

    def _checkpoint(self) -> None:
        with self._writer_engine.connect() as conn:
            try:
                _raw(conn).execute("PRAGMA wal_checkpoint(TRUNCATE)")
            except sqlite3.OperationalError as error:
                # Nothing is lost: the WAL stays beside the file and is read at the next start.
                if not disk_problem(error, self.path):
                    raise


@asynccontextmanager
async def open_database(
    path: Path, *, guest: bool = False, full_sync: bool = False
) -> AsyncIterator[SqliteDatabase]:
    """Open the database, or create it. A guest does not write turns and takes no lock.

    With `full_sync` each commit waits until the disk has it. Otherwise a power cut may lose the last commits,
    but a crash of the process loses none.
    """
    path = path.resolve()  # a link leads to the same database, so to the same lock and write-ahead log
    _create_file(path)
    with FileLock(lock_path(path), enabled=not guest) as lock:
        if not guest and not lock.held:
            raise _in_use(path)
        database = SqliteDatabase(path, exclusive=not guest, full_sync=full_sync)
        try:
            await database.prepare()
            yield database
            await database.checkpoint()
        except DBAPIError as error:
            _refuse_damaged(path, error)
            raise
        finally:
            database.close()


@contextmanager
def open_sqlite_snapshot(path: Path) -> Iterator[Connection]:
    """Open a connection that sees the database as it is now. Meanwhile no gateway can open it."""
    path = path.resolve()
    if not path.is_file():
        raise Refused(
            "There is no database {path}. Give the path of its file, or of the folder that has it.", path=path
        )
    if os.access(path, os.R_OK) and _first_bytes(path) not in (b"", _FILE_START):
        # Before the lock, which is a file beside it.
        raise Refused("{path} is not a database. Give the path of one.", path=path)
    with FileLock(lock_path(path)) as lock:
        if not lock.held:
            raise _in_use(path)
        engine = _engine(path, writes=False)
        try:
            with engine.connect() as conn:
                conn.exec_driver_sql("SELECT count(*) FROM sqlite_master")
                yield conn
        except DBAPIError as error:
            _refuse_damaged(path, error)
            if reason := disk_problem(error.orig, path):
                raise Refused(
                    "{path} cannot be read: {reason}. {remedy}",
                    path=path,
                    reason=reason,
                    remedy=disk_remedy(reason),
                ) from None
            raise
        finally:
            engine.dispose()


def _first_bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(len(_FILE_START))


def _refuse_damaged(path: Path, error: DBAPIError) -> None:
    """Raise `Refused` if SQLite has found that its file is damaged."""
    code = getattr(error.orig, "sqlite_errorcode", None) or 0
    if code & PRIMARY_CODE_MASK == sqlite3.SQLITE_CORRUPT:
        raise Refused(
            "{path} is damaged: {reason}. Put a copy made with `thinkaloud backup` in its place, or "
            "save what can be read: sqlite3 {path} .recover | sqlite3 new.db",
            path=path,
            reason=error.orig,
        ) from None


def back_up(path: Path, target: Path) -> int:
    """Copy a database, as it is at this moment, into a new file; return its size.

    SQLite's own backup starts again whenever somebody writes. This copy reads one snapshot instead.
    """
    if not path.is_file():
        raise Refused(
            "There is no database {path}. Set THINKALOUD_HOME to the folder that has one.", path=path
        )
    try:
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        raise Refused(
            "{target} exists already. Choose another name, or delete it first.", target=target
        ) from None
    except OSError as error:
        raise Refused(
            "{target} cannot be written: {reason}. Choose another place.",
            target=target,
            reason=reason_of(error),
        ) from None
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True)) as raw:
            raw.execute("VACUUM INTO ?", (str(target),))
    except sqlite3.Error as error:
        target.unlink()
        raise Refused(
            "The copy of {path} failed: {reason}. Nothing was changed.",
            path=path,
            reason=disk_problem(error, target) or reason_of(error),
        ) from None
    return target.stat().st_size


def _in_use(path: Path) -> DatabaseInUse:
    holder = lock_holder(lock_path(path))
    process = Wording("an unknown process")
    if holder is not None and holder.pid:
        process = Wording("process {pid}", pid=holder.pid)
    gateway = Wording("another gateway ({process})", process=process)
    if holder is not None and holder.url:
        gateway = Wording("{gateway} at {url}", gateway=gateway, url=holder.url)
    return DatabaseInUse(
        "{path} is in use by {gateway}. Stop that gateway, or set THINKALOUD_HOME to another folder.",
        path=path,
        gateway=gateway,
    )


def _create_file(path: Path) -> None:
    """Create the file, readable by its owner only. SQLite copies these permissions to the WAL."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise Refused(
            "The database {path} cannot be opened: {reason}. Make its folder writable, or set "
            "THINKALOUD_HOME to another folder.",
            path=path,
            reason=reason_of(error),
        ) from None


def _engine(path: Path, *, writes: bool, full_sync: bool = False) -> Engine:
    database_uri = f"file:{quote(str(path.absolute()))}?mode={'rw' if writes else 'ro'}"

    def connect() -> Any:
        return sqlite3.connect(
            database_uri,
            uri=True,
            timeout=BUSY_TIMEOUT_MS / 1000,
            isolation_level=None,
            check_same_thread=False,
        )

    pool: Pool = StaticPool(connect)
    if not writes:
        pool = QueuePool(connect, pool_size=READER_THREADS + LONG_READER_THREADS, max_overflow=0)
    # Parameters are users' texts: not for error messages.
    engine = create_engine("sqlite://", pool=pool, hide_parameters=True)

    @event.listens_for(engine, "connect")
    def _on_connect(raw: sqlite3.Connection, _: object) -> None:
        settings = ["foreign_keys=ON", "temp_store=MEMORY"]
        if writes:
            synchronous = "FULL" if full_sync else "NORMAL"
            settings += [
                "journal_mode=WAL",
                f"synchronous={synchronous}",
                f"journal_size_limit={WAL_LIMIT_BYTES}",
                "secure_delete=ON",
            ]
        else:
            settings += ["query_only=ON"]
        for setting in settings:
            raw.execute(f"PRAGMA {setting}")

    @event.listens_for(engine, "begin")
    def _on_begin(conn: Connection) -> None:
        # With isolation_level=None the driver starts no transaction. A writer takes the write lock first: a
        # read that is upgraded to a write later could fail with SQLITE_BUSY.
        conn.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


async def _run_in_pool(pool: ThreadPoolExecutor, work: Callable[[], T]) -> T:
    # A started transaction is finished even if the waiting task is cancelled.
    return await asyncio.get_running_loop().run_in_executor(pool, work)


def _raw(conn: Connection) -> sqlite3.Connection:
    raw = conn.connection.driver_connection
    assert isinstance(raw, sqlite3.Connection)
    return raw


def _empty_wal(raw: sqlite3.Connection) -> bool:
    raw.execute(f"PRAGMA busy_timeout={TRUNCATE_TIMEOUT_MS}")
    try:
        busy, _, _ = raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    finally:
        raw.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")
    return not busy


def _insert_batches(raw: sqlite3.Connection, batches: Sequence[Batch]) -> int:
    """Insert a row for each batch whose turn still has the batch's epoch; return the number of rows."""
    values: list[int | bytes] = []
    for batch in batches:
        values += batch.turn, batch.epoch, batch.first_seq, batch.last_seq, batch.entries
    return raw.execute(append_sql(len(batches)), values).rowcount


@cache
def append_sql(rows: int) -> str:
    """Return the statement that appends this many rows, except to turns that a newer writer has."""
    return (
        "INSERT INTO log (turn, first_seq, last_seq, entries) "
        "SELECT batch.column1, batch.column3, batch.column4, batch.column5 "
        f"FROM (VALUES {', '.join(['(?, ?, ?, ?, ?)'] * rows)}) AS batch "
        "CROSS JOIN turns ON turns.key = batch.column1 AND turns.epoch = batch.column2"
    )


def _stale_turns(raw: sqlite3.Connection, batches: Sequence[Batch]) -> tuple[int, ...]:
    epochs = dict(raw.execute("SELECT key, epoch FROM turns WHERE state = 'running'"))
    return tuple(batch.turn for batch in batches if epochs.get(batch.turn) != batch.epoch)


def _set_outcomes(writes: Sequence[_ShortWrite], running: asyncio.Future[list[_Outcome]]) -> None:
    """Pass the results of a transaction to the tasks that wait for them."""
    error = running.exception()
    outcomes = running.result() if error is None else [(None, error)] * len(writes)
    for write, (result, write_error) in zip(writes, outcomes, strict=True):
        if write.future.done():  # its task was cancelled
            continue
        if write_error is None:
            write.future.set_result(result)
        else:
            write.future.set_exception(write_error)


@contextmanager
def _translate_disk_errors(path: Path) -> Iterator[None]:
    """Raise disk errors as `NotSaved`, and all other errors unchanged."""
    try:
        yield
    except (DBAPIError, sqlite3.OperationalError) as error:
        original = error.orig if isinstance(error, DBAPIError) else error
        if reason := disk_problem(original, path):
            raise NotSaved("Cannot write to {path}: {reason}.", path=path, reason=reason) from error
        raise


@contextmanager
def _translate_file_errors(path: Path) -> Iterator[None]:
    """Raise errors of the file system as `NotSaved`."""
    try:
        yield
    except OSError as error:
        raise NotSaved("Cannot write to {path}: {reason}.", path=path, reason=reason_of(error)) from error
