"""Faults of gateways that share one PostgreSQL, of the server, and of the network between them."""

import asyncio
import signal

import aiohttp
from tests.faults.cluster_run import LEASE_S, ClusterRun
from tests.faults.database_proxy import KINDS
from tests.faults.fault_run import FaultRun
from tests.faults.format_clients import FormatClients

LONG = "r150-c150-ms10"
"""A turn of some three seconds."""


def _cluster(run: FaultRun) -> ClusterRun:
    assert isinstance(run, ClusterRun)
    return run


async def kill_node(run: FaultRun) -> None:
    """One of three gateways is killed with SIGKILL; readers go on at the others, which end its turns."""
    cluster = _cluster(run)
    live_turns = await run.start_turns()
    await asyncio.sleep(run.dice.uniform(0.0, 1.0))
    node = cluster.pick_node()
    await node.kill()
    run.measured.kills += 1
    await asyncio.sleep(run.dice.uniform(0.0, LEASE_S))
    await node.start()
    await run.finish(live_turns)


async def pause_node(run: FaultRun) -> None:
    """A gateway stands still for longer than its lease, others take its turns over, and it comes back."""
    cluster = _cluster(run)
    live_turns = await run.start_turns([LONG] * run.load.turns)
    node = cluster.pick_node()
    clients = FormatClients(run, node.url, lambda: LONG, each=2)
    await clients.until_begun()
    cluster.cluster.asleep.add(node)
    node.send(signal.SIGSTOP)
    await asyncio.sleep(run.dice.uniform(0.5, 2.5) * LEASE_S)
    node.send(signal.SIGCONT)
    cluster.cluster.asleep.discard(node)
    await clients.finish(may_break=False)
    await run.finish(live_turns)


async def kill_database(run: FaultRun) -> None:
    """The database server is killed and comes back after some seconds, longer than a lease or shorter."""
    cluster = _cluster(run)
    live_turns = await run.start_turns([LONG] * run.load.turns)
    await asyncio.to_thread(cluster.server.kill)
    run.measured.kills += 1
    await asyncio.sleep(run.dice.uniform(0.2, 2.0) * LEASE_S)
    await asyncio.to_thread(cluster.server.start)
    await run.finish(live_turns)
    states = [await run.caller.call("GET", f"/api/turns/{live.id}") for live in live_turns]
    interrupted = sum(body["state"] != "done" for body in states)
    run.expect(interrupted == 0, "kept", f"{interrupted} turns did not survive the outage")


async def silence_database(run: FaultRun) -> None:
    """The network between one gateway and the database goes silent, on all or one kind of connections."""
    cluster = _cluster(run)
    live_turns = await run.start_turns([LONG] * run.load.turns)
    proxy = cluster.proxy_of(cluster.pick_node())
    proxy.silence(run.dice.choice((KINDS, *((kind,) for kind in KINDS))))
    await asyncio.sleep(run.dice.uniform(0.5, 2.0) * LEASE_S)
    proxy.speak()
    await run.finish(live_turns)


async def reset_database(run: FaultRun) -> None:
    """Connections to the database are reset at any moment, also between a commit and its acknowledgement."""
    cluster = _cluster(run)
    live_turns = await run.start_turns([LONG] * run.load.turns)
    for _ in range(20):
        cluster.proxy_of(cluster.pick_node()).reset(run.dice.sample(KINDS, run.dice.randrange(1, 4)))
        await asyncio.sleep(run.dice.uniform(0.0, 0.2))
    await run.finish(live_turns)


async def slow_database(run: FaultRun) -> None:
    """Every message between one gateway and the database takes half a second longer."""
    cluster = _cluster(run)
    proxy = cluster.proxy_of(cluster.pick_node())
    live_turns = await run.start_turns()
    proxy.delay_s = 0.5
    await asyncio.sleep(LEASE_S)
    proxy.delay_s = 0.0
    await run.finish(live_turns)


async def restart_nodes(run: FaultRun) -> None:
    """All gateways are stopped with SIGTERM and started again, one after the other, under load."""
    cluster = _cluster(run)
    live_turns = await run.start_turns()
    for node in cluster.cluster.nodes:
        cluster.cluster.asleep.add(node)
        code = await node.stop()
        run.expect(code == 0, "stopped", f"{node.home.name} ended with exit code {code}")
        await node.start()
        cluster.cluster.asleep.discard(node)
        live_turns += await run.start_turns([run.pick_model()])
    await run.finish(live_turns)


async def cancel_anywhere(run: FaultRun) -> None:
    """Turns are cancelled at any moment, at two gateways at once, while one of the gateways is killed."""
    cluster = _cluster(run)
    live_turns = await run.start_turns()

    async def cancel(turn: str) -> None:
        await asyncio.sleep(run.dice.uniform(0.0, 1.0))
        try:
            path = f"{cluster.cluster.url}/api/turns/{turn}/cancel"
            async with run.caller.http.post(path) as response:
                run.expect(
                    response.status in (200, 202, 503), "cancelled", f"a cancel gave {response.status}"
                )
        except aiohttp.ClientError:
            return  # its gateway was killed

    cancels = [asyncio.create_task(cancel(live.id)) for live in live_turns for _ in range(2)]
    await asyncio.sleep(run.dice.uniform(0.0, 1.0))
    node = cluster.pick_node()
    await node.kill()
    run.measured.kills += 1
    await asyncio.gather(*cancels)
    await node.start()
    await run.finish(live_turns)
