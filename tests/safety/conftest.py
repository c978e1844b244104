"""Every gateway here has a folder of its own, and no key but what its test plants."""

from collections.abc import Iterator

import pytest

from thinkaloud.catalog import builtin
from thinkaloud.client.keys import OR


@pytest.fixture(scope="session", autouse=True)
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No key of whoever runs the tests, and none of their files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("THINKALOUD_HOME", str(tmp_path_factory.mktemp("home")))
        patch.delenv("THINKALOUD_MODEL", raising=False)
        for provider in builtin().providers.values():
            for reference in provider.key.split(OR):
                patch.delenv(reference.removeprefix("env:"), raising=False)
        yield
