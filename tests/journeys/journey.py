"""One conversation across providers, each of them a simulator behind a real connection.

Every request is prepared and sent as a program would do it, and checked before and after: nothing may be
refused, no block may go unreported, and no thought may reach any model but the one that issued it.
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

from thinkaloud.client import entries
from thinkaloud.client.errors import ProviderRefused
from thinkaloud.client.http import Client, ClientEnvironment
from thinkaloud.client.prepared_request import Options, PreparedRequest, prepare
from thinkaloud.core.canon import Kind
from thinkaloud.core.canon.requests import ToolDefinition, ToolMessage, UserMessage
from thinkaloud.core.catalog import Catalog, Route, builtin_catalog, builtin_texts, parse_catalog
from thinkaloud.core.catalog.rows import ReplayForm
from thinkaloud.core.context import AnsweredTurn, Context, ContextMode, Report, SendStatus, Step
from thinkaloud.core.transcript import BlockStatus, Ending, Turn, apply
from thinkaloud.simulators import Fault, Script, ScriptedAnswer, ScriptedToolCall, Simulator, run_simulator

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
"""The simulator for each provider."""

SYSTEM = "Answer in one sentence."
SCHEMA = '{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}'
TOOLS = (
    ToolDefinition("get_weather", "The weather in a city.", SCHEMA),
    ToolDefinition("get_time", "The time there.", SCHEMA),
)
STALL_S = 30.0
QUIET_PASSES = 50
"""Passes of the event loop, which serves both sides, without an entry: the simulator is silent."""
_T = TypeVar("_T")


class ModelChoice(NamedTuple):
    """A model to ask, and its thinking setting."""

    model: str
    thinking: str | int | None = None

    @property
    def provider(self) -> str:
        return self.model.partition("/")[0]

    @property
    def family(self) -> str:
        """The model whose thoughts it may get back, with or without a reasoning parser."""
        return self.model.removesuffix("-raw")


CLAUDE = ModelChoice("anthropic/claude-opus-4-5", 2048)
CLAUDE_BOUND = ModelChoice("anthropic/claude-opus-5.5", "high")
DEEPSEEK = ModelChoice("deepseek/deepseek-v4-pro", "high")
GEMINI = ModelChoice("gemini/gemini-3-pro-preview", "high")
GPT = ModelChoice("openai/gpt-6-sol", "high")
VLLM_TAGS = ModelChoice("vllm/qwen3-8b-raw", "high")
VLLM_FIELD = ModelChoice("vllm/qwen3-8b", "high")
OPENROUTER = ModelChoice("openrouter/anthropic/claude-sonnet-4.5", "high")
OPENROUTER_GEMINI = ModelChoice("openrouter/google/gemini-3-pro-preview", "high")
OPENROUTER_GPT = ModelChoice("openrouter/openai/gpt-6-sol", "high")
OPENROUTER_DEEPSEEK = ModelChoice("openrouter/deepseek/deepseek-v4-pro", "high")
KIMI = ModelChoice("moonshot/kimi-k2-thinking")
OPENROUTER_MODELS = (OPENROUTER, OPENROUTER_GEMINI, OPENROUTER_GPT, OPENROUTER_DEEPSEEK)
OTHER_PROVIDERS = (DEEPSEEK, GEMINI, GPT, VLLM_TAGS, VLLM_FIELD, *OPENROUTER_MODELS, KIMI)
MODEL_CHOICES = (CLAUDE, CLAUDE_BOUND, *OTHER_PROVIDERS)


class PlantedThought(NamedTuple):
    """A word that occurs in one thought only, and the model that thought it."""

    word: str
    choice: ModelChoice
    interrupted: bool


class Journey:
    """The conversation, the servers, and the requests each server got."""

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
        self.tools: tuple[ToolDefinition, ...] = TOOLS
        self.stream = stream
        self.mode = mode
        self.thoughts: list[PlantedThought] = []
        self.turns = 0
        self.prepared: PreparedRequest | None = None
        self._catalog = _catalog(servers)
        self._client = client

    @property
    def conversation(self) -> Context:
        return Context(tuple(self.steps), self.system, self.tools)

    def add_user_message(self, text: str = "What is it like in Lima?") -> None:
        self.steps.append(UserMessage(text))

    async def ask(
        self, choice: ModelChoice, *actions: str, fault: Fault | None = None, cancel: bool = False
    ) -> AnsweredTurn:
        """Ask for a turn with these parts (`think`, `say`, `call`, `call_both`), and add it as a step."""
        server = self.servers[choice.provider]
        word = f"{choice.provider}-thought-{self.turns:03}"
        server.script = Script([_scripted_answer(actions, word, fault)])
        options = Options(
            stream=self.stream, context_mode=self.mode, catalog=self._catalog, client=self._client
        )
        prepared = prepare(self.conversation, model=choice.model, thinking=choice.thinking, options=options)
        self.prepared = prepared
        try:
            turn = await self._read_turn(prepared, cancel=cancel)
        except ProviderRefused:
            pytest.fail(f"{choice} in mode {self.mode}: {server.refusals[-1]}\n{server.requests[-1].body}")
        answered = AnsweredTurn(turn, prepared.prefix, prepared.route.provider.name)
        self._check_request(server, choice, prepared)
        self.steps.append(answered)
        self.turns += 1
        self.thoughts.append(PlantedThought(word, choice, not complete(turn)))
        return answered

    async def _read_turn(self, prepared: PreparedRequest, *, cancel: bool) -> Turn:
        """Return the whole answer, or, if it is to be cancelled, the part before the stall."""
        turn = Turn()
        answer_entries = entries(prepared, options=Options(client=self._client))
        try:
            while True:
                coming = anext(answer_entries)
                apply(turn, await (_before_silence(coming) if cancel else coming))
        except (StopAsyncIteration, TimeoutError):
            return turn
        finally:
            await answer_entries.aclose()

    def run_tools(self, answered: AnsweredTurn, *, eager: bool = False) -> bool:
        """Answer the calls of a complete turn, or with `eager` of any turn.

        Return False if there are none.
        """
        calls = [
            block for block in answered.turn.own_blocks(Kind.TOOL_CALL) if block.status is BlockStatus.DONE
        ]
        if not calls or not (eager or complete(answered.turn)):
            return False
        self.steps += [ToolMessage(block.call_id, f"18, says {block.name}") for block in calls]
        return True

    async def exchange(self, choice: ModelChoice, *answers: tuple[str, ...]) -> None:
        """Ask a question, and run tools until it is answered."""
        self.add_user_message(f"Question {self.turns} to {choice.model}?")
        for actions in answers:
            answered = await self.ask(choice, *actions)
            assert _ending(answered.turn) is _expected_ending(actions), (
                choice,
                actions,
                answered.turn.outcome,
            )
            assert self.run_tools(answered) is ("call" in actions or "call_both" in actions)

    def compact(self, keep: int, summary: str = "") -> None:
        """Drop all but the last steps, optionally with a summary in their place."""
        summary_steps: list[Step] = [UserMessage(summary)] if summary else []
        self.steps = [*summary_steps, *self.steps[-keep:]]

    def _check_request(self, server: Simulator, choice: ModelChoice, prepared: PreparedRequest) -> None:
        assert server.refusals == [], (choice, self.mode, server.refusals, server.requests[-1].body)
        raw = server.requests[-1].raw.decode()
        for thought in self.thoughts:
            if thought.choice.family != choice.family or thought.interrupted:
                assert thought.word not in raw, (choice, thought)
        self._check_report(prepared.report)
        self._check_sent_blocks(prepared, raw)

    def _check_report(self, report: Report) -> None:
        """Check that every block of every turn has one line, and every line refers to an existing step."""
        blocks = [
            (number, block.number)
            for number, step in enumerate(self.steps)
            if isinstance(step, AnsweredTurn)
            for block in step.turn.blocks
        ]
        assert sorted((line.step, line.block) for line in report.lines if line.block is not None) == blocks
        assert all(line.reason for line in report.lines)

    def _check_sent_blocks(self, prepared: PreparedRequest, raw: str) -> None:
        """Check that blocks reported as sent were sent unchanged."""
        for number, lines in groupby(prepared.report.lines, lambda line: line.step):
            sent_lines = [line for line in lines if line.status is SendStatus.SENT]
            step = self.steps[number]
            if not isinstance(step, AnsweredTurn) or not sent_lines:
                continue
            if any(line.code == "verbatim" for line in sent_lines):
                assert all(piece in raw for piece in message_payload(step.turn)), (number, raw)
            if any(line.code == "field" for line in sent_lines):
                name = json.dumps(prepared.route.replay.field)
                assert f"{name}:{_json_text(step.turn.reasoning)}" in raw, (number, raw)

    def assert_complete_turns_return(self, choice: ModelChoice) -> int:
        """Check that the last request to this model contains every complete turn of it, with its thoughts."""
        assert self.prepared is not None
        own_turns = [
            step
            for step in self.steps[:-1]
            if isinstance(step, AnsweredTurn) and step.turn.model == self.last_model() and complete(step.turn)
        ]
        raw = self.servers[choice.provider].requests[-1].raw.decode()
        verbatim = self.prepared.route.replay.form is ReplayForm.VERBATIM
        for answered in own_turns:
            pieces = (
                message_payload(answered.turn)
                if verbatim
                else plain_pieces(answered.turn, self.prepared.route)
            )
            assert all(piece in raw for piece in pieces), (choice, pieces, raw)
        return len(own_turns)

    def last_model(self) -> str:
        """Return the model that answered last."""
        last = self.steps[-1]
        assert isinstance(last, AnsweredTurn)
        return last.turn.model


def complete(turn: Turn) -> bool:
    """Return whether a turn ended normally."""
    return turn.outcome is not None and turn.outcome.ending in (
        Ending.ANSWERED,
        Ending.CALLED_TOOLS,
        Ending.REASONING_ONLY,
        Ending.EMPTY,
    )


def message_payload(turn: Turn) -> list[str]:
    """Return the bytes of a provider's own message, or of each item if it is a list."""
    assert turn.message is not None
    text = turn.message.payload
    if not text.startswith("["):
        return [text]
    return [bytes(item).decode() for item in msgspec.json.decode(text, type=list[msgspec.Raw])]


