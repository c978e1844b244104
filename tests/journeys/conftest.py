"""Sets one key for all simulators, where a user would set it."""

from collections.abc import Iterator

import pytest
from tests.journeys.journey import KEY_NAME


@pytest.fixture(autouse=True, scope="module")
def key() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(KEY_NAME, "sim-key")
        yield
