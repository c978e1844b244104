"""A provider on a stage: each conversation is answered by its own lines, and may be held or broken anywhere.

A conversation is known by its first words: the prompt of the agent that was asked, the task of an assistant.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeVar

from tests.client.upstream import STREAM, Naps, Seen, answer, delta, event, serving
from tests.patience import PATIENCE_S

from thinkaloud.agents.agent import Agent
from thinkaloud.agents.limits import Limits
from thinkaloud.agents.run import Run, Surroundings
from thinkaloud.agents.tools import Tool
from thinkaloud.canon import Entry, Event
from thinkaloud.canon import requests as canon
from thinkaloud.canon.requests import UserMessage
from thinkaloud.catalog import builtin
from thinkaloud.client.http import Client, Shell
from thinkaloud.client.retrying import Retries
from thinkaloud.context import Step

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
    """A call of a tool, or of an assistant by the name it has as one."""

    name: str
    arguments: str = "{}"


@dataclass(frozen=True)
class Begin:
    """A call whose arguments have only begun to come."""

    name: str
    arguments: str


@dataclass(frozen=True)
class Hold:
    """Nothing comes until the gate is opened; `reached` says that it was come to."""

    gate: asyncio.Event = field(default_factory=asyncio.Event)
    reached: asyncio.Event = field(default_factory=asyncio.Event)

    async def wait(self) -> None:
        self.reached.set()
        await self.gate.wait()


@dataclass(frozen=True)
class Cut:
    """The connection breaks."""


@dataclass(frozen=True)
class Status:
    """A refusal instead of an answer."""

    code: int


@dataclass(frozen=True)
class Stop:
    """The word for why it ended, where it does not follow from the rest."""

    finish: str


Line = Think | Say | Call | Begin | Hold | Cut | Status | Stop
Reply = tuple[Line, ...]


def delegate(name: str, task: str) -> Call:
    """A call of an assistant."""
    return Call(name, json.dumps({"task": task}))


class Stage:
    """The lines of every conversation, and what was asked."""

    def __init__(self, lines: dict[str, list[Reply]]) -> None:
        self.lines = lines
        self.seen: list[Seen] = []
        self.asked: list[dict[str, Any]] = []
        self.tasks: set[asyncio.Task[Any]] = set()
        self.lost: list[str] = []
        """Conversations that went on though nothing was written for them."""
        self.around = Surroundings()
        self._calls = count()

    async def act(self, seen: Seen) -> None:
        """Answer one request."""
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        body = json.loads(seen.body)
        self.seen.append(seen)
        self.asked.append(body)
        words = first_words(body)
        if not self.lines.get(words):
            self.lost.append(words)
        await self.play(seen, self.lines[words].pop(0) if self.lines.get(words) else (Status(404),))

    def asked_by(self, words: str) -> list[dict[str, Any]]:
        """The requests of one conversation."""
        return [body for body in self.asked if first_words(body) == words]

    async def play(self, seen: Seen, reply: Reply) -> None:
        """Say these lines, each in one piece: what a test waits for comes whole."""
        if isinstance(reply[0], Status):
            await seen.send(answer(f"{reply[0].code} Oh", b'{"error":{"message":"It is out of order."}}'))
            return
        if isinstance(reply[0], Hold):
            await reply[0].wait()
        await seen.send(STREAM)
        index = count()
        for line in reply:
            match line:
                case Think(text):
                    await seen.send(b"".join(delta(reasoning=piece) for piece in _halves(text)))
                case Say(text):
                    await seen.send(b"".join(delta(content=piece) for piece in _halves(text)))
                case Call(name, arguments) | Begin(name, arguments):
                    await seen.send(b"".join(self._call(next(index), name, arguments)))
                case Hold():
                    await line.wait()
                case Cut():
                    await asyncio.sleep(0.02)  # lets the bytes before it leave first
                    seen.reset()
                    return
        await seen.send(*_ending(reply))

    def _call(self, index: int, name: str, arguments: str) -> list[bytes]:
        named = {"index": index, "id": f"call_{next(self._calls)}", "type": "function"}
        first = named | {"function": {"name": name, "arguments": ""}}
        rest = [{"index": index, "function": {"arguments": piece}} for piece in _halves(arguments)]
        return [event(json.dumps({"choices": [{"delta": {"tool_calls": [one]}}]})) for one in (first, *rest)]


def _halves(text: str) -> list[str]:
    half = len(text) // 2
    return [piece for piece in (text[:half], text[half:]) if piece]


def _ending(reply: Reply) -> list[bytes]:
    said = [line.finish for line in reply if isinstance(line, Stop)]
    called = "tool_calls" if any(isinstance(line, Call) for line in reply) else "stop"
    finish = {"choices": [{"delta": {}, "finish_reason": (said or [called])[0]}]}
    counts = {"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5}}
    return [event(json.dumps(finish)), event(json.dumps(counts)), event("[DONE]")]


def first_words(body: dict[str, Any]) -> str:
    """What the first message of a person says."""
    return str(next(message["content"] for message in body["messages"] if message["role"] == "user"))


def messages_of(body: dict[str, Any], role: str) -> list[dict[str, Any]]:
    """The messages of a request that somebody in this role wrote."""
    return [message for message in body["messages"] if message["role"] == role]


@asynccontextmanager
async def playing(
    lines: dict[str, list[Reply]], *, silent_s: float = 30.0, on: type[Stage] = Stage
) -> AsyncIterator[Stage]:
    """A stage whose provider is `vllm`, whatever the model."""
    stage = on(lines)
    shell = Shell(environ={}, sleep=Naps())
    async with serving(stage.act) as upstream, Client(shell=shell, retries=Retries(most=0)) as client:
        catalog = builtin().with_address("vllm", upstream.base_url)
        stage.around = Surroundings(catalog=catalog, client=client, silent_s=silent_s)
        yield stage
        assert stage.lost == []


def agent(
    name: str = "Planner",
    *,
    tools: tuple[Tool, ...] = (),
    client_tools: tuple[canon.Tool, ...] = (),
    assistants: tuple[Agent, ...] = (),
    limits: Limits | None = None,
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
        limits=limits or Limits(),
    )


def tool(
    name: str,
    run: Callable[[str], Awaitable[str]] | str = "18 C",
    *,
    approval: bool = False,
    timeout_s: float = 60.0,
) -> Tool:
    """A tool that does this, or always says this."""

    async def say(arguments: str) -> str:
        assert isinstance(run, str)
        return run

    act = say if isinstance(run, str) else run
    return Tool(definition=canon.Tool(name), run=act, approval=approval, timeout_s=timeout_s)


def run_of(stage: Stage, who: Agent, *before: Step) -> Run:
    """A run of an agent that was asked the usual thing."""
    return Run(who, before or (UserMessage(PROMPT),), around=stage.around)


async def told(run: Run) -> list[Entry]:
    """All entries of a run."""
    async with aclosing(run.entries()) as entries:
        return [entry async for entry in entries]


async def told_until(run: Run, wanted: Callable[[Event], bool]) -> list[Entry]:
    """The entries of a run up to the first that is wanted; there the run is left."""
    seen: list[Entry] = []
    async with aclosing(run.entries()) as entries:
        async for entry in entries:
            seen.append(entry)
            if wanted(entry.event):
                return seen
    raise AssertionError("that never happened")


def act_out(story: Coroutine[Any, Any, T]) -> T:
    """Run a test's story."""
    return asyncio.run(asyncio.wait_for(story, PATIENCE_S))


class _Clockwork(asyncio.SelectorEventLoop):
    """An event loop whose time can be moved on."""

    passed_s = 0.0

    def time(self) -> float:
        return super().time() + self.passed_s


def let_pass(seconds: float) -> None:
    """So much time passes at once, in a story that is acted out by the clock."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, _Clockwork)
    loop.passed_s += seconds


def act_out_by_the_clock(story: Coroutine[Any, Any, T]) -> T:
    """Run a test's story in which time passes only when it says so, as far as it could matter."""
    with asyncio.Runner(loop_factory=_Clockwork) as runner:
        return runner.run(story)
