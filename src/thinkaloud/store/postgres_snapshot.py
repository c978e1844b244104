"""Reads one snapshot of a PostgreSQL database for as long as a copy takes."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from sqlalchemy import Connection, create_engine
from sqlalchemy.exc import DBAPIError

from thinkaloud.store.postgres_connect import TimeLimits, connect, refusal

_DAY_S = 24 * 60 * 60
_LIMITS = TimeLimits(statement_s=_DAY_S, idle_s=_DAY_S)
"""The snapshot is idle while the target writes."""


@contextmanager
def open_postgres_snapshot(url: str) -> Iterator[Connection]:
    """Open a connection that sees the database as it is now, and cannot change it."""
    engine = create_engine(
        "postgresql+psycopg://", creator=lambda: connect(url, _LIMITS, name="copy"), hide_parameters=True
    )
    try:
        opened = engine.connect()
    except DBAPIError as error:
        if not isinstance(error.orig, psycopg.OperationalError):
            raise
        raise refusal(url, error.orig) from None
    try:
        with opened.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True) as conn:
            yield conn
    finally:
        engine.dispose()
