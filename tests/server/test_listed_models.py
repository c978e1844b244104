"""Every model that the gateway lists completes a tool loop, with a client that forgets thoughts."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from tests.cli.environment import CATALOG_ROWS
from tests.server.caller import catalog_with, client_without_retries, quick_settings

from thinkaloud.core.catalog import builtin_catalog
from thinkaloud.gateway.server.gateway import Gateway
from thinkaloud.gateway.server.run import start_server
from thinkaloud.gateway.store.engine.sqlite import open_database
from thinkaloud.simulators import Script, Simulator, run_simulator

STEPS = 3
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}}]
ANSWER = "The warmest is City 1."
SCRIPT: list[Any] = [
    {
        "thinking": f"Step {number}: look at the next city.",
        "tool_calls": [{"name": "get_weather", "arguments": {"city": f"City {number}"}}],
    }
    for number in range(STEPS)
]
SCRIPT.append({"thinking": "All cities are known.", "text": ANSWER})


@asynccontextmanager
async def start_all(folder: Path) -> AsyncIterator[tuple[str, dict[str, Simulator]]]:
    """Start a gateway and all simulators, and return its address and them by their row in the catalog."""
    async with AsyncExitStack() as stack:
        servers = [await stack.enter_async_context(run_simulator(name)) for name in CATALOG_ROWS]
        database = await stack.enter_async_context(open_database(folder / "thinkaloud.db"))
        gateway = Gateway(
            database,
            catalog_with(*servers),
            settings=quick_settings(),
            client=client_without_retries(),
        )
        await stack.enter_async_context(gateway)
        server = await stack.enter_async_context(start_server(gateway))
        yield server.url, {CATALOG_ROWS[simulator.api.name]: simulator for simulator in servers}


async def complete_loop(http: aiohttp.ClientSession, url: str, model: str) -> str:
    """Return the last answer of a loop, or the refusal that ended it. Thoughts are never sent back."""
    messages: list[Any] = [{"role": "user", "content": f"Where is it warmest, {model}?"}]
    while True:
        body = {"model": model, "messages": messages, "tools": TOOLS, "reasoning_effort": "high"}
        async with http.post(f"{url}/v1/chat/completions", json=body) as response:
            reply = await response.json()
            if response.status != 200:
                return f"{response.status}: {reply['error']['message']}"
        message = reply["choices"][0]["message"]
        calls = message.get("tool_calls")
        if not calls:
            return str(message["content"])
        messages.append({"role": "assistant", "content": message["content"], "tool_calls": calls})
        for call in calls:
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": "18 degrees"})


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set a key for each simulated provider."""
    for row in CATALOG_ROWS.values():
        for reference in builtin_catalog().providers[row].key.split(" | "):
            if reference.startswith("env:"):
                monkeypatch.setenv(reference.removeprefix("env:"), "simulated")


WITHOUT_TOOLS = {"ollama/deepseek-r1": "does not support tools"}
"""Listed models whose provider refuses tools, and its words."""


def test_every_listed_model_completes_a_tool_loop_with_a_forgetful_client(tmp_path: Path) -> None:
    async def story() -> None:
        failures: dict[str, str] = {}
        async with start_all(tmp_path) as (url, simulators), aiohttp.ClientSession() as http:
            async with http.get(f"{url}/v1/models") as response:
                names = [model["id"] for model in (await response.json())["data"]]
            simulated = [name for name in names if name.partition("/")[0] in simulators]
            assert len(simulated) > 100
            assert len(set(names)) == len(names)
            for name in simulated:
                simulators[name.partition("/")[0]].script = Script.parse(SCRIPT)
                answer = await complete_loop(http, url, name)
                if WITHOUT_TOOLS.get(name, ANSWER) not in answer:
                    failures[name] = answer
        assert failures == {}

    asyncio.run(story())


def test_families_and_retired_models_are_not_listed_and_are_refused_clearly(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_all(tmp_path) as (url, _), aiohttp.ClientSession() as http:
            async with http.get(f"{url}/v1/models") as response:
                names = {model["id"].partition("/")[2] for model in (await response.json())["data"]}
            for family in ("magistral", "command-a", "qwen3", "mistral-small-4", "kimi-k2", "granite"):
                assert family not in names
            for retired_model in ("claude-3-opus", "o1-pro", "gpt-4", "grok-4", "gemini-3-pro"):
                assert retired_model not in names
            family = await complete_loop(http, url, "mistral/magistral")
            assert family.startswith("404: 'magistral' is a family of models at mistral.")
            assert "mistral/magistral-medium-latest" in family
            unknown_ids = await complete_loop(http, url, "openrouter/qwen3")
            assert "Name one of its models as openrouter spells it" in unknown_ids
            ended = await complete_loop(http, url, "anthropic/claude-3-opus")
            assert "retired claude-3-opus on 2026-01-05. Use claude-opus-4.8 instead." in ended

    asyncio.run(story())
