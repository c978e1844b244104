"""One key for all simulators, found where a user would keep it."""

from collections.abc import Iterator

import pytest
from tests.journeys.journey import KEY_NAME


@pytest.fixture(autouse=True, scope="module")
def key() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(KEY_NAME, "sim-key")
        yield
