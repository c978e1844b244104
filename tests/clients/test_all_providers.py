"""Every endpoint with every provider, and a forgetful client whose gateway is killed half-way."""

import asyncio
import json
from pathlib import Path
from typing import Any

from tests.cli.environment import CATALOG_ROWS
from tests.clients.all_providers import start_with_simulators
from tests.gateway.gateway_process import Caller

from thinkaloud import Reader, fold

THOUGHT = "17 times 3 is 51, and 51 minus 9 is 42."
ANSWER = "It is 42."
MODELS = {
    "anthropic": "claude-opus-4-5",
    "openai-responses": "gpt-5",
    "openai-chat": "gpt-4.1",
    "openrouter": "anthropic/claude-sonnet-4.5",
    "deepseek": "deepseek-v4-pro",
    "kimi": "kimi-k2-thinking",
    "gemini": "gemini-3-pro-preview",
    "ollama": "qwen3:8b",
    "vllm": "qwen3-8b",
    "mistral": "magistral-medium-2509",
    "groq": "qwen/qwen3-32b",
    "xai": "grok-4",
    "bedrock": "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "cohere": "command-a-reasoning-08-2025",
}
"""A model of each simulated provider."""
HIDDEN = {"openai-chat", "xai"}
"""Providers that do not give thoughts away in their own format."""
MESSAGES = [{"role": "user", "content": "17 * 3 - 9?"}]
BODIES: dict[str, dict[str, Any]] = {
    "openai_chat": {"messages": MESSAGES, "reasoning_effort": "medium", "stream": True},
    "openai_responses": {"input": "17 * 3 - 9?", "reasoning": {"effort": "medium"}, "stream": True},
    "anthropic_messages": {
        "messages": MESSAGES,
        "max_tokens": 9000,
        "thinking": {"type": "enabled", "budget_tokens": 2000},
        "stream": True,
    },
    "ollama": {"messages": MESSAGES, "think": True},
    "ui_message_stream": {
        "messages": [{"id": "1", "role": "user", "parts": [{"type": "text", "text": "17 * 3 - 9?"}]}],
        "thinking": "medium",
    },
    "ag_ui": {
        "threadId": "t",
        "runId": "r",
        "messages": [{"id": "1", "role": "user", "content": "17 * 3 - 9?"}],
    },
}
PATHS = {
    "openai_chat": "/v1/chat/completions",
    "openai_responses": "/v1/responses",
    "anthropic_messages": "/v1/messages",
    "ollama": "/api/chat",
    "ui_message_stream": "/v1/ui-message-stream",
    "ag_ui": "/v1/ag-ui",
}
_DELTAS = {
    "reasoning-delta": "thought",
    "text-delta": "answer",
    "REASONING_MESSAGE_CONTENT": "thought",
    "TEXT_MESSAGE_CONTENT": "answer",
}


def read_response(dialect: str, data: bytes) -> tuple[str, str]:
    """Return the thoughts and the answer of a streamed response."""
    if not dialect.startswith(("ui_", "ag_")):
        reader = Reader(dialect)
        turn = fold(reader.feed(data) + reader.close())
        return turn.reasoning, turn.answer
    texts = {"thought": "", "answer": ""}
    for line in data.decode().splitlines():
        if line.startswith("data: {"):
            chunk = json.loads(line.removeprefix("data: "))
            if part := _DELTAS.get(chunk["type"]):
                texts[part] += chunk["delta"]
    return texts["thought"], texts["answer"]


async def ask_pair(caller: Caller, dialect: str, simulator: str) -> str:
    """Ask a provider through an endpoint, and return what is wrong; empty if nothing is."""
    model = f"{CATALOG_ROWS[simulator]}/{MODELS[simulator]}"
    body = BODIES[dialect] | {"model": model}
    if dialect == "ag_ui":
        body["forwardedProps"] = {"model": model, "thinking": "medium"}
    async with caller.http.post(caller.gateway.url + PATHS[dialect], json=body) as response:
        data = await response.read()
        if response.status != 200:
            return f"{response.status} {data.decode()[:300]}"
    thought, answer = read_response(dialect, data)
    if answer != ANSWER or (thought != THOUGHT and simulator not in HIDDEN):
        return f"{thought!r} {answer!r}"
    return ""


