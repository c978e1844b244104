"""Inserts and finds many rows with few statements.

The driver gives up the interpreter lock for every statement that it runs, and `executemany` runs one for each
row. Beside a busy event loop, ten thousand rows would wait for the lock ten thousand times, and the writer
with them.

A connection keeps the statements that it has prepared, so their number is kept small too: a list of any
length is written as one of a few lengths.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from types import MappingProxyType
from typing import TypeVar

from sqlalchemy import Connection, TextClause, text

from thinkaloud.gateway.store.engine.prepared import run_by_driver

T = TypeVar("T")
ROWS_AT_ONCE = 128
"""The most rows of one statement."""


def padded(values: Iterable[T]) -> list[T]:
    """Return the values for `IN (...)`, the last one repeated up to a power of two.

    Each length is a statement of its own: a hundred of them take more than a megabyte of each connection.
    """
    listed = list(values)
    size = 1 << max(0, len(listed) - 1).bit_length()
    if len(listed) > ROWS_AT_ONCE:
        size = -(-len(listed) // ROWS_AT_ONCE) * ROWS_AT_ONCE
    return listed + listed[-1:] * (size - len(listed))


def insert_rows(
    conn: Connection,
    table: str,
    rows: Sequence[Mapping[str, object]],
    casts: Mapping[str, str] = MappingProxyType({}),
    *,
    new_only: bool = False,
) -> None:
    """Insert rows that have the same columns, in the same order.

    `casts` has types that the driver of another engine than SQLite does not know. With `new_only`, a row
    whose key is there already is passed over.
    """
    suffix = " ON CONFLICT DO NOTHING" if new_only else ""
    for group in grouped(rows):
        if conn.dialect.name == "sqlite":
            values = tuple(chain.from_iterable(row.values() for row in group))
            run_by_driver(conn, _sqlite_insert(table, tuple(group[0]), len(group), suffix), values).close()
        else:
            columns = tuple((name, casts.get(name, "")) for name in group[0])
            values_by_name: dict[str, object] = {}
            for number, row in enumerate(group):
                for name, value in row.items():
                    values_by_name[f"c{number}_{name}"] = value
            conn.execute(_insert_statement(table, columns, len(group), suffix), values_by_name)


def grouped(rows: Sequence[T]) -> Iterator[Sequence[T]]:
    """Split rows into groups whose sizes are powers of two, so that only a few statements are prepared."""
    start = 0
    while left := len(rows) - start:
        size = min(ROWS_AT_ONCE, 1 << (left.bit_length() - 1))
        yield rows[start : start + size]
        start += size


@cache
def _sqlite_insert(table: str, columns: tuple[str, ...], count: int, suffix: str) -> str:
    """Return the statement in SQLite's words. SQLAlchemy would take 0.2 s to compile the longest ones."""
    names = ", ".join(f'"{name}"' for name in columns)
    row = f"({', '.join('?' * len(columns))})"
    return f'INSERT INTO "{table}" ({names}) VALUES {", ".join([row] * count)}{suffix}'


@cache
def _insert_statement(
    table: str, columns: tuple[tuple[str, str], ...], count: int, suffix: str
) -> TextClause:
    names = ", ".join(f'"{name}"' for name, _ in columns)
    rows: list[str] = []
    for number in range(count):
        parameters = ", ".join(_parameter(number, name, cast) for name, cast in columns)
        rows.append(f"({parameters})")
    return text(f'INSERT INTO "{table}" ({names}) VALUES {", ".join(rows)}{suffix}')


def _parameter(number: int, name: str, cast: str) -> str:
    return f"CAST(:c{number}_{name} AS {cast})" if cast else f":c{number}_{name}"
