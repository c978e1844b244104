"""Options passed by name, answers with their value, plain messages, and blocking calls in an event loop."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from tests.cli.environment import running_simulator

import thinkaloud
from thinkaloud import BadOutput, Conversation, Options, Refused, ask, ask_sync, stream_sync
from thinkaloud.agents.conversation import ConversationOptions
from thinkaloud.client import Client
from thinkaloud.client.prepared_request import AskOptions, prepare
from thinkaloud.core.catalog import Catalog, builtin_catalog
from thinkaloud.core.context import AnsweredTurn
from thinkaloud.simulators import Simulator

MODEL = "deepseek/deepseek-v4-pro"


@dataclass
class Person:
    name: str
    age: int


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Simulator]:
    monkeypatch.setenv("DEEPSEEK_API_KEY", "any")
    person = {"thinking": "Somebody.", "text": json.dumps({"name": "Ada", "age": 36})}
    with running_simulator("deepseek", [person] * 8) as simulator:
        yield simulator


@pytest.fixture
def catalog(server: Simulator) -> Catalog:
    return builtin_catalog().with_base_url("deepseek", server.base_url)


def last_body(server: Simulator) -> dict[str, Any]:
    body: dict[str, Any] = server.requests[-1].body
    return body


def test_options_by_name_are_those_of_options() -> None:
    named = AskOptions.__optional_keys__ | {"thinking", "output"}
    assert named == set(Options.__struct_fields__)
    assert ConversationOptions.__optional_keys__ - {"messages"} < named


def test_options_are_taken_directly(server: Simulator, catalog: Catalog) -> None:
    turn = ask_sync(
        "Who?",
        model=MODEL,
        thinking="off",
        system="Be brief.",
        temperature=0.5,
        stop=["END"],
        catalog=catalog,
    )
    body = last_body(server)
    assert (body["temperature"], body["stop"]) == (0.5, ["END"])
    assert body["messages"][0] == {"role": "system", "content": "Be brief."}
    assert "Ada" in turn.answer


def test_a_name_that_is_no_option_is_refused() -> None:
    misspelt: Any = {"temprature": 1.0}
    with pytest.raises(TypeError, match="temprature"):
        ask_sync("Who?", model=MODEL, **misspelt)


def test_a_prepared_request_takes_no_options(catalog: Catalog) -> None:
    prepared = prepare("Who?", model=MODEL, options=Options(catalog=catalog))
    with pytest.raises(Refused, match="Pass temperature to `prepare`"):
        ask_sync(prepared, temperature=1.0)


def test_output_returns_the_value_with_the_turn(catalog: Catalog) -> None:
    person, turn = ask_sync("Who?", model=MODEL, output=Person, catalog=catalog)
    assert person == Person("Ada", 36)
    assert turn.reasoning == "Somebody."


def test_bad_output_has_the_turn(catalog: Catalog) -> None:
    with pytest.raises(BadOutput) as caught:
        ask_sync("Who?", model=MODEL, output={"type": "array"}, catalog=catalog)
    assert caught.value.turn.reasoning == "Somebody."


def test_blocking_calls_work_in_a_running_event_loop(catalog: Catalog) -> None:
    """Notebooks run one."""

    async def cell() -> tuple[str, str, str, str]:
        turn = ask_sync("Who?", model=MODEL, catalog=catalog)
        streamed = thinkaloud.fold(stream_sync("Who?", model=MODEL, catalog=catalog))
        conversation = Conversation(MODEL, catalog=catalog)
        asked = conversation.ask("Who?")
        "".join(delta.text for delta in conversation.stream("And?"))
        assert conversation.last is not None
        return turn.answer, streamed.answer, asked.answer, conversation.last.answer

    assert len(set(asyncio.run(cell()))) == 1


def test_leaving_a_blocking_stream_in_a_running_event_loop_closes_it(catalog: Catalog) -> None:
    async def cell() -> thinkaloud.Event:
        events = stream_sync("Who?", model=MODEL, catalog=catalog)
        first = next(events)
        events.close()
        return first

    assert asyncio.run(cell()) is not None


def test_an_open_client_is_refused(catalog: Catalog) -> None:
    """It belongs to the event loop that opened it."""

    async def cell() -> None:
        async with Client() as client:
            ask_sync("Who?", model=MODEL, catalog=catalog, client=client)

    with pytest.raises(Refused, match="already open"):
        asyncio.run(cell())


def test_an_error_in_the_thread_is_raised(catalog: Catalog) -> None:
    async def cell() -> None:
        ask_sync("Who?", model="nobody/none", catalog=catalog)

    with pytest.raises(Refused, match="Unknown model"):
        asyncio.run(cell())


MESSAGES: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Where is it warmest?"},
    {
        "role": "assistant",
        "content": "",
        "reasoning_content": "Look at Lima.",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Lima"}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "30 degrees"},
]


def test_a_conversation_continues_plain_messages_with_their_thoughts(
    server: Simulator, catalog: Catalog
) -> None:
    tool = thinkaloud.ToolDefinition("weather")
    conversation = Conversation(MODEL, messages=MESSAGES, tools=[tool], temperature=0.5, catalog=catalog)
    assert conversation.context.system == "Be brief."
    conversation.ask("And who says so?")
    body = last_body(server)
    assert [message["role"] for message in body["messages"]] == [
        *("system", "user", "assistant", "tool", "user"),
    ]
    assert body["messages"][2]["reasoning_content"] == "Look at Lima."


def test_a_conversation_continues_messages_of_anthropic() -> None:
    thought = {"type": "thinking", "thinking": "Look at Lima.", "signature": "c2VhbA=="}
    answer = {"role": "assistant", "content": [thought, {"type": "text", "text": "Lima."}]}
    conversation = Conversation(
        "anthropic/claude-opus-4-5", messages=[{"role": "user", "content": "Where?"}, answer]
    )
    step = conversation.context.steps[1]
    assert isinstance(step, AnsweredTurn)
    assert (step.turn.dialect, step.turn.reasoning) == ("anthropic_messages", "Look at Lima.")


def test_messages_that_cannot_be_read_are_refused() -> None:
    with pytest.raises(Refused, match="message without a role"):
        Conversation(MODEL, messages=[{"text": "Hi"}])
    with pytest.raises(Refused, match="`system` is set too"):
        Conversation(MODEL, system="Be long.", messages=MESSAGES)


def test_ask_in_an_event_loop_takes_the_same(catalog: Catalog) -> None:
    async def cell() -> Person:
        return (await ask("Who?", model=MODEL, output=Person, temperature=0, catalog=catalog)).value

    assert asyncio.run(cell()).age == 36
