"""Databases for the tests of the store, on each engine."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Connection
from tests.store.engines import ENGINES, SQLITE, TEMPORARY, empty_tables


@pytest.fixture(params=ENGINES)
def conn(request: pytest.FixtureRequest) -> Iterator[Connection]:
    """An empty database, in one transaction."""
    with empty_tables(request.param) as opened:
        yield opened


@pytest.fixture(params=ENGINES)
def each_engine(request: pytest.FixtureRequest) -> Iterator[str]:
    """Make `temporary_database` open databases of this engine."""
    TEMPORARY.engine = request.param
    try:
        yield request.param
    finally:
        TEMPORARY.engine = SQLITE
        TEMPORARY.clear()
