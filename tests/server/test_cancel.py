"""Cancel: exactly one end, the text is kept, and the provider connection is closed."""

import asyncio
import time
from pathlib import Path

import pytest
from tests.client.upstream import STREAM, UpstreamRequest, chat_delta, serve_upstream
from tests.patience import PATIENCE_S
from tests.server.caller import ACME, ENDLESS_SCRIPT, SCRIPT, Caller, StreamResult, start_gateway, wait_until

from thinkaloud.core.canon import TurnEnded, TurnFailed, TurnStarted
from thinkaloud.core.transcript import BlockStatus, Ending


async def cancelled(caller: Caller, turn: str, status: int = 202) -> str:
    return str((await caller.call("POST", f"/api/turns/{turn}/cancel", status=status))["state"])


def end_count(result: StreamResult) -> int:
    return sum(isinstance(entry.event, TurnEnded | TurnFailed) for entry in result.entries.values())


def test_cancel_during_reasoning(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path, script=ENDLESS_SCRIPT) as caller:
            session = await caller.create_session()
            turn = await caller.start_turn(session)
            reading = asyncio.create_task(caller.read_stream(turn))
            await caller.wait_for_reasoning(turn, "again and")
            assert await cancelled(caller, turn) == "cancelled"
            result = await reading
            assert result.state == "cancelled"
            assert result.turn.reasoning.startswith("again and")
            assert result.turn.blocks[0].status is BlockStatus.INTERRUPTED
            assert end_count(result) == 1
            body = await caller.call("GET", f"/api/turns/{turn}")
            assert body["state"] == "cancelled"
            assert body["outcome"]["ending"] == "cancelled"
            assert body["reasoning_content"] == result.turn.reasoning
            assert (await caller.run_turn(session)).state == "done", "the next turn can be asked for"

    asyncio.run(story())


@pytest.mark.parametrize("talks", [True, False], ids=["while it talks", "before its first word"])
def test_cancel_closes_the_provider_connection(tmp_path: Path, talks: bool) -> None:
    disconnected = asyncio.Event()

    async def act(request: UpstreamRequest) -> None:
        if talks:
            await request.send(STREAM, chat_delta(reasoning_content="Let me think"))
        await request.wait_closed()
        disconnected.set()

    async def story() -> None:
        async with (
            serve_upstream(act) as upstream,
            start_gateway(tmp_path, extra=ACME.format(url=upstream.base_url)) as caller,
        ):
            turn = await caller.start_turn(await caller.create_session(), model="acme/m-1")
            await wait_until(lambda: upstream.requests)
            await asyncio.sleep(0.05)
            assert await cancelled(caller, turn) == "cancelled"
            await asyncio.wait_for(disconnected.wait(), PATIENCE_S)
            result = await caller.read_stream(turn)
            assert result.turn.reasoning == ("Let me think" if talks else "")

    asyncio.run(story())


def test_cancel_before_the_first_event(tmp_path: Path) -> None:
    script = [{"text": "x", "fault": {"kind": "stall", "after_events": 0, "seconds": 30}}]

    async def story() -> None:
        async with start_gateway(tmp_path, script=script) as caller:
            turn = await caller.start_turn(await caller.create_session())
            await wait_until(lambda: caller.simulator.requests)
            assert await cancelled(caller, turn) == "cancelled"
            result = await caller.read_stream(turn)
            first, last = (entry.event for entry in result.entries.values())
            assert first == TurnStarted("openai_chat", "qwen3-8b")
            assert isinstance(last, TurnEnded)
            assert result.turn.outcome is not None
            assert result.turn.outcome.ending is Ending.CANCELLED

    asyncio.run(story())


def test_cancel_of_ended_turn_changes_nothing(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path) as caller:
            turn = await caller.start_turn(await caller.create_session())
            result = await caller.read_stream(turn)
            assert await cancelled(caller, turn, status=200) == "done"
            assert (await caller.read_stream(turn)).entries == result.entries

    asyncio.run(story())


def test_cancel_racing_with_the_end_leaves_one_outcome(tmp_path: Path) -> None:
    """Forty cancels, from before the request is sent to after the answer ended, two at a time."""

    async def story() -> None:
        async with start_gateway(tmp_path, script=[{**SCRIPT[0], "delay_ms": 1}] * 41) as caller:
            session = await caller.create_session()
            began = time.monotonic()
            await caller.read_stream(await caller.start_turn(session))
            usual_s = time.monotonic() - began
            states = set()
            for number in range(40):
                turn = await caller.start_turn(session)
                await asyncio.sleep(number * usual_s / 10)
                answers = await asyncio.gather(*(_cancel(caller, turn) for _ in range(2)))
                result = await caller.read_stream(turn)
                assert end_count(result) == 1
                assert result.state in ("done", "cancelled")
                assert {state for state in answers if state != "running"} <= {result.state}
                states.add(result.state)
            assert states == {"done", "cancelled"}, "the race was none"

    async def _cancel(caller: Caller, turn: str) -> str:
        async with caller.http.post(f"{caller.url}/api/turns/{turn}/cancel") as response:
            assert response.status in (200, 202)
            return str((await response.json())["state"])

    asyncio.run(story())
