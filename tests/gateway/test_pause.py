"""A paused gateway continues, and a second gateway on its files is refused meanwhile."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

from tests.gateway.gateway_process import GatewayProcess, start_caller
from tests.gateway.paced_provider import ROOT, expected
from tests.gateway.stream_record import StreamRecord, follow
from tests.patience import PATIENCE_S

COUNT = 15
MODEL = "r150-c150-ms10"
PAUSE_S = 2.0


def second_gateway() -> subprocess.CompletedProcess[str]:
    """Start a second gateway on the same home."""
    return subprocess.run(
        [sys.executable, "-m", "thinkaloud", "serve", "--port", "0"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def check_refused(second: subprocess.CompletedProcess[str], first: GatewayProcess) -> None:
    """Check that the error names the other process and the remedy, and that stdout is empty."""
    assert (second.returncode, second.stdout) == (2, "")
    assert f"in use by another gateway (process {first.pid})" in second.stderr
    assert "THINKALOUD_HOME" in second.stderr
    assert "Traceback" not in second.stderr


def test_paused_gateway_continues_without_loss(tmp_path: Path, provider: str) -> None:
    """SIGSTOP for two seconds, like a suspended laptop; a second gateway cannot take over."""

    async def story() -> None:
        gateway = GatewayProcess(tmp_path, provider)
        async with start_caller(gateway) as caller:
            turns = [await caller.start_turn(MODEL) for _ in range(COUNT)]
            records = [StreamRecord() for _ in turns]
            reading = [
                asyncio.create_task(follow(gateway.url, turn, record))
                for turn, record in zip(turns, records, strict=True)
            ]
            async with asyncio.timeout(PATIENCE_S):
                while not all(record.lines for record in records):
                    await asyncio.sleep(0.005)
            gateway.send(signal.SIGSTOP)
            second, _ = await asyncio.gather(asyncio.to_thread(second_gateway), asyncio.sleep(PAUSE_S))
            gateway.send(signal.SIGCONT)
            check_refused(second, gateway)
            await asyncio.gather(*reading)
            for turn, record in zip(turns, records, strict=True):
                assert record.text == expected(MODEL)
                # A commit that the pause interrupted may count as slow; `end` comes only after it.
                assert [event for event in record.events if event[0] != "storage"] == [
                    ("end", {"state": "done"})
                ]
                assert (await caller.call("GET", f"/api/turns/{turn}"))["state"] == "done"
            assert await gateway.stop() == 0

    asyncio.run(story())


def test_second_gateway_on_the_same_home_is_refused(tmp_path: Path, provider: str) -> None:
    async def story() -> None:
        gateway = GatewayProcess(tmp_path, provider)
        async with start_caller(gateway) as caller:
            turn, record = await caller.start_turn(MODEL), StreamRecord()
            reading = asyncio.create_task(follow(gateway.url, turn, record))
            check_refused(await asyncio.to_thread(second_gateway), gateway)
            await caller.call("GET", "/readyz")
            await reading
            assert (record.text, record.state) == (expected(MODEL), "done")
            await gateway.kill()
            await gateway.start()  # the lock died with its process
            again = StreamRecord()
            await follow(gateway.url, turn, again)
            assert again.lines == record.lines

    asyncio.run(story())
