"""Stop: not ready at once, short turns end, long ones are interrupted, everything is saved."""

import asyncio
import signal
from pathlib import Path

import pytest
from tests.gateway.gateway_process import Caller, GatewayProcess, start_caller
from tests.gateway.paced_provider import START_S, expected
from tests.gateway.stream_record import StreamConnection, StreamRecord, follow, open_stream

SHORT = "r20-c20-ms20"
LONG = "r30000-c1-ms10"
COUNT = 5
"""Of each kind."""
GRACE_S = 8.0
ENDLESS_S = 600.0
"""A grace period longer than the test waits for the process."""


class WatchedTurn:
    """A turn with a reader that stays connected."""

    def __init__(self, turn: str, model: str) -> None:
        self.turn = turn
        self.model = model
        self.record = StreamRecord()
        self.reading: asyncio.Task[StreamConnection]

    @classmethod
    async def start(cls, caller: Caller, model: str) -> "WatchedTurn":
        """Start a turn and wait for its first entry."""
        watched = cls(await caller.start_turn(model), model)
        watched.reading = asyncio.create_task(follow(caller.gateway.url, watched.turn, watched.record))
        await watched.reads(0)
        return watched

    async def reads(self, last: int) -> None:
        """Wait until its reader has this entry."""
        async with asyncio.timeout(START_S):
            while self.record.last < last:
                await asyncio.sleep(0.005)


async def not_ready(caller: Caller) -> None:
    """Wait until `/readyz` reports that it is stopping, while turns still run."""
    async with asyncio.timeout(START_S):
        while True:
            async with caller.http.get(f"{caller.gateway.url}/readyz") as response:
                if response.status == 503:
                    assert (await response.json())["status"] == "stopping"
                    return


async def check_kept(caller: Caller, watched: WatchedTurn, state: str) -> None:
    """Check that after a restart the turn and its state are as its reader received them."""
    whole = StreamRecord()
    await follow(caller.gateway.url, watched.turn, whole)
    assert whole.lines == watched.record.lines
    assert (whole.state, watched.record.state, whole.end_count) == (state, state, 1)
    assert (await caller.call("GET", f"/api/turns/{watched.turn}"))["state"] == state
    for text, all_of_it in zip(whole.text, expected(watched.model), strict=True):
        assert text == all_of_it if state == "done" else all_of_it.startswith(text)


def test_stop_waits_for_short_turns_and_interrupts_long_ones(tmp_path: Path, provider: str) -> None:
    async def story() -> None:
        gateway = GatewayProcess(tmp_path, provider, "--grace", str(GRACE_S))
        async with start_caller(gateway) as caller:
            session = await caller.create_session()
            long = [await WatchedTurn.start(caller, LONG) for _ in range(COUNT)]
            short = [await WatchedTurn.start(caller, SHORT) for _ in range(COUNT)]
            gateway.send(signal.SIGTERM)
            started_s = asyncio.get_running_loop().time()
            await not_ready(caller)
            assert not any(one.reading.done() for one in long), "streams go on"
            await caller.call("GET", "/healthz")
            turn_body = {"prompt": "More?", "model": f"paced/{SHORT}"}
            await caller.call("POST", f"/api/sessions/{session}/turns", turn_body, status=503)
            assert await gateway.wait() == 0
            took_s = asyncio.get_running_loop().time() - started_s
            streams = [await one.reading for one in (*long, *short)]
            assert all(stream.complete for stream in streams), "a stream was torn off"
            print(f"stopped in {took_s:.2f} s with a grace of {GRACE_S:g} s")
            assert took_s > GRACE_S * 0.9
            await gateway.start()
            for one in short:
                await check_kept(caller, one, "done")
            for one in long:
                await check_kept(caller, one, "interrupted")
            assert "Traceback" not in gateway.errors

    asyncio.run(story())


def test_stop_without_running_turns_skips_the_grace_period(tmp_path: Path, provider: str) -> None:
    async def story() -> None:
        gateway = GatewayProcess(tmp_path, provider, "--grace", str(ENDLESS_S))
        async with start_caller(gateway) as caller:
            short = [await WatchedTurn.start(caller, SHORT) for _ in range(COUNT)]
            assert await gateway.stop() == 0
            await asyncio.gather(*(one.reading for one in short))
            await gateway.start()
            for one in short:
                await check_kept(caller, one, "done")

    asyncio.run(story())


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_second_signal_stops_at_once_without_loss(
    tmp_path: Path, provider: str, second: signal.Signals
) -> None:
    async def story() -> None:
        gateway = GatewayProcess(tmp_path, provider, "--grace", str(ENDLESS_S))
        async with start_caller(gateway) as caller:
            long = [await WatchedTurn.start(caller, LONG) for _ in range(COUNT)]
            gateway.send(signal.SIGTERM)
            await not_ready(caller)
            for one in long:
                await one.reads(one.record.last + 5)
            assert await gateway.send(second).wait() == 130
            assert all([(await one.reading).complete for one in long])
            await gateway.start()
            for one in long:
                await check_kept(caller, one, "interrupted")

    asyncio.run(story())


def test_stop_closes_a_slow_replay_without_end_event(tmp_path: Path, provider: str) -> None:
    """The stream of a slow replay closes without `end`, so that the reader reconnects."""

    async def story() -> None:
        gateway = GatewayProcess(tmp_path, provider)
        async with start_caller(gateway) as caller:
            whole, record = StreamRecord(), StreamRecord()
            turn = await caller.start_turn(SHORT)
            await follow(gateway.url, turn, whole)
            async with open_stream(gateway.url, turn, record, query="?speed=0.05") as stream:
                while record.last < 2:
                    assert await stream.read()
                gateway.send(signal.SIGTERM)
                await stream.read_to_end()
            assert stream.complete
            assert record.events == []
            assert record.last < whole.last
            assert await gateway.wait() == 0
            await gateway.start()
            await follow(gateway.url, turn, record)
            assert (record.lines, record.events) == (whole.lines, whole.events)

    asyncio.run(story())
