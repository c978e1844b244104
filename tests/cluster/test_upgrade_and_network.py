"""Gateways of two versions side by side, a pooler in between, and acknowledgements that are lost."""

import asyncio
from typing import Any

import msgspec
from tests.cluster.cluster import node_settings, start_cluster
from tests.faults.database_proxy import run_database_proxy
from tests.pgbouncer import run_pgbouncer
from tests.postgres_server import shared_server
from tests.server.caller import ENDLESS_SCRIPT, SCRIPT, Caller, wait_until
from tests.store.log_fixtures import append_all, entries, new_turn, turn_events

from thinkaloud.gateway.store.log.event_log import LogConfig
from thinkaloud.gateway.store.log.recovery import Reaper, recover

CALM = node_settings(lease_s=60.0)
NEWER_TABLES = (
    "UPDATE alembic_version SET version_num = '9999'",
    "ALTER TABLE turns ADD COLUMN colour TEXT DEFAULT 'red' NOT NULL",
)


class MoodChanged(msgspec.Struct, frozen=True, tag="mood.changed"):
    """An event that only the newer version knows."""

    mood: str


async def raw_lines(caller: Caller, turn: str, after: int = -1) -> list[dict[str, Any]]:
    """Return the entries after this one as they are sent, of any type, up to the end."""
    async with caller.http.get(f"{caller.url}/api/turns/{turn}/events?after={after}") as response:
        assert response.status == 200, await response.text()
        events = (await response.read()).split(b"\n\n")
    return [
        msgspec.json.decode(event.split(b"data: ", 1)[1])
        for event in events
        if b"\ndata: " in event and event[:4] == b"id: "
    ]


def test_rolling_upgrade_serves_a_new_event_and_a_new_column_at_both_versions() -> None:
    """Point 14: N and N+1 side by side. Every resume succeeds, and unknown events are kept."""
    events: list[Any] = turn_events("one ", "two")
    events[5:5] = [MoodChanged("curious")]
    told = entries(events)

    async def story() -> None:
        async with start_cluster(SCRIPT * 4) as cluster:
            old = await cluster.start_node(settings=CALM)
            for statement in NEWER_TABLES:
                await asyncio.to_thread(cluster.execute, statement)
            newer, restarted = [await cluster.start_node(settings=CALM) for _ in range(2)]
            await asyncio.to_thread(
                cluster.execute, "INSERT INTO nodes (id, started_ms, lease_until_ms) VALUES ('w', 0, 9e15)"
            )
            whole, cut = await new_turn(newer.gateway.database), await new_turn(newer.gateway.database)
            readers = [
                asyncio.create_task(raw_lines(node, row.id))
                for node in (old, newer, restarted)
                for row in (whole, cut)
            ]
            writers = [newer.gateway.log.writer(row.key, row.epoch) for row in (whole, cut)]
            append_all(writers[0], told[:-1])
            append_all(writers[1], told[:7])
            for writer in writers:
                await writer.flush()
            append_all(writers[0], told[-1:])
            await writers[0].close()
            newer.gateway.log.drop(cut.key)
            await asyncio.to_thread(cluster.execute, "UPDATE nodes SET lease_until_ms = 1 WHERE id = 'w'")
            reaper = Reaper(node=old.gateway.node.id, lease_ms=0)
            await recover(old.gateway.database, reaper, now_ms=0)  # the older version ends it
            expected = [msgspec.json.decode(msgspec.json.encode(entry)) for entry in told]
            for number, copy in enumerate(await asyncio.gather(*readers)):
                assert copy[:7] == expected[:7]
                assert number % 2 or copy == expected
            for node in (old, newer, restarted):
                for after in range(len(told) - 1):  # resumes at every entry, at every version
                    assert await raw_lines(node, whole.id, after) == expected[after + 1 :]
                assert (await node.call("GET", f"/api/turns/{cut.id}"))["state"] == "interrupted"
                assert (await node.run_turn(await node.create_session())).state == "done"

    asyncio.run(story())


def test_pool_goes_through_pgbouncer_in_transaction_mode() -> None:
    """Point 15: three server connections for two gateways; appends, notifications and leases are direct."""

    async def story() -> None:
        async with start_cluster([{"thinking": "one two three " * 30, "text": "Done."}] * 6) as cluster:
            with run_pgbouncer(shared_server(), cluster.name) as pool_url:
                async with (
                    cluster.node(settings=CALM, pool_url=pool_url) as first,
                    cluster.node(settings=CALM, pool_url=pool_url) as second,
                ):
                    sessions = [await first.create_session() for _ in range(6)]
                    turns = await asyncio.gather(*(first.start_turn(session) for session in sessions))
                    results = await asyncio.gather(*(second.read_stream(turn) for turn in turns))
                    assert {result.state for result in results} == {"done"}
                    assert {result.turn.reasoning for result in results} == {"one two three " * 30}
                    found = await second.call("GET", "/api/search?q=Done")
                    assert found["items"]
                    await second.call("DELETE", f"/api/sessions/{sessions[0]}", status=204)
                    limits = await second.gateway.database.read(
                        lambda conn: conn.exec_driver_sql("SHOW statement_timeout").scalar()
                    )
                    assert limits == "15s"
                    names = cluster.execute(
                        "SELECT application_name, count(*) FROM pg_stat_activity "
                        f"WHERE datname = '{cluster.name}' GROUP BY 1"
                    )
                    counts = dict(names)
                    assert counts["thinkaloud listen"] == counts["thinkaloud lease"] == 2
                    assert counts["thinkaloud pool"] <= 3

    asyncio.run(story())


def test_lost_acknowledgement_of_a_commit_doubles_neither_turns_nor_entries() -> None:
    """Point 10: the server has committed, and the gateway does not know it."""

    async def story() -> None:
        async with (
            start_cluster(ENDLESS_SCRIPT * 3) as cluster,
            run_database_proxy(shared_server().socket) as proxy,
        ):
            url = shared_server().url(cluster.name, "127.0.0.1", proxy.port)
            settings = node_settings(lease_s=60.0, log_config=LogConfig(retry_s=0.05))
            node = await cluster.start_node(url=url, settings=settings)
            session = await node.create_session()
            statuses, turn = [], ""
            proxy.losing_commits = {"pool": b"INSERT INTO turns"}
            for _ in range(3):  # a client repeats what was not answered, with the same key
                async with node.http.post(
                    f"{node.url}/api/sessions/{session}/turns",
                    json={"prompt": "Go."},
                    headers={"Idempotency-Key": "k"},
                ) as response:
                    statuses.append(response.status)
                    if response.ok:
                        turn = (await response.json())["id"]
                        break
            assert statuses == [503, 200]
            assert (await node.read_stream(turn)).state == "interrupted", "nobody has run it"
            body = await node.call("GET", f"/api/sessions/{session}")
            assert [row["id"] for row in body["turns"]] == [turn]
            turn = await node.start_turn(await node.create_session())
            reading = asyncio.create_task(node.read_stream(turn))
            for _ in range(3):
                proxy.losing_commits = {"append": b""}
                await wait_until(lambda: not proxy.losing_commits)
            await node.call("POST", f"/api/turns/{turn}/cancel", status=202)
            result = await reading
            stored = await node.read_stream(turn)
            assert proxy.faults == 4
            assert list(stored.entries) == list(range(len(stored.entries)))
            assert result.entries == stored.entries

    asyncio.run(story())
