"""Agents in a gateway process: the included planner, kills at any step, kills while it waits for approval."""

import asyncio
import random
from pathlib import Path
from typing import Any

from tests.agents.run_checks import assert_legal
from tests.gateway.forked_gateway import ForkedGateway
from tests.gateway.gateway_process import Caller, start_caller
from tests.gateway.stream_record import StreamRecord, follow
from tests.patience import PATIENCE_S

from thinkaloud.core.canon import Kind
from thinkaloud.core.transcript import Approval, BlockStatus, Ending
from thinkaloud.simulators import run_simulator

PUZZLE = "make 24 from 4 7 8 8"
RUNS = 24
SPREAD_S = 7.0
"""About the duration of a planner run, so that the kills hit every kind of step."""
SEED = 20_261_116
PAD = '''
from pathlib import Path

def launch(what: str) -> str:
    """Launch something."""
    with Path(__file__).with_name("launched.txt").open("a") as file:
        file.write(f"{what}\\n")
    return f"{what} is up"
'''
AGENTS = """
[functions.launch]
from = "pad:launch"
approval = true

[agents.pilot]
model = "paced/demo"
tools = ["launch"]
"""
LAUNCH = [
    {"thinking": "I need it.", "tool_calls": [{"name": "launch", "arguments": {"what": "the ship"}}]},
    {"thinking": "Done.", "text": "Launched."},
]


async def begin(caller: Caller, agent: str, prompt: str = PUZZLE) -> str:
    """Start a turn of an agent and return its id."""
    path = f"/api/sessions/{await caller.create_session()}/turns"
    return str((await caller.call("POST", path, {"prompt": prompt, "agent": agent}, status=202))["id"])


async def read_record(caller: Caller, turn: str) -> StreamRecord:
    """Read the stream of a turn to its end."""
    record = StreamRecord()
    await follow(caller.gateway.url, turn, record)
    return record


def test_included_planner_thinks_calls_tools_delegates_and_answers(tmp_path: Path, provider: str) -> None:
    """R099–R102, R120–R125: reasoning, both kinds of steps, the checker below its call, the answer."""

    async def check() -> None:
        async with start_caller(ForkedGateway(tmp_path / "home", provider)) as caller:
            turn = await begin(caller, "planner")
            events_seen = assert_legal((await read_record(caller, turn)).entries)
            assert "24" in events_seen.answer
            (tool,), (assistant,) = (
                events_seen.own_blocks(Kind.TOOL_CALL),
                events_seen.own_blocks(Kind.ASSISTANT_CALL),
            )
            assert (tool.name, tool.result) == ("calculator", "24")
            assert (assistant.name, assistant.status) == ("Checker", BlockStatus.DONE)
            assert Kind.REASONING in {child.kind for child in events_seen.children(assistant)}
            body = await caller.call("GET", f"/api/turns/{turn}")
            steps = body["thinking_block"]["steps"]
            assert {step["type"] for step in steps} == {"reasoning", "tool_call", "assistant_call"}
            assert any(step.get("childSteps") for step in steps)
            assert body["cost"]["turn"]["usd"] == "0"

    asyncio.run(check())


def test_kill_at_any_step_leaves_one_end_and_a_valid_tree(tmp_path: Path, provider: str) -> None:
    async def check() -> None:
        rng = random.Random(SEED)
        gateway = ForkedGateway(tmp_path / "home", provider)
        async with start_caller(gateway) as caller:
            turns = []
            for _ in range(RUNS):
                turns.append(await begin(caller, "planner"))
                await asyncio.sleep(rng.uniform(0, 2 * SPREAD_S / RUNS))
            await gateway.kill()
            await gateway.start()
            events_seen = [assert_legal((await read_record(caller, turn)).entries) for turn in turns]
            endings = [turn.outcome.ending for turn in events_seen if turn.outcome is not None]
            assert set(endings) <= {Ending.ANSWERED, Ending.FAILED}
            assert endings.count(Ending.FAILED) > RUNS / 4
            at = {
                block.kind
                for turn in events_seen
                for block in turn.blocks
                if block.status is not BlockStatus.DONE
            }
            assert Kind.REASONING in at
            session = (await caller.call("GET", f"/api/turns/{turns[-1]}"))["session"]
            again = {"prompt": PUZZLE, "agent": "planner"}
            body = await caller.call("POST", f"/api/sessions/{session}/turns", again, status=202)
            assert "24" in assert_legal((await read_record(caller, str(body["id"]))).entries).answer

    asyncio.run(check())


def test_kill_while_waiting_for_approval_resumes_after_approval(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "pad.py").write_text(PAD, "utf-8")
    (home / "agents.toml").write_text(AGENTS, "utf-8")

    async def check() -> None:
        async with run_simulator("vllm", script=[*LAUNCH]) as simulator:
            gateway = ForkedGateway(home, simulator.url)
            async with start_caller(gateway) as caller:
                turn = await begin(caller, "pilot")
                block = await _waiting(caller, turn)
                for _ in range(2):
                    await gateway.kill()
                    await gateway.start()
                    assert await _waiting(caller, turn) == block
                decision = {"block": block, "granted": True}
                await caller.call("POST", f"/api/turns/{turn}/approvals", decision, status=202)
                events_seen = assert_legal((await read_record(caller, turn)).entries)
                assert events_seen.answer == "Launched."
                assert events_seen.blocks[block].approval is Approval.GRANTED
        assert (home / "launched.txt").read_text("utf-8") == "the ship\n"

    asyncio.run(check())


async def _waiting(caller: Caller, turn: str) -> int:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            body: dict[str, Any] = await caller.call("GET", f"/api/turns/{turn}")
            if body["waiting"]:
                return int(body["waiting"][0]["block"])
            await asyncio.sleep(0.02)
