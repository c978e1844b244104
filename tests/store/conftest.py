"""An empty database in memory, in one transaction."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Connection
from tests.store.owned import fresh


@pytest.fixture
def conn() -> Iterator[Connection]:
    with fresh() as opened:
        yield opened
