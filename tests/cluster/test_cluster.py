"""Several gateways on one PostgreSQL: any of them serves any reader and takes any command."""

import asyncio
import itertools
from contextlib import suppress
from functools import partial
from typing import Any

import aiohttp
import psycopg
import pytest
from sqlalchemy import Connection, func, select, text
from tests.cluster.cluster import LEASE_S, Cluster, node_settings, postgres_of, start_cluster
from tests.faults.format_clients import FORMATS, FormatClient
from tests.patience import PATIENCE_S
from tests.server.caller import ENDLESS_SCRIPT, Caller, StreamResult, wait_until
from tests.server.test_agent_turns import LAUNCH, LaunchTool, agent, decide, waiting
from tests.store.log_fixtures import append_all, entries, new_turn, read_all, turn_events

from thinkaloud.core.canon import TurnEnded, TurnFailed
from thinkaloud.core.transcript import BlockStatus
from thinkaloud.gateway.server import node
from thinkaloud.gateway.store.engine.database import NotSaved
from thinkaloud.gateway.store.engine.postgres import open_postgres
from thinkaloud.gateway.store.log import follow
from thinkaloud.gateway.store.log.event_log import EventLog, LogConfig
from thinkaloud.gateway.store.log.recovery import Reaper, recover
from thinkaloud.gateway.store.schema import commands, nodes, turns

LONG_SCRIPT = [{"thinking": "one two three " * 60, "text": "Done.", "delay_ms": 10}]


async def three_nodes(cluster: Cluster, **settings: Any) -> list[Caller]:
    calm = node_settings(**({"lease_s": 60.0} | settings))  # nobody is taken for dead on a busy machine
    return [await cluster.start_node(settings=calm) for _ in range(3)]


def ends(result: StreamResult) -> int:
    return sum(isinstance(entry.event, TurnEnded | TurnFailed) for entry in result.entries.values())


async def add_foreign_node(cluster: Cluster) -> None:
    """Add the writer of `new_turn`, alive for ever."""
    lease = "INSERT INTO nodes (id, started_ms, lease_until_ms) VALUES ('w', 0, 9e15)"
    await asyncio.to_thread(cluster.execute, lease)


async def until_entries(caller: Caller, turn: str, count: int) -> None:
    async for _ in caller.follow_stream(turn, result := StreamResult()):
        if len(result.entries) >= count:
            return


async def follow_to_end(caller: Caller, turn: str, result: StreamResult, query: str = "") -> None:
    async for _ in caller.follow_stream(turn, result, query):
        pass


async def cancel_turn(caller: Caller, turn: str) -> None:
    """Cancel a turn. The status is 200 if it has ended before the answer was written."""
    async with caller.http.post(f"{caller.url}/api/turns/{turn}/cancel") as response:
        assert response.status in (200, 202)


def test_every_node_serves_every_reader_the_same_log_live() -> None:
    async def story() -> None:
        async with start_cluster(LONG_SCRIPT) as cluster:
            first, *others = await three_nodes(cluster)
            turn = await first.start_turn(await first.create_session())
            readers = [asyncio.create_task(node.read_stream(turn)) for node in (first, *others, *others)]
            results = await asyncio.gather(*readers)
            assert {result.state for result in results} == {"done"}
            assert len({tuple(result.entries.items()) for result in results}) == 1
            late = await others[0].read_stream(turn, Last_Event_ID="10")
            assert list(late.entries) == list(results[0].entries)[11:]
            follower = others[0].gateway.log.follower
            assert follower is not None
            assert follower.query_count > 3, "the reader of the other node has read live"
            assert (await others[1].call("GET", f"/api/turns/{turn}"))["state"] == "done"

    asyncio.run(story())


def test_lost_notifications_and_dropped_listeners_cost_at_most_the_poll() -> None:
    """Point 7: LISTEN connections are ended again and again, and readers elsewhere get everything."""

    async def story() -> None:
        async with start_cluster(LONG_SCRIPT) as cluster:
            first, second = await cluster.start_node(), await cluster.start_node()
            turn = await first.start_turn(await first.create_session())
            reading = asyncio.create_task(second.read_stream(turn))
            kill = (
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                f"WHERE datname = '{cluster.name}' AND application_name = 'thinkaloud listen'"
            )
            for _ in range(4):
                await asyncio.sleep(0.2)
                await asyncio.to_thread(cluster.execute, kill)
            result = await asyncio.wait_for(reading, PATIENCE_S)
            assert result.entries == (await first.read_stream(turn)).entries
            await wait_until(lambda: postgres_of(second).listener.connected)

    asyncio.run(story())


