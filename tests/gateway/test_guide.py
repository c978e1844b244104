"""Runs the commands of the gateway guide and of the README."""

import asyncio
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.gateway.gateway_process import GatewayProcess
from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MISSING = [name for name in ("bash", "curl", "jq") if shutil.which(name) is None]


def commands(page: str) -> str:
    """Return the commands of a page that need a running gateway."""
    blocks = BLOCK.findall((ROOT / page).read_text("utf-8"))
    return "".join(block for block in blocks if "$U" in block or "thinkaloud users" in block)


@pytest.mark.skipif(bool(MISSING), reason=f"the guide is typed in a shell with {', '.join(MISSING)}")
@pytest.mark.parametrize(
    ("page", "shown"),
    [
        (
            "docs/how-to/gateway.md",
            (
                "event: end",
                '"reasoning_content": "From 4 7 8 8',
                "8 × (7 + 4 − 8) = 24",
                "trace",
                "thought in ses_",
                "tka_",
            ),
        ),
        ("README.md", ("event: end", '"assistantResult": "Right. 8 × (7 + 4 − 8) gives 24."', '"usd": "0"')),
    ],
)
def test_commands_of_the_guide_work(tmp_path: Path, page: str, shown: tuple[str, ...]) -> None:
    async def typed() -> str:
        gateway = GatewayProcess(tmp_path / "home", "http://127.0.0.1:9")
        await gateway.start()
        try:
            script = commands(page).replace("http://127.0.0.1:8321", gateway.url)
            environment = {
                **os.environ,
                "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
                "THINKALOUD_HOME": str(gateway.home),
            }
            ran = await asyncio.to_thread(
                subprocess.run,
                ["bash", "-eu", "-c", script],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                timeout=PATIENCE_S,
                check=False,
            )
            assert ran.returncode == 0, ran.stderr
            return ran.stdout
        finally:
            await gateway.stop()

    output = asyncio.run(typed())
    assert [words for words in shown if words not in output.replace('"}', '"')] == [], output
