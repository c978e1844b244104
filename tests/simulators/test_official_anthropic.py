"""Anthropic's own library as the client: it reads its own types and errors from the simulator."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.simulators.rule_cases import Json

from thinkaloud.simulators import run_simulator

anthropic: Any = pytest.importorskip("anthropic", reason="the anthropic library is not installed")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
ASK: Json = {
    "model": "claude-opus-5-5",
    "max_tokens": 4096,
    "thinking": {"type": "adaptive", "display": "summarized"},
    "tools": [{"name": "get_weather", "input_schema": SCHEMA}],
    "messages": [{"role": "user", "content": "Is it warm in Lima?"}],
}
TURN: Json = {
    "thinking": "Look it up.",
    "text": "One moment.",
    "tool_calls": [{"name": "get_weather", "arguments": {"city": "Lima"}}],
}


def with_client(
    ask: Callable[[Any], Awaitable[None]], script: list[Json] | None = None, key: str = "sim-key"
) -> None:
    async def run_ask() -> None:
        async with run_simulator("anthropic", script=script) as server:
            client = anthropic.AsyncAnthropic(api_key=key, base_url=server.base_url, max_retries=0)
            async with client:
                await ask(client)

    asyncio.run(run_ask())


def check_message(message: Any) -> None:
    thought, text, call = message.content
    assert isinstance(message, anthropic.types.Message)
    assert isinstance(thought, anthropic.types.ThinkingBlock)
    assert (thought.thinking, bool(thought.signature)) == ("Look it up.", True)
    assert isinstance(text, anthropic.types.TextBlock)
    assert isinstance(call, anthropic.types.ToolUseBlock)
    assert (call.name, call.input) == ("get_weather", {"city": "Lima"})
    assert message.stop_reason == "tool_use"
    assert message.usage.output_tokens_details.thinking_tokens == 3


def follow_up(message: Any) -> list[Any]:
    """Return the conversation with the library's own message and the result of its call."""
    result = {"type": "tool_result", "tool_use_id": message.content[-1].id, "content": "18 degrees"}
    assistant_message = {"role": "assistant", "content": message.content}
    return [*ASK["messages"], assistant_message, {"role": "user", "content": [result]}]


def test_whole_response_and_tool_result() -> None:
    async def ask(client: Any) -> None:
        message = await client.messages.create(**ASK)
        check_message(message)
        final = await client.messages.create(**ASK | {"messages": follow_up(message)})
        assert final.stop_reason == "end_turn"

    with_client(ask, [TURN])


def test_streamed_response_and_tool_result() -> None:
    async def ask(client: Any) -> None:
        async with client.messages.stream(**ASK) as stream:
            thoughts = [event.thinking async for event in stream if event.type == "thinking"]
            message = await stream.get_final_message()
        assert "".join(thoughts) == "Look it up."
        check_message(message)
        async with client.messages.stream(**ASK | {"messages": follow_up(message)}) as stream:
            assert (await stream.get_final_message()).content[-1].type == "text"

    with_client(ask, [TURN])


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_tool_runner_completes_a_loop_over_a_thread(stream: bool) -> None:
    """The library sends the conversation once. Each later request has the new results and an id only."""

    async def get_weather(city: str) -> str:
        """The weather in a city."""
        return f"18 degrees in {city}"

    async def run_ask() -> None:
        script = [TURN, TURN, TURN, {"thinking": "All is known.", "text": "Yes."}]
        async with run_simulator("anthropic", script=script) as server:
            client = anthropic.AsyncAnthropic(api_key="sim-key", base_url=server.base_url, max_retries=0)
            async with client:
                request = ASK | {"tools": [anthropic.beta_async_tool(get_weather)], "system": "Be short."}
                final = await client.beta.messages.tool_runner(**request, stream=stream).until_done()
            threads = [received.body["thread"]["type"] for received in server.requests]
            assert final.content[-1].text == "Yes."
            assert threads == ["create", "continue", "continue", "continue"]
            assert [len(received.body["messages"]) for received in server.requests] == [1, 1, 1, 1]
            assert server.refusals == []

    asyncio.run(run_ask())


def test_library_replays_a_thread_that_the_simulator_lost() -> None:
    async def ask(client: Any) -> None:
        thread = client.beta.messages.thread(**ASK | {"tools": [], "messages": []})
        await thread.send({"role": "user", "content": "Hello."})
        thread._state._thread.previous_message_id = "msg_none"
        assert (await thread.send({"role": "user", "content": "And now?"})).stop_reason == "end_turn"
        assert len(thread.messages) == 4

    with_client(ask, [{"text": "Hello."}, {"text": "Now too."}])


def test_a_redacted_thought() -> None:
    async def ask(client: Any) -> None:
        message = await client.messages.create(**ASK)
        assert isinstance(message.content[0], anthropic.types.RedactedThinkingBlock)

    with_client(ask, [TURN | {"redacted": True}])


def test_refusals_are_the_librarys_errors() -> None:
    async def ask(client: Any) -> None:
        message = await client.messages.create(**ASK)
        message.content[0].thinking = "Something else."
        with pytest.raises(anthropic.BadRequestError, match="Invalid `signature`"):
            await client.messages.create(**ASK | {"messages": follow_up(message)})
        with pytest.raises(anthropic.NotFoundError):
            await client.messages.create(**ASK | {"model": "claude-none"})

    with_client(ask, [TURN])


def test_a_wrong_key_and_faults_are_the_librarys_errors() -> None:
    async def unknown(client: Any) -> None:
        with pytest.raises(anthropic.AuthenticationError):
            await client.messages.create(**ASK)

    async def limited(client: Any) -> None:
        with pytest.raises(anthropic.RateLimitError) as error_info:
            await client.messages.create(**ASK)
        assert error_info.value.response.headers["retry-after"] == "7"
        with pytest.raises(anthropic.APIStatusError, match="Overloaded"):
            async with client.messages.stream(**ASK) as stream:
                await stream.get_final_message()

    with_client(unknown, key="bad-key")
    faults = [{"kind": "status", "status": 429, "retry_after": 7, "again": False}]
    faults.append({"kind": "overload", "after_events": 4})
    with_client(limited, [TURN | {"fault": fault} for fault in faults])


def test_models_are_the_librarys_types() -> None:
    async def ask(client: Any) -> None:
        model = await client.models.retrieve("claude-opus-5-5")
        assert model.capabilities.thinking.types.adaptive.supported
        assert not model.capabilities.thinking.types.disabled.supported
        assert [one.id async for one in client.models.list()]

    with_client(ask)


def test_dropped_blocks_are_the_librarys_types() -> None:
    async def ask(client: Any) -> None:
        betas = ["thinking-binding-controls-2026-08-01"]
        binding = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
        request = ASK | {"thinking": binding, "betas": betas}
        message = await client.beta.messages.create(**request)
        changed = request | {"messages": follow_up(message), "system": "It is Tuesday."}
        reply = await client.beta.messages.create(**changed)
        assert [one.reason for one in reply.input_transformations] == ["prefix_binding_mismatch"]

    with_client(ask, [TURN])
