"""Google's own library as the client: parts, signatures and errors are its own types."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.simulators.rule_cases import Json

from thinkaloud.simulators import run_simulator

pytestmark = pytest.mark.filterwarnings("ignore")
SCHEMA = {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}, "required": ["city"]}
MODEL = "gemini-3.1-pro-preview"
CONFIG: Json = {
    "thinking_config": {"include_thoughts": True, "thinking_level": "LOW"},
    "tools": [{"function_declarations": [{"name": "get_weather", "parameters": SCHEMA}]}],
    "automatic_function_calling": {"disable": True},
}
CALL = {"name": "get_weather", "arguments": {"city": "Lima"}}
TURN: Json = {"thinking": "Look it up.", "text": "One moment.", "tool_calls": [CALL, CALL]}


@pytest.fixture
def genai() -> Any:
    return pytest.importorskip("google.genai", reason="the google-genai library is not installed")


def with_client(
    genai: Any, ask: Callable[[Any], Awaitable[None]], script: list[Json] | None = None, key: str = "sim-key"
) -> None:
    async def run_ask() -> None:
        async with run_simulator("gemini", script=script) as server:
            client = genai.Client(api_key=key, http_options={"base_url": server.base_url, "timeout": 10_000})
            await ask(client.aio)
            await client.aio.aclose()
            client.close()

    asyncio.run(run_ask())


def check_parts(genai: Any, parts: list[Any]) -> None:
    assert all(isinstance(part, genai.types.Part) for part in parts)
    assert "".join(part.text for part in parts if part.thought) == "Look it up."
    assert "".join(part.text for part in parts if part.text and not part.thought) == "One moment."
    calls = [part for part in parts if part.function_call]
    assert [bool(part.thought_signature) for part in calls] == [True, False]
    assert calls[0].function_call.args == {"city": "Lima"}


def follow_up(genai: Any, parts: list[Any]) -> list[Any]:
    types = genai.types
    results = [
        types.Part.from_function_response(name="get_weather", response={"degrees": 18})
        for part in parts
        if part.function_call
    ]
    model_content = types.Content(role="model", parts=parts)
    request = types.Content(role="user", parts=[types.Part(text="Is it warm in Lima?")])
    return [request, model_content, types.Content(role="user", parts=results)]


def test_whole_response_and_tool_result(genai: Any) -> None:
    async def ask(client: Any) -> None:
        reply = await client.models.generate_content(model=MODEL, contents="Hi", config=CONFIG)
        parts = reply.candidates[0].content.parts
        check_parts(genai, parts)
        assert reply.usage_metadata.thoughts_token_count == 3
        later = follow_up(genai, parts)
        final = await client.models.generate_content(model=MODEL, contents=later, config=CONFIG)
        assert "simulated" in final.text

    with_client(genai, ask, [TURN])


def test_streamed_response_and_tool_result(genai: Any) -> None:
    async def ask(client: Any) -> None:
        stream = await client.models.generate_content_stream(model=MODEL, contents="Hi", config=CONFIG)
        chunks = [chunk async for chunk in stream]
        parts = [part for chunk in chunks for part in chunk.candidates[0].content.parts]
        check_parts(genai, parts)
        assert chunks[-1].candidates[0].finish_reason == genai.types.FinishReason.STOP
        later = follow_up(genai, parts)
        final = await client.models.generate_content(model=MODEL, contents=later, config=CONFIG)
        assert "simulated" in final.text

    with_client(genai, ask, [TURN])


def test_refusals_are_the_librarys_errors(genai: Any) -> None:
    async def ask(client: Any) -> None:
        reply = await client.models.generate_content(model=MODEL, contents="Hi", config=CONFIG)
        parts = reply.candidates[0].content.parts
        for part in parts:
            part.thought_signature = None
        with pytest.raises(genai.errors.ClientError, match="missing a thought_signature"):
            await client.models.generate_content(model=MODEL, contents=follow_up(genai, parts), config=CONFIG)
        config = {"thinking_config": {"thinking_budget": 0}}
        with pytest.raises(genai.errors.ClientError, match="Budget 0 is invalid"):
            await client.models.generate_content(model="gemini-2.5-pro", contents="Hi", config=config)

    with_client(genai, ask, [TURN])


def test_a_wrong_key_and_overload_are_the_librarys_errors(genai: Any) -> None:
    async def unknown(client: Any) -> None:
        with pytest.raises(genai.errors.ClientError, match="API key not valid"):
            await client.models.generate_content(model=MODEL, contents="Hi")

    async def overloaded(client: Any) -> None:
        with pytest.raises(genai.errors.ServerError):
            await client.models.generate_content(model=MODEL, contents="Hi")

    with_client(genai, unknown, key="bad-key")
    with_client(genai, overloaded, [TURN | {"fault": {"kind": "status", "status": 503, "times": 9}}])


def test_models_are_the_librarys_types(genai: Any) -> None:
    async def ask(client: Any) -> None:
        assert (await client.models.get(model=MODEL)).thinking
        assert [model.name async for model in await client.models.list()]

    with_client(genai, ask)
