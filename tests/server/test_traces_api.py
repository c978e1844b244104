"""Traces through the API: no text unless asked for, and continued in another home with their seals."""

import asyncio
import io
from pathlib import Path
from typing import Any

import msgspec
from tests.server.caller import Caller, start_gateway

from thinkaloud.core.export.otlp import EXCHANGE

SCRIPT: list[Any] = [
    {"thinking": "I look it up.", "tool_calls": [{"name": "look_up", "arguments": {"word": "gull"}}]},
    {"thinking": "A bird, so.", "text": "A gull is a bird."},
    {"thinking": "Terns too.", "text": "A tern is a bird as well."},
]
AGENT = {"name": "A", "thinking": True, "tools": [{"name": "look_up"}]}


async def ask_agent(caller: Caller) -> tuple[str, str, list[str]]:
    """Ask an agent with a tool; return the agent, the session and the turns."""
    spec = {**AGENT, "model": caller.model}
    agent = (await caller.call("POST", "/api/agents", spec, status=201))["id"]
    session = await caller.create_session(agent=agent)
    called = await caller.run_turn(session, "What is a gull?")
    results = [
        {"call_id": block.call_id, "result": "a bird"} for block in called.turn.blocks if block.call_id
    ]
    await caller.read_stream(await caller.start_turn(session, "", tool_results=results))
    turns = (await caller.call("GET", f"/api/sessions/{session}"))["turns"]
    return agent, session, [turn["id"] for turn in turns]


async def export(caller: Caller, session: str, query: str = "", status: int = 200) -> bytes:
    address = f"{caller.url}/api/sessions/{session}/export?format=otlp{query}"
    async with caller.http.get(address) as response:
        body = await response.read()
        assert response.status == status, body
        if status == 200:
            assert response.headers["Content-Type"].startswith("application/jsonl")
            assert ".otlp.jsonl" in response.headers["Content-Disposition"]
        return body


def spans(data: bytes) -> list[Any]:
    return [
        {"trace": span["traceId"], **{pair["key"]: pair["value"] for pair in span["attributes"]}}
        for line in data.splitlines()
        for span in msgspec.json.decode(line)["resourceSpans"][0]["scopeSpans"][0]["spans"]
    ]


def test_traces_have_no_text_unless_asked_for(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path, "anthropic", SCRIPT) as caller:
            agent, session, turns = await ask_agent(caller)
            plain = await export(caller, session)
            assert len(plain.splitlines()) == len(turns) == 2
            assert plain == await export(caller, session)
            for text in (b"gull", b"look it up", b"a bird"):
                assert text not in plain.lower()
            found = spans(plain)
            assert {span["gen_ai.conversation.id"]["stringValue"] for span in found} == {session}
            assert found[0]["gen_ai.agent.id"]["stringValue"] == agent
            follows = [span.get("thinkaloud.follows", {}).get("stringValue") for span in found]
            assert {trace for trace in follows if trace} == {found[0]["trace"]}
            assert b"I look it up." not in await export(caller, session, "&content=messages")
            assert b"I look it up." in await export(caller, session, "&content=thoughts")
            one = await export(caller, session, f"&content=seals&openinference=true&turn={turns[1]}")
            assert len(one.splitlines()) == 1
            assert b"A bird, so." in one
            refusal = await export(caller, session, "&turn=trn_other", status=422)
            assert b"has no turn trn_other" in refusal

    asyncio.run(story())


def test_traces_are_continued_in_another_home_with_their_seals(tmp_path: Path) -> None:
    """The strict simulator there refuses a thought that was changed, and a call without its thought."""
    homes = [tmp_path / "first", tmp_path / "second"]

    async def first() -> bytes:
        async with start_gateway(homes[0], "anthropic", SCRIPT) as caller:
            _, session, _ = await ask_agent(caller)
            return await export(caller, session, "&content=seals")

    async def second(data: bytes) -> None:
        async with start_gateway(homes[1], "anthropic", SCRIPT[2:]) as caller:
            imported: Any = {}
            address, headers = f"{caller.url}/api/import", {"Content-Type": "application/jsonl"}
            for status in (201, 200):
                async with caller.http.post(address, data=io.BytesIO(data), headers=headers) as response:
                    imported = await response.json()
                    assert response.status == status, imported
            assert (imported["format"], imported["unread"]) == ("otlp", [])
            [row] = imported["conversations"]
            assert (row["turns"], row["turns_added"], row["thoughts"], row["calls"]) == (2, 0, 2, 1)
            spec = {**AGENT, "model": caller.model}
            agent = (await caller.call("POST", "/api/agents", spec, status=201))["id"]
            answered = await caller.run_turn(imported["id"], "And a tern?", agent=agent)
            assert answered.turn.answer == "A tern is a bird as well."
            assert caller.simulator.refusals == []
            sent = caller.simulator.requests[-1].raw.decode()
            assert "I look it up." in sent
            assert "A bird, so." in sent

    for home in homes:
        home.mkdir()
    data = asyncio.run(first())
    assert EXCHANGE.encode() in data
    asyncio.run(second(data))
