"""The models API: providers, thinking support, and only the presence of API keys."""

import asyncio
from pathlib import Path

from tests.server.caller import start_gateway
from tests.server.conftest import CANARY

from thinkaloud.catalog import ThinkingSupport, builtin_catalog


def test_r041_thinking_toggle_only_for_models_that_can_think(tmp_path: Path) -> None:
    """R041 R044: a model without the toggle, or that always thinks, has a reason."""

    async def story() -> None:
        async with start_gateway(tmp_path) as caller:
            body = await caller.call("GET", "/api/models")
            models = {model["id"]: model for model in body["models"]}
            assert list(models) == list(builtin_catalog().models)
            for row in builtin_catalog().models.values():
                told_of = models[row.id]
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
            assert providers["vllm"] == {"name": "vllm", "has_key": True, "local": True}
            models = {model["id"]: model for model in body["models"]}
            for model in models.values():
                assert model["has_key"] == any(providers[name]["has_key"] for name in model["providers"])
            async with caller.http.get(f"{caller.url}/api/models") as response:
                text = await response.text()
            assert CANARY not in text
            assert "API_KEY" not in text

    asyncio.run(story())
