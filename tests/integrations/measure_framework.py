"""Reads the twelve cases through a framework, and holds tool conversations with strict simulators.

It runs in the environment of that framework, once with the framework's own model for OpenAI and once with
ours, and prints what was right as JSON: python -m tests.integrations.measure_framework NAME
"""

import asyncio
import json
import logging
import os
import sys
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import Any, NamedTuple

from tests.integrations.reasoning_cases import CASES, Case, serve

from thinkaloud.core.canon import ProviderFault
from thinkaloud.simulators import run_simulator

logger = logging.getLogger(__name__)
QUESTION = "Where is it warmest?"
CALL = {"name": "get_weather", "arguments": {"city": "Lima"}}
ANSWER = {"thinking": "18 degrees.", "text": "In Lima."}
LOOP = (
    {"thinking": "Look up Lima.", "tool_calls": [CALL]},
    {"thinking": "And when?", "tool_calls": [{"name": "get_date", "arguments": {}}, CALL]},
    ANSWER,
)
PROVIDERS = (
    ("deepseek", "deepseek", "deepseek-v4-pro"),
    ("openrouter", "openrouter", "anthropic/claude-sonnet-4.5"),
    ("openrouter", "openrouter", "openai/gpt-5"),
    ("openrouter", "openrouter", "google/gemini-3-pro-preview"),
    ("kimi", "moonshot", "kimi-k2-thinking"),
    ("vllm", "vllm", "qwen3-8b"),
)
"""Simulators with Chat Completions, the providers they stand for, and a model that thinks."""


class Target(NamedTuple):
    """Who is asked, and how."""

    provider: str
    model: str
    url: str
    ours: bool
    streamed: bool


class Seen(NamedTuple):
    """What a program gets of a whole conversation."""

    thought: str
    answer: str
    calls: int


def get_weather(city: str) -> str:
    """Return the weather of a city."""
    return f"18 degrees in {city}"


def get_date() -> str:
    """Return the date."""
    return "2026-01-02"


async def langchain(target: Target, *, tools: bool) -> Seen:
    """Ask LangChain's chat model, or LangGraph's agent if there are tools."""
    from langchain.agents import create_agent
    from langchain_core.messages import AIMessage
    from langchain_openai import ChatOpenAI

    from thinkaloud.integrations.langchain import ThinkaloudChat

    model: Any = ChatOpenAI(model=target.model, base_url=target.url, api_key="any-key")
    if target.ours:
        model = ThinkaloudChat(model=f"{target.provider}/{target.model}", base_url=target.url)
    if tools:
        agent, state = create_agent(model, [get_weather, get_date]), {"messages": [("user", QUESTION)]}
        if target.streamed:
            async for mode, item in agent.astream(state, stream_mode=["messages", "values"]):
                state = item if mode == "values" else state
        else:
            state = await agent.ainvoke(state)
        replies = [message for message in state["messages"] if isinstance(message, AIMessage)]
    elif target.streamed:
        chunks = [chunk async for chunk in model.astream(QUESTION)]
        replies = [sum(chunks[1:], chunks[0])]
    else:
        replies = [await model.ainvoke(QUESTION)]
    blocks = [block for reply in replies for block in reply.content_blocks]
    thoughts = [block.get("reasoning", "") for block in blocks if block["type"] == "reasoning"]
    calls = sum(len(reply.tool_calls) for reply in replies)
    return Seen("".join(thoughts), "".join(str(reply.text) for reply in replies), calls)


async def pydantic_ai(target: Target, *, tools: bool) -> Seen:
    """Run an agent of Pydantic AI, or ask its model alone if there are no tools."""
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    from thinkaloud.integrations.pydantic_ai import ThinkaloudModel

    provider = OpenAIProvider(base_url=target.url, api_key="any-key")
    model: Any = OpenAIChatModel(target.model, provider=provider)
    if target.ours:
        model = ThinkaloudModel(f"{target.provider}/{target.model}", base_url=target.url)
    if not tools:
        return _seen_parts([await _pydantic_ai_response(model, ModelRequestParameters(), target.streamed)])
    agent = Agent(model, tools=[get_weather, get_date])
    if target.streamed:
        async with agent.run_stream(QUESTION) as result:
            await result.get_output()
        messages = result.all_messages()
    else:
        messages = (await agent.run(QUESTION)).all_messages()
    return _seen_parts([message for message in messages if isinstance(message, ModelResponse)])


