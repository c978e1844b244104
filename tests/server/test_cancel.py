"""Cancelling: one end whatever the race, what was said stays, and the provider is hung up on at once."""

import asyncio
import time
from pathlib import Path

import pytest
from tests.client.upstream import STREAM, Seen, delta, serving
from tests.patience import PATIENCE_S
from tests.server.calling import ACME, ENDLESS, SCRIPT, Caller, Told, calling, eventually

from thinkaloud.canon import TurnEnded, TurnFailed, TurnStarted
from thinkaloud.transcript import Ending, Status


async def cancelled(caller: Caller, turn: str, status: int = 202) -> str:
    return str((await caller.call("POST", f"/api/turns/{turn}/cancel", status=status))["state"])


def ends(told: Told) -> int:
    return sum(isinstance(entry.event, TurnEnded | TurnFailed) for entry in told.entries.values())


def test_a_turn_is_cancelled_in_the_middle_of_a_thought(tmp_path: Path) -> None:
    async def story() -> None:
        async with calling(tmp_path, script=ENDLESS) as caller:
            session = await caller.session()
            turn = await caller.begin(session)
            reading = asyncio.create_task(caller.read(turn))
            await caller.thinking(turn, "again and")
            assert await cancelled(caller, turn) == "cancelled"
            told = await reading
            assert told.state == "cancelled"
            assert told.turn.reasoning.startswith("again and")
            assert told.turn.blocks[0].status is Status.INTERRUPTED
            assert ends(told) == 1
            kept = await caller.call("GET", f"/api/turns/{turn}")
            assert kept["state"] == "cancelled"
            assert kept["outcome"]["ending"] == "cancelled"
            assert kept["reasoning_content"] == told.turn.reasoning
            assert (await caller.answered(session)).state == "done", "the next turn can be asked for"

    asyncio.run(story())


@pytest.mark.parametrize("talks", [True, False], ids=["while it talks", "before its first word"])
def test_the_connection_to_the_provider_is_closed(tmp_path: Path, talks: bool) -> None:
    left = asyncio.Event()

    async def act(seen: Seen) -> None:
        if talks:
            await seen.send(STREAM, delta(reasoning_content="Let me think"))
        await seen.gone()
        left.set()

    async def story() -> None:
        async with (
            serving(act) as upstream,
            calling(tmp_path, more=ACME.format(url=upstream.base_url)) as caller,
        ):
            turn = await caller.begin(await caller.session(), model="acme/m-1")
            await eventually(lambda: upstream.seen)
            await asyncio.sleep(0.05)
            assert await cancelled(caller, turn) == "cancelled"
            await asyncio.wait_for(left.wait(), PATIENCE_S)
            told = await caller.read(turn)
            assert told.turn.reasoning == ("Let me think" if talks else "")

    asyncio.run(story())


def test_a_turn_that_has_said_nothing_begins_and_is_cancelled(tmp_path: Path) -> None:
    script = [{"text": "x", "fault": {"kind": "stall", "after_events": 0, "seconds": 30}}]

    async def story() -> None:
        async with calling(tmp_path, script=script) as caller:
            turn = await caller.begin(await caller.session())
            await eventually(lambda: caller.simulator.requests)
            assert await cancelled(caller, turn) == "cancelled"
            told = await caller.read(turn)
            first, last = (entry.event for entry in told.entries.values())
            assert first == TurnStarted("openai_chat", "qwen3-8b")
            assert isinstance(last, TurnEnded)
            assert told.turn.outcome is not None
            assert told.turn.outcome.ending is Ending.CANCELLED

    asyncio.run(story())


def test_a_turn_that_is_over_stays_as_it_is(tmp_path: Path) -> None:
    async def story() -> None:
        async with calling(tmp_path) as caller:
            turn = await caller.begin(await caller.session())
            before = await caller.read(turn)
            assert await cancelled(caller, turn, status=200) == "done"
            assert (await caller.read(turn)).entries == before.entries

    asyncio.run(story())


def test_a_cancel_that_races_with_the_end_leaves_exactly_one(tmp_path: Path) -> None:
    """Forty times, from before the request went out to after the answer ended, and twice at once."""

    async def story() -> None:
        async with calling(tmp_path, script=[{**SCRIPT[0], "delay_ms": 1}] * 41) as caller:
            session = await caller.session()
            began = time.monotonic()
            await caller.read(await caller.begin(session))
            usual_s = time.monotonic() - began
            seen = set()
            for number in range(40):
                turn = await caller.begin(session)
                await asyncio.sleep(number * usual_s / 10)
                answers = await asyncio.gather(*(_cancel(caller, turn) for _ in range(2)))
                told = await caller.read(turn)
                assert ends(told) == 1
                assert told.state in ("done", "cancelled")
                assert {state for state in answers if state != "running"} <= {told.state}
                seen.add(told.state)
            assert seen == {"done", "cancelled"}, "the race was none"

    async def _cancel(caller: Caller, turn: str) -> str:
        async with caller.http.post(f"{caller.url}/api/turns/{turn}/cancel") as response:
            assert response.status in (200, 202)
            return str((await response.json())["state"])

    asyncio.run(story())
