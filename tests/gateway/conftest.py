"""One paced provider for all tests, and no API keys from the environment."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.gateway.paced_provider import run_provider

from thinkaloud.client.keys import REFERENCE_SEPARATOR
from thinkaloud.core.catalog import builtin_catalog


@pytest.fixture(scope="session")
def provider() -> Iterator[str]:
    """The address of the paced provider."""
    with run_provider() as url:
        yield url


@pytest.fixture(autouse=True)
def no_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THINKALOUD_HOME", str(tmp_path))
    monkeypatch.delenv("THINKALOUD_MODEL", raising=False)
    for row in builtin_catalog().providers.values():
        for reference in row.key.split(REFERENCE_SEPARATOR):
            monkeypatch.delenv(reference.removeprefix("env:"), raising=False)
