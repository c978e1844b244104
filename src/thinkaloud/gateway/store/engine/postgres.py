"""The PostgreSQL engine: one database for several gateways.

Appends have a connection and a thread of their own, so that a slow query never delays the log. All other work
shares a bounded number of connections, one for each thread.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing, contextmanager
from functools import partial
from typing import Any

import msgspec
import psycopg
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import QueuePool

from thinkaloud.core.canon import Refused, Wording
from thinkaloud.gateway.store.engine.coordination import (
    CHANNELS,
    LOG_CHANNEL,
    Wakeup,
    lock_until_commit,
    read_wakeup,
    turns_payload,
)
from thinkaloud.gateway.store.engine.database import Batch, DatabaseReplaced, NotSaved, OnWakeup, Query, T
from thinkaloud.gateway.store.engine.postgres_connect import (
    RETRYABLE_STATES,
    TimeLimits,
    connect,
    connect_async,
    connect_to_pooler,
    local_limits,
    public_name,
    read_timeline,
    read_timeline_async,
    refuse_in_words,
    sql_state,
    translate_errors,
)
from thinkaloud.gateway.store.migrations.migrate import LATEST_VERSION, load_migrations, migrate, outdated

logger = logging.getLogger(__name__)

OLDEST_VERSION = 14
RECONNECT_S = 0.5
_DEFAULT_LIMITS = TimeLimits()
_TRIES = 3
_CLOCK_TOLERANCE_S = 5.0
_PER_GATEWAY = 13
"""The connections of one gateway: see `PostgresConfig`."""
_APPEND_LIMITS = TimeLimits(statement_s=10.0, idle_s=5.0)
_URGENT_LIMITS = TimeLimits(statement_s=3.0, lock_s=3.0, idle_s=3.0)
_LONG_LIMITS = TimeLimits(statement_s=600.0)
_VACUUM_LIMITS = TimeLimits(statement_s=600.0, lock_s=1.0)
"""A table that another gateway or the server itself vacuums is tried again later."""
_MIGRATION_LIMITS = TimeLimits(statement_s=3600.0, lock_s=3600.0, idle_s=600.0)
_SNAPSHOT_LIMITS = TimeLimits(statement_s=86_400.0, idle_s=86_400.0)
"""A day: a snapshot is idle while the target of a copy writes."""

_LOCK_WRITERS = (
    "SELECT FROM nodes WHERE id IN (SELECT writer FROM turns WHERE key = ANY(%(turns)s)) FOR SHARE"
)
"""Whoever takes turns over locks the row of their writer: it waits for this commit, or this one sees it."""
_APPEND = (
    "WITH added AS (INSERT INTO log (turn, first_seq, last_seq, entries) "
    "SELECT batch.turn, batch.first_seq, batch.last_seq, batch.entries "
    "FROM unnest(%(turns)s::bigint[], %(epochs)s::int[], %(firsts)s::int[], %(lasts)s::int[], "
    "%(entries)s::bytea[]) AS batch (turn, epoch, first_seq, last_seq, entries) "
    "JOIN turns ON turns.key = batch.turn AND turns.epoch = batch.epoch AND turns.state = 'running' "
    "ON CONFLICT (turn, first_seq) DO NOTHING RETURNING turn) "
    "SELECT (SELECT count(*) FROM added), pg_notify(%(channel)s, %(payload)s)"
)
"""A row that is there already was stored by a commit whose acknowledgement was lost."""
_VACUUM = (
    "VACUUM sessions, turns, log, messages, parts, turn_figures, found, search_text, agents, preferences"
)
"""The tables with what users wrote."""
_CURRENT_EPOCHS = "SELECT key, epoch FROM turns WHERE key = ANY(%(turns)s) AND state = 'running'"


class PostgresConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How many connections a gateway opens, besides one to append, one to listen and one for its lease."""

    readers: int = 4
    writers: int = 4
    long_readers: int = 2
    most_waiting: int = 500
    """Queries that wait for a connection. Further ones are refused at once: they would wait for too long."""
    limits: TimeLimits = _DEFAULT_LIMITS
    pool_url: str = ""
    """The address of a pooler such as PgBouncer in transaction mode, for all but those three; else none."""