def test_thousand_readers_of_a_foreign_turn_share_one_query_for_each_commit() -> None:
    """Point 16."""
    told = entries(turn_events(*("word " for _ in range(200))))

    async def story() -> None:
        async with start_cluster() as cluster:
            first, second = await cluster.start_node(), await cluster.start_node()
            await add_foreign_node(cluster)
            row = await new_turn(first.gateway.database)
            log: EventLog = second.gateway.log
            assert log.follower is not None
            readers = [asyncio.create_task(read_all(log, row.key)) for _ in range(1_000)]
            writer = first.gateway.log.writer(row.key, row.epoch)
            await asyncio.sleep(0.2)
            before = log.follower.query_count
            for start in range(0, len(told) - 1, 20):
                append_all(writer, told[start : min(start + 20, len(told) - 1)])
                await writer.flush()
            queries = log.follower.query_count - before
            append_all(writer, told[-1:])
            await writer.close()
            copies = await asyncio.gather(*readers)
            assert all(copy == copies[0] for copy in copies)
            assert len(copies[0]) == len(told)
            assert queries <= 40, f"{queries} queries for about 20 commits"

    asyncio.run(story())


def test_one_idempotency_key_at_three_nodes_starts_one_turn_and_limits_hold_over_all() -> None:
    """Point 13."""

    async def post(caller: Caller, session: str, key: str = "") -> tuple[int, Any]:
        headers = {"Idempotency-Key": key} if key else {}
        path = f"{caller.url}/api/sessions/{session}/turns"
        async with caller.http.post(path, json={"prompt": "Go."}, headers=headers) as response:
            return response.status, await response.json()

    async def story() -> None:
        async with start_cluster(ENDLESS_SCRIPT * 10) as cluster:
            callers = await three_nodes(cluster, running_turns_per_user=4)
            session = await callers[0].create_session()
            answers = await asyncio.gather(*(post(caller, session, "k") for caller in callers * 5))
            assert sorted(status for status, _ in answers) == [200] * 14 + [202]
            assert len({body["id"] for _, body in answers}) == 1
            sessions = [await callers[0].create_session() for _ in range(9)]
            pairs = zip(callers * 3, sessions, strict=True)
            started = await asyncio.gather(*(post(caller, one) for caller, one in pairs))
            assert sorted(status for status, _ in started) == [202] * 3 + [429] * 6

    asyncio.run(story())


def test_cancel_and_answer_now_reach_the_owner_from_any_node() -> None:
    """Point 12."""
    script = [
        {"thinking": "again and " * 500, "text": "never", "delay_ms": 20},
        {"text": "Well, 42."},
        {"thinking": "again and " * 500, "text": "never", "delay_ms": 20},
    ]

    async def story() -> None:
        async with start_cluster(script) as cluster:
            owner, other = await cluster.start_node(), await cluster.start_node()
            turn = await owner.start_turn(await owner.create_session(), thinking="high")
            await until_entries(other, turn, 5)
            await other.call("POST", f"/api/turns/{turn}/answer-now", status=202)
            result = await other.read_stream(turn)
            assert (result.turn.answer, result.turn.blocks[0].status) == (
                "Well, 42.",
                BlockStatus.INTERRUPTED,
            )
            await other.call("POST", f"/api/turns/{turn}/answer-now", status=409)
            turn = await owner.start_turn(await owner.create_session())
            await until_entries(other, turn, 5)

            async def cancel(node: Caller) -> tuple[int, str]:
                async with node.http.post(f"{node.url}/api/turns/{turn}/cancel") as response:
                    return response.status, (await response.json())["state"]

            answers = set(await asyncio.gather(cancel(owner), cancel(other)))
            assert (202, "cancelled") in answers
            assert answers <= {(202, "cancelled"), (200, "cancelled")}, "200 if it came after the end"
            result = await other.read_stream(turn)
            assert (result.state, ends(result)) == ("cancelled", 1)
            assert (await other.call("POST", f"/api/turns/{turn}/cancel"))["state"] == "cancelled"
            left = await owner.gateway.database.read(
                lambda conn: conn.scalar(select(func.count()).select_from(commands))
            )
            assert left == 0

    asyncio.run(story())


