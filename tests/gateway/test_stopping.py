"""A gateway that is told to stop: not ready at once, short turns end, long ones are marked, all is kept."""

import asyncio
import signal
from pathlib import Path

import pytest
from tests.gateway.gateway_process import Caller, GatewayProcess, calling
from tests.gateway.providing import START_S, expected
from tests.gateway.reading import Stream, Tape, follow, streaming

SHORT = "r20-c20-ms20"
LONG = "r30000-c1-ms10"
COUNT = 5
"""Of each kind."""
GRACE_S = 8.0
ENDLESS_S = 600.0
"""A grace that is longer than the end of a process is waited for."""


class Watched:
    """A turn with a reader who stays."""

    def __init__(self, turn: str, model: str) -> None:
        self.turn = turn
        self.model = model
        self.tape = Tape()
        self.reading: asyncio.Task[Stream]

    @classmethod
    async def begun(cls, caller: Caller, model: str) -> "Watched":
        """Begun, and live: something was seen of it."""
        watched = cls(await caller.begin(model), model)
        watched.reading = asyncio.create_task(follow(caller.gateway.url, watched.turn, watched.tape))
        await watched.reads(0)
        return watched

    async def reads(self, last: int) -> None:
        """Until its reader has this entry."""
        async with asyncio.timeout(START_S):
            while self.tape.last < last:
                await asyncio.sleep(0.005)


async def not_ready(caller: Caller) -> None:
    """Until it says that it is stopping, which it does while turns still run."""
    async with asyncio.timeout(START_S):
        while True:
            async with caller.http.get(f"{caller.gateway.url}/readyz") as response:
                if response.status == 503:
                    assert (await response.json())["status"] == "stopping"
                    return


async def check_kept(caller: Caller, watched: Watched, state: str) -> None:
    """After a restart the turn is as its reader saw it, and has the state that it was said to have."""
    whole = Tape()
    await follow(caller.gateway.url, watched.turn, whole)
    assert whole.lines == watched.tape.lines
    assert (whole.state, watched.tape.state, whole.ends) == (state, state, 1)
    assert (await caller.call("GET", f"/api/turns/{watched.turn}"))["state"] == state
    for said, all_of_it in zip(whole.text, expected(watched.model), strict=True):
        assert said == all_of_it if state == "done" else all_of_it.startswith(said)


def test_a_stop_lets_short_turns_end_and_marks_long_ones(tmp_path: Path, provider: str) -> None:
    async def story() -> None:
        gateway = GatewayProcess(tmp_path, provider, "--grace", str(GRACE_S))
        async with calling(gateway) as caller:
            session = await caller.session()
            long = [await Watched.begun(caller, LONG) for _ in range(COUNT)]
            short = [await Watched.begun(caller, SHORT) for _ in range(COUNT)]
            gateway.send(signal.SIGTERM)
            begun = asyncio.get_running_loop().time()
            await not_ready(caller)
            assert not any(one.reading.done() for one in long), "streams go on"
            await caller.call("GET", "/healthz")
            asked = {"prompt": "More?", "model": f"paced/{SHORT}"}
            await caller.call("POST", f"/api/sessions/{session}/turns", asked, status=503)
            assert await gateway.wait() == 0
            took_s = asyncio.get_running_loop().time() - begun
            streams = [await one.reading for one in (*long, *short)]
            assert all(stream.whole for stream in streams), "a stream was torn off"
            print(f"stopped in {took_s:.2f} s with a grace of {GRACE_S:g} s")
            assert took_s > GRACE_S * 0.9
            await gateway.start()
            for one in short:
                await check_kept(caller, one, "done")
            for one in long:
                await check_kept(caller, one, "interrupted")
            assert "Traceback" not in gateway.errors

    asyncio.run(story())


def test_a_stop_does_not_wait_for_its_grace_when_all_turns_are_over(tmp_path: Path, provider: str) -> None:
    async def story() -> None:
        gateway = GatewayProcess(tmp_path, provider, "--grace", str(ENDLESS_S))
        async with calling(gateway) as caller:
            short = [await Watched.begun(caller, SHORT) for _ in range(COUNT)]
            assert await gateway.stop() == 0
            await asyncio.gather(*(one.reading for one in short))
            await gateway.start()
            for one in short:
                await check_kept(caller, one, "done")

    asyncio.run(story())


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_a_second_signal_ends_it_at_once_and_loses_nothing(
    tmp_path: Path, provider: str, second: signal.Signals
) -> None:
    async def story() -> None:
        gateway = GatewayProcess(tmp_path, provider, "--grace", str(ENDLESS_S))
        async with calling(gateway) as caller:
            long = [await Watched.begun(caller, LONG) for _ in range(COUNT)]
            gateway.send(signal.SIGTERM)
            await not_ready(caller)
            for one in long:
                await one.reads(one.tape.last + 5)
            assert await gateway.send(second).wait() == 130
            assert all([(await one.reading).whole for one in long])
            await gateway.start()
            for one in long:
                await check_kept(caller, one, "interrupted")

    asyncio.run(story())


def test_who_is_not_at_the_end_is_sent_home_without_one_and_comes_back(tmp_path: Path, provider: str) -> None:
    """A slow replay: its stream closes without `end`, so that the reader knows to return."""

    async def story() -> None:
        gateway = GatewayProcess(tmp_path, provider)
        async with calling(gateway) as caller:
            whole, tape = Tape(), Tape()
            turn = await caller.begin(SHORT)
            await follow(gateway.url, turn, whole)
            async with streaming(gateway.url, turn, tape, query="?speed=0.05") as stream:
                while tape.last < 2:
                    assert await stream.read()
                gateway.send(signal.SIGTERM)
                await stream.rest()
            assert stream.whole
            assert tape.named == []
            assert tape.last < whole.last
            assert await gateway.wait() == 0
            await gateway.start()
            await follow(gateway.url, turn, tape)
            assert (tape.lines, tape.named) == (whole.lines, whole.named)

    asyncio.run(story())