DEFAULT_POSTGRES_CONFIG = PostgresConfig()


class PostgresListener:
    """Calls back for every notification. `connected` says whether they arrive at present.

    It has a connection of its own. When that breaks it is made again, and the caller is told that
    notifications may be lost.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._timeline = ""
        self.connected = False

    @asynccontextmanager
    async def listen(self, on_wakeup: OnWakeup) -> AsyncIterator[None]:
        """Listen until the block ends."""
        task = asyncio.create_task(self._run(on_wakeup), name="thinkaloud-listen")
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait((task,))

    async def _run(self, on_wakeup: OnWakeup) -> None:
        reported = False
        while True:
            try:
                async with await connect_async(self._url, _DEFAULT_LIMITS, name="listen") as connection:
                    await self._receive(connection, on_wakeup)
            except (psycopg.Error, OSError) as error:
                if self.connected or not reported:
                    logger.warning("notifications of the database are lost: %s. Reconnecting.", error)
                self.connected, reported = False, True
            await asyncio.sleep(RECONNECT_S)

    async def _receive(self, connection: psycopg.AsyncConnection[Any], on_wakeup: OnWakeup) -> None:
        for channel in CHANNELS:
            await connection.execute(f"LISTEN {channel}".encode())
        self.connected = True
        timeline = await read_timeline_async(connection)
        if timeline and self._timeline not in ("", timeline):
            on_wakeup(Wakeup(replaced=True))
        self._timeline = timeline or self._timeline
        on_wakeup(Wakeup())
        on_wakeup(Wakeup(commands=True))
        async for notification in connection.notifies():
            on_wakeup(read_wakeup(notification.channel, notification.payload))


class PostgresDatabase:
    """A `Database` on a PostgreSQL server."""

    exclusive = False
    stuck_s = 0.0
    """The server ends a statement that takes too long."""

    def __init__(self, url: str, config: PostgresConfig = DEFAULT_POSTGRES_CONFIG) -> None:
        self.url = url
        self._config = config
        self._readers = _ThreadPool(config.readers, "reader", config.most_waiting)
        self._writers = _ThreadPool(config.writers, "writer", config.most_waiting)
        self._long_readers = _ThreadPool(config.long_readers, "long-reader", config.most_waiting)
        self._appender = _ThreadPool(1, "append", config.most_waiting)
        pool = partial(_pooler_engine, config.pool_url) if config.pool_url else partial(_engine, url)
        self._engine = pool(config.limits, config.readers + config.writers)
        self._long_engine = pool(_LONG_LIMITS, config.long_readers)
        self._urgent = _ThreadPool(1, "lease", config.most_waiting)
        self._urgent_engine = _engine(url, _URGENT_LIMITS, 1, name="lease")
        self.listener = PostgresListener(url)
        self._append_connection: psycopg.Connection[Any] | None = None
        self._timeline = ""
        """The history of the database to which entries were appended: see `read_timeline`."""

    @property
    def waiting_queries(self) -> int:
        """The number of queries that wait for a connection."""
        return self._readers.waiting + self._writers.waiting + self._long_readers.waiting

    async def read(self, query: Query[T]) -> T:
        """Run a query on one snapshot."""
        return await self._readers.run(lambda: self._run(self._engine, query, reads=True))

    async def read_long(self, query: Query[T]) -> T:
        """Run a query that may take minutes, such as an export, on connections of its own."""
        return await self._long_readers.run(lambda: self._run(self._long_engine, query, reads=True))

    async def write(self, change: Query[T]) -> T:
        """Run a change in one transaction. It may run twice, if the server undid the first attempt."""
        return await self._writers.run(lambda: self._run(self._engine, change, reads=False))

    async def write_urgent(self, change: Query[T]) -> T:
        """Run a short change on a connection of its own, whatever the others wait for."""
        return await self._urgent.run(lambda: self._run(self._urgent_engine, change, reads=False))

    def listen(self, on_wakeup: OnWakeup) -> AbstractAsyncContextManager[None]:
        """Call back within this context when another gateway has changed turns."""
        return self.listener.listen(on_wakeup)

    async def write_short(self, change: Query[T]) -> T:
        """Run a short change: as `write`. The server commits the changes of several connections together."""
        return await self.write(change)

    async def append(self, batches: Sequence[Batch]) -> tuple[int, ...]:
        """Append to the logs in one commit, and wake the gateways that read these turns."""
        return await self._appender.run(lambda: self._append(batches))

    async def erase_deleted(self, mark: str, *, old: bool = False) -> bool:
        """Let the server reuse the space of deleted rows. Until it does, their bytes stay in its files."""
        return await self._long_readers.run(self._vacuum)

    async def prepare(self) -> None:
        """Migrate the tables to this version. Gateways that start at the same time wait for each other."""
        await self._writers.run(self._prepare)

    def close(self) -> None:
        """Wait for all threads to finish, and close the connections."""
        for pool in (self._appender, self._urgent, self._writers, self._readers, self._long_readers):
            pool.close()
        self._close_append_connection()
        for engine in (self._engine, self._long_engine, self._urgent_engine):
            engine.dispose()

    def _vacuum(self) -> bool:
        """Vacuum the tables; False if one of them was locked for too long."""
        with translate_errors(self.url), closing(connect(self.url, _VACUUM_LIMITS, name="erase")) as raw:
            raw.autocommit = True
            try:
                raw.execute(_VACUUM)
            except psycopg.errors.LockNotAvailable:
                return False
        return True

    def _prepare(self) -> None:
        engine = _engine(self.url, _MIGRATION_LIMITS, 1)
        try:
            with refuse_in_words(self.url):
                with engine.begin() as conn:
                    _check_server(conn, self.url)
                    missing = outdated(conn)
                if missing:
                    load_migrations()  # before the transaction, which the server ends if it does nothing
                with engine.begin() as conn:
                    lock_until_commit(conn, "migrations")
                    migrate(conn)
        finally:
            engine.dispose()

    def _run(self, engine: Engine, query: Query[T], *, reads: bool) -> T:
        """Run a query in a transaction. One that the server has certainly undone is run again."""
        with translate_errors(self.url):
            for _ in range(_TRIES - 1):
                try:
                    return _run_once(engine, query, reads=reads)
                except DBAPIError as error:
                    # A lost COMMIT is not repeated: nobody knows whether the server carried it out.
                    if not (
                        sql_state(error) in RETRYABLE_STATES
                        or (error.connection_invalidated and (reads or error.statement is not None))
                    ):
                        raise
            return _run_once(engine, query, reads=reads)

    def _append(self, batches: Sequence[Batch]) -> tuple[int, ...]:
        with translate_errors(self.url):
            try:
                return self._append_on(self._append_connection or self._connect_append(), batches)
            except psycopg.Error:
                self._close_append_connection()
                raise

    def _connect_append(self) -> psycopg.Connection[Any]:
        connection = connect(self.url, _APPEND_LIMITS, name="append")
        timeline = read_timeline(connection)
        self._append_connection = connection
        known, self._timeline = self._timeline, timeline or self._timeline
        if timeline and known not in ("", timeline):
            raise DatabaseReplaced(
                "The {database} is another server now, after a failover.", database=public_name(self.url)
            )
        return connection

    def _append_on(self, connection: psycopg.Connection[Any], batches: Sequence[Batch]) -> tuple[int, ...]:
        turns = [batch.turn for batch in batches]
        values = {
            "turns": turns,
            "epochs": [batch.epoch for batch in batches],
            "firsts": [batch.first_seq for batch in batches],
            "lasts": [batch.last_seq for batch in batches],
            "entries": [batch.entries for batch in batches],
            "channel": LOG_CHANNEL,
            "payload": turns_payload(turns),
        }
        with connection.transaction():
            connection.execute(_LOCK_WRITERS, {"turns": turns})
            added, _ = connection.execute(_APPEND, values).fetchone() or (0, None)
        if added == len(batches):
            return ()
        with connection.transaction():
            epochs = dict(connection.execute(_CURRENT_EPOCHS, {"turns": turns}).fetchall())
        return tuple({batch.turn for batch in batches if epochs.get(batch.turn) != batch.epoch})

    def _close_append_connection(self) -> None:
        connection, self._append_connection = self._append_connection, None
        if connection is not None:
            connection.close()


@asynccontextmanager
async def open_postgres(
    url: str, config: PostgresConfig = DEFAULT_POSTGRES_CONFIG
) -> AsyncIterator[PostgresDatabase]:
    """Open the database and bring its tables up to date."""
    for address in (url, config.pool_url):
        public_name(address)  # refuses a URL that is not valid
    database = PostgresDatabase(url, config)
    try:
        await database.prepare()
        yield database
    finally:
        await asyncio.to_thread(database.close)


class _ThreadPool:
    """Threads that run queries, with a bounded number of waiting ones."""

    def __init__(self, threads: int, name: str, most_waiting: int) -> None:
        self._threads = threads
        self._most_waiting = most_waiting
        self._pool = ThreadPoolExecutor(threads, f"thinkaloud-{name}")
        self._begun = 0

    @property
    def waiting(self) -> int:
        """The number of queries that no thread runs yet."""
        return max(0, self._begun - self._threads)

    async def run(self, work: Callable[[], T]) -> T:
        # A started transaction is finished even if the waiting task is cancelled.
        if self.waiting >= self._most_waiting:
            raise NotSaved("The database is too slow for the queries that wait for it.")
        self._begun += 1
        future = asyncio.get_running_loop().run_in_executor(self._pool, work)
        future.add_done_callback(self._finish)
        return await future

    def close(self) -> None:
        self._pool.shutdown()

    def _finish(self, _: object) -> None:
        self._begun -= 1


@contextmanager
def open_postgres_snapshot(url: str) -> Iterator[Connection]:
    """Open a connection that sees the database as it is now, and cannot change it."""
    engine = _engine(url, _SNAPSHOT_LIMITS, 1, name="copy")
    try:
        with refuse_in_words(url), engine.connect() as conn:
            yield conn.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
    finally:
        engine.dispose()


def _engine(url: str, limits: TimeLimits, connections: int, *, name: str = "pool") -> Engine:
    return _pooled(lambda: connect(url, limits, name=name), limits, connections)


def _pooler_engine(url: str, limits: TimeLimits, connections: int) -> Engine:
    engine = _pooled(lambda: connect_to_pooler(url, name="pool"), limits, connections)

    @event.listens_for(engine, "begin")
    def _on_begin(conn: Connection) -> None:
        conn.exec_driver_sql(local_limits(limits))

    return engine


def _pooled(open_connection: Callable[[], Any], limits: TimeLimits, connections: int) -> Engine:
    pool = QueuePool(open_connection, pool_size=connections, max_overflow=0, timeout=limits.lock_s)
    # Parameters are users' texts: not for error messages.
    engine = create_engine("postgresql+psycopg://", pool=pool, hide_parameters=True)

    @event.listens_for(engine, "handle_error")
    def _on_error(context: Any) -> None:
        if isinstance(context.original_exception, psycopg.OperationalError | psycopg.InterfaceError):
            connection = context.connection
            raw = None if connection is None else connection.connection.dbapi_connection
            if raw is not None and raw.closed:
                context.is_disconnect = True

    return engine


def _run_once(engine: Engine, query: Query[T], *, reads: bool) -> T:
    with engine.connect() as conn:
        if reads:
            conn = conn.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        with conn.begin():
            return query(conn)


def _check_server(conn: Connection, url: str) -> None:
    version = int(conn.scalar(text("SHOW server_version_num")) or 0) // 10_000
    if version < OLDEST_VERSION:
        raise Refused(
            "The {database} runs PostgreSQL {version}; version {oldest_version} or newer is needed.",
            database=public_name(url),
            version=version,
            oldest_version=OLDEST_VERSION,
        )
    encoding = conn.scalar(text("SHOW server_encoding"))
    if encoding != "UTF8":
        raise Refused(
            "The {database} has the encoding {encoding}. Create one with UTF-8: CREATE DATABASE "
            "thinkaloud ENCODING 'UTF8' TEMPLATE template0;",
            database=public_name(url),
            encoding=encoding,
        )


def check_postgres(url: str) -> Iterator[tuple[bool, Wording]]:
    """Yield whether each check of `thinkaloud doctor` has passed, and what was found. It changes nothing."""
    with refuse_in_words(url):
        connection = connect(url, _DEFAULT_LIMITS, name="doctor")
    with connection:
        yield from _check_connection(connection, public_name(url))
        if _scalar(connection, "SELECT to_regclass('alembic_version')") is None:
            yield True, Wording("There are no tables yet. The first gateway that starts creates them.")
            return
        yield _check_version(str(_scalar(connection, "SELECT version_num FROM alembic_version")))
        live = _scalar(
            connection,
            "SELECT count(*) FROM nodes WHERE lease_until_ms > extract(epoch FROM clock_timestamp()) * 1000",
        )
        yield True, Wording("{live} gateways use it now.", live=live)


def _check_connection(connection: psycopg.Connection[Any], name: str) -> Iterator[tuple[bool, Wording]]:
    version = connection.info.server_version // 10_000
    yield (
        version >= OLDEST_VERSION,
        Wording(
            "The {name} runs PostgreSQL {version}; {oldest_version} or newer is needed.",
            name=name,
            version=version,
            oldest_version=OLDEST_VERSION,
        ),
    )
    before_s = time.time()
    server_s = float(str(_scalar(connection, "SELECT extract(epoch FROM clock_timestamp())")))
    difference_s = server_s - (before_s + time.time()) / 2
    yield (
        abs(difference_s) < _CLOCK_TOLERANCE_S,
        Wording(
            "Its clock differs from the one of this machine by {difference_s} s. Leases follow its "
            "clock; the times of turns follow yours.",
            difference_s=f"{difference_s:.1f}",
        ),
    )
    may_create = bool(_scalar(connection, "SELECT has_schema_privilege(current_schema(), 'CREATE')"))
    if may_create:
        yield True, Wording("Its user may create tables, as every upgrade does.")
    else:
        yield (
            False,
            Wording(
                "Its user may not create tables, so no gateway can start or upgrade. Run as its "
                "owner: GRANT CREATE ON SCHEMA public TO the user."
            ),
        )
    limit = int(str(_scalar(connection, "SHOW max_connections")))
    yield (
        limit >= 2 * _PER_GATEWAY,
        Wording(
            "It accepts {limit} connections. A gateway opens up to {per_gateway}.",
            limit=limit,
            per_gateway=_PER_GATEWAY,
        ),
    )


def _check_version(version: str) -> tuple[bool, Wording]:
    if version > LATEST_VERSION:
        return (
            False,
            Wording(
                "Its tables have version {version}; this version knows {latest_version}. Upgrade Thinkaloud.",
                version=version,
                latest_version=LATEST_VERSION,
            ),
        )
    if version < LATEST_VERSION:
        return True, Wording(
            "Its tables have version {version}. The next start migrates them to {latest_version}.",
            version=version,
            latest_version=LATEST_VERSION,
        )
    return True, Wording("Its tables are up to date (version {version}).", version=version)


def _scalar(connection: psycopg.Connection[Any], query: str) -> object:
    row = connection.execute(query.encode()).fetchone()
    return None if row is None else row[0]
