"""Agent turns over HTTP: tools, assistants, approvals across restarts, and answer-now."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.patience import PATIENCE_S
from tests.server.caller import Caller, StreamResult, start_gateway, wait_until

from thinkaloud.agents.tools import from_function
from thinkaloud.core.canon import Kind, TurnFailed
from thinkaloud.core.transcript import Approval, BlockStatus, Ending

SUM = {"name": "calculator", "arguments": {"expression": "17 * 3 - 9"}}
SUMS = [
    {"thinking": "I let it be worked out.", "tool_calls": [SUM]},
    {"thinking": "Good.", "text": "It is 42."},
]
LAUNCH = [
    {"thinking": "I need it.", "tool_calls": [{"name": "launch", "arguments": {"what": "the ship"}}]},
    {"thinking": "Done.", "text": "Launched."},
]


class LaunchTool:
    """A tool that needs approval, and a record of its calls."""

    def __init__(self) -> None:
        self.launched: list[str] = []
        self.tool = from_function(self.launch, approval=True)

    async def launch(self, what: str) -> str:
        """Launch something."""
        self.launched.append(what)
        return f"{what} is up"


async def agent(caller: Caller, **spec: Any) -> str:
    """Create an agent and return its id."""
    agent_body = {"name": "Planner", "model": caller.model, "thinking": True, **spec}
    return str((await caller.call("POST", "/api/agents", agent_body, status=201))["id"])


async def waiting(caller: Caller, turn: str) -> dict[str, Any]:
    """Wait until a turn waits for approval, and return the waiting call."""
    async with asyncio.timeout(PATIENCE_S):
        while not (calls := (await caller.call("GET", f"/api/turns/{turn}"))["waiting"]):
            await asyncio.sleep(0.01)
    return dict(calls[0])


async def decide(caller: Caller, turn: str, block: int, *, granted: bool, status: int = 202) -> Any:
    body = {"block": block, "granted": granted}
    return await caller.call("POST", f"/api/turns/{turn}/approvals", body, status=status)


@pytest.mark.parametrize("provider", ["vllm", "anthropic", "deepseek"])
def test_gateway_runs_tool_and_continues_turn(provider: str, tmp_path: Path) -> None:
    """R099, R101, R120–R125: the steps of an agent are in the log, the turn and the messages."""

    async def check() -> None:
        async with start_gateway(tmp_path, provider, [*SUMS, {"text": "As I said."}]) as caller:
            session = await caller.create_session(agent=await agent(caller, uses=["calculator"]))
            result = await caller.run_turn(session)
            turn = result.turn
            assert turn.outcome is not None
            assert turn.outcome.ending is Ending.ANSWERED
            assert [block.kind for block in turn.blocks if not block.blank or block.result] == [
                Kind.REASONING,
                Kind.TOOL_CALL,
                Kind.REASONING,
                Kind.TEXT,
            ]
            assert len(turn.replies) == 2
            response_body = await caller.call("GET", f"/api/sessions/{session}")
            body = await caller.call("GET", f"/api/turns/{response_body['turns'][0]['id']}")
            step = body["thinking_block"]["steps"][1]
            assert (step["type"], step["toolName"], step["toolResult"]) == ("tool_call", "calculator", "42")
            assert body["thinking_block"]["status"] == "done"
            assert len(body["cost"]["replies"]) == 2
            again = await caller.run_turn(session, "Are you sure?")
            assert again.turn.answer == "As I said."

    asyncio.run(check())


def test_assistant_blocks_are_children_of_the_call(tmp_path: Path) -> None:
    """R102, R110: the blocks of an assistant are children of the call that started it."""
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
        async with start_gateway(tmp_path, "anthropic", script) as caller:
            checker = await agent(caller, name="Checker", uses=["calculator"])
            session = await caller.create_session(agent=await agent(caller, assistants=[checker]))
            result = await caller.run_turn(session)
            (call,) = result.turn.own_blocks(Kind.ASSISTANT_CALL)
            assert (call.name, call.assistant_id, call.text) == ("Checker", checker, "17 * 3 - 9?")
            assert (call.result, call.status) == ("Right, 42.", BlockStatus.DONE)
            kinds = [block.kind for block in result.turn.children(call)]
            assert kinds == [Kind.REASONING, Kind.TOOL_CALL, Kind.REASONING, Kind.TEXT]
            assert result.turn.answer == "It is 42, and checked."

    asyncio.run(check())


def test_tool_call_waits_for_approval(tmp_path: Path) -> None:
    async def check() -> None:
        pad = LaunchTool()
        async with start_gateway(tmp_path, "anthropic", [*LAUNCH], extra=[pad.tool]) as caller:
            session = await caller.create_session(agent=await agent(caller, uses=["launch"]))
            turn = await caller.start_turn(session)
            call = await waiting(caller, turn)
            assert (call["name"], pad.launched) == ("launch", [])
            await decide(caller, turn, call["block"] + 1, granted=True, status=422)
            await decide(caller, turn, call["block"], granted=True)
            result = await caller.read_stream(turn)
            assert pad.launched == ["the ship"]
            block = result.turn.blocks[call["block"]]
            assert (block.approval, block.settled_by) == (Approval.GRANTED, "local")
            assert result.turn.answer == "Launched."
            await decide(caller, turn, call["block"], granted=True, status=409)

    asyncio.run(check())


def test_denied_tool_call_does_not_run(tmp_path: Path) -> None:
    async def check() -> None:
        pad = LaunchTool()
        async with start_gateway(tmp_path, "anthropic", [*LAUNCH], extra=[pad.tool]) as caller:
            session = await caller.create_session(agent=await agent(caller, uses=["launch"]))
            turn = await caller.start_turn(session)
            call = await waiting(caller, turn)
            await decide(caller, turn, call["block"], granted=False)
            result = await caller.read_stream(turn)
            block = result.turn.blocks[call["block"]]
            assert (block.approval, block.status, pad.launched) == (Approval.DENIED, BlockStatus.ERROR, [])
            assert result.turn.answer == "Launched."  # the simulated model does not listen

    asyncio.run(check())


def test_turn_waiting_for_approval_survives_a_restart(tmp_path: Path) -> None:
    async def check() -> None:
        pad = LaunchTool()
        async with start_gateway(tmp_path, "anthropic", [*LAUNCH], extra=[pad.tool]) as caller:
            session = await caller.create_session(agent=await agent(caller, uses=["launch"]))
            turn = await caller.start_turn(session, thinking="high")
            call = await waiting(caller, turn)
            first_result = StreamResult()
            async for _ in caller.follow_stream(turn, first_result):
                if len(first_result.entries) > call["block"]:
                    break
        async with start_gateway(tmp_path, "anthropic", LAUNCH[1:], extra=[pad.tool]) as caller:
            assert (await caller.call("GET", f"/api/turns/{turn}"))["state"] == "running"
            assert (await waiting(caller, turn))["block"] == call["block"]
            await decide(caller, turn, call["block"], granted=True)
            result = await caller.read_stream(turn)
            assert pad.launched == ["the ship"]
            assert result.turn.answer == "Launched."
            assert list(result.entries) == list(range(len(result.entries)))
            assert {number: result.entries[number] for number in first_result.entries} == first_result.entries
            request = caller.simulator.requests[-1].body
            assert "thinking" in str(request)
            assert "the ship is up" in str(request)

    asyncio.run(check())


def test_turn_that_cannot_be_resumed_fails_with_a_reason(tmp_path: Path) -> None:
    async def check() -> None:
        pad = LaunchTool()
        async with start_gateway(tmp_path, "anthropic", [*LAUNCH], extra=[pad.tool]) as caller:
            turn = await caller.start_turn(
                await caller.create_session(agent=await agent(caller, uses=["launch"]))
            )
            await waiting(caller, turn)
        async with start_gateway(tmp_path, "anthropic") as caller:  # this gateway has no tool `launch`
            result = await caller.read_stream(turn)
            end = result.entries[max(result.entries)].event
            assert isinstance(end, TurnFailed)
            assert end.code == "interrupted"
            assert "launch" in end.message

    asyncio.run(check())


def test_turn_waiting_for_approval_can_be_cancelled(tmp_path: Path) -> None:
    async def check() -> None:
        pad = LaunchTool()
        async with start_gateway(tmp_path, "anthropic", [*LAUNCH], extra=[pad.tool]) as caller:
            turn = await caller.start_turn(
                await caller.create_session(agent=await agent(caller, uses=["launch"]))
            )
            await waiting(caller, turn)
            await caller.call("POST", f"/api/turns/{turn}/cancel", status=202)
            result = await caller.read_stream(turn)
            assert (result.state, pad.launched) == ("cancelled", [])

    asyncio.run(check())


def test_answer_now_stops_thinking(tmp_path: Path) -> None:
    script = [{"thinking": "again and " * 500, "text": "never", "delay_ms": 20}, {"text": "Well, 42."}]

    async def check() -> None:
        async with start_gateway(tmp_path, "anthropic", script) as caller:
            turn = await caller.start_turn(await caller.create_session(), thinking="high")
            result = StreamResult()
            async for _ in caller.follow_stream(turn, result):
                if len(result.entries) > 4:
                    break
            await caller.call("POST", f"/api/turns/{turn}/answer-now", status=202)
            result = await caller.read_stream(turn)
            assert result.turn.answer == "Well, 42."
            assert result.turn.blocks[0].status is BlockStatus.INTERRUPTED
            assert [notice.code for notice in result.turn.notices] == ["answer_now"]
            await wait_until(lambda: caller.gateway.turns.running_count == 0)
            await caller.call("POST", f"/api/turns/{turn}/answer-now", status=409)

    asyncio.run(check())


def test_unknown_tools_are_refused(tmp_path: Path) -> None:
    async def check() -> None:
        async with start_gateway(tmp_path) as caller:
            spec = {"name": "Planner", "model": caller.model, "uses": ["os:system"]}
            why = await caller.refusal_message("POST", "/api/agents", spec, status=422)
            assert "os:system" in why
            assert "calculator" in why
            listed = await caller.call("GET", "/api/agents")
            assert [gateway_agent["id"] for gateway_agent in listed["own"]] == ["planner", "checker"]
            assert {"calculator", "current_time", "search_sessions"} <= set(listed["tools"])

    asyncio.run(check())


def test_messages_name_their_agent(tmp_path: Path) -> None:
    async def check() -> None:
        async with start_gateway(tmp_path, "vllm", [{"text": "Yes."}]) as caller:
            agent_id = await agent(caller, thinking=False)
            session = await caller.create_session(agent=agent_id)
            await caller.run_turn(session)
            path = f"/api/sessions/{session}/messages"
            named = [(one["agent"], one["agent_name"]) for one in (await caller.call("GET", path))["items"]]
            assert named == [(agent_id, "Planner")] * 2
            await caller.call("PATCH", f"/api/sessions/{session}", {"agent": ""})
            await caller.call("DELETE", f"/api/agents/{agent_id}", status=204)
            named = [(one["agent"], one["agent_name"]) for one in (await caller.call("GET", path))["items"]]
            assert named == [(agent_id, "")] * 2, "the one that is gone has a name"

    asyncio.run(check())


def test_search_tool_finds_the_users_earlier_sessions(tmp_path: Path) -> None:
    look = {"name": "search_sessions", "arguments": {"query": "zeppelin"}}
    script = [{"text": "A zeppelin flies."}, {"tool_calls": [look]}, {"text": "I remember."}]

    async def check() -> None:
        async with start_gateway(tmp_path, "vllm", script) as caller:
            await caller.run_turn(await caller.create_session(), "What flies?")
            session = await caller.create_session(
                agent=await agent(caller, thinking=False, uses=["search_sessions"])
            )
            result = await caller.run_turn(session)
            (call,) = result.turn.own_blocks(Kind.TOOL_CALL)
            assert "A zeppelin flies." in (call.result or "")

    asyncio.run(check())
