"""Every gateway has its own folder and only the API keys that its test sets."""

from collections.abc import Iterator

import pytest

from thinkaloud.client.keys import REFERENCE_SEPARATOR
from thinkaloud.core.catalog import builtin_catalog


@pytest.fixture(scope="session", autouse=True)
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Remove API keys and files of the user who runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("THINKALOUD_HOME", str(tmp_path_factory.mktemp("home")))
        patch.delenv("THINKALOUD_MODEL", raising=False)
        for provider in builtin_catalog().providers.values():
            for reference in provider.key.split(REFERENCE_SEPARATOR):
                patch.delenv(reference.removeprefix("env:"), raising=False)
        yield
