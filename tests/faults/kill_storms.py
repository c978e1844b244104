"""Many kills in a short time, beside turns that begin, run and end all the time.

The gateways are forked, so that they are back in a fraction of a second. Everything is checked after the last
kill of a round: by then most turns have lived through several kills.
"""

import asyncio

import aiohttp
from tests.faults.cluster_run import ClusterRun
from tests.faults.disk_faults import check_copy
from tests.faults.fault_run import FaultRun, LiveTurn
from tests.gateway.gateway_process import GatewayProcess

TURNS = 3
"""Turns that are started between two kills, in sessions of their own."""
WHILE_READ = 0.8
"""The share of kills after the readers of new turns have received entries."""
LONGEST_PAUSE_S = 0.3
_GONE = (aiohttp.ClientError, ConnectionError)


async def kill_often(run: FaultRun) -> None:
    """The gateway is killed again and again, each time a moment after it is back."""
    live_turns: list[LiveTurn] = []
    for _ in range(run.load.kills):
        starting = await _begin_turns(run)
        run.note_memory()
        await run.gateway.kill()
        run.measured.kills += 1
        live_turns += await starting
        await run.gateway.start()
    await asyncio.to_thread(check_copy, run)
    await run.finish(live_turns)


async def kill_nodes_often(run: FaultRun) -> None:
    """Any of three gateways is killed again and again, sometimes two at once, and started again."""
    assert isinstance(run, ClusterRun)
    live_turns: list[LiveTurn] = []
    returning: list[asyncio.Task[None]] = []
    kills_before = run.measured.kills
    while run.measured.kills - kills_before < run.load.kills:
        starting = await _begin_turns(run)
        if len(run.cluster.awake) > 1:
            node = run.pick_node()
            await node.kill()
            run.measured.kills += 1
            returning.append(asyncio.create_task(_return(node, run.dice.uniform(0.0, LONGEST_PAUSE_S))))
        live_turns += await starting
    await asyncio.gather(*returning)
    await run.finish(live_turns)


async def _begin_turns(run: FaultRun) -> asyncio.Task[list[LiveTurn]]:
    """Begin to start turns, and return at the moment of the next kill: mostly when they are read."""
    starting = asyncio.create_task(_start_some_turns(run))
    if run.dice.random() < WHILE_READ:
        await run.until_received(await starting)
    await asyncio.sleep(run.dice.uniform(0.0, LONGEST_PAUSE_S))
    return starting


async def _return(node: GatewayProcess, wait_s: float) -> None:
    await asyncio.sleep(wait_s)
    await node.start()


async def _start_some_turns(run: FaultRun) -> list[LiveTurn]:
    """Start turns and their readers, as far as the gateway lives that long."""
    started = await asyncio.gather(*(_start_turn(run, run.pick_model()) for _ in range(TURNS)))
    return [live for live in started if live is not None]


async def _start_turn(run: FaultRun, model: str) -> LiveTurn | None:
    try:
        session = await run.caller.create_session()
        return run.follow(await run.post_turn(session, model), session, model)
    except _GONE:
        return None  # killed at this moment, and nobody was promised anything
