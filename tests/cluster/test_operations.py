"""Operating gateways on PostgreSQL: the command line, health, metrics, and a database that goes away."""

import asyncio
import os
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.cluster.cluster import Cluster, node_settings
from tests.patience import PATIENCE_S
from tests.postgres_server import PostgresServer, shared_server
from tests.server.caller import ENDLESS_SCRIPT, wait_until
from tests.store.engines import migrated_template

from thinkaloud.cli import main
from thinkaloud.core.canon import Refused
from thinkaloud.gateway.store.engine.postgres import check_postgres
from thinkaloud.gateway.store.log.event_log import LogConfig
from thinkaloud.simulators import run_simulator


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home whose database is in PostgreSQL."""
    monkeypatch.setenv("THINKALOUD_HOME", str(tmp_path))
    url = shared_server().url(shared_server().new_database(migrated_template()))
    monkeypatch.setenv("THINKALOUD_DATABASE", url)
    return tmp_path


def test_commands_use_the_database_of_the_settings(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["users", "add", "ana"]) == 0
    capsys.readouterr()
    assert main(["users", "list", "--json"]) == 0
    assert [user["name"] for user in msgspec.json.decode(capsys.readouterr().out)] == ["local", "ana"]
    assert not (home / "thinkaloud.db").exists()
    main(["doctor", "--json"])
    findings = [row for row in msgspec.json.decode(capsys.readouterr().out) if row["check"] == "database"]
    assert {row["state"] for row in findings} == {"ok"}
    assert any("up to date" in row["text"] for row in findings)
    assert main(["backup", str(home / "copy.db")]) == 2
    assert "pg_dump" in capsys.readouterr().err


def test_address_of_another_database_is_refused(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("THINKALOUD_DATABASE", "mysql://hush@example.org/x")
    assert main(["users", "list"]) == 2
    said = capsys.readouterr().err
    assert "must begin with postgresql://" in said
    assert "hush" not in said


def test_doctor_reports_a_server_that_does_not_answer_and_tables_of_a_newer_version() -> None:
    with pytest.raises(Refused, match="Check that PostgreSQL runs there"):
        list(check_postgres("postgresql://hush@127.0.0.1:1/x"))
    name = shared_server().new_database(migrated_template())
    shared_server().execute("UPDATE alembic_version SET version_num = '9999'", name)
    failed = [text for passed, text in check_postgres(shared_server().url(name)) if not passed]
    assert len(failed) == 1
    assert "Upgrade" in str(failed[0])


def test_database_that_is_killed_is_reported_and_costs_no_turn() -> None:
    """Point 4: longer than a lease. Streams go on, `/readyz` says why not, and nobody is taken for dead."""

    async def story(server: PostgresServer) -> None:
        name = server.new_database()
        settings = node_settings(lease_s=1.5, log_config=LogConfig(retry_s=0.1))
        async with run_simulator("vllm", script=ENDLESS_SCRIPT) as simulator, AsyncExitStack() as stack:
            cluster = Cluster(server.url(name), name, simulator, stack)
            owner, other = [await cluster.start_node(settings=settings) for _ in range(2)]
            turn = await owner.start_turn(await owner.create_session())
            readers = [asyncio.create_task(node.read_stream(turn)) for node in (owner, other)]
            await owner.wait_for_reasoning(turn, "again and")
            metrics = owner.gateway.metrics.text().decode()
            assert "thinkaloud_lease_seconds" in metrics
            await asyncio.to_thread(server.kill)
            async with asyncio.timeout(PATIENCE_S):
                for node in (owner, other):
                    while (health := await readiness(node))["status"] != "not_saved":
                        await asyncio.sleep(0.05)
                    assert "database" in health["why"]
            await asyncio.sleep(3.0)
            await asyncio.to_thread(server.start)
            await wait_until(lambda: owner.gateway.log.saved and owner.gateway.node.lease_renewed)
            await asyncio.sleep(2.0)
            assert owner.gateway.turns.running_count == 1
            assert not any(task.done() for task in readers)
            await other.call("POST", f"/api/turns/{turn}/cancel", status=202)
            results = await asyncio.gather(*readers)
            assert {result.state for result in results} == {"cancelled"}
            assert results[0].entries == results[1].entries == (await other.read_stream(turn)).entries
            assert ("storage", {"saved": False}) in results[0].events

    async def readiness(node: Any) -> Any:
        async with node.http.get(f"{node.url}/readyz") as response:
            return await response.json()

    server = PostgresServer()
    try:
        asyncio.run(story(server))
    finally:
        server.close()
        assert not os.path.exists(server.folder)
