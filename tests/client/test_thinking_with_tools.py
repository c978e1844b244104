"""Thinking with tools, streamed and whole, at a simulator that refuses mistakes."""

import asyncio

import pytest

from thinkaloud.client import Options, ask, prepare
from thinkaloud.core.canon import Kind
from thinkaloud.core.canon.requests import ToolDefinition, ToolMessage, UserMessage
from thinkaloud.core.catalog import Catalog, builtin_texts, parse_catalog
from thinkaloud.core.context import AnsweredTurn, Context
from thinkaloud.core.transcript import Ending, Turn
from thinkaloud.simulators import Script, ScriptedAnswer, ScriptedToolCall, run_simulator

WEATHER = ToolDefinition(
    "get_weather", "The weather of a city", '{"type":"object","properties":{"city":{"type":"string"}}}'
)
CALL_TURN = ScriptedAnswer(
    thinking="I need the weather.", tool_calls=[ScriptedToolCall("get_weather", {"city": "Lima"})]
)
ANSWER_TURN = ScriptedAnswer(thinking="18 degrees it is.", text="It is 18 °C in Lima.")


def catalog_at(url: str) -> Catalog:
    row = f'[providers.anthropic]\nbase_url = "{url}/v1"\nkey = "env:A_KEY"\n'
    return parse_catalog(*builtin_texts(), row)


async def run_conversation(*, stream: bool) -> tuple[list[Turn], list[bytes]]:
    """Hold a conversation of question, call, result and answer.

    Return its turns and the bodies that were sent.
    """
    async with run_simulator("anthropic", script=Script([CALL_TURN, ANSWER_TURN])) as server:
        options = Options(tools=(WEATHER,), stream=stream, catalog=catalog_at(server.url))
        conversation = Context(tools=(WEATHER,), steps=(UserMessage("How warm is it in Lima?"),))
        turns = []
        for result in ("18 °C", ""):
            prepared = prepare(conversation, model="claude-opus-4-5", thinking="high", options=options)
            turn = await ask(prepared)
            turns.append(turn)
            answered = AnsweredTurn(turn=turn, prefix=prepared.prefix, provider=prepared.route.provider.name)
            results = tuple(
                ToolMessage(block.call_id, result, block.name) for block in turn.own_blocks(Kind.TOOL_CALL)
            )
            conversation = Context(tools=(WEATHER,), steps=(*conversation.steps, answered, *results))
        assert not server.refusals
        return turns, [request.raw for request in server.requests]


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "sk-for-a-simulator")


@pytest.mark.parametrize("stream", [True, False])
def test_thoughts_arrive_in_order_and_are_sent_back_between_calls(stream: bool) -> None:
    """R037 R042 R049: blocks keep their order, and the thought before a call is sent back with its result."""
    (called, answered), bodies = asyncio.run(run_conversation(stream=stream))
    assert [block.kind for block in called.blocks] == [Kind.REASONING, Kind.TOOL_CALL]
    assert [block.kind for block in answered.blocks] == [Kind.REASONING, Kind.TEXT]
    assert answered.outcome is not None
    assert answered.outcome.ending is Ending.ANSWERED
    assert called.message is not None
    assert called.message.payload.encode() in bodies[1]


def test_whole_and_streamed_answers_have_the_same_thoughts() -> None:
    """R048: asking for the whole answer gives the same thoughts as asking for a stream."""
    streamed, _ = asyncio.run(run_conversation(stream=True))
    whole, _ = asyncio.run(run_conversation(stream=False))
    assert [turn.reasoning for turn in whole] == [turn.reasoning for turn in streamed]
    assert [turn.answer for turn in whole] == [turn.answer for turn in streamed]
    assert [seal for turn in whole for block in turn.blocks for seal in block.seals] == [
        seal for turn in streamed for block in turn.blocks for seal in block.seals
    ]
