"""A database and an export made by an earlier version stay readable. `make_home.py` made them.

The gateway of this version opens a copy of the old database. All checks go through the HTTP interface, so
they cover the migrations, the stored JSON, the event log (compressed and not) and the search index together.
"""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.server.caller import Caller, quick_settings, start_gateway

DATA = Path(__file__).parent / "data"
HOMES = sorted(path.stem for path in DATA.glob("*.sqlite"))
TITLES = ["Crashed", "Weather in Lima", "Sums"]

pytestmark = pytest.mark.parametrize("home", HOMES)


def record(home: str) -> Any:
    """The export of one session and the token's secret, as `make_home.py` saved them."""
    return json.loads((DATA / f"{home}.json").read_text("utf-8"))


@asynccontextmanager
async def open_home(home: str, folder: Path) -> AsyncIterator[Caller]:
    """A gateway on a copy of the old database."""
    shutil.copyfile(DATA / f"{home}.sqlite", folder / "thinkaloud.db")
    async with start_gateway(folder, "anthropic", settings=quick_settings()) as caller:
        yield caller


async def session_ids(caller: Caller) -> dict[str, str]:
    page = await caller.call("GET", "/api/sessions")
    assert [session["title"] for session in page["items"]] == TITLES
    return {session["title"]: session["id"] for session in page["items"]}


async def messages(caller: Caller, title: str) -> list[Any]:
    session = (await session_ids(caller))[title]
    page = await caller.call("GET", f"/api/sessions/{session}/messages")
    return list(page["items"])