def plain_pieces(turn: Turn, route: Route) -> list[str]:
    """Return what must be sent of a turn whose thoughts go back in a field."""
    thought = f"{json.dumps(route.replay.field)}:{_json_text(turn.reasoning)}"
    calls = [_json_text(block.text) for block in turn.own_blocks(Kind.TOOL_CALL)]
    text = [f'"content":{_json_text(turn.answer)}'] if turn.answer.strip() else []
    return [thought, *text, *calls]


def _json_text(text: str) -> str:
    return msgspec.json.encode(text).decode()


def _ending(turn: Turn) -> Ending | None:
    return turn.outcome.ending if turn.outcome else None


def _expected_ending(actions: tuple[str, ...]) -> Ending:
    if "call" in actions or "call_both" in actions:
        return Ending.CALLED_TOOLS
    return Ending.ANSWERED if "say" in actions else Ending.REASONING_ONLY


def _scripted_answer(actions: tuple[str, ...], word: str, fault: Fault | None) -> ScriptedAnswer:
    names = {"call": ["get_weather"], "call_both": ["get_weather", "get_time"]}
    calls = [name for action in actions for name in names.get(action, [])]
    thinking: dict[str, str | list[str]] = {
        "think": f"{word} is what I think of it.",
        "think_twice": [f"{word} first.", f"{word} then."],
    }
    return ScriptedAnswer(
        thinking=next((thinking[action] for action in actions if action in thinking), ""),
        text="It is mild in Lima today." if "say" in actions else "",
        tool_calls=[ScriptedToolCall(name, {"city": "Lima"}) for name in calls],
        finish=next((action for action in actions if action in ("length", "refusal")), ""),
        fault=fault,
    )


