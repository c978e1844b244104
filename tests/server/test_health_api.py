"""The health, metrics and OpenAPI routes."""

import asyncio
import threading
from pathlib import Path

import pytest
from tests.patience import PATIENCE_S
from tests.server.caller import SLOW_SCRIPT, quick_settings, start_gateway, wait_until

from thinkaloud.canon import Refused
from thinkaloud.catalog import builtin_catalog
from thinkaloud.server.gateway import Gateway
from thinkaloud.server.routes import ROUTES
from thinkaloud.store.database import NotSaved
from thinkaloud.store.log_config import LogConfig
from thinkaloud.store.sqlite import SqliteDatabase, open_database


def test_healthz_and_readyz(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path) as caller:
            assert await caller.call("GET", "/healthz") == {"status": "ok"}
            assert await caller.call("GET", "/readyz") == {"status": "ok"}
            caller.gateway.ready = False
            assert (await caller.call("GET", "/readyz", status=503))["status"] == "starting"

    asyncio.run(story())


def test_readyz_reports_a_disk_that_hangs(tmp_path: Path) -> None:
    """Streams go on, marked as not saved; no new turn starts; all is saved when the disk responds."""

    async def story() -> None:
        settings = quick_settings(log_config=LogConfig(slow_commit_s=0.05), max_waiting_s=0.5)
        async with start_gateway(tmp_path, script=SLOW_SCRIPT, settings=settings) as caller:
            session, other = await caller.create_session(), await caller.create_session()
            turn = await caller.start_turn(session)
            disk = threading.Event()
            caller.database._writer_pool.submit(disk.wait, PATIENCE_S)
            result = asyncio.create_task(caller.read_stream(turn))
            await wait_until(lambda: caller.gateway.log.waiting_s > 0.5)
            health = await caller.call("GET", "/readyz", status=503)
            assert health["status"] == "not_saved"
            assert "does not respond" in health["why"]
            body = {"prompt": "Again?"}
            refusal = await caller.refusal_message("POST", f"/api/sessions/{other}/turns", body, status=503)
            assert "does not respond" in refusal
            disk.set()
            stream = await result
            assert stream.state == "done"
            assert stream.events[0] == ("storage", {"saved": False})
            await caller.call("GET", "/readyz")

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


def test_gateway_does_not_start_on_a_disk_that_takes_no_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(database: SqliteDatabase, change: object) -> None:
        raise NotSaved(f"Cannot write to {database.path}: the disk is full.")

    async def story() -> None:
        async with open_database(tmp_path / "thinkaloud.db") as database:
            monkeypatch.setattr(SqliteDatabase, "write", refuse)
            async with Gateway(database, builtin_catalog()):
                pass

    with pytest.raises(Refused, match=r"the disk is full\. The gateway does not start"):
        asyncio.run(story())


def test_damaged_database_is_reported_with_how_to_restore_it(tmp_path: Path) -> None:
    path = tmp_path / "thinkaloud.db"

    async def story() -> None:
        async with open_database(path) as database, Gateway(database, builtin_catalog()):
            pass

    asyncio.run(story())
    data = bytearray(path.read_bytes())
    page_bytes = 4096
    data[page_bytes:] = b"\x5a" * (len(data) - page_bytes)  # all but the first page
    path.write_bytes(data)
    with pytest.raises(Refused, match=r"is damaged.*thinkaloud backup"):
        asyncio.run(story())
