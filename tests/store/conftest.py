"""An empty database in memory, in one transaction."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Connection
from tests.store.query_fixtures import memory_database


@pytest.fixture
def conn() -> Iterator[Connection]:
    with memory_database() as opened:
        yield opened