def _catalog(servers: dict[str, Simulator]) -> Catalog:
    """Return the built-in catalog with the simulators' base URLs."""
    rows = [
        f'[providers.{name}]\nkey = "env:{KEY_NAME}"\n'
        f'base_url = "{server.url}{urlsplit(builtin_catalog().providers[name].base_url).path}"\n'
        for name, server in servers.items()
    ]
    return parse_catalog(*builtin_texts(), "".join(rows))


async def _before_silence(coming: Coroutine[Any, Any, _T]) -> _T:
    """Return what is coming; raise TimeoutError if both sides ran many times and nothing came.

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


async def _no_sleep(_: float) -> None:
    """Make retries immediate."""


@asynccontextmanager
async def start_journey(
    *, stream: bool = True, mode: ContextMode = ContextMode.PROVIDER_DEFAULT
) -> AsyncIterator[Journey]:
    """Start a journey with every simulator running. At its end, no server may have refused anything."""
    async with AsyncExitStack() as stack:
        servers = {
            name: await stack.enter_async_context(run_simulator(simulator))
            for name, simulator in SIMULATORS.items()
        }
        shell = ClientEnvironment(environ={KEY_NAME: "sim-key"}, sleep=_no_sleep)
        client = await stack.enter_async_context(Client(environment=shell))
        yield Journey(servers, client, stream=stream, mode=mode)
        assert {name: server.refusals for name, server in servers.items() if server.refusals} == {}


def run(coroutine: Coroutine[Any, Any, _T]) -> _T:
    return asyncio.run(asyncio.wait_for(coroutine, PATIENCE_S))
