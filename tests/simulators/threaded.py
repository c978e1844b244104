"""A simulator in a thread of its own, for tests of blocking calls."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

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
def simulated_providers(monkeypatch: pytest.MonkeyPatch, *answers: ScriptedAnswer) -> Iterator[None]:
    """Make a `Conversation` without a catalog ask simulators; `answers` are those of Anthropic's."""
    names = {
        "anthropic": "ANTHROPIC_API_KEY",
        "deepseek": "DEEPSEEK_API_KEY",
        "openrouter": "OPENROUTER_API_KEY",
    }
    with ExitStack() as stack:
        urls = {}
        for name, key in names.items():
            monkeypatch.setenv(key, "sk-for-a-simulator")
            server = stack.enter_context(threaded_simulator(name, *(answers if name == "anthropic" else ())))
            urls[name] = server.base_url
        catalog = simulated_catalog(**urls)
        monkeypatch.setattr("thinkaloud.agents.conversation.builtin_catalog", lambda: catalog)
        yield
