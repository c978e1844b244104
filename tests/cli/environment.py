"""Runs a simulated provider in a thread, with a home folder whose catalog points to it."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.patience import PATIENCE_S

from thinkaloud.core.catalog import Provider, builtin_catalog
from thinkaloud.simulators import Simulator, run_simulator

KEY = "canary-5f2a9c-never-shown"
CATALOG_ROWS = {
    "anthropic": "anthropic",
    "openai-responses": "openai",
    "openai-chat": "openai-chat",
    "openrouter": "openrouter",
    "deepseek": "deepseek",
    "kimi": "moonshot",
    "gemini": "gemini",
    "ollama": "ollama",
    "vllm": "vllm",
    "mistral": "mistral",
    "groq": "groq",
    "xai": "xai",
    "bedrock": "bedrock",
    "cohere": "cohere",
}
"""The catalog row for each simulator."""


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds, or fail after `PATIENCE_S`."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


@contextmanager
def running_simulator(
    name: str, script: list[Any] | None = None, key: str | None = None
) -> Iterator[Simulator]:
    """Run a simulator in a thread until the block ends."""
    listening, stopped = threading.Event(), threading.Event()
    servers: list[Simulator] = []

    async def serve() -> None:
        async with run_simulator(name, script=script, key=key) as server:
            servers.append(server)
            listening.set()
            await asyncio.to_thread(stopped.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert listening.wait(PATIENCE_S), f"{name} does not listen"
    try:
        yield servers[0]
    finally:
        stopped.set()
        thread.join(PATIENCE_S)


def _key_variable(provider: Provider) -> str:
    """Return the environment variable that a catalog row reads its key from first."""
    return provider.key.split(" | ")[0].removeprefix("env:")


def _wait_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep commands in this process from saying that a slow commit is not saved."""
    from tests.patient_gateway import PatientSettings  # with the server, which few tests here need

    monkeypatch.setattr("thinkaloud.gateway.server.gateway.Settings", PatientSettings)


class UserHome:
    """The data folder of a user, and an environment with only the keys that a test sets."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self._monkeypatch = monkeypatch
        monkeypatch.setenv("THINKALOUD_HOME", str(folder))
        monkeypatch.setenv("COLUMNS", "80")
        monkeypatch.delenv("THINKALOUD_MODEL", raising=False)
        _wait_for_the_disk(monkeypatch)
        for provider in builtin_catalog().providers.values():
            if name := _key_variable(provider):
                monkeypatch.delenv(name, raising=False)

    def use_simulators(self, *servers: Simulator, extra: str = "") -> None:
        """Write a catalog in which the simulators replace their providers."""
        rows = [extra]
        for server in servers:
            row = builtin_catalog().providers[CATALOG_ROWS[server.api.name]]
            rows.append(f'[providers.{row.name}]\nbase_url = "{server.url}{urlsplit(row.base_url).path}"\n')
        (self.folder / "catalog.toml").write_text("\n".join(rows), "utf-8")

    def set_keys(self, *providers: str, key: str = KEY) -> None:
        """Set the environment variables with the keys of these providers."""
        for name in providers:
            self._monkeypatch.setenv(_key_variable(builtin_catalog().providers[name]), key)