def test_every_endpoint_answers_from_every_provider(tmp_path: Path) -> None:
    """Any model behind any endpoint, with its thoughts where the provider gives them."""
    assert MODELS.keys() == CATALOG_ROWS.keys()

    async def story() -> dict[str, str]:
        scripts = {name: [{"thinking": THOUGHT, "text": ANSWER}] * len(PATHS) for name in MODELS}
        async with start_with_simulators(tmp_path, scripts) as caller:
            return {
                f"{dialect} from {simulator}": problem
                for simulator in MODELS
                for dialect in PATHS
                if (problem := await ask_pair(caller, dialect, simulator))
            }

    assert asyncio.run(story()) == {}


STEPS = 10
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}
STEP_SCRIPT: list[Any] = [
    {
        "thinking": f"Step {number}: look at the next city.",
        "tool_calls": [{"name": "get_weather", "arguments": {"city": f"City {number}"}}],
    }
    for number in range(STEPS)
] + [{"thinking": "All cities are known.", "text": "The warmest is City 3."}]
STRICT_MODELS = {
    "deepseek/deepseek-v4-pro": "deepseek",
    "moonshot/kimi-k2-thinking": "kimi",
    "gemini/gemini-3-pro-preview": "gemini",
    "anthropic/claude-opus-4-5": "anthropic",
    "anthropic/claude-opus-4.7": "anthropic",
    "anthropic/claude-opus-5.5": "anthropic",
}
"""Models that demand their thoughts back. Those of Anthropic think manually, adaptively and prefix-bound."""


async def forgetful_step(caller: Caller, model: str, messages: list[Any]) -> str:
    """Ask once, run the call, forget the thoughts and shorten the id of the call. Return the answer."""
    body = {"model": model, "messages": messages, "tools": [TOOL], "reasoning_effort": "high"}
    reply = await caller.call("POST", "/v1/chat/completions", body)
    message = reply["choices"][0]["message"]
    for call in message.get("tool_calls", ()):
        kept = {"id": call["id"][-9:], "type": "function", "function": call["function"]}
        messages.append({"role": "assistant", "content": None, "tool_calls": [kept]})
        messages.append({"role": "tool", "tool_call_id": kept["id"], "content": "18 degrees"})
    return message["content"] or ""


def test_forgetful_client_goes_on_after_the_gateway_was_killed(tmp_path: Path) -> None:
    """Ten steps with each strict model. The gateway is killed after the fifth, and restarted."""
    half = STEPS // 2

    async def story() -> None:
        simulators = list(STRICT_MODELS.values())
        scripts = {
            name: STEP_SCRIPT[:half] * simulators.count(name) + STEP_SCRIPT[half:] * simulators.count(name)
            for name in simulators
        }
        async with start_with_simulators(tmp_path, scripts) as caller:
            conversations: dict[str, list[Any]] = {
                model: [{"role": "user", "content": f"Where is it warmest, {model}?"}]
                for model in STRICT_MODELS
            }
            for model, messages in conversations.items():
                for _ in range(half):
                    assert await forgetful_step(caller, model, messages) == ""
            await caller.gateway.kill()
            await caller.gateway.start()
            for model, messages in conversations.items():
                for _ in range(STEPS - half):
                    assert await forgetful_step(caller, model, messages) == ""
                assert await forgetful_step(caller, model, messages) == "The warmest is City 3."
            sessions = (await caller.call("GET", "/api/sessions"))["items"]
            assert len(sessions) == len(STRICT_MODELS)

    asyncio.run(story())
