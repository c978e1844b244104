"""Asking for thoughts, whole and streamed, with tools between them, at a simulator that refuses mistakes."""

import asyncio

import pytest

from thinkaloud.canon import Kind
from thinkaloud.canon.requests import Tool, ToolMessage, UserMessage
from thinkaloud.catalog import Catalog, builtin_texts, parse
from thinkaloud.client import Options, ask, prepare
from thinkaloud.context import Conversation, Said
from thinkaloud.simulators import Answer, Script, ToolCall, running
from thinkaloud.transcript import Ending, Turn

WEATHER = Tool(
    "get_weather", "The weather of a city", '{"type":"object","properties":{"city":{"type":"string"}}}'
)
LOOK_IT_UP = Answer(thinking="I need the weather.", tool_calls=[ToolCall("get_weather", {"city": "Lima"})])
SAY_IT = Answer(thinking="18 degrees it is.", text="It is 18 °C in Lima.")


def at(url: str) -> Catalog:
    row = f'[providers.anthropic]\nbase_url = "{url}/v1"\nkey = "env:A_KEY"\n'
    return parse(*builtin_texts(), row)


async def talk(*, stream: bool) -> tuple[list[Turn], list[bytes]]:
    """A question, a call, its result, an answer; and the bodies that were sent."""
    async with running("anthropic", script=Script([LOOK_IT_UP, SAY_IT])) as server:
        options = Options(tools=(WEATHER,), stream=stream, catalog=at(server.url))
        conversation = Conversation(tools=(WEATHER,), steps=(UserMessage("How warm is it in Lima?"),))
        turns = []
        for result in ("18 °C", ""):
            ready = prepare(conversation, model="claude-opus-4-5", thinking="high", options=options)
            turn = await ask(ready)
            turns.append(turn)
            said = Said(turn=turn, prefix=ready.prefix, provider=ready.route.provider.name)
            results = tuple(
                ToolMessage(block.call_id, result, block.name) for block in turn.top(Kind.TOOL_CALL)
            )
            conversation = Conversation(tools=(WEATHER,), steps=(*conversation.steps, said, *results))
        assert not server.refusals
        return turns, [request.raw for request in server.requests]


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "sk-for-a-simulator")


@pytest.mark.parametrize("stream", [True, False])
def test_thoughts_come_in_order_and_go_back_between_calls(stream: bool) -> None:
    """R037 R042 R049: blocks keep their order, and the thought before a call goes back with its result."""
    (called, answered), bodies = asyncio.run(talk(stream=stream))
    assert [block.kind for block in called.blocks] == [Kind.REASONING, Kind.TOOL_CALL]
    assert [block.kind for block in answered.blocks] == [Kind.REASONING, Kind.TEXT]
    assert answered.outcome is not None
    assert answered.outcome.ending is Ending.ANSWERED
    assert called.message is not None
    assert called.message.payload.encode() in bodies[1]


def test_whole_and_streamed_answers_think_alike() -> None:
    """R048: asking for the whole answer gives the same thoughts as asking for a stream."""
    streamed, _ = asyncio.run(talk(stream=True))
    whole, _ = asyncio.run(talk(stream=False))
    assert [turn.reasoning for turn in whole] == [turn.reasoning for turn in streamed]
    assert [turn.answer for turn in whole] == [turn.answer for turn in streamed]
    assert [seal for turn in whole for block in turn.blocks for seal in block.seals] == [
        seal for turn in streamed for block in turn.blocks for seal in block.seals
    ]
