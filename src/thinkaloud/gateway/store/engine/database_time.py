"""The clock of the database, which all gateways on it share."""

from typing import Any

from sqlalchemy import BigInteger
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement


class DatabaseNowMs(FunctionElement[int]):
    """The time of the database, in milliseconds, also within a long transaction."""

    type = BigInteger()
    inherit_cache = True


@compiles(DatabaseNowMs, "postgresql")
def _on_postgres(element: DatabaseNowMs, compiler: Any, **options: Any) -> str:
    return "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)"


@compiles(DatabaseNowMs, "sqlite")
def _on_sqlite(element: DatabaseNowMs, compiler: Any, **options: Any) -> str:
    return "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"
