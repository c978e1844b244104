"""Every test of the gateway has its own folder and only the API keys that it sets."""

from pathlib import Path

import pytest
from tests.patient_gateway import ThreadPool

from thinkaloud.client.keys import REFERENCE_SEPARATOR
from thinkaloud.core.catalog import builtin_catalog

CANARY = "canary-5f2a9c-never-shown"


@pytest.fixture(autouse=True)
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set API keys for two providers and remove all others."""
    monkeypatch.setenv("THINKALOUD_HOME", str(tmp_path))
    for provider in builtin_catalog().providers.values():
        for reference in provider.key.split(REFERENCE_SEPARATOR):
            monkeypatch.delenv(reference.removeprefix("env:"), raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", CANARY)
    monkeypatch.setenv("DEEPSEEK_API_KEY", CANARY)


@pytest.fixture
def in_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Import and export in processes, as a gateway does outside of the tests."""
    monkeypatch.setattr(ThreadPool, "IN_A_PROCESS", 1)
