"""A gateway that is paused goes on where it was, and a second one on its files is turned away meanwhile."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

from tests.gateway.gateway_process import GatewayProcess, calling
from tests.gateway.providing import ROOT, expected
from tests.gateway.reading import Tape, follow
from tests.patience import PATIENCE_S

COUNT = 15
MODEL = "r150-c150-ms10"
PAUSE_S = 2.0


def second_gateway() -> subprocess.CompletedProcess[str]:
    """Somebody starts another one on the same home."""
    return subprocess.run(
        [sys.executable, "-m", "thinkaloud", "serve", "--port", "0"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def check_refused(second: subprocess.CompletedProcess[str], first: GatewayProcess) -> None:
    """It says why, by whom, and what to do; and it has written nothing to anybody's stdout."""
    assert (second.returncode, second.stdout) == (2, "")
    assert f"in use by another gateway (process {first.pid})" in second.stderr
    assert "THINKALOUD_HOME" in second.stderr
    assert "Traceback" not in second.stderr


def test_a_pause_under_load_loses_nothing(tmp_path: Path, provider: str) -> None:
    """Two seconds stopped by a signal, as by a laptop's lid; a second gateway cannot take over meanwhile."""

    async def story() -> None:
        gateway = GatewayProcess(tmp_path, provider)
        async with calling(gateway) as caller:
            turns = [await caller.begin(MODEL) for _ in range(COUNT)]
            tapes = [Tape() for _ in turns]
            reading = [
                asyncio.create_task(follow(gateway.url, turn, tape))
                for turn, tape in zip(turns, tapes, strict=True)
            ]
            async with asyncio.timeout(PATIENCE_S):
                while not all(tape.lines for tape in tapes):
                    await asyncio.sleep(0.005)
            gateway.send(signal.SIGSTOP)
            second, _ = await asyncio.gather(asyncio.to_thread(second_gateway), asyncio.sleep(PAUSE_S))
            gateway.send(signal.SIGCONT)
            check_refused(second, gateway)
            await asyncio.gather(*reading)
            for turn, tape in zip(turns, tapes, strict=True):
                assert tape.text == expected(MODEL)
                assert tape.named == [("end", {"state": "done"})]
                assert (await caller.call("GET", f"/api/turns/{turn}"))["state"] == "done"
            assert await gateway.stop() == 0

    asyncio.run(story())


def test_a_second_gateway_does_not_disturb_the_first(tmp_path: Path, provider: str) -> None:
    async def story() -> None:
        gateway = GatewayProcess(tmp_path, provider)
        async with calling(gateway) as caller:
            turn, tape = await caller.begin(MODEL), Tape()
            reading = asyncio.create_task(follow(gateway.url, turn, tape))
            check_refused(await asyncio.to_thread(second_gateway), gateway)
            await caller.call("GET", "/readyz")
            await reading
            assert (tape.text, tape.state) == (expected(MODEL), "done")
            await gateway.kill()
            await gateway.start()  # the lock died with its process
            again = Tape()
            await follow(gateway.url, turn, again)
            assert again.lines == tape.lines

    asyncio.run(story())
