"""Inserts many rows with few statements.

The driver gives up the interpreter lock for every statement that it runs, and `executemany` runs one for each
row. Beside a busy event loop, ten thousand rows would wait for the lock ten thousand times, and the writer
with them.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from sqlalchemy import Connection, TextClause, text

ROWS_AT_ONCE = 128
"""The most rows of one statement."""


def insert_rows(conn: Connection, table: str, rows: Sequence[Mapping[str, object]]) -> None:
    """Insert rows that have the same columns."""
    for group in _groups(rows):
        statement = _insert_statement(table, tuple(group[0]), len(group))
        conn.execute(statement, {f"c{n}_{name}": row[name] for n, row in enumerate(group) for name in row})


def _groups(rows: Sequence[Mapping[str, object]]) -> Iterator[Sequence[Mapping[str, object]]]:
    """Split rows into groups whose sizes are powers of two, so that only a few statements are prepared."""
    start = 0
    while left := len(rows) - start:
        size = min(ROWS_AT_ONCE, 1 << (left.bit_length() - 1))
        yield rows[start : start + size]
        start += size


@cache
def _insert_statement(table: str, columns: tuple[str, ...], count: int) -> TextClause:
    names = ", ".join(f'"{name}"' for name in columns)
    rows = (f"({', '.join(f':c{number}_{name}' for name in columns)})" for number in range(count))
    return text(f'INSERT INTO "{table}" ({names}) VALUES {", ".join(rows)}')
