"""A scripted provider: each conversation has its own replies, which can be paused or cut anywhere.

A conversation is identified by its first prompt: the user's prompt, or the task of an assistant.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeVar

from tests.client.upstream import (
    STREAM,
    FakeSleep,
    UpstreamRequest,
    chat_delta,
    http_response,
    serve_upstream,
    sse_event,
)
from tests.patience import PATIENCE_S

from thinkaloud.agents.run import Run, RunContext
from thinkaloud.agents.spec import Agent, RunLimits
from thinkaloud.agents.tools import Tool
from thinkaloud.client.http import Client, ClientEnvironment
from thinkaloud.client.retry import RetryPolicy
from thinkaloud.core.canon import Entry, Event
from thinkaloud.core.canon import requests as canon
from thinkaloud.core.canon.requests import UserMessage
from thinkaloud.core.catalog import builtin_catalog
from thinkaloud.core.context import Step

PROMPT = "What is it like in Lima?"
T = TypeVar("T")


@dataclass(frozen=True)
class Think:
    """A thought."""

    text: str


@dataclass(frozen=True)
class Say:
    """A text."""

    text: str


@dataclass(frozen=True)
class Call:
    """A call of a tool, or of an assistant by its tool name."""

    name: str
    arguments: str = "{}"


@dataclass(frozen=True)
class PartialCall:
    """A call with incomplete arguments."""

    name: str
    arguments: str


@dataclass(frozen=True)
class Hold:
    """Pauses the reply until the gate is opened; `reached` is set when it pauses."""

    gate: asyncio.Event = field(default_factory=asyncio.Event)
    reached: asyncio.Event = field(default_factory=asyncio.Event)

    async def wait(self) -> None:
        self.reached.set()
        await self.gate.wait()


@dataclass(frozen=True)
class Cut:
    """The connection breaks."""


@dataclass(frozen=True)
class ErrorStatus:
    """An HTTP error instead of a reply."""

    code: int


@dataclass(frozen=True)
class FinishReason:
    """The finish reason, where it does not follow from the reply."""

    finish: str


Line = Think | Say | Call | PartialCall | Hold | Cut | ErrorStatus | FinishReason
Reply = tuple[Line, ...]


def delegate(name: str, task: str) -> Call:
    """A call of an assistant."""
    return Call(name, json.dumps({"task": task}))


class ScriptedProvider:
    """The replies of every conversation, and the requests."""

    def __init__(self, replies: dict[str, list[Reply]]) -> None:
        self.replies = replies
        self.requests: list[UpstreamRequest] = []
        self.bodies: list[dict[str, Any]] = []
        self.tasks: set[asyncio.Task[Any]] = set()
        self.unscripted: list[str] = []
        """Conversations that went on though nothing was written for them."""
        self.context = RunContext()
        self._calls = count()

    async def handle(self, request: UpstreamRequest) -> None:
        """Answer one request."""
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        body = json.loads(request.body)
        self.requests.append(request)
        self.bodies.append(body)
        prompt = first_prompt(body)
        if not self.replies.get(prompt):
            self.unscripted.append(prompt)
        await self.send_reply(
            request, self.replies[prompt].pop(0) if self.replies.get(prompt) else (ErrorStatus(404),)
        )

    def bodies_of(self, prompt: str) -> list[dict[str, Any]]:
        """Return the requests of one conversation."""
        return [body for body in self.bodies if first_prompt(body) == prompt]

    async def send_reply(self, request: UpstreamRequest, reply: Reply) -> None:
        """Send a reply, each part in one piece."""
        if isinstance(reply[0], ErrorStatus):
            await request.send(
                http_response(f"{reply[0].code} Oh", b'{"error":{"message":"It is out of order."}}')
            )
            return
        if isinstance(reply[0], Hold):
            await reply[0].wait()
        await request.send(STREAM)
        index = count()
        for line in reply:
            match line:
                case Think(text):
                    await request.send(b"".join(chat_delta(reasoning=piece) for piece in _halves(text)))
                case Say(text):
                    await request.send(b"".join(chat_delta(content=piece) for piece in _halves(text)))
                case Call(name, arguments) | PartialCall(name, arguments):
                    await request.send(b"".join(self._call_chunks(next(index), name, arguments)))
                case Hold():
                    await line.wait()
                case Cut():
                    await asyncio.sleep(0.02)  # lets the bytes before it leave first
                    request.reset()
                    return
        await request.send(*_ending_chunks(reply))

    def _call_chunks(self, index: int, name: str, arguments: str) -> list[bytes]:
        identity = {"index": index, "id": f"call_{next(self._calls)}", "type": "function"}
        first = identity | {"function": {"name": name, "arguments": ""}}
        argument_deltas = [{"index": index, "function": {"arguments": piece}} for piece in _halves(arguments)]
        return [
            sse_event(json.dumps({"choices": [{"delta": {"tool_calls": [tool_call]}}]}))
            for tool_call in (first, *argument_deltas)
        ]


def _halves(text: str) -> list[str]:
    half = len(text) // 2
    return [piece for piece in (text[:half], text[half:]) if piece]


def _ending_chunks(reply: Reply) -> list[bytes]:
    scripted_finish = [line.finish for line in reply if isinstance(line, FinishReason)]
    default_finish = "tool_calls" if any(isinstance(line, Call) for line in reply) else "stop"
    finish = {"choices": [{"delta": {}, "finish_reason": (scripted_finish or [default_finish])[0]}]}
    counts = {"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5}}
    return [sse_event(json.dumps(finish)), sse_event(json.dumps(counts)), sse_event("[DONE]")]


def first_prompt(body: dict[str, Any]) -> str:
    """Return the text of the first user message."""
    return str(next(message["content"] for message in body["messages"] if message["role"] == "user"))


def messages_of(body: dict[str, Any], role: str) -> list[dict[str, Any]]:
    """Return the messages of a request with this role."""
    return [message for message in body["messages"] if message["role"] == role]


@asynccontextmanager
async def scripted_provider(
    replies: dict[str, list[Reply]],
    *,
    silent_s: float = 30.0,
    provider_type: type[ScriptedProvider] = ScriptedProvider,
) -> AsyncIterator[ScriptedProvider]:
    """Run a scripted provider named `vllm`."""
    provider = provider_type(replies)
    shell = ClientEnvironment(environ={}, sleep=FakeSleep())
    async with (
        serve_upstream(provider.handle) as upstream,
        Client(environment=shell, retries=RetryPolicy(max_retries=0)) as client,
    ):
        catalog = builtin_catalog().with_base_url("vllm", upstream.base_url)
        provider.context = RunContext(catalog=catalog, client=client, silence_notice_s=silent_s)
        yield provider
        assert provider.unscripted == []


def agent(
    name: str = "Planner",
    *,
    tools: tuple[Tool, ...] = (),
    client_tools: tuple[canon.ToolDefinition, ...] = (),
    assistants: tuple[Agent, ...] = (),
    limits: RunLimits | None = None,
    system: str = "",
) -> Agent:
    return Agent(
        name=name,
        id=f"id-{name}",
        model=f"vllm/{name.lower()}",
        system=system,
        tools=tools,
        client_tools=client_tools,
        assistants=assistants,
        limits=limits or RunLimits(),
    )


def tool(
    name: str,
    run: Callable[[str], Awaitable[str]] | str = "18 C",
    *,
    approval: bool = False,
    timeout_s: float = 60.0,
) -> Tool:
    """Return a tool with this function or this fixed result."""

    async def say(arguments: str) -> str:
        assert isinstance(run, str)
        return run

    run_tool = say if isinstance(run, str) else run
    return Tool(definition=canon.ToolDefinition(name), run=run_tool, approval=approval, timeout_s=timeout_s)


def run_of(provider: ScriptedProvider, top_agent: Agent, *history: Step) -> Run:
    """Return a run of an agent with the usual prompt."""
    return Run(top_agent, history or (UserMessage(PROMPT),), context=provider.context)


async def all_entries(run: Run) -> list[Entry]:
    """Return all entries of a run."""
    async with aclosing(run.entries()) as entries:
        return [entry async for entry in entries]


async def entries_until(run: Run, condition: Callable[[Event], bool]) -> list[Entry]:
    """Return the entries of a run up to the first match, and cancel the run there."""
    collected: list[Entry] = []
    async with aclosing(run.entries()) as entries:
        async for entry in entries:
            collected.append(entry)
            if condition(entry.event):
                return collected
    raise AssertionError("that never happened")


def run_story(story: Coroutine[Any, Any, T]) -> T:
    """Run a test's story."""
    return asyncio.run(asyncio.wait_for(story, PATIENCE_S))


class _FakeClockLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock can be advanced."""

    passed_s = 0.0

    def time(self) -> float:
        return super().time() + self.passed_s


def advance_clock(seconds: float) -> None:
    """Advance the fake clock."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, _FakeClockLoop)
    loop.passed_s += seconds


def run_story_with_fake_clock(story: Coroutine[Any, Any, T]) -> T:
    """Run a test's story with a fake clock."""
    with asyncio.Runner(loop_factory=_FakeClockLoop) as runner:
        return runner.run(story)
