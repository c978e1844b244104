"""Answers of a requested shape, from every simulator: what is asked for is accepted, and the answer fits."""

import asyncio
import json
from typing import NamedTuple

import pytest
from tests.simulators.rule_cases import (
    ANY_JSON,
    CLOSED_SCHEMA,
    Json,
    post_json,
    schema_format,
    with_simulator,
)

from thinkaloud.client import Options, ask, prepare
from thinkaloud.client.output import parse_output
from thinkaloud.core.canon.requests import ToolDefinition
from thinkaloud.core.catalog import builtin_texts, parse_catalog
from thinkaloud.core.transcript import Turn
from thinkaloud.simulators import Simulator, run_simulator
from thinkaloud.simulators.output_rules import claude_violation, strict_violation

KEY = "SHAPE_KEY"
SHAPE: Json = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "people": {"type": "integer", "maximum": 9},
        "kind": {"enum": ["town", "city"]},
    },
    "required": ["name", "people"],
}
OPEN_SHAPE: Json = {
    "type": "object",
    "properties": {"words": {"type": "object", "additionalProperties": {"type": "integer"}}},
    "required": ["words"],
}


class Target(NamedTuple):
    """A model at a provider, the simulator of it, and the path of its base address."""

    model: str
    simulator: str
    path: str = "/v1"
    thinking: str | None = None

    @property
    def provider(self) -> str:
        return self.model.partition("/")[0]


TARGETS = (
    Target("anthropic/claude-opus-4-5", "anthropic", thinking="high"),
    Target("anthropic/claude-sonnet-4", "anthropic"),
    Target("openai/gpt-5", "openai-responses", thinking="high"),
    Target("openai/gpt-4o", "openai-responses"),
    Target("openai-chat/gpt-5", "openai-chat"),
    Target("openrouter/anthropic/claude-sonnet-4.5", "openrouter", "/api/v1", "high"),
    Target("deepseek/deepseek-v4-pro", "deepseek", "", "high"),
    Target("moonshot/kimi-k2-thinking", "kimi"),
    Target("gemini/gemini-2.5-flash", "gemini", "/v1beta", "high"),
    Target("gemini/gemini-3.1-pro-preview", "gemini", "/v1beta", "high"),
    Target("ollama/qwen3", "ollama", "", "high"),
    Target("vllm/qwen3-8b", "vllm", thinking="high"),
    Target("mistral/magistral-medium-2509", "mistral"),
    Target("groq/openai/gpt-oss-20b", "groq", "/openai/v1"),
    Target("xai/grok-4", "xai"),
    Target("cohere/command-a-reasoning", "cohere", "/v2", "high"),
)


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, "sim-key")


def ask_simulator(target: Target, shape: Json, tools: tuple[ToolDefinition, ...] = ()) -> Turn:
    """Ask for a shape, and return the answer to a request that was not refused."""

    async def scenario() -> Turn:
        async with run_simulator(target.simulator) as server:
            row = (
                f'[providers.{target.provider}]\nbase_url = "{server.url}{target.path}"\nkey = "env:{KEY}"\n'
            )
            options = Options(output=shape, tools=tools, catalog=parse_catalog(*builtin_texts(), row))
            turn = await ask(prepare("Where?", model=target.model, thinking=target.thinking, options=options))
            assert server.refusals == []
            return turn

    return asyncio.run(scenario())


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.model)
def test_every_simulator_takes_the_shape_and_answers_with_it(target: Target) -> None:
    turn = ask_simulator(target, SHAPE)
    takes_schema = target.model not in ("anthropic/claude-sonnet-4",)
    by_json_only = target.simulator in ("deepseek", "kimi", "groq")
    if takes_schema and not by_json_only:
        assert parse_output(turn, SHAPE) == {"name": "simulated", "people": 0}
    elif by_json_only:
        assert json.loads(turn.answer) == {}, "such a service does not know the schema"
    if target.thinking:
        assert turn.reasoning, "thinking goes on beside a shape"


def test_open_objects_are_not_sent_to_claude_as_a_schema() -> None:
    """Claude's service refuses them, so the system prompt asks for them."""
    ask_simulator(TARGETS[0], OPEN_SHAPE)


def test_strict_mode_needs_all_fields_and_closed_objects_at_any_depth() -> None:
    inner = {"type": "object", "properties": {"a": {}}, "required": [], "additionalProperties": False}
    nested = CLOSED_SCHEMA | {"properties": {"city": {"anyOf": [{"items": inner}]}}}
    violation = strict_violation(schema_format(nested), "response_format")
    assert violation
    assert "Missing 'a'" in violation.message
    assert "('properties', 'city', 'anyOf', 0, 'items')" in violation.message
    assert strict_violation(schema_format(nested, strict=False), "response_format") is None


def test_claude_refuses_bounds() -> None:
    violation = claude_violation({"type": "integer", "minimum": 1}, "schema")
    assert violation
    assert violation.message == "schema: For 'integer' type, property 'minimum' is not supported"


@pytest.mark.parametrize(
    ("simulator", "path", "model"), [("openai-chat", "/v1", "gpt-4o"), ("deepseek", "", "deepseek-chat")]
)
def test_json_needs_the_word_in_a_message(simulator: str, path: str, model: str) -> None:
    async def scenario(server: Simulator) -> list[int]:
        statuses = []
        for words in ("Where?", "Where? Use JSON."):
            body = {
                "model": model,
                "messages": [{"role": "user", "content": words}],
                "response_format": ANY_JSON,
            }
            statuses.append((await post_json(server, f"{path}/chat/completions", body)).status)
        return statuses

    assert with_simulator(simulator, scenario) == [400, 200]


def test_a_second_user_agent_is_accepted() -> None:
    """aiohttp refuses it; providers do not, and some clients send two."""

    async def scenario(server: Simulator) -> bytes:
        body = json.dumps(
            {"model": "deepseek-chat", "messages": [{"role": "user", "content": "Hi"}]}
        ).encode()
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(
            b"POST /chat/completions HTTP/1.1\r\nHost: localhost\r\nUser-Agent: first/1\r\n"
            b"Authorization: Bearer k\r\nuser-agent: second/2\r\nConnection: close\r\n"
            b"Content-Length: %d\r\n\r\n" % len(body) + body
        )
        response = await reader.read()
        writer.close()
        assert server.requests[0].headers["user-agent"] == "second/2"
        return response

    assert with_simulator("deepseek", scenario).startswith(b"HTTP/1.1 200 ")
