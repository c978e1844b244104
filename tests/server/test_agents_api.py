"""The agents API: create, validate, replace and delete."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.server.caller import start_gateway

PLANNER = {
    "name": "Planner",
    "model": "anthropic/claude-opus-4-5",
    "system": "Plan first.",
    "thinking": True,
    "budget_tokens": 4096,
    "tools": [
        {
            "name": "look_up",
            "description": "A word",
            "parameters": {"type": "object", "properties": {"word": {"type": "string"}}},
        }
    ],
    "preset": "trace",
    "context_mode": "keep",
}


def test_r040_agent_stores_all_its_settings(tmp_path: Path) -> None:
    """R040 R042 R043: model, prompt, thinking with its budget, tools, preset and context mode."""

    async def story() -> None:
        async with start_gateway(tmp_path) as caller:
            body = await caller.call("POST", "/api/agents", PLANNER, status=201)
            path = f"/api/agents/{body['id']}"
            assert await caller.call("GET", path) == body
            assert {**body, **PLANNER, "level": None, "assistants": [], "yours": True} == body
            other = await caller.call(
                "POST",
                "/api/agents",
                {"name": "Chief", "model": "vllm/x", "assistants": [body["id"]]},
                status=201,
            )
            listed = await caller.call("GET", "/api/agents?limit=1")
            assert [item["id"] for item in listed["items"]] == [body["id"]]
            listed = await caller.call("GET", f"/api/agents?after={listed['next']}")
            assert [item["id"] for item in listed["items"]] == [other["id"]]
            changed = await caller.call("PUT", path, {"name": "Planner 2", "model": "gpt-4o"})
            assert (changed["name"], changed["thinking"], changed["tools"]) == ("Planner 2", False, [])
            assert "Chief" in await caller.refusal_message("DELETE", path, status=422)
            await caller.call("DELETE", f"/api/agents/{other['id']}", status=204)
            await caller.call("DELETE", path, status=204)
            await caller.call("GET", path, status=404)

    asyncio.run(story())


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "thinks and cannot": (
        {"model": "gpt-4o", "level": None, "budget_tokens": None},
        "not support thinking",
    ),
    "a budget and no thinking": ({"thinking": False}, "Thinking is off for 'Planner'"),
    "a level and no thinking": (
        {"thinking": False, "budget_tokens": None, "level": "high"},
        "Thinking is off for 'Planner'",
    ),
    "a level and a budget": ({"level": "high"}, "Set only one of them"),
    "on and off": ({"budget_tokens": None, "level": "off"}, "Set thinking to false instead"),
    "a budget that is too small": ({"budget_tokens": 100}, "is too small"),
    "an unknown model": ({"model": "no-such-model"}, "not in the catalog"),
    "no model": ({"model": ""}, "model"),
    "an unknown preset": ({"preset": "loud"}, "loud"),
    "an unknown assistant": ({"assistants": ["agt_" + "x" * 22]}, "no agent with that id"),
    "a tool without a name": ({"tools": [{"name": ""}]}, "name"),
    "a field that is none": ({"temperature": 1}, "temperature"),
    "no name": ({"name": ""}, "name"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_r041_agent_that_could_not_run_is_refused(tmp_path: Path, what: str) -> None:
    """R041 R046: an invalid agent is refused when it is created, not when it is first used."""
    change, words = REFUSED[what]

    async def story() -> None:
        async with start_gateway(tmp_path) as caller:
            response_body = await caller.call("POST", "/api/agents", PLANNER, status=201)
            body = {**PLANNER, **change}
            assert words in await caller.refusal_message("POST", "/api/agents", body, status=422)
            assert words in await caller.refusal_message(
                "PUT", f"/api/agents/{response_body['id']}", body, status=422
            )
            assert (await caller.call("GET", "/api/agents"))["items"] == [response_body]

    asyncio.run(story())


def test_deleted_agent_keeps_its_sessions(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path) as caller:
            agent = (
                await caller.call("POST", "/api/agents", {"name": "A", "model": caller.model}, status=201)
            )["id"]
            session = await caller.create_session(agent=agent, model="")
            assert (await caller.run_turn(session)).state == "done"
            await caller.call("DELETE", f"/api/agents/{agent}", status=204)
            path = f"/api/sessions/{session}/turns"
            assert agent in await caller.refusal_message("POST", path, {"prompt": "x"}, status=422)
            await caller.call("PATCH", f"/api/sessions/{session}", {"agent": "", "model": caller.model})
            assert (await caller.run_turn(session)).state == "done"

    asyncio.run(story())
