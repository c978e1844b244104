"""Copies all rows of one database into another one, in ranges of primary keys.

Each range is one commit. So the highest key of a table in the target says where a copy that was stopped goes
on. At the end each table is compared by the number of its rows and by a hash of them. Until then a fact in
the target names the source, and no gateway opens the target.
"""

import asyncio
import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import msgspec
from sqlalchemy import Connection, Table, Text, delete, func, insert, inspect, literal, select, text, tuple_

from thinkaloud.core.canon import Refused, ThinkaloudError, Wording
from thinkaloud.gateway.store.engine.coordination import DatabaseNowMs
from thinkaloud.gateway.store.engine.database import Database
from thinkaloud.gateway.store.migrations.migrate import LATEST_VERSION
from thinkaloud.gateway.store.queries.keys import key_counters, raise_key_counters
from thinkaloud.gateway.store.queries.values import read_fact, store_fact
from thinkaloud.gateway.store.schema import commands, facts, metadata, nodes, search_rows
from thinkaloud.gateway.store.search import index as search_index
from thinkaloud.gateway.store.search.normalize import IndexEntry

SOURCE_FACT = "copied_from"
"""In a target whose copy is not complete: the name of its source."""
_NOT_COPIED = (facts, nodes, commands)
"""They belong to one database and to the gateways that run on it."""
_RANGE_ROWS = 200
_RANGE_BYTES = 4 * 1024 * 1024
_FETCHED_ROWS = 64
_HASH_RANGE = 2**256

ShowProgress = Callable[[str, int, int], None]
"""Is told the name of a table, how many of its rows are copied, and how many it has."""


class TableDigest(msgspec.Struct, frozen=True):
    """What a table contains: the number of its rows, and the sum of their hashes, whatever their order."""

    table: str
    rows: int
    sha256: str


class CopyDiffers(ThinkaloudError):
    """The target does not contain what the source contains."""


def copied_tables() -> list[Table]:
    """Return the tables, each after those that it refers to."""
    tables = [table for table in metadata.sorted_tables if table not in _NOT_COPIED]
    return sorted(tables, key=lambda table: table is search_rows)  # it is copied together with the index


async def copy_database(
    source: Connection, source_name: str, target: Database, show: ShowProgress
) -> list[TableDigest]:
    """Copy all rows, or the rest of them, and return what every table contains.

    `source` must be one snapshot. An empty target is begun, and one that was begun with this source goes on.
    """
    await asyncio.to_thread(_check_source, source, source_name)
    await target.write(partial(_begin, source_name=source_name))
    for table in copied_tables():
        await _copy_table(source, target, table, show)
    digests = [await _compared(source, target, table) for table in copied_tables()]
    counters = await asyncio.to_thread(key_counters, source)
    await target.write(partial(_complete, counters=counters))
    return digests


def refuse_incomplete_copy(conn: Connection) -> None:
    """Refuse a database into which a copy was begun and not completed."""
    if source_name := read_fact(conn, SOURCE_FACT):
        raise Refused(
            "This database holds an unfinished copy of {source_name}. Finish it: run the same "
            "`thinkaloud db copy` again.",
            source_name=source_name,
        )


def table_digest(conn: Connection, table: Table) -> TableDigest:
    """Return the number of rows and their hash."""
    count, total = 0, 0
    for row in conn.execute(select(table), execution_options={"yield_per": _FETCHED_ROWS}):
        count += 1
        total += int.from_bytes(hashlib.sha256(repr(tuple(row)).encode()).digest())
    return TableDigest(str(table.name), count, f"{total % _HASH_RANGE:064x}")


def _check_source(conn: Connection, name: str) -> None:
    version = None
    if inspect(conn).has_table("alembic_version"):
        version = conn.scalar(text("SELECT version_num FROM alembic_version"))
    if version != LATEST_VERSION:
        raise Refused(
            "The tables of {name} have the version {version}, and {latest_version} is needed. Start "
            "the gateway of this version on it once, which brings them up to date, and stop it; then "
            "copy again.",
            name=name,
            version=version or Wording("none"),
            latest_version=LATEST_VERSION,
        )
    refuse_incomplete_copy(conn)
    _refuse_running_gateways(conn, name)


def _refuse_running_gateways(conn: Connection, name: str) -> None:
    """Refuse a PostgreSQL database that gateways use. The file of SQLite has a lock instead."""
    if conn.dialect.name != "postgresql":
        return
    alive = select(nodes.c.name).where(nodes.c.lease_until_ms > DatabaseNowMs()).order_by(nodes.c.name)
    if running := conn.scalars(alive).all():
        raise Refused(
            "Gateways use {name}: {running}. Stop them, then copy again. A gateway that was killed "
            "counts as running for 15 seconds.",
            name=name,
            running=", ".join(running),
        )


