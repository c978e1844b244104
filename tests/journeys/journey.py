"""One conversation that goes from provider to provider, each of them a simulator behind a real connection.

Every request is prepared and sent the way a program would, and looked at before and after: nothing may be
refused, no block may go unreported, and no thought may reach anyone but the model that thought it.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import groupby
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

import msgspec
import pytest
from tests.patience import PATIENCE_S

from thinkaloud.canon import Kind
from thinkaloud.canon.requests import Tool, ToolMessage, UserMessage
from thinkaloud.catalog import Catalog, Route, builtin, builtin_texts, parse
from thinkaloud.catalog.rows import ReplayForm
from thinkaloud.client import asking
from thinkaloud.client.faults import ProviderRefused
from thinkaloud.client.http import Client, Shell
from thinkaloud.client.prompting import Options, Prepared, prepare
from thinkaloud.context import ContextMode, Conversation, Fate, Report, Said, Step
from thinkaloud.simulators import Answer, Fault, Script, Simulator, ToolCall, running
from thinkaloud.transcript import Ending, Status, Turn, apply

KEY_NAME = "JOURNEY_KEY"
SIMULATORS = {
    "anthropic": "anthropic",
    "deepseek": "deepseek",
    "gemini": "gemini",
    "openai": "openai-responses",
    "vllm": "vllm",
    "openrouter": "openrouter",
    "moonshot": "kimi",
}
"""Which simulator stands for which provider."""

SYSTEM = "Answer in one sentence."
SCHEMA = '{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}'
TOOLS = (Tool("get_weather", "The weather in a city.", SCHEMA), Tool("get_time", "The time there.", SCHEMA))
STALL_S = 30.0
QUIET_PASSES = 50
"""Of the event loop, which serves both sides, without an entry: the simulator has fallen silent."""
_T = TypeVar("_T")


class Stop(NamedTuple):
    """A model on the way, and how it is asked to think."""

    model: str
    thinking: str | int | None = None

    @property
    def provider(self) -> str:
        return self.model.partition("/")[0]


CLAUDE = Stop("anthropic/claude-opus-4-5", 2048)
CLAUDE_BOUND = Stop("anthropic/claude-opus-5.5", "high")
DEEPSEEK = Stop("deepseek/deepseek-v4-pro", "high")
GEMINI = Stop("gemini/gemini-3-pro-preview", "high")
GPT = Stop("openai/gpt-6-sol", "high")
VLLM_TAGS = Stop("vllm/qwen3-8b-raw", "high")
VLLM_FIELD = Stop("vllm/qwen3-8b", "high")
OPENROUTER = Stop("openrouter/anthropic/claude-sonnet-4.5", "high")
KIMI = Stop("moonshot/kimi-k2-thinking")
ABROAD = (DEEPSEEK, GEMINI, GPT, VLLM_TAGS, VLLM_FIELD, OPENROUTER, KIMI)
STOPS = (CLAUDE, CLAUDE_BOUND, *ABROAD)


class Thought(NamedTuple):
    """A word that is in one thought only, and the model that thought it."""

    word: str
    stop: Stop
    interrupted: bool


class Journey:
    """The conversation, the servers it passes, and what each of them was sent."""

    def __init__(
        self,
        servers: dict[str, Simulator],
        client: Client,
        *,
        stream: bool = True,
        mode: ContextMode = ContextMode.PROVIDER_DEFAULT,
    ) -> None:
        self.servers = servers
        self.steps: list[Step] = []
        self.system = SYSTEM
        self.tools: tuple[Tool, ...] = TOOLS
        self.stream = stream
        self.mode = mode
        self.thoughts: list[Thought] = []
        self.turns = 0
        self.prepared: Prepared | None = None
        self._catalog = _catalog(servers)
        self._client = client

    @property
    def conversation(self) -> Conversation:
        return Conversation(tuple(self.steps), self.system, self.tools)

    def say(self, text: str = "What is it like in Lima?") -> None:
        self.steps.append(UserMessage(text))

    async def ask(self, stop: Stop, *told: str, fault: Fault | None = None, cancel: bool = False) -> Said:
        """Ask for a turn that does these things (`think`, `say`, `call`, `call_both`), and keep it."""
        server = self.servers[stop.provider]
        word = f"{stop.provider}-thought-{self.turns:03}"
        server.script = Script([_answer(told, word, fault)])
        options = Options(
            stream=self.stream, context_mode=self.mode, catalog=self._catalog, client=self._client
        )
        ready = prepare(self.conversation, model=stop.model, thinking=stop.thinking, options=options)
        self.prepared = ready
        try:
            turn = await self._answered(ready, cancel=cancel)
        except ProviderRefused:
            pytest.fail(f"{stop} in mode {self.mode}: {server.refusals[-1]}\n{server.requests[-1].body}")
        said = Said(turn, ready.built.prefix, ready.route.provider.name)
        self._check(server, stop, ready)
        self.steps.append(said)
        self.turns += 1
        self.thoughts.append(Thought(word, stop, not whole(turn)))
        return said

    async def _answered(self, ready: Prepared, *, cancel: bool) -> Turn:
        """The whole answer; or, where it is to be cancelled, what came before a silence."""
        turn = Turn()
        told = asking.entries(ready.built.request, ready.route, client=self._client)
        try:
            while True:
                apply(turn, await (_before_silence(anext(told)) if cancel else anext(told)))
        except (StopAsyncIteration, TimeoutError):
            return turn
        finally:
            await told.aclose()

    def run_tools(self, said: Said, *, eager: bool = False) -> bool:
        """Answer the calls of a turn that came to its end, or with `eager` of any; false where none is."""
        calls = [block for block in said.turn.top(Kind.TOOL_CALL) if block.status is Status.DONE]
        if not calls or not (eager or whole(said.turn)):
            return False
        self.steps += [ToolMessage(block.call_id, f"18, says {block.name}") for block in calls]
        return True

    async def exchange(self, stop: Stop, *answers: tuple[str, ...]) -> None:
        """A question, and answers until it is answered."""
        self.say(f"Question {self.turns} to {stop.model}?")
        for told in answers:
            said = await self.ask(stop, *told)
            assert _outcome(said.turn) is _expected(told), (stop, told, said.turn.outcome)
            assert self.run_tools(said) is ("call" in told or "call_both" in told)

    def compact(self, keep: int, summary: str = "") -> None:
        """Forget all but the last so many steps; what was forgotten may be told in short."""
        told: list[Step] = [UserMessage(summary)] if summary else []
        self.steps = [*told, *self.steps[-keep:]]

    def _check(self, server: Simulator, stop: Stop, ready: Prepared) -> None:
        assert server.refusals == [], (stop, self.mode, server.refusals, server.requests[-1].body)
        raw = server.requests[-1].raw.decode()
        for thought in self.thoughts:
            if thought.stop.provider != stop.provider or thought.interrupted:
                assert thought.word not in raw, (stop, thought)
        self._check_report(ready.built.report)
        self._check_own_words(ready, raw)

    def _check_report(self, report: Report) -> None:
        """Every block of every turn has one line, and every line is about a step that is there."""
        blocks = [
            (number, block.number)
            for number, step in enumerate(self.steps)
            if isinstance(step, Said)
            for block in step.turn.blocks
        ]
        assert sorted((line.step, line.block) for line in report.lines if line.block is not None) == blocks
        assert all(line.why for line in report.lines)

    def _check_own_words(self, ready: Prepared, raw: str) -> None:
        """What the report calls sent was sent as it came."""
        for number, lines in groupby(ready.built.report.lines, lambda line: line.step):
            told = [line for line in lines if line.fate is Fate.SENT]
            step = self.steps[number]
            if not isinstance(step, Said) or not told:
                continue
            if any(line.code == "verbatim" for line in told):
                assert all(piece in raw for piece in payload(step.turn)), (number, raw)
            if any(line.code == "field" for line in told):
                name = json.dumps(ready.route.replay.field)
                assert f"{name}:{_json(step.turn.reasoning)}" in raw, (number, raw)

    def assert_whole_turns_return(self, stop: Stop) -> int:
        """Of the last request to this stop: every whole turn of its model is in it, thoughts included."""
        assert self.prepared is not None
        ours = [
            step
            for step in self.steps[:-1]
            if isinstance(step, Said) and step.turn.model == self.steps_model() and whole(step.turn)
        ]
        raw = self.servers[stop.provider].requests[-1].raw.decode()
        verbatim = self.prepared.route.replay.form is ReplayForm.VERBATIM
        for said in ours:
            pieces = payload(said.turn) if verbatim else plain_pieces(said.turn, self.prepared.route)
            assert all(piece in raw for piece in pieces), (stop, pieces, raw)
        return len(ours)

    def steps_model(self) -> str:
        """The model that answered last."""
        last = self.steps[-1]
        assert isinstance(last, Said)
        return last.turn.model


def whole(turn: Turn) -> bool:
    """Whether a turn came to its own end."""
    return turn.outcome is not None and turn.outcome.ending in (
        Ending.ANSWERED,
        Ending.CALLED_TOOLS,
        Ending.REASONING_ONLY,
        Ending.EMPTY,
    )


def payload(turn: Turn) -> list[str]:
    """The bytes of a provider's own message; where it is a list, of each of its items."""
    assert turn.message is not None
    text = turn.message.payload
    if not text.startswith("["):
        return [text]
    return [bytes(item).decode() for item in msgspec.json.decode(text, type=list[msgspec.Raw])]