async def _pydantic_ai_response(model: Any, parameters: Any, streamed: bool) -> Any:
    from pydantic_ai.messages import ModelRequest, UserPromptPart

    messages = [ModelRequest([UserPromptPart(QUESTION)])]
    if not streamed:
        return await model.request(messages, None, parameters)
    async with model.request_stream(messages, None, parameters) as response:
        async for _ in response:
            pass
        return response.get()


def _seen_parts(responses: list[Any]) -> Seen:
    parts = [part for response in responses for part in response.parts]
    texts = {
        kind: "".join(part.content for part in parts if part.part_kind == kind)
        for kind in ("thinking", "text")
    }
    return Seen(texts["thinking"], texts["text"], sum(part.part_kind == "tool-call" for part in parts))


class Framework(NamedTuple):
    """A framework: the packages whose versions count, and the function that asks through it."""

    packages: tuple[str, ...]
    ask: Callable[..., Awaitable[Seen]]


FRAMEWORKS = {
    "langchain": Framework(("langchain", "langchain-openai", "langgraph"), langchain),
    "pydantic_ai": Framework(("pydantic-ai-slim", "openai"), pydantic_ai),
}


async def read_case(framework: Framework, case: Case, *, ours: bool, streamed: bool) -> bool:
    """Return whether a program gets thought, answer and calls of a case, exactly."""
    async with serve(case) as url:
        try:
            seen = await framework.ask(Target("vllm", case.model, url, ours, streamed), tools=False)
        except Exception:
            logger.exception("%s is not read", case.name)
            return False
    if ours and seen != (case.thought, case.answer, case.calls):
        logger.error("%s is read as %s", case.name, seen)
    return seen == (case.thought, case.answer, case.calls)


async def hold_loop(framework: Framework, place: int, *, ours: bool, streamed: bool) -> bool:
    """Return whether a strict simulator accepts a conversation with a tool, thoughts and all."""
    simulator, provider, model = PROVIDERS[place]
    async with run_simulator(simulator, script=list(LOOP)) as server:
        target = Target(provider, model, server.base_url, ours, streamed)
        try:
            seen = await framework.ask(target, tools=True)
        except Exception:
            logger.exception("%s refuses", model)
            return False
        return seen.answer == "In Lima." and not server.refusals


async def raises_when_cut(framework: Framework) -> bool:
    """Return whether a program learns that a stream broke off in the middle of the answer."""
    fault = {"kind": "cut", "after_events": 3}
    async with run_simulator("deepseek", script=[{**ANSWER, "fault": fault}]) as server:
        target = Target("deepseek", "deepseek-v4-pro", server.base_url, ours=True, streamed=True)
        try:
            await framework.ask(target, tools=False)
        except ProviderFault:
            return True
    return False


async def measure(name: str) -> dict[str, Any]:
    """Return the versions, and for each way of asking the cases that are right and the loops accepted."""
    framework, results = FRAMEWORKS[name], {}
    for ours in (False, True):
        for streamed in (False, True):
            ways = {"ours": ours, "streamed": streamed}
            results[f"{'with' if ours else 'without'} {'streamed' if streamed else 'whole'}"] = {
                "cases": [await read_case(framework, case, **ways) for case in CASES],
                "loops": [await hold_loop(framework, place, **ways) for place in range(len(PROVIDERS))],
            }
    versions = {package: version(package) for package in framework.packages}
    return {"versions": versions, "results": results, "raises": await raises_when_cut(framework)}


if __name__ == "__main__":
    os.environ |= {
        f"{vendor}_API_KEY": "any-key" for vendor in ("DEEPSEEK", "OPENROUTER", "MOONSHOT", "OPENAI")
    }
    print(json.dumps(asyncio.run(measure(sys.argv[1]))))
