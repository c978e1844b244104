"""Reads the twelve cases through a framework, and holds tool conversations with strict simulators.

It runs in the environment of that framework, once with the framework's own model for OpenAI and once with
ours, and prints what was right as JSON: python -m tests.integrations.measure_framework NAME
"""

import asyncio
import json
import logging
import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from importlib.metadata import version
from typing import Any, NamedTuple

from tests.integrations.reasoning_cases import CASES, Case, serve

from thinkaloud.core.canon import ProviderFault
from thinkaloud.core.transcript.turn import SEPARATOR
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


async def openai_agents(target: Target, *, tools: bool) -> Seen:
    """Run an agent of the OpenAI Agents SDK, or ask its model alone if there are no tools."""
    from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool
    from openai import AsyncOpenAI

    from thinkaloud.integrations.openai_agents import ThinkaloudAgentsModel

    model: Any = OpenAIChatCompletionsModel(
        target.model, AsyncOpenAI(base_url=target.url, api_key="any-key", max_retries=0)
    )
    if target.ours:
        model = ThinkaloudAgentsModel(f"{target.provider}/{target.model}", base_url=target.url)
    if not tools:
        return _seen_items(await _openai_agents_output(model, target.streamed))
    agent = Agent("Weather", model=model, tools=[function_tool(get_weather), function_tool(get_date)])
    if target.streamed:
        result: Any = Runner.run_streamed(agent, QUESTION)
        async for _ in result.stream_events():
            pass
    else:
        result = await Runner.run(agent, QUESTION)
    return _seen_items([item for response in result.raw_responses for item in response.output])


async def _openai_agents_output(model: Any, streamed: bool) -> Any:
    from agents import ModelSettings
    from agents.models.interface import ModelTracing

    asked: Any = (None, QUESTION, ModelSettings(), [], None, [], ModelTracing.DISABLED)
    stored = {"previous_response_id": None, "conversation_id": None, "prompt": None}
    if not streamed:
        return (await model.get_response(*asked, **stored)).output
    events = [event async for event in model.stream_response(*asked, **stored)]
    return events[-1].response.output


def _seen_items(items: list[Any]) -> Seen:
    thoughts = [part.text for item in items if item.type == "reasoning" for part in item.summary]
    texts = [part.text for item in items if item.type == "message" for part in item.content]
    return Seen("".join(thoughts), "".join(texts), sum(item.type == "function_call" for item in items))


async def llama_index(target: Target, *, tools: bool) -> Seen:
    """Ask LlamaIndex's LLM, or its agent for functions if there are tools."""
    from llama_index.core.agent.workflow import FunctionAgent
    from llama_index.core.llms import ChatMessage
    from llama_index.core.memory import Memory
    from llama_index.llms.openai_like import OpenAILike

    from thinkaloud.integrations.llama_index import ThinkaloudLLM

    kind = {"is_chat_model": True, "is_function_calling_model": True}
    model: Any = OpenAILike(model=target.model, api_base=target.url, api_key="any-key", max_retries=0, **kind)
    if target.ours:
        model = ThinkaloudLLM(model=f"{target.provider}/{target.model}", base_url=target.url)
    if tools:
        memory = Memory.from_defaults()
        agent = FunctionAgent(llm=model, tools=[get_weather, get_date], streaming=target.streamed)
        await agent.run(QUESTION, memory=memory)
        replies = [message for message in await memory.aget_all() if message.role == "assistant"]
    elif target.streamed:
        parts = [part async for part in await model.astream_chat([ChatMessage(QUESTION)])]
        replies = [parts[-1].message]
    else:
        replies = [(await model.achat([ChatMessage(QUESTION)])).message]
    blocks = [block for reply in replies for block in reply.blocks]
    thoughts = [block.content or "" for block in blocks if block.block_type == "thinking"]
    texts = [block.text for block in blocks if block.block_type == "text"]
    return Seen("".join(thoughts), "".join(texts), sum(block.block_type == "tool_call" for block in blocks))


