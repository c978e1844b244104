"""Clients for Node.js, unmodified: the Vercel AI SDK and AG-UI hold a tool conversation by the gateway."""

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.dialects.recordings import REAL_BY_NAME
from tests.dialects.test_writers import RECORDED, content, streamable
from tests.dialects.test_writers import stream_bytes as client_stream
from tests.patience import PATIENCE_S
from tests.server.caller import MODELS, start_gateway

from thinkaloud import fold
from thinkaloud.core.canon import TurnFailed
from thinkaloud.core.dialects.writer import arguments_object

NODE_CLIENTS = Path(__file__).with_name("node")
STEPS = 3
CITIES = [f"City {number}" for number in range(STEPS)]
THOUGHTS = [f"Look at city {number} now." for number in range(STEPS)]
SCRIPT: list[Any] = [
    {"thinking": thought, "tool_calls": [{"name": "get_weather", "arguments": {"city": city}}]}
    for thought, city in zip(THOUGHTS, CITIES, strict=True)
] + [{"thinking": "All are known.", "text": "The warmest is City 1."}]


async def run_node(script: str, *arguments: str, lines: str = "") -> list[Any]:
    """Run a script of a client with these lines as its input, and return the lines of JSON that it prints."""
    node = shutil.which("node")
    assert node, "Node.js is not installed"
    assert (NODE_CLIENTS / "node_modules").is_dir(), f"run `npm ci` in {NODE_CLIENTS}, or `make test`"
    process = await asyncio.create_subprocess_exec(
        node,
        script,
        *arguments,
        cwd=NODE_CLIENTS,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        output, errors = await asyncio.wait_for(process.communicate(lines.encode()), PATIENCE_S)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, errors.decode()
    return [json.loads(line) for line in output.splitlines()]


def converse(folder: Path, provider: str, script: str, *arguments: str) -> tuple[Any, list[Any]]:
    """Return what the client has at the end, and the sessions of the gateway."""

    async def run() -> tuple[Any, list[Any]]:
        async with start_gateway(folder, provider, SCRIPT) as caller:
            (result,) = await run_node(script, *arguments, caller.url, MODELS[provider])
            return result, (await caller.call("GET", "/api/sessions"))["items"]

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("client", "provider"),
    [("openai-compatible", "deepseek"), ("openai-compatible", "anthropic"), ("anthropic", "deepseek")],
)
def test_ai_sdk_completes_a_tool_conversation(tmp_path: Path, client: str, provider: str) -> None:
    result, sessions = converse(tmp_path, provider, "ai_sdk.mjs", client)
    assert result["thoughts"] == [*THOUGHTS, "All are known."]
    assert (result["calls"], result["text"], result["finish"]) == (CITIES, "The warmest is City 1.", "stop")
    assert result["output_tokens"] > 0
    assert [session["client"] for session in sessions] == ["AI SDK"]


@pytest.mark.parametrize("provider", ["deepseek", "anthropic"])
def test_front_end_of_the_ai_sdk_completes_a_tool_conversation(tmp_path: Path, provider: str) -> None:
    result, sessions = converse(tmp_path, provider, "ui_message_stream.mjs")
    assert result["failure"] is None
    assert result["thoughts"] == [*THOUGHTS, "All are known."]
    assert (result["calls"], result["text"]) == (CITIES, "The warmest is City 1.")
    assert result["messages"] == 2  # the question, and one answer of four steps
    assert result["usage"]["outputTokens"] > 0
    assert len(sessions) == 1


@pytest.mark.parametrize("provider", ["deepseek", "anthropic"])
def test_ag_ui_client_completes_a_tool_conversation(tmp_path: Path, provider: str) -> None:
    """The client verifies the order of all events before it shows them."""
    result, sessions = converse(tmp_path, provider, "ag_ui.mjs")
    assert result["failure"] is None
    assert result["thoughts"] == [*THOUGHTS, "All are known."]
    assert all(reference.startswith("thinkaloud.") for reference in result["references"])
    assert (result["calls"], result["text"]) == (CITIES, "The warmest is City 1.")
    assert result["runs"] == [["thread-1", f"run-{number}"] for number in range(STEPS + 1)]
    assert len(sessions) == 1


def test_front_ends_read_all_recordings_as_they_were_written() -> None:
    """Thoughts, answers and calls of every recorded response reach the libraries of both protocols."""
    streams = {
        (name, dialect): client_stream(dialect, recording.events())
        for name, recording in RECORDED.items()
        for dialect in ("ui_message_stream", "ag_ui")
        if streamable(recording.events())
    }
    assert len(streams) > (500 if REAL_BY_NAME else 300)
    lines = "".join(
        json.dumps({"format": dialect, "body": body.decode()}) + "\n"
        for (_, dialect), body in streams.items()
    )
    results = asyncio.run(run_node("read_streams.mjs", lines=lines))
    for (name, dialect), result in zip(streams, results, strict=True):
        events = RECORDED[name].events()
        failed = isinstance(events[-1], TurnFailed)
        assert bool(result.pop("error")) == failed, (name, dialect)
        result["calls"] = [
            (tool, arguments_object(value) if isinstance(value, str) else value)
            for tool, value in result["calls"]
        ]
        assert failed or result == content(fold(events)), (name, dialect)