def test_approval_is_given_at_another_node_and_the_turn_moves_when_its_owner_stops() -> None:
    async def story() -> None:
        async with start_cluster(LAUNCH) as cluster:
            pads = [LaunchTool() for _ in range(3)]
            survivor = await cluster.start_node([pads[0].tool])
            async with cluster.node([pads[1].tool]) as owner:
                planner = await agent(owner, uses=["launch"])
                session = await owner.create_session(agent=planner)
                turn = await owner.start_turn(session)
                call = await waiting(survivor, turn)
                refused = await decide(survivor, turn, call["block"] + 7, granted=True, status=422)
                assert refused["error"]["code"]
            await wait_until(lambda: survivor.gateway.turns.running_count == 1)
            await decide(survivor, turn, call["block"], granted=True)
            result = await survivor.read_stream(turn)
            assert (result.state, result.turn.answer) == ("done", "Launched.")
            assert [pad.launched for pad in pads] == [["the ship"], [], []]

    asyncio.run(story())


def test_zombie_writes_nothing_and_its_readers_get_the_whole_log() -> None:
    """Point 2, without the pause: another node takes the turn over while its writer is alive."""

    async def story() -> None:
        async with start_cluster(ENDLESS_SCRIPT) as cluster:
            zombie, other = await cluster.start_node(), await cluster.start_node()
            turn = await zombie.start_turn(await zombie.create_session())
            reading = asyncio.create_task(zombie.read_stream(turn))
            await until_entries(other, turn, 6)
            reaper = Reaper(node=other.gateway.node.id, lease_ms=0)
            for _ in range(100):  # the zombie may renew its lease at this moment, or commit
                await asyncio.to_thread(cluster.execute, "UPDATE nodes SET lease_until_ms = 1")
                if (await recover(other.gateway.database, reaper, now_ms=0)).ended:
                    break
            stored = await other.read_stream(turn)
            await wait_until(lambda: zombie.gateway.turns.running_count == 0)
            result = await reading
            assert (result.state, result.entries) == ("interrupted", stored.entries)
            assert ends(stored) == 1
            assert (await other.read_stream(turn)).entries == stored.entries

    asyncio.run(story())


async def keep_alives(clients: list[FormatClient]) -> None:
    """Wait until every client has received something more."""
    sizes = [len(client.data) for client in clients]
    await wait_until(
        lambda: all(len(client.data) > size for client, size in zip(clients, sizes, strict=True))
    )


@pytest.mark.parametrize("taken_over", [True, False])
def test_node_whose_lease_ran_out_sends_nothing_until_it_knows_its_turns(
    monkeypatch: pytest.MonkeyPatch, taken_over: bool
) -> None:
    """Clients of all formats: a turn that was lost ends with an error, one that was kept goes on."""
    shift_s = [0.0]
    clock_s = node._now_s
    monkeypatch.setattr(node, "_now_s", lambda: clock_s() + shift_s[0])
    script = [{"thinking": "again and " * 200, "text": "Done.", "delay_ms": 20}] * len(FORMATS)

    async def story() -> None:
        async with start_cluster(script) as cluster, open_postgres(cluster.url) as other:
            settings = node_settings(lease_s=6.0, heartbeat_s=0.3)
            paused = await cluster.start_node(settings=settings)
            clients = [FormatClient(one, paused.http, paused.model) for one in FORMATS]
            asking = [asyncio.create_task(client.ask(paused.url)) for client in clients]
            await wait_until(lambda: all(b"again" in client.data for client in clients))
            renew, awake = paused.database.write_urgent, asyncio.Event()

            async def renew_when_awake(change: Any) -> Any:
                await awake.wait()
                return await renew(change)

            monkeypatch.setattr(paused.database, "write_urgent", renew_when_awake)
            shift_s[0] = 100.0  # the process has stood still, and does not know whether its turns were taken
            if taken_over:
                reaper = Reaper(node="another", lease_ms=0)
                for _ in range(100):  # the node may commit at this moment
                    await asyncio.to_thread(cluster.execute, "UPDATE nodes SET lease_until_ms = 1")
                    if (await recover(other, reaper, now_ms=0)).ended:
                        break
            else:
                await keep_alives(clients)  # what was on its way has arrived
                texts = [client.data.count(b"again") for client in clients]
                await keep_alives(clients)
                assert [client.data.count(b"again") for client in clients] == texts
            awake.set()
            await asyncio.wait_for(asyncio.gather(*asking), PATIENCE_S)
            assert {client.ends for client in clients} == {("error",) if taken_over else ("whole",)}
            # A turn that was committing at the takeover is given up by its node, and ended by the next sweep.
            states = [("running",)]
            while ("running",) in states:
                states = await asyncio.to_thread(cluster.execute, "SELECT DISTINCT state FROM turns")
            assert states == [("interrupted" if taken_over else "done",)]

    asyncio.run(story())


