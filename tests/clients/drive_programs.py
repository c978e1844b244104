"""Real programs and libraries, unmodified, hold tool conversations with a strict provider: `make clients`."""

import asyncio
import json
import os
from pathlib import Path
from string import Template

import pytest
from tests.clients.all_providers import start_with_simulators
from tests.clients.client_programs import (
    ANSWER,
    CLIENTS_BIN,
    MODEL,
    PROGRAMS,
    PROGRAMS_FOLDER,
    THOUGHTS,
    WEATHER,
    ClientProgram,
)
from tests.patience import PATIENCE_S

from thinkaloud.simulators import run_simulator

KEPT_VARIABLES = ("PATH", "LANG", "TMPDIR")


async def run_program(program: ClientProgram, url: str, folder: Path) -> str:
    """Run a program in a folder with a home of its own, and return all that it prints."""

    def filled(text: str) -> str:
        return Template(text).safe_substitute(URL=url, MODEL=MODEL, WORK=folder)

    for name, text in program.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(filled(text), "utf-8")
    (folder / "home").mkdir(exist_ok=True)
    kept = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    process = await asyncio.create_subprocess_exec(
        *map(filled, program.command),
        cwd=folder,
        env=kept
        | {"HOME": str(folder / "home"), "NO_PROXY": "127.0.0.1"}
        | {name: filled(value) for name, value in program.variables.items()},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(), 4 * PATIENCE_S)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return output.decode("utf-8", "replace")


@pytest.mark.parametrize("program", PROGRAMS, ids=[program.name for program in PROGRAMS])
def test_program_holds_a_tool_conversation(tmp_path: Path, program: ClientProgram) -> None:
    """It shows the answer and, if the guide says so, the thoughts. The record has its tool results."""

    async def story() -> None:
        work = tmp_path / "work"
        work.mkdir()
        async with start_with_simulators(tmp_path / "gateway", {"deepseek": list(program.script)}) as caller:
            output = await run_program(program, caller.gateway.url, work)
            assert ANSWER in output, output[-3000:]
            expected = THOUGHTS[: len(program.script)] if program.thoughts == "shown" else ()
            missing = [thought for thought in expected if thought not in output]
            assert not missing, (missing, output[-3000:])
            records = []
            for session in (await caller.call("GET", "/api/sessions"))["items"]:
                path = f"/api/sessions/{session['id']}/messages"
                records += (await caller.call("GET", path))["items"]
        results = [record["content"] for record in records if record["role"] == "tool"]
        if program.tools == "run":
            assert any("18 degrees" in result for result in results), results
        if "made.txt" in program.command:
            assert "18 degrees" in (work / "made.txt").read_text("utf-8")

    asyncio.run(story())


SDKS = [
    ("cohere", "cohere", "command-a-reasoning-08-2025"),
    ("cohere", "cohere", "command-a-03-2025"),
    ("mistralai", "mistral", "magistral-medium-2509"),
    ("openrouter", "openrouter", "anthropic/claude-sonnet-4.5"),
    ("openrouter", "openrouter", "openai/gpt-5"),
    ("openrouter", "openrouter", "google/gemini-3-pro-preview"),
]
PLANNING_MODELS = ("command-a-03-2025",)
"""Models that do not reason, but write a plan before they call a tool."""


@pytest.mark.parametrize(("sdk", "simulator", "model"), SDKS)
def test_sdk_holds_a_tool_conversation_with_its_simulator(sdk: str, simulator: str, model: str) -> None:
    """The SDK of the vendor reads what the simulator sends, streamed and whole, and nothing is refused."""

    async def story() -> None:
        async with run_simulator(simulator, script=list(WEATHER)) as server:
            script = str(PROGRAMS_FOLDER / "sdks.py")
            process = await asyncio.create_subprocess_exec(
                *(str(CLIENTS_BIN / "python"), script, sdk, server.url, model),
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
            output, _ = await process.communicate()
            assert process.returncode == 0, output.decode()[-3000:]
            printed = json.loads(output.splitlines()[-1])
            thoughts = THOUGHTS[:1] if model in PLANNING_MODELS else THOUGHTS
            assert printed == {"thoughts": list(thoughts), "text": ANSWER}
            assert server.refusals == []

    asyncio.run(story())
