"""Faults between the reader and the gateway, and callers that race with themselves."""

import asyncio
import random
from collections.abc import Callable

from tests.faults.fault_proxy import FaultKind, LinkFault, NextFault
from tests.faults.fault_run import FaultRun
from tests.gateway.gateway_process import bearer_headers
from tests.gateway.stalled_reader import live_readers, stalled_readers

LONGEST_VISIT_BYTES = 2_500
"""The response headers have about 700 bytes, an event about 90."""
LONG = "r100-c100-ms15"
LARGE = "r0-c2000-ms0-b1000"
"""Two MB, more than the socket buffers hold."""
READERS_PER_TURN = 50


def with_probability(run: FaultRun, share: float, fault: Callable[[], LinkFault]) -> NextFault:
    """Return a choice of faults: this one for a share of the connections, and none for the others.

    Which connections these are is decided by dice of their own, so that it does not depend on other draws.
    """
    dice = random.Random(run.dice.random())
    return lambda: fault() if dice.random() < share else LinkFault()


async def reload_pages(run: FaultRun) -> None:
    """Pages are reloaded all the time."""
    run.links.next_fault = with_probability(
        run, 0.95, lambda: LinkFault(FaultKind.CLOSE, run.dice.randrange(1, LONGEST_VISIT_BYTES))
    )
    await run.finish(await run.start_turns([LONG] * run.load.turns))


async def reset_connections(run: FaultRun) -> None:
    """Connections are reset inside events and characters."""
    run.links.next_fault = with_probability(
        run, 0.95, lambda: LinkFault(FaultKind.RESET, run.dice.randrange(1, LONGEST_VISIT_BYTES))
    )
    await run.finish(await run.start_turns([LONG] * run.load.turns))


async def swallow_bytes(run: FaultRun) -> None:
    """Connections go silent without being closed; readers give up and come back."""
    run.silence_s = 1.5
    run.links.next_fault = with_probability(
        run, 0.5, lambda: LinkFault(FaultKind.STALL, run.dice.randrange(1, LONGEST_VISIT_BYTES))
    )
    await run.finish(await run.start_turns([LONG] * run.load.turns))


async def slow_links(run: FaultRun) -> None:
    """Bytes arrive a few at a time."""
    run.links.next_fault = lambda: LinkFault(FaultKind.SLICE, run.dice.randrange(5, 60))
    await run.finish(await run.start_turns())


async def stall_readers(run: FaultRun) -> None:
    """Many readers request a stream and read nothing."""
    [large] = await run.start_turns([LARGE])
    await run.finish([large])
    turns = [large.id]
    while len(turns) * READERS_PER_TURN < run.load.stalled_readers:
        turns.append(await run.post_turn(await run.caller.create_session(), LARGE))
    count = min(READERS_PER_TURN, run.load.stalled_readers)
    async with stalled_readers(run.gateway.url, turns, [-1] * count):
        await run.finish(await run.start_turns())
        left = await _until_disconnected(run)
    run.expect(left == 0, "disconnected", f"{left} stalled readers are still connected")


async def _until_disconnected(run: FaultRun) -> int:
    """Wait until the gateway has no reader, and return how many it has."""
    count = await live_readers(run.caller)
    for _ in range(600):
        if not count:
            break
        await asyncio.sleep(0.2)
        count = await live_readers(run.caller)
    return count


async def cancel_turns(run: FaultRun) -> None:
    """Turns are cancelled at any moment, twice at once, many of them while they end."""
    live_turns = await run.start_turns([run.pick_model(longest_words=40) for _ in range(run.load.turns)])

    async def cancel(turn: str) -> None:
        await asyncio.sleep(run.dice.uniform(0.0, 1.0))
        for status in await asyncio.gather(*(post_cancel(run, turn) for _ in range(2))):
            run.expect(status in (200, 202), "cancelled", f"a cancel got the status {status}")

    await asyncio.gather(*(cancel(live.id) for live in live_turns))
    await run.finish(live_turns)


async def post_cancel(run: FaultRun, turn: str) -> int:
    """Cancel a turn and return the status of the response."""
    path, headers = f"{run.gateway.url}/api/turns/{turn}/cancel", bearer_headers(run.token)
    async with run.caller.http.post(path, headers=headers) as response:
        return response.status


async def repeat_requests(run: FaultRun) -> None:
    """Every turn is requested three times at once with one idempotency key."""
    live_turns = []
    for _ in range(run.load.turns):
        session, model = await run.caller.create_session(), run.pick_model()
        ids = set(await asyncio.gather(*(run.post_turn(session, model, session) for _ in range(3))))
        run.expect(len(ids) == 1, "created_once", f"three requests with one key gave {len(ids)} turns")
        live_turns.append(run.follow(ids.pop(), session, model))
    await run.finish(live_turns)
    for live in live_turns:
        session = await run.caller.call("GET", f"/api/sessions/{live.session}")
        run.take_write("turn", acknowledged=True, found=len(session["turns"]))


async def ignore_log(run: FaultRun) -> None:
    """Nobody reads the pipe that the log is written to."""
    live_turns = await run.start_turns()
    for _ in range(run.load.requests):
        await run.caller.call("GET", "/api/sessions?limit=1")
    await run.finish(live_turns)