def test_reader_of_an_end_that_was_never_saved_starts_again() -> None:
    """A node that stood still shows entries which it cannot save any more: another one has ended the turn."""

    async def story() -> None:
        async with start_cluster(
            [{"thinking": "one two three", "text": "Done.", "delay_ms": 100}]
        ) as cluster:
            settings = node_settings(lease_s=60.0, log_config=LogConfig(slow_commit_s=0.2, retry_s=0.1))
            zombie, other = [await cluster.start_node(settings=settings) for _ in range(2)]
            turn = await zombie.start_turn(await zombie.create_session())
            await until_entries(other, turn, 2)
            with psycopg.connect(cluster.url) as connection:
                connection.execute("LOCK TABLE turns, log IN ACCESS EXCLUSIVE MODE")
                reading = asyncio.create_task(follow_to_end(zombie, turn, live := StreamResult()))
                await wait_until(lambda: ends(live) == 1)
                connection.execute("UPDATE turns SET epoch = epoch + 1, state = 'interrupted', ended_ms = 1")
            with suppress(aiohttp.ClientPayloadError):
                await reading
            assert "end" not in dict(live.events)
            again = StreamResult(entries=dict(live.entries))
            reading = asyncio.create_task(follow_to_end(zombie, turn, again, f"?after={live.last_id}"))
            await wait_until(lambda: any(name == "reset" for name, _ in again.events))
            assert ends(again) == 0
            reading.cancel()

    asyncio.run(story())


def test_pool_and_tables_that_are_blocked_cost_no_lease_and_no_turn() -> None:
    """Point 9: streams go on, the lease is renewed, and nobody takes the turns over."""

    async def story() -> None:
        async with start_cluster(ENDLESS_SCRIPT) as cluster:
            settings = node_settings(log_config=LogConfig(slow_commit_s=0.5, retry_s=0.1))
            owner, other = [await cluster.start_node(settings=settings) for _ in range(2)]
            turn = await owner.start_turn(await owner.create_session())
            reading = asyncio.create_task(follow_to_end(owner, turn, live := StreamResult()))
            await until_entries(other, turn, 4)
            sleep = text("SELECT pg_sleep(6)")
            blocked = [
                asyncio.create_task(owner.gateway.database.read(lambda conn: conn.execute(sleep).scalar()))
                for _ in range(12)
            ]
            await asyncio.sleep(2 * LEASE_S)
            assert owner.gateway.node.lease_left_s > 0
            assert owner.gateway.turns.running_count == 1
            for task in blocked:
                task.cancel()
            with psycopg.connect(cluster.url) as connection:
                connection.execute("LOCK TABLE turns, log, sessions IN ACCESS EXCLUSIVE MODE")
                await wait_until(lambda: not owner.gateway.log.saved)
                before = len(live.entries)
                await asyncio.sleep(2 * LEASE_S)
                assert owner.gateway.node.lease_left_s > 0
                assert len(live.entries) > before, "the owner's readers go on without the tables"
            await wait_until(lambda: owner.gateway.log.saved)
            assert owner.gateway.turns.running_count == 1
            assert not reading.done()
            await cancel_turn(other, turn)
            await reading
            assert (live.state, ends(live)) == ("cancelled", 1)
            assert live.entries == (await other.read_stream(turn)).entries

    asyncio.run(story())


