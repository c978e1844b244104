"""OpenAI's own library as the client, for Responses, Chat Completions and compatible APIs."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.simulators.rule_cases import Json

from thinkaloud.simulators import run_simulator

openai: Any = pytest.importorskip("openai", reason="the openai library is not installed")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TURN: Json = {
    "thinking": "Look it up.",
    "text": "One moment.",
    "tool_calls": [{"name": "get_weather", "arguments": {"city": "Lima"}}],
}
ASK: Json = {
    "model": "gpt-6-sol",
    "store": False,
    "include": ["reasoning.encrypted_content"],
    "reasoning": {"effort": "medium", "summary": "auto"},
    "tools": [{"type": "function", "name": "get_weather", "parameters": SCHEMA, "strict": False}],
    "input": [{"role": "user", "content": "Is it warm in Lima?"}],
}
CHAT: Json = {
    "messages": [{"role": "user", "content": "Is it warm in Lima?"}],
    "tools": [{"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}}],
}


def with_client(
    name: str, ask: Callable[[Any], Awaitable[None]], script: list[Json] | None = None, key: str = "sim-key"
) -> None:
    async def run_ask() -> None:
        async with run_simulator(name, script=script) as server:
            client = openai.AsyncOpenAI(api_key=key, base_url=server.base_url, max_retries=0)
            async with client:
                await ask(client)

    asyncio.run(run_ask())


def check_response(response: Any) -> None:
    types = openai.types.responses
    thought, message, call = response.output
    assert isinstance(response, types.Response)
    assert isinstance(thought, types.ResponseReasoningItem)
    assert (thought.summary[0].text, bool(thought.encrypted_content)) == ("Look it up.", True)
    assert isinstance(message, types.ResponseOutputMessage)
    assert response.output_text == "One moment."
    assert isinstance(call, types.ResponseFunctionToolCall)
    assert call.arguments == '{"city":"Lima"}'
    assert response.usage.output_tokens_details.reasoning_tokens == 3


def follow_up(response: Any) -> list[Any]:
    output = {"type": "function_call_output", "call_id": response.output[-1].call_id, "output": "18 degrees"}
    return [*ASK["input"], *response.output, output]


def test_responses_whole_and_tool_result() -> None:
    async def ask(client: Any) -> None:
        response = await client.responses.create(**ASK)
        check_response(response)
        assert (await client.responses.create(**ASK | {"input": follow_up(response)})).status == "completed"

    with_client("openai-responses", ask, [TURN])


def test_responses_streamed_and_tool_result() -> None:
    async def ask(client: Any) -> None:
        events = [event async for event in await client.responses.create(**ASK, stream=True)]
        deltas = [event.delta for event in events if event.type == "response.reasoning_summary_text.delta"]
        assert "".join(deltas) == "Look it up."
        assert isinstance(events[-1], openai.types.responses.ResponseCompletedEvent)
        check_response(events[-1].response)
        later = await client.responses.create(**ASK | {"input": follow_up(events[-1].response)}, stream=True)
        assert [event async for event in later][-1].type == "response.completed"

    with_client("openai-responses", ask, [TURN])


def test_responses_continue_a_stored_response() -> None:
    async def ask(client: Any) -> None:
        request = ASK | {"store": True}
        first = await client.responses.create(**request)
        later = request | {"input": follow_up(first)[-1:], "previous_response_id": first.id}
        assert (await client.responses.create(**later)).status == "completed"

    with_client("openai-responses", ask, [TURN])


def test_responses_refusals_are_the_librarys_errors() -> None:
    async def ask(client: Any) -> None:
        response = await client.responses.create(**ASK)
        follow_up_input = follow_up(response)
        with pytest.raises(openai.BadRequestError, match="without its required 'reasoning' item"):
            await client.responses.create(**ASK | {"input": [follow_up_input[0], *follow_up_input[2:]]})
        response.output[0].encrypted_content = "AAAA"
        with pytest.raises(openai.BadRequestError) as error_info:
            await client.responses.create(**ASK | {"input": follow_up(response)})
        assert error_info.value.code == "invalid_encrypted_content"
        response.output[0].encrypted_content = None
        with pytest.raises(openai.NotFoundError, match="Items are not persisted"):
            await client.responses.create(**ASK | {"input": follow_up(response)})

    with_client("openai-responses", ask, [TURN])


def test_key_and_rate_limit_are_the_librarys_errors() -> None:
    async def unknown(client: Any) -> None:
        with pytest.raises(openai.AuthenticationError):
            await client.responses.create(**ASK)

    async def limited(client: Any) -> None:
        with pytest.raises(openai.RateLimitError):
            await client.responses.create(**ASK)

    with_client("openai-responses", unknown, key="bad-key")
    with_client("openai-responses", limited, [TURN | {"fault": {"kind": "status", "status": 429}}])


@pytest.mark.parametrize(
    ("name", "model", "field"),
    [
        ("openai-chat", "gpt-6-sol", ""),
        ("deepseek", "deepseek-v4-pro", "reasoning_content"),
        ("kimi", "kimi-k2.6", "reasoning_content"),
        ("openrouter", "anthropic/claude-opus-5.5", "reasoning"),
        ("vllm", "qwen3-8b", "reasoning"),
    ],
)
def test_chat_whole_streamed_and_tool_result(name: str, model: str, field: str) -> None:
    async def ask(client: Any) -> None:
        request = CHAT | {"model": model}
        reply = await client.chat.completions.create(**request)
        assert isinstance(reply, openai.types.chat.ChatCompletion)
        message = reply.choices[0].message
        assert message.tool_calls[0].function.arguments == '{"city":"Lima"}'
        assert (message.model_extra or {}).get(field) == ("Look it up." if field else None)
        assert reply.usage.completion_tokens_details.reasoning_tokens == 3
        stream = await client.chat.completions.create(**request, stream=True)
        deltas = [chunk.choices[0].delta async for chunk in stream if chunk.choices]
        thought = "".join((delta.model_extra or {}).get(field) or "" for delta in deltas)
        assert thought == ("Look it up." if field else "")
        assert "".join(delta.content or "" for delta in deltas) == "One moment."
        result = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "18 degrees"}
        sent = message.model_dump(exclude_none=True)
        later = [*CHAT["messages"], sent, result]
        assert (await client.chat.completions.create(**request | {"messages": later})).choices

    with_client(name, ask, [TURN, TURN])


def test_chat_refusals_and_broken_streams_are_the_librarys_errors() -> None:
    async def ask(client: Any) -> None:
        request = CHAT | {"model": "deepseek-v4-pro"}
        reply = await client.chat.completions.create(**request)
        sent = reply.choices[0].message.model_dump(exclude_none=True, exclude={"reasoning_content"})
        result = {"role": "tool", "tool_call_id": sent["tool_calls"][0]["id"], "content": "18 degrees"}
        with pytest.raises(openai.BadRequestError, match="must be passed back"):
            await client.chat.completions.create(**request | {"messages": [*CHAT["messages"], sent, result]})
        stream = await client.chat.completions.create(**request, stream=True)
        with pytest.raises(openai.APIError, match="overloaded"):
            _ = [chunk async for chunk in stream]

    with_client("deepseek", ask, [TURN, TURN | {"fault": {"kind": "overload", "after_events": 3}}])


@pytest.mark.parametrize(
    "name", ["openai-responses", "openai-chat", "deepseek", "kimi", "openrouter", "vllm"]
)
def test_models_are_the_librarys_types(name: str) -> None:
    async def ask(client: Any) -> None:
        assert [model.id async for model in client.models.list()]

    with_client(name, ask)
