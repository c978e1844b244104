"""The models API: providers, thinking support, and only the presence of API keys."""

import asyncio
from pathlib import Path

import msgspec
from tests.server.caller import start_gateway
from tests.server.conftest import CANARY

from thinkaloud.client.connections import connect_all
from thinkaloud.core.catalog import ThinkingSupport, builtin_catalog, find_model


def test_r041_thinking_toggle_only_for_models_that_can_think(tmp_path: Path) -> None:
    """R041 R044: a model without the toggle, or that always thinks, has a reason."""

    async def story() -> None:
        async with start_gateway(tmp_path) as caller:
            body = await caller.call("GET", "/api/models")
            models = {model["id"]: model for model in body["models"]}
            assert len(models) > 100
            for name, told_of in models.items():
                row = find_model(builtin_catalog(), name)
                assert row is not None
                assert told_of["thinking_toggle"] == (row.thinking is not ThinkingSupport.NONE)
                assert bool(told_of["reason"]) == (row.thinking is not ThinkingSupport.OPTIONAL)
            assert "does not support thinking" in models["gpt-4o"]["reason"]

    asyncio.run(story())


def test_r045_only_the_presence_of_keys_is_shown(tmp_path: Path) -> None:
    """R045: neither an API key nor its location is shown."""

    async def story() -> None:
        async with start_gateway(tmp_path) as caller:
            body = await caller.call("GET", "/api/models")
            providers = {provider["name"]: provider for provider in body["providers"]}
            assert (providers["anthropic"]["has_key"], providers["openai"]["has_key"]) == (True, False)
            assert (providers["vllm"]["has_key"], providers["vllm"]["local"]) == (True, True)
            assert providers["anthropic"]["answers"] is None
            models = {model["id"]: model for model in body["models"]}
            for model in models.values():
                assert model["has_key"] == any(providers[name]["has_key"] for name in model["providers"])
            async with caller.http.get(f"{caller.url}/api/models") as response:
                text = await response.text()
            assert CANARY not in text
            assert "API_KEY" not in text

    asyncio.run(story())


def test_local_servers_are_asked_whether_they_answer() -> None:
    """A port that accepts a connection answers; one that nobody listens on does not."""

    async def story() -> None:
        server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
        base_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        row = msgspec.structs.replace(builtin_catalog().providers["vllm"], base_url=base_url)
        assert await connect_all([row]) == [True]
        server.close()
        await server.wait_closed()
        assert await connect_all([row]) == [False]

    asyncio.run(story())
