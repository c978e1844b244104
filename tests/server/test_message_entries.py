"""Messages as entries: what a page folds after a reload is the turn as it was."""

import asyncio
from pathlib import Path

import msgspec
import pytest
from tests.server.caller import start_gateway
from tests.server.test_agent_turns import agent
from tests.transcript.turn_builders import with_joined_text

from thinkaloud.core.canon import Entry
from thinkaloud.core.transcript import Turn, apply

CALL = {"name": "calculator", "arguments": {"expression": "17 * 3 - 9"}}
REPLIES = [
    {"thinking": "I let it be worked out.", "text": "Let me look.", "tool_calls": [CALL]},
    {"thinking": "Good.", "text": "It is 42."},
]


@pytest.mark.parametrize("provider", ["vllm", "anthropic"])
def test_message_entries_fold_to_the_turn_with_its_replies(provider: str, tmp_path: Path) -> None:
    async def check() -> None:
        async with start_gateway(tmp_path, provider, REPLIES) as caller:
            session = await caller.create_session(agent=await agent(caller, uses=["calculator"]))
            streamed = (await caller.run_turn(session)).turn
            path = f"/api/sessions/{session}/messages?entries=true"
            question, answer = (await caller.call("GET", path))["items"]
            assert (question["entries"], answer["parts"]) == ([], [])
            turn = Turn()
            for entry in msgspec.convert(answer["entries"], list[Entry]):
                apply(turn, entry)
            assert turn.answer == answer["content"] == "Let me look.\n\nIt is 42."
            assert turn.usage == streamed.usage
            assert [reply.calls for reply in turn.replies] == [reply.calls for reply in streamed.replies]
            assert _readable(turn) == _readable(streamed)
            seals = [seal for block in turn.blocks for seal in block.seals]
            assert [seal.payload for seal in seals] == [""] * len(seals)

    asyncio.run(check())


def test_messages_have_parts_and_no_entries_by_default(tmp_path: Path) -> None:
    async def check() -> None:
        async with start_gateway(tmp_path) as caller:
            session = await caller.create_session()
            await caller.run_turn(session)
            _, answer = (await caller.call("GET", f"/api/sessions/{session}/messages"))["items"]
            assert answer["entries"] == []
            assert answer["parts"] != []

    asyncio.run(check())


def _readable(turn: Turn) -> list[tuple[object, ...]]:
    return [
        (block.kind, block.text, block.status, block.result, block.parent)
        for block in with_joined_text(turn).blocks
    ]