def plain_pieces(turn: Turn, route: Route) -> list[str]:
    """What must be found of a turn whose thoughts go back in a field."""
    thought = f"{json.dumps(route.replay.field)}:{_json(turn.reasoning)}"
    calls = [_json(block.text) for block in turn.top(Kind.TOOL_CALL)]
    text = [f'"content":{_json(turn.answer)}'] if turn.answer.strip() else []
    return [thought, *text, *calls]


def _json(text: str) -> str:
    return msgspec.json.encode(text).decode()


def _outcome(turn: Turn) -> Ending | None:
    return turn.outcome.ending if turn.outcome else None


def _expected(told: tuple[str, ...]) -> Ending:
    if "call" in told or "call_both" in told:
        return Ending.CALLED_TOOLS
    return Ending.ANSWERED if "say" in told else Ending.REASONING_ONLY


def _answer(told: tuple[str, ...], word: str, fault: Fault | None) -> Answer:
    names = {"call": ["get_weather"], "call_both": ["get_weather", "get_time"]}
    calls = [name for one in told for name in names.get(one, [])]
    thinking: dict[str, str | list[str]] = {
        "think": f"{word} is what I think of it.",
        "think_twice": [f"{word} first.", f"{word} then."],
    }
    return Answer(
        thinking=next((thinking[one] for one in told if one in thinking), ""),
        text="It is mild in Lima today." if "say" in told else "",
        tool_calls=[ToolCall(name, {"city": "Lima"}) for name in calls],
        finish=next((one for one in told if one in ("length", "refusal")), ""),
        fault=fault,
    )


