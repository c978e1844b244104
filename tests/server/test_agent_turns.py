"""Turns of agents over HTTP: tools, assistants, approvals that outlive the gateway, hurried answers."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.patience import PATIENCE_S
from tests.server.calling import Caller, Told, calling, eventually

from thinkaloud.agents.functions import from_function
from thinkaloud.canon import Kind, TurnFailed
from thinkaloud.transcript import Approval, Ending, Status

SUM = {"name": "calculator", "arguments": {"expression": "17 * 3 - 9"}}
SUMS = [
    {"thinking": "I let it be worked out.", "tool_calls": [SUM]},
    {"thinking": "Good.", "text": "It is 42."},
]
LAUNCH = [
    {"thinking": "I need it.", "tool_calls": [{"name": "launch", "arguments": {"what": "the ship"}}]},
    {"thinking": "Done.", "text": "Launched."},
]


class Pad:
    """A tool that must be let, and what it did."""

    def __init__(self) -> None:
        self.launched: list[str] = []
        self.tool = from_function(self.launch, approval=True)

    async def launch(self, what: str) -> str:
        """Launch something."""
        self.launched.append(what)
        return f"{what} is up"


async def agent(caller: Caller, **spec: Any) -> str:
    """The id of a new agent."""
    wanted = {"name": "Planner", "model": caller.model, "thinking": True, **spec}
    return str((await caller.call("POST", "/api/agents", wanted, status=201))["id"])


async def waiting(caller: Caller, turn: str) -> dict[str, Any]:
    """The call that a turn waits with, once it does."""
    async with asyncio.timeout(PATIENCE_S):
        while not (calls := (await caller.call("GET", f"/api/turns/{turn}"))["waiting"]):
            await asyncio.sleep(0.01)
    return dict(calls[0])


async def decide(caller: Caller, turn: str, block: int, *, granted: bool, status: int = 202) -> Any:
    body = {"block": block, "granted": granted}
    return await caller.call("POST", f"/api/turns/{turn}/approvals", body, status=status)


@pytest.mark.parametrize("provider", ["vllm", "anthropic", "deepseek"])
def test_the_gateway_runs_a_tool_and_asks_again(provider: str, tmp_path: Path) -> None:
    """R099, R101, R120–R125: what an agent did is in the log, in the turn and in the messages."""

    async def check() -> None:
        async with calling(tmp_path, provider, [*SUMS, {"text": "As I said."}]) as caller:
            session = await caller.session(agent=await agent(caller, uses=["calculator"]))
            told = await caller.answered(session)
            turn = told.turn
            assert turn.outcome is not None
            assert turn.outcome.ending is Ending.ANSWERED
            assert [block.kind for block in turn.blocks if not block.blank or block.result] == [
                Kind.REASONING,
                Kind.TOOL_CALL,
                Kind.REASONING,
                Kind.TEXT,
            ]
            assert len(turn.replies) == 2
            shown = await caller.call("GET", f"/api/sessions/{session}")
            body = await caller.call("GET", f"/api/turns/{shown['turns'][0]['id']}")
            step = body["thinking_block"]["steps"][1]
            assert (step["type"], step["toolName"], step["toolResult"]) == ("tool_call", "calculator", "42")
            assert body["thinking_block"]["status"] == "done"
            assert len(body["cost"]["replies"]) == 2
            again = await caller.answered(session, "Are you sure?")
            assert again.turn.answer == "As I said."

    asyncio.run(check())


def test_an_assistant_works_below_its_call(tmp_path: Path) -> None:
    """R102, R110: what an assistant thought and said hangs below the call that it works for."""
    script = [
        {
            "thinking": "Somebody else should check.",
            "tool_calls": [{"name": "checker", "arguments": {"task": "17 * 3 - 9?"}}],
        },
        {"thinking": "I use a tool.", "tool_calls": [SUM]},
        {"thinking": "42 it is.", "text": "Right, 42."},
        {"text": "It is 42, and checked."},
    ]

    async def check() -> None:
        async with calling(tmp_path, "anthropic", script) as caller:
            checker = await agent(caller, name="Checker", uses=["calculator"])
            session = await caller.session(agent=await agent(caller, assistants=[checker]))
            told = await caller.answered(session)
            (call,) = told.turn.top(Kind.ASSISTANT_CALL)
            assert (call.name, call.assistant_id, call.text) == ("Checker", checker, "17 * 3 - 9?")
            assert (call.result, call.status) == ("Right, 42.", Status.DONE)
            kinds = [block.kind for block in told.turn.children(call)]
            assert kinds == [Kind.REASONING, Kind.TOOL_CALL, Kind.REASONING, Kind.TEXT]
            assert told.turn.answer == "It is 42, and checked."

    asyncio.run(check())


def test_a_call_waits_until_somebody_lets_it_run(tmp_path: Path) -> None:
    async def check() -> None:
        pad = Pad()
        async with calling(tmp_path, "anthropic", [*LAUNCH], more=[pad.tool]) as caller:
            session = await caller.session(agent=await agent(caller, uses=["launch"]))
            turn = await caller.begin(session)
            call = await waiting(caller, turn)
            assert (call["name"], pad.launched) == ("launch", [])
            await decide(caller, turn, call["block"] + 1, granted=True, status=422)
            await decide(caller, turn, call["block"], granted=True)
            told = await caller.read(turn)
            assert pad.launched == ["the ship"]
            block = told.turn.blocks[call["block"]]
            assert (block.approval, block.settled_by) == (Approval.GRANTED, "local")
            assert told.turn.answer == "Launched."
            await decide(caller, turn, call["block"], granted=True, status=409)

    asyncio.run(check())


def test_what_is_not_let_does_not_run(tmp_path: Path) -> None:
    async def check() -> None:
        pad = Pad()
        async with calling(tmp_path, "anthropic", [*LAUNCH], more=[pad.tool]) as caller:
            session = await caller.session(agent=await agent(caller, uses=["launch"]))
            turn = await caller.begin(session)
            call = await waiting(caller, turn)
            await decide(caller, turn, call["block"], granted=False)
            told = await caller.read(turn)
            block = told.turn.blocks[call["block"]]
            assert (block.approval, block.status, pad.launched) == (Approval.DENIED, Status.ERROR, [])
            assert told.turn.answer == "Launched."  # the simulated model does not listen

    asyncio.run(check())


def test_a_turn_that_waits_outlives_the_gateway(tmp_path: Path) -> None:
    async def check() -> None:
        pad = Pad()
        async with calling(tmp_path, "anthropic", [*LAUNCH], more=[pad.tool]) as caller:
            session = await caller.session(agent=await agent(caller, uses=["launch"]))
            turn = await caller.begin(session, thinking="high")
            call = await waiting(caller, turn)
            seen = Told()
            async for _ in caller.follow(turn, seen):
                if len(seen.entries) > call["block"]:
                    break
        async with calling(tmp_path, "anthropic", LAUNCH[1:], more=[pad.tool]) as caller:
            assert (await caller.call("GET", f"/api/turns/{turn}"))["state"] == "running"
            assert (await waiting(caller, turn))["block"] == call["block"]
            await decide(caller, turn, call["block"], granted=True)
            told = await caller.read(turn)
            assert pad.launched == ["the ship"]
            assert told.turn.answer == "Launched."
            assert list(told.entries) == list(range(len(told.entries)))
            assert {number: told.entries[number] for number in seen.entries} == seen.entries
            request = caller.simulator.requests[-1].body
            assert "thinking" in str(request)
            assert "the ship is up" in str(request)

    asyncio.run(check())


def test_a_turn_that_cannot_go_on_says_why(tmp_path: Path) -> None:
    async def check() -> None:
        pad = Pad()
        async with calling(tmp_path, "anthropic", [*LAUNCH], more=[pad.tool]) as caller:
            turn = await caller.begin(await caller.session(agent=await agent(caller, uses=["launch"])))
            await waiting(caller, turn)
        async with calling(tmp_path, "anthropic") as caller:  # nobody offers `launch` any more
            told = await caller.read(turn)
            end = told.entries[max(told.entries)].event
            assert isinstance(end, TurnFailed)
            assert end.code == "interrupted"
            assert "launch" in end.message

    asyncio.run(check())


def test_a_turn_that_waits_can_be_cancelled(tmp_path: Path) -> None:
    async def check() -> None:
        pad = Pad()
        async with calling(tmp_path, "anthropic", [*LAUNCH], more=[pad.tool]) as caller:
            turn = await caller.begin(await caller.session(agent=await agent(caller, uses=["launch"])))
            await waiting(caller, turn)
            await caller.call("POST", f"/api/turns/{turn}/cancel", status=202)
            told = await caller.read(turn)
            assert (told.state, pad.launched) == ("cancelled", [])

    asyncio.run(check())


def test_thinking_can_be_cut_short(tmp_path: Path) -> None:
    script = [{"thinking": "again and " * 500, "text": "never", "delay_ms": 20}, {"text": "Well, 42."}]

    async def check() -> None:
        async with calling(tmp_path, "anthropic", script) as caller:
            turn = await caller.begin(await caller.session(), thinking="high")
            told = Told()
            async for _ in caller.follow(turn, told):
                if len(told.entries) > 4:
                    break
            await caller.call("POST", f"/api/turns/{turn}/answer-now", status=202)
            told = await caller.read(turn)
            assert told.turn.answer == "Well, 42."
            assert told.turn.blocks[0].status is Status.INTERRUPTED
            assert [notice.code for notice in told.turn.notices] == ["answer_now"]
            await eventually(lambda: caller.gateway.runs.live == 0)
            await caller.call("POST", f"/api/turns/{turn}/answer-now", status=409)

    asyncio.run(check())


def test_only_tools_that_the_gateway_has_can_be_used(tmp_path: Path) -> None:
    async def check() -> None:
        async with calling(tmp_path) as caller:
            spec = {"name": "Planner", "model": caller.model, "uses": ["os:system"]}
            why = await caller.refused("POST", "/api/agents", spec, status=422)
            assert "os:system" in why
            assert "calculator" in why
            listed = await caller.call("GET", "/api/agents")
            assert [own["id"] for own in listed["own"]] == ["planner", "checker"]
            assert {"calculator", "current_time", "search_sessions"} <= set(listed["tools"])

    asyncio.run(check())


def test_messages_say_which_agent_was_asked_and_what_it_is_called_now(tmp_path: Path) -> None:
    async def check() -> None:
        async with calling(tmp_path, "vllm", [{"text": "Yes."}]) as caller:
            made = await agent(caller, thinking=False)
            session = await caller.session(agent=made)
            await caller.answered(session)
            path = f"/api/sessions/{session}/messages"
            named = [(one["agent"], one["agent_name"]) for one in (await caller.call("GET", path))["items"]]
            assert named == [(made, "Planner")] * 2
            await caller.call("PATCH", f"/api/sessions/{session}", {"agent": ""})
            await caller.call("DELETE", f"/api/agents/{made}", status=204)
            named = [(one["agent"], one["agent_name"]) for one in (await caller.call("GET", path))["items"]]
            assert named == [(made, "")] * 2, "the one that is gone has a name"

    asyncio.run(check())


def test_an_agent_finds_what_was_said_in_earlier_sessions_of_its_user(tmp_path: Path) -> None:
    look = {"name": "search_sessions", "arguments": {"query": "zeppelin"}}
    script = [{"text": "A zeppelin flies."}, {"tool_calls": [look]}, {"text": "I remember."}]

    async def check() -> None:
        async with calling(tmp_path, "vllm", script) as caller:
            await caller.answered(await caller.session(), "What flies?")
            session = await caller.session(
                agent=await agent(caller, thinking=False, uses=["search_sessions"])
            )
            told = await caller.answered(session)
            (call,) = told.turn.top(Kind.TOOL_CALL)
            assert "A zeppelin flies." in (call.result or "")

    asyncio.run(check())