def test_nodes_leave_in_order_and_a_new_one_ends_what_a_stopped_one_left() -> None:
    async def story() -> None:
        async with start_cluster() as cluster:
            async with cluster.node() as caller:
                await caller.run_turn(await caller.create_session())
                node = caller.gateway.node.id
            lease = cluster.execute(f"SELECT lease_until_ms FROM nodes WHERE id = '{node}'")
            assert lease == [(0,)]
            async with cluster.node() as caller:
                row = await new_turn(caller.gateway.database)
                set_writer = f"UPDATE turns SET writer = '{node}' WHERE key = {row.key}"
                await asyncio.to_thread(cluster.execute, set_writer)
                running = select(func.count()).select_from(turns).where(turns.c.state == "running")
                async with asyncio.timeout(PATIENCE_S):
                    while await caller.gateway.database.read(lambda conn: conn.scalar(running)):
                        await asyncio.sleep(0.05)
                count = await caller.gateway.database.read(
                    lambda conn: conn.scalar(select(func.count()).select_from(nodes))
                )
                assert count == 2
                with suppress(KeyError):
                    caller.gateway.turns.give_up(row.key)

    asyncio.run(story())


def test_turns_of_a_dead_node_end_though_every_second_renewal_of_the_others_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A renewal that failed is tried again soon. It does not let the wait for the dead node begin again."""

    async def story() -> None:
        async with start_cluster() as cluster:
            survivor = await cluster.start_node()
            renew, attempts = survivor.database.write_urgent, itertools.count()

            async def renew_sometimes(change: Any) -> Any:
                if next(attempts) % 2 == 0:
                    raise NotSaved("The connection was lost.")
                return await renew(change)

            monkeypatch.setattr(survivor.database, "write_urgent", renew_sometimes)
            await add_foreign_node(cluster)
            rows = [await new_turn(survivor.gateway.database) for _ in range(12)]
            last_lease = (
                "UPDATE nodes SET lease_until_ms = extract(epoch FROM clock_timestamp()) * 1000 + "
                f"{LEASE_S * 1000} WHERE id = 'w'"
            )
            await asyncio.to_thread(cluster.execute, last_lease)
            results = await asyncio.gather(*(survivor.read_stream(row.id) for row in rows))
            assert {(result.state, ends(result)) for result in results} == {("interrupted", 1)}

    asyncio.run(story())


def test_follower_reads_as_many_rows_however_long_the_logs_are() -> None:
    """A server that has not counted the rows of the tables yet must not read all of them for each commit."""
    explain = text(f"EXPLAIN (ANALYZE, FORMAT JSON) {follow._READ_TAILS.text}")

    def rows_read(plan: dict[str, Any]) -> int:
        below = sum(rows_read(part) for part in plan.get("Plans", ()))
        removed = plan.get("Rows Removed by Filter", 0) + plan.get("Rows Removed by Join Filter", 0)
        own = plan["Actual Rows"] + removed if plan.get("Relation Name") == "log" else 0
        return int(below + own * plan["Actual Loops"])

    async def story() -> None:
        async with start_cluster() as cluster, open_postgres(cluster.url) as database:
            keys = [(await new_turn(database)).key for _ in range(20)]
            counts = []
            for stored, length in ((0, 20), (20, 1_000)):
                fill = (
                    "INSERT INTO log (turn, first_seq, last_seq, entries) SELECT turn, seq, seq, 'x' FROM "
                    f"unnest(ARRAY{keys}) AS turn, generate_series({stored}, {length - 1}) AS seq"
                )
                await asyncio.to_thread(cluster.execute, fill)
                values = {"turns": keys, "afters": [length - 3] * len(keys), "most": 2_000}
                plans = await database.read(partial(Connection.scalar, statement=explain, parameters=values))
                assert plans is not None
                counts.append(rows_read(plans[0]["Plan"]))
            assert counts[0] == counts[1]

    asyncio.run(story())


@pytest.mark.parametrize("status", ["alive", "silent"])
def test_command_for_a_silent_owner_is_answered_with_what_to_do(
    status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "thinkaloud.gateway.server.turns.commands._OUTCOME_TIMEOUT_S", 0.3 if status == "silent" else 60
    )

    async def story() -> None:
        async with start_cluster() as cluster:
            caller = await cluster.start_node()
            await add_foreign_node(cluster)
            row = await new_turn(caller.gateway.database)
            if status == "silent":
                message = await caller.refusal_message("POST", f"/api/turns/{row.id}/cancel", status=503)
                assert "does not answer" in message
            else:
                cancel = asyncio.create_task(caller.call("POST", f"/api/turns/{row.id}/cancel"))
                await asyncio.sleep(0.1)
                done = f"UPDATE turns SET state = 'done' WHERE key = {row.key}"
                await asyncio.to_thread(cluster.execute, done)
                assert (await cancel)["state"] == "done"

    asyncio.run(story())
