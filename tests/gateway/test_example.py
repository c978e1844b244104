"""The example resume_a_stream.py, run against a gateway."""

import asyncio
import subprocess
import sys
from pathlib import Path

from tests.gateway.gateway_process import GatewayProcess
from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[2]


def test_resume_a_stream_example(tmp_path: Path) -> None:
    async def run_example() -> str:
        gateway = GatewayProcess(tmp_path / "home", "http://127.0.0.1:9")
        await gateway.start()
        try:
            command = [sys.executable, "-W", "error", "examples/resume_a_stream.py", gateway.url]
            ran = await asyncio.to_thread(
                subprocess.run,
                command,
                cwd=ROOT,
                capture_output=True,
                text=True,
                timeout=PATIENCE_S,
                check=False,
            )
        finally:
            await gateway.stop()
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    lines = asyncio.run(run_example()).splitlines()
    assert lines[0].startswith("--- disconnected after entry 20: ")
    assert lines[1] == "From 4 7 8 8, each used once, I want 24. Fractions on the way are fine."
    assert lines[-2:] == ["8 × (7 + 4 − 8) = 24", "--- identical to the stored turn"]