def _catalog(servers: dict[str, Simulator]) -> Catalog:
    """The shipped catalog, with the providers at the simulators' addresses."""
    rows = [
        f'[providers.{name}]\nkey = "env:{KEY_NAME}"\n'
        f'base_url = "{server.url}{urlsplit(builtin().providers[name].base_url).path}"\n'
        for name, server in servers.items()
    ]
    return parse(*builtin_texts(), "".join(rows))


async def _before_silence(coming: Coroutine[Any, Any, _T]) -> _T:
    """What is coming; TimeoutError if both sides have had their turn many times and nothing came.

    A time alone would not do: on a busy machine it passes before the request has arrived.
    """
    task = asyncio.ensure_future(coming)
    for _ in range(QUIET_PASSES):
        await asyncio.wait([task], timeout=0.001)
        if task.done():
            return task.result()
    task.cancel()
    await asyncio.wait([task])
    raise TimeoutError


async def _no_wait(_: float) -> None:
    """Retries come at once."""


@asynccontextmanager
async def travelling(
    *, stream: bool = True, mode: ContextMode = ContextMode.PROVIDER_DEFAULT
) -> AsyncIterator[Journey]:
    """A journey with every simulator running; at its end nothing was refused anywhere."""
    async with AsyncExitStack() as stack:
        servers = {
            name: await stack.enter_async_context(running(simulator))
            for name, simulator in SIMULATORS.items()
        }
        shell = Shell(environ={KEY_NAME: "sim-key"}, sleep=_no_wait)
        client = await stack.enter_async_context(Client(shell=shell))
        yield Journey(servers, client, stream=stream, mode=mode)
        assert {name: server.refusals for name, server in servers.items() if server.refusals} == {}


def run(story: Coroutine[Any, Any, _T]) -> _T:
    return asyncio.run(asyncio.wait_for(story, PATIENCE_S))
