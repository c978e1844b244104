"""The health, metrics and OpenAPI routes."""

import asyncio
import threading
from pathlib import Path

import pytest
from sqlalchemy import Connection, text
from tests.patience import PATIENCE_S
from tests.server.caller import SLOW_SCRIPT, quick_settings, start_gateway, wait_until

from thinkaloud.core.canon import Refused
from thinkaloud.core.catalog import builtin_catalog
from thinkaloud.gateway.server.gateway import Gateway
from thinkaloud.gateway.server.http.routes import ROUTES
from thinkaloud.gateway.server.node import Phase
from thinkaloud.gateway.store.engine.database import NotSaved
from thinkaloud.gateway.store.engine.sqlite import SqliteDatabase, open_database
from thinkaloud.gateway.store.log.event_log import LogConfig


def test_healthz_and_readyz(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path) as caller:
            assert await caller.call("GET", "/healthz") == {"status": "ok"}
            assert await caller.call("GET", "/readyz") == {"status": "ok"}
            caller.gateway.phase = Phase.STARTING
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


def test_change_on_a_frozen_disk_is_answered_instead_of_kept_waiting(tmp_path: Path) -> None:
    """No turn runs, so no entry waits: the first change meets the disk that does not respond."""

    async def story() -> None:
        async with start_gateway(tmp_path, settings=quick_settings(max_waiting_s=0.3)) as caller:
            session = await caller.create_session()
            disk = threading.Event()
            frozen = asyncio.create_task(caller.database.write(lambda conn: disk.wait(PATIENCE_S)))
            chat = {"model": caller.model, "messages": [{"role": "user", "content": "2 + 2?"}]}
            await asyncio.gather(
                caller.call("POST", "/api/sessions", {}, status=503),
                caller.call("PATCH", f"/api/sessions/{session}", {"title": "New"}, status=503),
                caller.call("POST", f"/api/sessions/{session}/turns", {"prompt": "Go."}, status=503),
            )
            message = await caller.refusal_message("POST", "/api/sessions", {}, status=503)
            assert "does not respond" in message
            await caller.call("POST", "/v1/chat/completions", chat, status=503)
            health = await caller.call("GET", "/readyz", status=503)
            assert "does not respond" in health["why"]
            await caller.call("GET", f"/api/sessions/{session}")
            disk.set()
            assert await frozen
            await wait_until(lambda: caller.database.stuck_s == 0)
            await caller.create_session()
            await caller.run_turn(session)

    asyncio.run(story())


def test_gateway_that_stops_refuses_new_sessions(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path) as caller:
            session = await caller.create_session()
            caller.gateway.phase = Phase.STOPPING
            for path, body in (
                ("/api/sessions", {}),
                (f"/api/sessions/{session}/turns", {"prompt": "Go."}),
                ("/api/import", {"thinkaloud": 1}),
            ):
                assert "stopping" in await caller.refusal_message("POST", path, body, status=503)
            assert len((await caller.call("GET", "/api/sessions"))["items"]) == 1

    asyncio.run(story())


def test_database_that_stays_away_is_one_line_for_each_task_in_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(error: Exception) -> None:
        settings = quick_settings(sweep_s=0.01, revoked_s=0.01)
        async with start_gateway(tmp_path, settings=settings) as caller:
            tries = 0

            async def fail(query: object) -> None:
                nonlocal tries
                tries += 1
                raise error

            monkeypatch.setattr(caller.database, "read", fail)
            await wait_until(lambda: tries > 20 and caplog.text.count("Retrying") == 2)
            monkeypatch.undo()
            await wait_until(lambda: caplog.text.count("works again") == 2)

    for error in (NotSaved("The database is away."), RuntimeError("odd")):
        caplog.clear()
        asyncio.run(story(error))
        lines = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
        assert sorted(lines) == [
            f"ending turns without a writer fails: {error} Retrying.",
            "ending turns without a writer works again",
            f"looking for forgotten turns fails: {error} Retrying.",
            "looking for forgotten turns works again",
        ]
        assert caplog.text.count("Traceback") == 2 * isinstance(error, RuntimeError)


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


def test_gateway_starts_though_old_deletions_cannot_be_erased(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def damage_search_index(conn: Connection) -> None:
        conn.execute(text("UPDATE search_text_data SET block = x'00' WHERE id = 10"))
        conn.execute(text("DELETE FROM facts WHERE name = 'erases_deleted'"))  # as in an older database

    async def story() -> None:
        async with open_database(tmp_path / "thinkaloud.db") as database:
            await database.write(damage_search_index)
            async with Gateway(database, builtin_catalog()) as gateway:
                assert gateway.phase is Phase.READY

    asyncio.run(story())
    (record,) = [record for record in caplog.records if "deleted earlier" in record.message]
    assert "list of the segments" in record.message
    assert record.exc_info


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