async def litellm(target: Target, *, tools: bool) -> Seen:
    """Ask through LiteLLM, again with the results while there are calls."""
    import litellm

    from thinkaloud.integrations.litellm import register

    register()
    settings: dict[str, Any] = {"model": f"openai/{target.model}", "api_key": "any-key", "max_retries": 0}
    if target.ours:
        settings = {"model": f"thinkaloud/{target.provider}/{target.model}"}
    settings |= {"api_base": target.url, "stream": target.streamed}
    functions = {function.__name__: function for function in (get_weather, get_date)}
    if tools:
        settings["tools"] = [{"type": "function", "function": {"name": name}} for name in functions]
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    while True:
        response: Any = await litellm.acompletion(messages=messages, **settings)
        if target.streamed:
            response = litellm.stream_chunk_builder([chunk async for chunk in response])
        messages.append(response.choices[0].message)
        calls = messages[-1].tool_calls or []
        if not tools or not calls:
            break
        for call in calls:
            result = functions[call.function.name](**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
    replies = [message for message in messages if message["role"] == "assistant"]
    return Seen(
        "".join(_joined_thoughts(reply.get("reasoning_content")) for reply in replies),
        "".join(reply.content or "" for reply in replies),
        sum(len(reply.tool_calls or ()) for reply in replies),
    )


def _joined_thoughts(text: str | None) -> str:
    """Return what is in the one field for all thoughts, without the blank lines between them."""
    return "".join((text or "").split(SEPARATOR))


async def agno(target: Target, *, tools: bool) -> Seen:
    """Run an agent of Agno, or ask its model alone if there are no tools."""
    from agno.agent import Agent
    from agno.models.openai.like import OpenAILike

    from thinkaloud.integrations.agno import Thinkaloud

    model: Any = OpenAILike(id=target.model, base_url=target.url, api_key="any-key", max_retries=0)
    if target.ours:
        model = Thinkaloud(id=f"{target.provider}/{target.model}", base_url=target.url)
    if not tools:
        replies = [await _agno_reply(model, target.streamed)]
    else:
        agent = Agent(model=model, tools=[get_weather, get_date], telemetry=False)
        if target.streamed:
            events = [event async for event in agent.arun(QUESTION, stream=True, yield_run_output=True)]
            result: Any = events[-1]
        else:
            result = await agent.arun(QUESTION)
        replies = [message for message in result.messages if message.role == "assistant"]
    return Seen(
        "".join(_joined_thoughts(reply.reasoning_content) for reply in replies),
        "".join(reply.content or "" for reply in replies),
        sum(len(reply.tool_calls or ()) for reply in replies),
    )


async def _agno_reply(model: Any, streamed: bool) -> Any:
    """Return the message as Agno makes it of the response, without running the calls."""
    from agno.metrics import MessageMetrics
    from agno.models.base import MessageData
    from agno.models.message import Message

    reply = Message(role="assistant", metrics=MessageMetrics())
    asked = {"messages": [Message(role="user", content=QUESTION)], "assistant_message": reply}
    if not streamed:
        model._populate_assistant_message(reply, await model.ainvoke(**asked))
        return reply
    data = MessageData()
    async for delta in model.ainvoke_stream(**asked):
        for _ in model._populate_stream_data(data, delta):
            pass
    model._populate_assistant_message_from_stream_data(reply, data)
    return reply


class Framework(NamedTuple):
    """A framework: the packages whose versions count, and the function that asks through it."""

    packages: tuple[str, ...]
    ask: Callable[..., Awaitable[Seen]]


FRAMEWORKS = {
    "agno": Framework(("agno", "openai"), agno),
    "langchain": Framework(("langchain", "langchain-openai", "langgraph"), langchain),
    "litellm": Framework(("litellm", "mcp"), litellm),
    "llama_index": Framework(("llama-index-core", "llama-index-llms-openai-like"), llama_index),
    "openai_agents": Framework(("openai-agents", "openai"), openai_agents),
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
        except Exception as error:
            logger.exception("A broken stream raises")
            return any(isinstance(cause, ProviderFault) for cause in _causes(error))
    return False


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and those that led to it: some frameworks raise errors of their own instead."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


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


ENVIRONMENT = {
    **{f"{vendor}_API_KEY": "any-key" for vendor in ("DEEPSEEK", "OPENROUTER", "MOONSHOT", "OPENAI")},
    # What the frameworks would send to or fetch from other hosts.
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "AGNO_TELEMETRY": "false",
}

if __name__ == "__main__":
    os.environ |= ENVIRONMENT
    print(json.dumps(asyncio.run(measure(sys.argv[1]))))
