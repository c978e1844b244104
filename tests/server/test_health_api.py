"""The health, metrics and OpenAPI routes."""

import asyncio
from pathlib import Path

from tests.server.caller import start_gateway

from thinkaloud.server.routes import ROUTES


def test_healthz_and_readyz(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path) as caller:
            assert await caller.call("GET", "/healthz") == {"status": "ok"}
            assert await caller.call("GET", "/readyz") == {"status": "ok"}
            caller.gateway.ready = False
            assert (await caller.call("GET", "/readyz", status=503))["status"] == "starting"

    asyncio.run(story())


def test_metrics_count_turns_and_requests(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path) as caller:
            await caller.run_turn(await caller.create_session())
            async with caller.http.get(f"{caller.url}/metrics") as response:
                lines = (await response.text()).splitlines()
            for line in (
                "thinkaloud_turns_started_total 1.0",
                'thinkaloud_turns_ended_total{state="done"} 1.0',
                "thinkaloud_turns_live 0.0",
                "thinkaloud_readers_live 0.0",
                "thinkaloud_unsaved_bytes 0.0",
            ):
                assert line in lines

    asyncio.run(story())


def test_openapi_document_lists_every_route(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path) as caller:
            paths = (await caller.call("GET", "/api/openapi.json"))["paths"]
            listed = {(method.upper(), path) for path, methods in paths.items() for method in methods}
            assert listed == {(route.method, route.path) for route in ROUTES}

    asyncio.run(story())
