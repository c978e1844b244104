"""A simulator in a thread of its own, for tests of blocking calls."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from tests.patience import PATIENCE_S

from thinkaloud.catalog import Catalog, builtin_catalog
from thinkaloud.simulators import Script, ScriptedAnswer, Simulator, run_simulator


@contextmanager
def threaded_simulator(name: str, *answers: ScriptedAnswer) -> Iterator[Simulator]:
    """Run a simulator until the block ends."""
    started: list[Simulator] = []
    ready = threading.Event()

    async def serve() -> None:
        async with run_simulator(name, script=Script([*answers])) as server:
            started.append(server)
            loop.call_soon(ready.set)
            await stop.wait()

    loop, stop = asyncio.new_event_loop(), asyncio.Event()
    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), daemon=True)
    thread.start()
    assert ready.wait(PATIENCE_S)
    try:
        yield started[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(PATIENCE_S)
        loop.close()


def simulated_catalog(**urls: str) -> Catalog:
    """Return the built-in catalog with other addresses, by provider."""
    catalog = builtin_catalog()
    for provider, url in urls.items():
        catalog = catalog.with_base_url(provider, url)
    return catalog


@contextmanager
def simulated_providers(
    monkeypatch: pytest.MonkeyPatch, home: Path, *answers: ScriptedAnswer
) -> Iterator[None]:
    """Put simulators into the user's catalog; `answers` are those of Anthropic's."""
    rows = []
    with ExitStack() as stack:
        for name, path in (("anthropic", "/v1"), ("deepseek", "/v1"), ("openrouter", "/api/v1")):
            server = stack.enter_context(threaded_simulator(name, *(answers if name == "anthropic" else ())))
            rows.append(f'[providers.{name}]\nbase_url = "{server.url}{path}"\nkey = "env:A_KEY"\n')
        (home / "catalog.toml").write_text("\n".join(rows))
        monkeypatch.setenv("A_KEY", "sk-for-a-simulator")
        monkeypatch.setenv("THINKALOUD_HOME", str(home))
        yield
