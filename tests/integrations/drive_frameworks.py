"""Each framework at its newest version, in an environment of its own: `make integrations`.

The cases and the tool conversations of `measure_framework.py` must all be right with our model. The row of
the table is written from what was measured, and the program of the page is run as it is.
"""

import asyncio
import json
import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.integrations.environments import ROOT, environment_of
from tests.integrations.framework_table import adapters, make_row, write_row
from tests.integrations.measure_framework import ANSWER, ENVIRONMENT, FRAMEWORKS, LOOP
from tests.integrations.screen_table import program_of

from thinkaloud.simulators import run_simulator

SIMULATOR_URL = "http://127.0.0.1:8401"


@pytest.mark.parametrize("name", adapters())
def test_framework_reads_all_cases_and_is_accepted(name: str) -> None:
    python = environment_of(f".venv-frameworks/{name}", *FRAMEWORKS[name].packages)
    command = [str(python), "-m", "tests.integrations.measure_framework", name]
    output = subprocess.check_output(command, cwd=ROOT, text=True)
    measured = json.loads(output.splitlines()[-1])  # some frameworks print, too
    wrong = [
        (way, part)
        for way, parts in measured["results"].items()
        for part, right in parts.items()
        if way.startswith("with ") and not all(right)
    ]
    assert not wrong, wrong
    assert measured["raises"], "a broken stream looks like a whole answer"
    asyncio.run(run_page(name, python))
    write_row(name, make_row(name, measured, f"{datetime.now(UTC):%Y-%m-%d}"))


async def run_page(name: str, python: Path) -> None:
    """Run the program of a page against a strict simulator."""
    async with run_simulator("deepseek", script=[LOOP[0], ANSWER]) as server:
        program = program_of(name).replace(SIMULATOR_URL, server.url)
        assert server.url in program
        process = await asyncio.create_subprocess_exec(
            *(str(python), "-c", program),
            env={**os.environ, **ENVIRONMENT},
            stdout=asyncio.subprocess.PIPE,
        )
        output, _ = await process.communicate()
        assert process.returncode == 0
        assert "Look up Lima." in output.decode()
        assert "In Lima." in output.decode()
        assert server.refusals == []
        assert len(server.requests) == 2
