"""Messages as entries: what a page folds after a reload is the turn as it was."""

import asyncio
from pathlib import Path

import msgspec
import pytest
from tests.server.calling import calling
from tests.server.test_agent_turns import agent
from tests.transcript.scripts import joined

from thinkaloud.canon import Entry
from thinkaloud.transcript import Turn, apply

CALL = {"name": "calculator", "arguments": {"expression": "17 * 3 - 9"}}
REPLIES = [
    {"thinking": "I let it be worked out.", "text": "Let me look.", "tool_calls": [CALL]},
    {"thinking": "Good.", "text": "It is 42."},
]


@pytest.mark.parametrize("provider", ["vllm", "anthropic"])
def test_message_entries_fold_to_the_turn_with_its_replies(provider: str, tmp_path: Path) -> None:
    async def check() -> None:
        async with calling(tmp_path, provider, REPLIES) as caller:
            session = await caller.session(agent=await agent(caller, uses=["calculator"]))
            streamed = (await caller.answered(session)).turn
            path = f"/api/sessions/{session}/messages?entries=true"
            asked, said = (await caller.call("GET", path))["items"]
            assert (asked["entries"], said["parts"]) == ([], [])
            turn = Turn()
            for entry in msgspec.convert(said["entries"], list[Entry]):
                apply(turn, entry)
            assert turn.answer == said["content"] == "Let me look.\n\nIt is 42."
            assert turn.usage == streamed.usage
            assert [reply.calls for reply in turn.replies] == [reply.calls for reply in streamed.replies]
            assert _readable(turn) == _readable(streamed)
            seals = [seal for block in turn.blocks for seal in block.seals]
            assert [seal.payload for seal in seals] == [""] * len(seals)

    asyncio.run(check())


def test_messages_have_parts_and_no_entries_by_default(tmp_path: Path) -> None:
    async def check() -> None:
        async with calling(tmp_path) as caller:
            session = await caller.session()
            await caller.answered(session)
            _, said = (await caller.call("GET", f"/api/sessions/{session}/messages"))["items"]
            assert said["entries"] == []
            assert said["parts"] != []

    asyncio.run(check())


def _readable(turn: Turn) -> list[tuple[object, ...]]:
    return [(one.kind, one.text, one.status, one.result, one.parent) for one in joined(turn).blocks]