def _begin(conn: Connection, source_name: str) -> None:
    """Mark the target as the copy of this source, if it is empty or was marked before."""
    begun_with = read_fact(conn, SOURCE_FACT)
    if begun_with == source_name:
        return
    if begun_with:
        refuse_incomplete_copy(conn)
    _refuse_running_gateways(conn, "the target")
    filled = [
        table.name for table in copied_tables() if conn.scalar(select(literal(1)).select_from(table).limit(1))
    ]
    if filled:
        raise Refused(
            "The target is not empty: it has rows in {filled}. Nothing was copied. Name a new file, "
            "or a new database of PostgreSQL: createdb NAME",
            filled=", ".join(filled),
        )
    store_fact(conn, SOURCE_FACT, source_name)


def _complete(conn: Connection, counters: dict[str, int]) -> None:
    raise_key_counters(conn, counters)
    conn.execute(delete(facts).where(facts.c.name == SOURCE_FACT))


async def _copy_table(source: Connection, target: Database, table: Table, show: ShowProgress) -> None:
    of = await asyncio.to_thread(_row_count, source, table)
    done = await target.read(partial(_row_count, table=table))
    last_key = await target.read(partial(_last_key, table=table))
    if done and _in_one_range(table):
        return
    ranges = _ranges(source, table, last_key)
    show(table.name, done, of)
    while rows := await asyncio.to_thread(next, ranges, None):
        entries: Sequence[IndexEntry] = ()
        if table is search_rows:
            keys = [row["key"] for row in rows]
            entries = await asyncio.to_thread(search_index.listed_entries, source, keys)
        await target.write(partial(_add_range, table=table, rows=rows, entries=entries))
        done += len(rows)
        show(table.name, done, of)


def _add_range(
    conn: Connection, table: Table, rows: Sequence[dict[str, Any]], entries: Sequence[IndexEntry]
) -> None:
    try:
        conn.execute(insert(table), rows)
        search_index.add_entries(conn, entries)
    except UnicodeEncodeError:
        raise Refused(
            "A text in {name} contains half of a surrogate pair, which SQLite cannot store. The "
            "gateway never writes one. Correct it in the source, then copy again.",
            name=table.name,
        ) from None


def _in_one_range(table: Table) -> bool:
    """Whether a table is copied in one commit. Texts have another order in each database."""
    return any(isinstance(column.type, Text) for column in table.primary_key)


def _row_count(conn: Connection, table: Table) -> int:
    return conn.scalar(select(func.count()).select_from(table)) or 0


def _last_key(conn: Connection, table: Table) -> tuple[Any, ...]:
    """Return the highest primary key; empty if there is no row."""
    columns = list(table.primary_key)
    query = select(*columns).order_by(*(column.desc() for column in columns)).limit(1)
    return tuple(conn.execute(query).one_or_none() or ())


def _ranges(conn: Connection, table: Table, after: tuple[Any, ...]) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows after a primary key, in ranges that fit into memory and into a short commit."""
    columns = list(table.primary_key)
    query = select(table).order_by(*columns)
    if after:
        query = query.where(tuple_(*columns) > tuple_(*after))
    whole = _in_one_range(table)
    rows: list[dict[str, Any]] = []
    size = 0
    for row in conn.execute(query, execution_options={"yield_per": _FETCHED_ROWS}):
        # By key: a row itself knows only the names of the columns in the database.
        rows.append(dict(zip(table.c.keys(), row, strict=True)))
        for value in row:
            if isinstance(value, str | bytes):
                size += len(value)
        full = len(rows) >= _RANGE_ROWS or size >= _RANGE_BYTES
        if full and not whole:
            yield rows
            rows = []
            size = 0
    if rows:
        yield rows


async def _compared(source: Connection, target: Database, table: Table) -> TableDigest:
    """Return what a table contains. Raises `CopyDiffers` if source and target differ."""
    wanted = await asyncio.to_thread(table_digest, source, table)
    found = await target.read_long(partial(table_digest, table=table))
    if wanted != found:
        raise CopyDiffers(
            "The copy of {name} differs: the source has {rows} rows ({sha256}), the target has "
            "{found_rows} ({found_sha256}). The source was changed after the copy was begun. Delete "
            "the target and copy again.",
            name=table.name,
            rows=wanted.rows,
            sha256=f"{wanted.sha256:.16}",
            found_rows=found.rows,
            found_sha256=f"{found.sha256:.16}",
        )
    return found
