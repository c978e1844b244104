"""A survivor ends the turns of a dead node soon after its lease, also while the database keeps failing.

The survivor looks for abandoned turns when a test tells it to. Time passes only between two looks, for as
long as the survivor asks for: a test counts how long it has waited, and not how busy the machine is.
"""

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import psycopg
import pytest
from tests.cluster.cluster import Cluster, node_settings, start_cluster
from tests.patience import PATIENCE_S
from tests.server.caller import Caller, wait_until
from tests.server.test_agent_turns import LAUNCH, LaunchTool, agent, decide, waiting
from tests.store.log_fixtures import new_turn

from thinkaloud.gateway.server import node
from thinkaloud.gateway.server.node import GatewayNode
from thinkaloud.gateway.server.turns.registry import TurnRegistry
from thinkaloud.gateway.store.engine.database import NotSaved
from thinkaloud.gateway.store.engine.postgres import open_postgres
from thinkaloud.gateway.store.rows import TurnRow

LOST = NotSaved("The connection was lost.")
TURNS = 20
LONGEST_S = 1.0
"""Of the two seconds after the lease, half a second is for the first look, and as much for the work."""
CALM = node_settings(lease_s=3600.0)


class Clock:
    """The clock of all nodes. It stands still while they work."""

    def __init__(self) -> None:
        self.now_s = 0.0

    async def look(self, survivor: Caller) -> None:
        """Let a node look for abandoned turns, and let the time pass until its next look."""
        self.now_s += await survivor.gateway.node.look()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Let nodes look only when a test asks them to, by a clock of its own."""
    clock = Clock()
    monkeypatch.setattr(node, "_now_s", lambda: clock.now_s)
    monkeypatch.setattr(GatewayNode, "end_abandoned_turns", lambda _: asyncio.Event().wait())
    return clock


@asynccontextmanager
async def survivor_of(cluster: Cluster, turns: int = TURNS) -> AsyncIterator[tuple[Caller, list[TurnRow]]]:
    """A node, and the turns of another one that is gone."""
    survivor = await cluster.start_node(settings=CALM)
    async with open_postgres(cluster.url) as database:
        yield survivor, [await new_turn(database) for _ in range(turns)]


def running_turns(cluster: Cluster) -> set[int]:
    return {key for (key,) in cluster.execute("SELECT key FROM turns WHERE state = 'running'")}


def fail_writes(
    monkeypatch: pytest.MonkeyPatch,
    caller: Caller,
    fails: Callable[[Any], bool],
    *,
    carried_out: bool = False,
) -> None:
    """Let some writes of a node fail: they are not carried out, or they are and nobody is told."""
    database: Any = caller.database
    write: Callable[[Any], Awaitable[Any]] = database.write

    async def write_sometimes(change: Any) -> Any:
        failing = fails(change)
        if failing and not carried_out:
            raise LOST
        result = await write(change)
        if failing:
            raise LOST
        return result

    monkeypatch.setattr(database, "write", write_sometimes)


@pytest.mark.parametrize("carried_out", [False, True], ids=["refused", "not acknowledged"])
@pytest.mark.parametrize("every", [2, 3, 5])
def test_turns_of_a_dead_node_end_in_time_though_writes_keep_failing(
    monkeypatch: pytest.MonkeyPatch, clock: Clock, every: int, carried_out: bool
) -> None:
    async def story() -> None:
        async with start_cluster() as cluster, survivor_of(cluster) as (survivor, _):
            writes = itertools.count(1)
            fail_writes(monkeypatch, survivor, lambda _: next(writes) % every == 0, carried_out=carried_out)
            await clock.look(survivor)
            while running_turns(cluster):
                assert clock.now_s < LONGEST_S
                await clock.look(survivor)
            monkeypatch.undo()

    asyncio.run(story())


def test_turn_that_cannot_be_ended_is_tried_often_at_first_and_ever_less_often(
    monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    async def story() -> None:
        async with start_cluster() as cluster, survivor_of(cluster) as (survivor, rows):
            tried_s: set[float] = set()

            def fails(change: Any) -> bool:
                failing = isinstance(change, partial) and change.keywords.get("key") == rows[0].key
                if failing:
                    tried_s.add(clock.now_s)
                return failing

            fail_writes(monkeypatch, survivor, fails)
            while clock.now_s < 300.0:
                await clock.look(survivor)
            assert sum(at_s < 2.0 for at_s in tried_s) >= 8
            waits_s = [later - sooner for sooner, later in itertools.pairwise(sorted(tried_s))]
            assert waits_s[-1] > 30.0
            assert running_turns(cluster) == {rows[0].key}
            monkeypatch.undo()

    asyncio.run(story())


def test_claim_that_is_never_acknowledged_is_known_at_the_next_look(
    monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    """Not by the sweep, which finds forgotten turns some seconds later."""

    async def story() -> None:
        async with start_cluster() as cluster, survivor_of(cluster) as (survivor, _):
            writes = itertools.count()
            fail_writes(monkeypatch, survivor, lambda _: next(writes) < 5, carried_out=True)
            await clock.look(survivor)
            assert len(running_turns(cluster)) == TURNS
            await clock.look(survivor)
            assert running_turns(cluster) == set()

    asyncio.run(story())


def test_claim_waits_for_one_that_the_server_has_not_finished(clock: Clock) -> None:
    """The connection of the first attempt broke. The server commits it after the second one has begun."""

    async def story() -> None:
        async with start_cluster() as cluster, survivor_of(cluster) as (survivor, _):
            await asyncio.to_thread(cluster.execute, "INSERT INTO nodes VALUES ('w', 'w', 0, 0)")
            with psycopg.connect(cluster.url) as first:
                first.execute("SELECT FROM nodes WHERE id = 'w' FOR UPDATE")
                claim = "UPDATE turns SET epoch = epoch + 1, writer = %s"
                first.execute(claim, [survivor.gateway.node.id])
                look = asyncio.create_task(clock.look(survivor))
                blocked = (
                    "SELECT pid FROM pg_stat_activity "
                    f"WHERE datname = '{cluster.name}' AND cardinality(pg_blocking_pids(pid)) > 0"
                )
                async with asyncio.timeout(PATIENCE_S):
                    while not await asyncio.to_thread(cluster.execute, blocked):
                        assert not look.done(), "it has not waited"
            await look
            assert running_turns(cluster) == set()

    asyncio.run(story())


def test_turn_that_somebody_has_locked_does_not_hold_up_the_others(clock: Clock) -> None:
    async def story() -> None:
        async with start_cluster() as cluster, survivor_of(cluster) as (survivor, rows):
            with psycopg.connect(cluster.url) as administrator:
                administrator.execute(f"SELECT FROM turns WHERE key = {rows[0].key} FOR UPDATE".encode())
                await clock.look(survivor)
                assert running_turns(cluster) == {rows[0].key}
            await clock.look(survivor)
            assert running_turns(cluster) == set()

    asyncio.run(story())


def test_turn_that_takes_long_to_end_does_not_hold_up_the_others(
    monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    async def story() -> None:
        async with start_cluster() as cluster, survivor_of(cluster) as (survivor, rows):
            write, release = survivor.database.write, asyncio.Event()

            async def write_slowly(change: Any) -> Any:
                if isinstance(change, partial) and change.keywords.get("key") == rows[0].key:
                    await release.wait()
                return await write(change)

            monkeypatch.setattr(survivor.database, "write", write_slowly)
            look = asyncio.create_task(clock.look(survivor))
            await wait_until(lambda: running_turns(cluster) == {rows[0].key})
            assert not look.done()
            release.set()
            await look
            assert running_turns(cluster) == set()

    asyncio.run(story())


@asynccontextmanager
async def left_waiting(cluster: Cluster) -> AsyncIterator[tuple[str, int]]:
    """A turn that waits for an approval, and whose node has stopped: its id and the block to approve."""
    async with cluster.node([LaunchTool().tool]) as owner:
        session = await owner.create_session(agent=await agent(owner, uses=["launch"]))
        turn = await owner.start_turn(session)
        call = await waiting(owner, turn)
    yield turn, call["block"]


@pytest.mark.parametrize("starts", [False, True], ids=["looks", "starts"])
@pytest.mark.parametrize("error", [LOST, RuntimeError("A fault of this program.")], ids=["lost", "fault"])
def test_turn_that_waits_for_an_approval_is_resumed_after_a_failure(
    monkeypatch: pytest.MonkeyPatch, clock: Clock, error: Exception, starts: bool
) -> None:
    """A read that fails is not a reason to end it, nor to start no gateway."""

    async def story() -> None:
        async with start_cluster(LAUNCH) as cluster:
            pad, failures = LaunchTool(), [error] * 3
            resume_plan = TurnRegistry._resume_plan

            async def fail_first(self: Any, *arguments: Any) -> Any:
                if failures:
                    raise failures.pop()
                return await resume_plan(self, *arguments)

            monkeypatch.setattr(TurnRegistry, "_resume_plan", fail_first)
            survivor = None if starts else await cluster.start_node([pad.tool], settings=CALM)
            async with left_waiting(cluster) as (turn, block):
                survivor = survivor or await cluster.start_node([pad.tool], settings=CALM)
                while not survivor.gateway.turns.running_count:
                    assert clock.now_s < LONGEST_S
                    await clock.look(survivor)
                assert not failures
                await decide(survivor, turn, block, granted=True)
                assert (await survivor.read_stream(turn)).state == "done"
                assert pad.launched == ["the ship"]

    asyncio.run(story())


def test_turn_that_waits_for_an_approval_is_resumed_once_after_its_claim_was_refused(
    monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    """It is looked for twice then: among the turns of the dead node, and among those that may be claimed."""

    async def story() -> None:
        async with start_cluster(LAUNCH) as cluster:
            survivor = await cluster.start_node([LaunchTool().tool], settings=CALM)
            resume, resumed, writes = survivor.gateway.turns.resume, [], itertools.count()

            async def count_resumes(turn_id: str) -> None:
                resumed.append(turn_id)
                await resume(turn_id)

            monkeypatch.setattr(survivor.gateway.turns, "resume", count_resumes)
            async with left_waiting(cluster) as (turn, _):
                fail_writes(monkeypatch, survivor, lambda _: next(writes) < 5)
                await clock.look(survivor)
                assert resumed == []
                await clock.look(survivor)
                assert resumed == [turn]

    asyncio.run(story())


def test_waiting_turn_with_damaged_options_is_ended_and_lets_the_gateway_start(clock: Clock) -> None:
    async def story() -> None:
        async with start_cluster(LAUNCH) as cluster, left_waiting(cluster) as (turn, _):
            await asyncio.to_thread(cluster.execute, "UPDATE turns SET wishes = '{'")
            survivor = await cluster.start_node([LaunchTool().tool], settings=CALM)
            assert (await survivor.read_stream(turn)).state == "interrupted"

    asyncio.run(story())