def test_stored_turns_keep_thoughts_and_tool_calls(home: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with open_home(home, tmp_path) as caller:
            asked, called, result, answered = await messages(caller, "Weather in Lima")
            assert asked["content"] == "Do I need a coat in Lima?"
            assert called["thinking"] == "I need the weather in Lima first."
            thought, call = called["parts"]
            assert (thought["kind"], thought["sealed"]) == ("reasoning", ["signature"])
            assert (call["kind"], call["name"], call["text"]) == (
                "tool_call",
                "get_weather",
                '{"city":"Lima"}',
            )
            assert (result["role"], result["content"], result["call_id"]) == (
                "tool",
                "18 °C, cloudy",
                call["call_id"],
            )
            assert answered["content"] == "It is mild in Lima: 18 °C. Leave the coat."
            assert answered["usage"] == {"input": 141, "output": 19, "reasoning": 8}
            assert [message["agent_name"] for message in (called, answered)] == ["Researcher"] * 2

    asyncio.run(scenario())


def test_stored_agent_turn_keeps_replies_and_assistants(home: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with open_home(home, tmp_path) as caller:
            _, answered = await messages(caller, "Sums")
            results = {part["name"]: part["result"] for part in answered["parts"] if part["result"]}
            assert results == {
                "calculator": "42",
                "Checker": "Right. Worked out another way, it is 42.",
            }
            assert any(part["parent"] is not None for part in answered["parts"])
            stream = await caller.read_stream(answered["turn"])
            assert stream.state == "done"
            assert stream.turn.answer == answered["content"]
            assert len(stream.turn.replies) == 4

    asyncio.run(scenario())


def test_stored_agents_keep_every_setting(home: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with open_home(home, tmp_path) as caller:
            proofreader, researcher = (await caller.call("GET", "/api/agents"))["items"]
            for field in ("id", "created_ms", "updated_ms"):
                assert proofreader.pop(field)
            assert proofreader == {
                "name": "Proofreader",
                "model": "builtin/solver",
                "description": "",
                "system": "",
                "thinking": False,
                "level": None,
                "budget_tokens": None,
                "tools": [],
                "uses": [],
                "assistants": [],
                "most_replies": None,
                "most_output_tokens": None,
                "most_seconds": None,
                "most_usd": None,
                "summary_model": "",
                "preset": "default",
                "context_mode": "provider_default",
                "yours": True,
            }
            changed = {name: value for name, value in researcher.items() if value != proofreader.get(name)}
            assert {name: changed[name] for name in changed if not name.endswith(("id", "_ms"))} == {
                "name": "Researcher",
                "model": "anthropic/claude-sonnet-4.5",
                "description": "Looks things up.",
                "system": "Answer in one sentence.",
                "thinking": True,
                "budget_tokens": 2048,
                "tools": [
                    {
                        "name": "get_weather",
                        "description": "The weather in a city.",
                        "parameters": {
                            "type": "object",
                            "properties": {"city": {"type": "string"}},
                            "required": ["city"],
                        },
                    }
                ],
                "uses": ["calculator"],
                "assistants": changed["assistants"],
                "most_replies": 5,
                "most_seconds": 30.5,
                "most_usd": 0.25,
                "summary_model": "builtin/solver",
                "preset": "koder",
                "context_mode": "keep",
            }

    asyncio.run(scenario())


def test_stored_agent_can_be_replaced_and_asked(
    home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent read from the old database runs, and can be written back as it was read."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "simulated")

    async def scenario() -> None:
        async with open_home(home, tmp_path) as caller:
            _, researcher = (await caller.call("GET", "/api/agents"))["items"]
            body = {
                name: value
                for name, value in researcher.items()
                if name not in ("id", "yours", "created_ms", "updated_ms")
            }
            written = await caller.call("PUT", f"/api/agents/{researcher['id']}", body)
            assert {**written, "updated_ms": 0} == {**researcher, "updated_ms": 0}
            session = (await session_ids(caller))["Weather in Lima"]
            assert (await caller.run_turn(session, "Are you sure?")).state == "done"

    asyncio.run(scenario())


def test_stored_preferences_are_read(home: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with open_home(home, tmp_path) as caller:
            preferences = await caller.call("GET", "/api/preferences")
            assert preferences["display"]["preset"] == "koder"
            stored = {
                "language": "pt-BR",
                "context_mode": "keep",
                "render": "plain",
                "expand_key": "Alt+KeyT",
            }
            assert {name: preferences[name] for name in stored} == stored

    asyncio.run(scenario())


def test_stored_token_and_workspaces_are_valid(home: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with open_home(home, tmp_path) as caller:
            headers = {"Authorization": f"Bearer {record(home)['token']}"}
            workspaces = await caller.call("GET", "/api/workspaces", headers=headers)
            assert [workspace["name"] for workspace in workspaces["items"]] == ["lab"]
            assert (await caller.call("GET", "/api/sessions", headers=headers))["items"] == []

    asyncio.run(scenario())


def test_search_finds_stored_texts(home: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with open_home(home, tmp_path) as caller:
            for query, kinds in (
                ("mild", ["answer"]),
                ("mild&scope=thoughts", ["thought"]),
                ("coat", ["answer", "prompt"]),
                ("cloudy", ["tool"]),
                ("calculator&scope=tools", ["tool"]),
                ("nowhere", []),
            ):
                page = await caller.call("GET", f"/api/search?q={query}")
                assert [hit["kind"] for hit in page["items"]] == kinds, query

    asyncio.run(scenario())


def test_exports_of_stored_and_imported_sessions_are_unchanged(home: str, tmp_path: Path) -> None:
    """The old session exports the same JSON as before. The old export imports, and exports the same again."""

    async def scenario() -> None:
        expected = record(home)["session"]
        async with open_home(home, tmp_path) as caller:
            stored = (await session_ids(caller))["Weather in Lima"]
            imported = await caller.call("POST", "/api/import", expected, status=201)
            for session in (stored, imported["id"]):
                exported = await caller.call("GET", f"/api/sessions/{session}/export?format=json")
                exported.pop("agent", None)  # files of that time do not name it
                assert exported == expected

    asyncio.run(scenario())


def test_stored_running_turn_is_recovered_as_interrupted(home: str, tmp_path: Path) -> None:
    """The log of a turn whose gateway was killed is not compressed. It is read and the turn is ended."""

    async def scenario() -> None:
        async with open_home(home, tmp_path) as caller:
            asked, interrupted = await messages(caller, "Crashed")
            assert asked["content"] == "Think until the process is killed."
            assert (interrupted["state"], interrupted["content"]) == ("interrupted", "")
            assert interrupted["thinking"].startswith("This ")
            hits = (await caller.call("GET", "/api/search?q=killed"))["items"]
            assert [hit["kind"] for hit in hits] == ["prompt"]  # it was indexed already when the turn began

    asyncio.run(scenario())
