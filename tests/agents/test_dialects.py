"""Agents with every dialect: thoughts and results are sent back as each provider requires.

The simulators refuse what the vendors refuse. Without a simulator, recorded replies are replayed.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import permutations
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec
import pytest
from tests.agents.run_checks import assert_legal
from tests.agents.scripted_provider import all_entries, run_story, tool
from tests.client.upstream import Upstream, UpstreamRequest, http_response, serve_upstream
from tests.dialects.recordings import OWN_RECORDINGS, RECORDINGS, Recording

from thinkaloud.agents.run import ANSWER_NOW, Run, RunContext
from thinkaloud.agents.spec import Agent
from thinkaloud.client.http import Client, ClientEnvironment
from thinkaloud.core.canon import BlockGrew, Entry, Kind, ToolFinished
from thinkaloud.core.canon.requests import UserMessage
from thinkaloud.core.catalog import Catalog, Route, builtin_catalog, builtin_texts, parse_catalog
from thinkaloud.core.catalog import route as find
from thinkaloud.core.catalog.rows import ReplayForm
from thinkaloud.core.context import (
    AnsweredTurn,
    Context,
    ContextMode,
    Step,
    read_conversation,
    steps_of,
    write_conversation,
)
from thinkaloud.core.dialects import DIALECTS
from thinkaloud.core.transcript import Ending, Turn, apply, unfold
from thinkaloud.simulators import Fault, Script, ScriptedAnswer, ScriptedToolCall, Simulator, run_simulator

KEY_NAME = "AGENTS_KEY"
SIMULATORS = {
    "anthropic": "anthropic",
    "deepseek": "deepseek",
    "gemini": "gemini",
    "moonshot": "kimi",
    "ollama": "ollama",
    "openai": "openai-responses",
    "openai-chat": "openai-chat",
    "openrouter": "openrouter",
    "vllm": "vllm",
}
"""Which simulator stands for which provider."""


class ModelCase(NamedTuple):
    """A model and its thinking setting."""

    model: str
    thinking: str | int | None = None

    @property
    def provider(self) -> str:
        return self.model.partition("/")[0]


CLAUDE = ModelCase("anthropic/claude-opus-4-5", 2048)
BOUND = ModelCase("anthropic/claude-opus-5.5", "high")
DEEPSEEK = ModelCase("deepseek/deepseek-v4-pro", "high")
GPT = ModelCase("openai/gpt-6-sol", "high")
GEMINI = ModelCase("gemini/gemini-3-pro-preview", "high")
MODEL_CASES = (
    *(CLAUDE, BOUND, DEEPSEEK, GPT, GEMINI),
    ModelCase("gemini/gemini-2.5-flash", 1024),
    ModelCase("moonshot/kimi-k2-thinking"),
    ModelCase("openai-chat/gpt-4o"),
    ModelCase("openrouter/anthropic/claude-sonnet-4.5", "high"),
    ModelCase("openrouter/openai/gpt-5", "high"),
    ModelCase("vllm/qwen3-8b", "high"),
    ModelCase("vllm/qwen3-8b-raw", "high"),
    ModelCase("ollama/qwen3:8b", "high"),
)
EVERY_PLAYER = pytest.mark.parametrize("player", MODEL_CASES, ids=lambda player: player.model)


@pytest.fixture(autouse=True, scope="module")
def _key() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(KEY_NAME, "sim-key")
        yield


class SimulatorSetup(NamedTuple):
    """The simulators, and the context of a run that uses them."""

    servers: dict[str, Simulator]
    context: RunContext

    def script(self, player: ModelCase, *answers: ScriptedAnswer) -> Simulator:
        server = self.servers[player.provider]
        server.script = Script(list(answers))
        return server

    def run(self, player: ModelCase, *history: Step, **parts: Any) -> Run:
        return Run(agent(player, **parts), history, context=self.context)


def routed(catalog: Catalog | None, model: str) -> Route:
    assert catalog is not None
    return find(catalog, model, thinking=True, have_key=lambda _: True)


def ending(turn: Turn) -> Ending:
    assert turn.outcome is not None
    return turn.outcome.ending


def agent(player: ModelCase, name: str = "Planner", **parts: Any) -> Agent:
    parts.setdefault("tools", (tool("get_weather", "18 C in Lima"), tool("get_time", "12:00")))
    return Agent(
        name=name, model=player.model, thinking=player.thinking, system="Answer in one sentence.", **parts
    )


def _catalog(servers: dict[str, Simulator]) -> Catalog:
    providers = builtin_catalog().providers
    rows = [
        f'[providers.{name}]\nbase_url = "{server.url}{urlsplit(providers[name].base_url).path}"\n'
        + (f'key = "env:{KEY_NAME}"\n' if providers[name].key else "")
        for name, server in servers.items()
    ]
    return parse_catalog(*builtin_texts(), "".join(rows))


async def _no_wait(_: float) -> None:
    """Retry without a delay."""


@asynccontextmanager
async def simulator_setup(*players: ModelCase) -> AsyncIterator[SimulatorSetup]:
    """Run these simulators. At the end none of them has refused a request."""
    names = {player.provider for player in players}
    async with AsyncExitStack() as stack:
        servers = {name: await stack.enter_async_context(run_simulator(SIMULATORS[name])) for name in names}
        shell = ClientEnvironment(environ={KEY_NAME: "sim-key"}, sleep=_no_wait)
        client = await stack.enter_async_context(Client(environment=shell))
        yield SimulatorSetup(servers, RunContext(catalog=_catalog(servers), client=client))
        assert {name: server.refusals for name, server in servers.items() if server.refusals} == {}


LOOK = ScriptedAnswer(
    thinking="First-thought about it.",
    text="One moment.",
    tool_calls=[ScriptedToolCall("get_weather", {"city": "Lima"})],
)
BOTH = ScriptedAnswer(
    thinking="Second-thought about it.",
    tool_calls=[
        ScriptedToolCall("get_weather", {"city": "Lima"}),
        ScriptedToolCall("get_time", {"city": "Lima"}),
    ],
)
SAY = ScriptedAnswer(thinking="Third-thought about it.", text="It is mild.")
THOUGHTS = ("First-thought", "Second-thought", "Third-thought")
ASKED = UserMessage("What is it like in Lima?")
NEXT = UserMessage("And tomorrow?")


def assert_reply_resent(turn: Turn, route: Route, raw: str) -> None:
    """Check that a request contains the first reply and the results of its calls, as the dialect requires."""
    first = turn.replies[0]
    assert first.message is not None
    if route.replay.form is ReplayForm.VERBATIM:
        payload = first.message.payload
        items = (
            [bytes(item).decode() for item in msgspec.json.decode(payload, type=list[msgspec.Raw])]
            if payload.startswith("[")
            else [payload]
        )
        assert all(item in raw for item in items), (items, raw)
    elif route.replay.form is ReplayForm.FIELD:
        thought = "".join(block.text for block in turn.blocks_of(first) if block.kind is Kind.REASONING)
        assert thought
        assert f"{json.dumps(route.replay.field)}:{json.dumps(thought)}" in raw
    for number in first.calls:
        assert turn.blocks[number].result
        assert json.dumps(turn.blocks[number].result)[1:-1] in raw


def round_trip(turn: Turn) -> Turn:
    """Return the turn after an export and import."""
    restored = Turn()
    for entry in unfold(turn):
        apply(restored, entry)
    return restored


@EVERY_PLAYER
def test_run_with_tools_and_a_following_turn(player: ModelCase) -> None:
    """No request is refused: between calls, in the next turn, and by another provider afterwards."""
    other = CLAUDE if player.provider != "anthropic" else DEEPSEEK

    async def story() -> None:
        async with simulator_setup(player, other) as setup:
            server = setup.script(player, LOOK, BOTH, SAY)
            turn = assert_legal(await all_entries(setup.run(player, ASKED)))
            assert ending(turn) is Ending.ANSWERED
            assert turn.answer.split() == ["One", "moment.", "It", "is", "mild."]
            assert [block.result for block in turn.own_blocks(Kind.TOOL_CALL)] == [
                *("18 C in Lima", "18 C in Lima", "12:00")
            ]
            assert len(turn.replies) == 3
            assert_reply_resent(
                turn, routed(setup.context.catalog, player.model), server.requests[1].raw.decode()
            )

            history = (ASKED, *steps_of(AnsweredTurn(round_trip(turn), "", player.provider)), NEXT)
            next_history = read_conversation(write_conversation(Context(history))).steps
            setup.script(player, BOTH, SAY)
            after = assert_legal(await all_entries(setup.run(player, *next_history)))
            assert after.answer.strip() == "It is mild."
            sent = server.requests[-1].raw.decode()
            assert sent.count("18 C in Lima") == 3

            foreign = setup.script(other, LOOK, SAY)
            steps = (*next_history, *steps_of(AnsweredTurn(round_trip(after), "", player.provider)), NEXT)
            last = assert_legal(await all_entries(setup.run(other, *steps)))
            assert last.answer == "One moment.\n\nIt is mild."
            first = foreign.requests[0].raw.decode()
            assert first.count("18 C in Lima") == 3
            assert not any(thought in first for thought in THOUGHTS)

    run_story(story())


@pytest.mark.parametrize("mode", list(ContextMode))
@pytest.mark.parametrize("player", [CLAUDE, BOUND, DEEPSEEK, GPT, GEMINI], ids=lambda player: player.model)
def test_run_in_every_context_mode(player: ModelCase, mode: ContextMode) -> None:
    async def story() -> None:
        async with simulator_setup(player) as setup:
            setup.script(player, LOOK, BOTH, SAY)
            turn = assert_legal(await all_entries(setup.run(player, ASKED, context_mode=mode)))
            assert turn.answer == "One moment.\n\nIt is mild."

    run_story(story())


TRIOS = [*permutations((CLAUDE, DEEPSEEK, GPT)), (BOUND, GEMINI, DEEPSEEK), (GEMINI, GPT, BOUND)]


@pytest.mark.parametrize("trio", TRIOS, ids=lambda trio: " > ".join(player.provider for player in trio))
def test_assistants_of_three_different_providers(trio: tuple[ModelCase, ModelCase, ModelCase]) -> None:
    """Each keeps its thoughts between its own calls, and sees none of the others."""
    top, middle, deep = trio

    def delegating_answer(name: str, task: str, agent_name: str) -> ScriptedAnswer:
        call = ScriptedToolCall(name, {"task": task})
        return ScriptedAnswer(
            thinking=f"{agent_name}-thought one.", tool_calls=[call, ScriptedToolCall("get_time")]
        )

    async def story() -> None:
        async with simulator_setup(*trio) as setup:
            finder = agent(deep, "Finder")
            checker = agent(middle, "Checker", assistants=(finder,), tools=(tool("get_time", "12:00"),))
            setup.script(top, delegating_answer("checker", "Check Lima.", "top"), SAY, SAY)
            setup.script(
                middle,
                delegating_answer("finder", "Find Lima.", "middle"),
                ScriptedAnswer(text="It is checked."),
            )
            setup.script(deep, LOOK, BOTH, ScriptedAnswer(thinking="deep-thought.", text="It is found."))
            run = setup.run(top, ASKED, assistants=(checker,), tools=(tool("get_time", "12:00"),))
            turn = assert_legal(await all_entries(run))
            calls = [block for block in turn.blocks if block.kind is Kind.ASSISTANT_CALL]
            assert [block.result for block in calls] == ["It is checked.", "It is found."]
            assert turn.answer == "It is mild."
            raw = {player: _all(setup.servers[player.provider]) for player in trio}
            assert "middle-thought" not in raw[top]
            assert "top-thought" not in raw[middle] + raw[deep]
            assert "First-thought" not in raw[top] + raw[middle]
            assert "18 C" not in raw[top] + raw[middle]

            setup.servers[top.provider].requests.clear()
            run = setup.run(
                top,
                *(ASKED, *steps_of(AnsweredTurn(round_trip(turn), "", top.provider)), NEXT),
                assistants=(checker,),
                tools=(tool("get_time", "12:00"),),
            )
            assert assert_legal(await all_entries(run)).answer == "It is mild."
            assert "It is checked." in _all(setup.servers[top.provider])

    run_story(story())


def _all(server: Simulator) -> str:
    return "".join(request.raw.decode() for request in server.requests)


@pytest.mark.parametrize("earlier", [0, 1], ids=["in the first reply", "after a call"])
@pytest.mark.parametrize(
    "player", [player for player in MODEL_CASES if "4o" not in player.model], ids=lambda player: player.model
)
def test_answer_now_works_with_every_thinking_model(player: ModelCase, earlier: int) -> None:
    async def story() -> None:
        stuck = ScriptedAnswer(
            thinking="It is a long long long story.",
            text="It is a long long long answer.",
            fault=Fault("stall", seconds=30, after_events=6),
        )
        async with simulator_setup(player) as setup:
            answers = [LOOK, stuck, SAY][1 - earlier :]
            server = setup.script(player, *answers)
            run = setup.run(player, ASKED)
            entries: list[Entry] = []
            turn_so_far, answer_requested = Turn(), False
            async for entry in run.entries():
                entries.append(entry)
                apply(turn_so_far, entry)
                if (
                    not answer_requested
                    and len(turn_so_far.replies) == earlier
                    and _thinks(entry, turn_so_far)
                ):
                    answer_requested = True
                    run.answer_now()
            turn = assert_legal(entries)
            assert ending(turn) is Ending.ANSWERED
            assert turn.notices.count(ANSWER_NOW) == 1
            assert len(server.requests) == len(answers)

    run_story(story())


def _thinks(entry: Entry, turn: Turn) -> bool:
    event = entry.event
    return isinstance(event, BlockGrew) and turn.blocks[event.block].kind is Kind.REASONING


# Dialects by their recordings

ROWS = {
    "anthropic_messages": "anthropic",
    "bedrock_converse": "bedrock",
    "cohere_v2": "cohere",
    "gemini": "gemini",
    "gemini_interactions": "interactions",
    "ollama": "ollama",
    "openai_chat": "openai-chat",
    "openai_responses": "openai",
}
PLAIN = {
    "anthropic_messages": "anthropic_messages/thinking_signed",
    "bedrock_converse": "bedrock_converse/thought_signed",
    "cohere_v2": "cohere_v2/thinking_then_text",
    "gemini": "gemini/thought_parts",
    "gemini_interactions": "gemini_interactions/thought_then_text",
    "ollama": "ollama/thinking",
    "openai_chat": "openai_chat/deepseek",
    "openai_responses": "openai_responses/summary_parts",
}
MEDIA = {
    "sse": "text/event-stream",
    "ndjson": "application/x-ndjson",
    "json": "application/json",
    "eventstream": "application/vnd.amazon.eventstream",
}
INTERACTIONS = f"""
[providers.interactions]
dialect = "gemini_interactions"
base_url = "http://127.0.0.1"
key = "env:{KEY_NAME}"
replay = "parts"
fact = {{ as_of = "2026-01-01", source = "a test" }}
"""
_ASKED_DIALECTS = {name for name, dialect in DIALECTS.items() if dialect.build_request}
CALLING = {
    name: recording
    for name, recording in RECORDINGS.items()
    if recording.dialect in _ASKED_DIALECTS and recording.story["outcome"]["ending"] == "called_tools"
}


def recorded_bytes(name: str) -> bytes:
    """Return a recorded reply as a response."""
    (body,) = (OWN_RECORDINGS / name).glob("body.*")
    return http_response("200 OK", body.read_bytes(), Content_Type=MEDIA[body.suffix[1:]])


def model_of(recording: Recording) -> str:
    """Return a model name of the recorded provider."""
    named = {"bedrock": "us.anthropic.claude-opus-4-5-20251101-v1:0", "cohere": "command-a-reasoning-08-2025"}
    provider = ROWS[recording.dialect]
    return f"{provider}/{named.get(provider) or recording.turn().model}"


def test_every_dialect_is_covered() -> None:
    assert {recording.dialect for recording in CALLING.values()} == _ASKED_DIALECTS == set(ROWS) == set(PLAIN)


class RecordedProvider(NamedTuple):
    """A provider that replays recorded replies."""

    upstream: Upstream
    context: RunContext

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(request.body) for request in self.upstream.requests]


@asynccontextmanager
async def recorded_provider(provider: str, *replies: bytes) -> AsyncIterator[RecordedProvider]:
    """Replay these replies in order. At the end all of them were requested."""
    remaining = list(replies)

    async def handle(request: UpstreamRequest) -> None:
        await request.send(remaining.pop(0))

    shell = ClientEnvironment(environ={KEY_NAME: "sim-key"}, sleep=_no_wait)
    async with serve_upstream(handle) as upstream, Client(environment=shell) as client:
        row = f'[providers.{provider}]\nbase_url = "{upstream.base_url}"\nlocal = true\n'
        row += "" if provider in ("interactions", "ollama") else f'key = "env:{KEY_NAME}"\n'
        catalog = parse_catalog(*builtin_texts(), INTERACTIONS, row)
        yield RecordedProvider(upstream, RunContext(catalog=catalog, client=client))
        assert remaining == []


@pytest.mark.parametrize("name", CALLING)
def test_recorded_calls_are_run_and_sent_back(name: str) -> None:
    recording = CALLING[name]
    provider, plain = ROWS[recording.dialect], recorded_bytes(PLAIN[recording.dialect])
    names = {block.name for block in recording.turn().blocks if block.kind is Kind.TOOL_CALL}
    tools = tuple(tool(known, f"{known} came back") for known in sorted(names))
    top_agent = Agent(name="Planner", model=model_of(recording), tools=tools)

    async def story() -> None:
        async with recorded_provider(provider, recorded_bytes(name), plain, plain) as setup:
            turn = assert_legal(await all_entries(Run(top_agent, (ASKED,), context=setup.context)))
            assert ending(turn) is Ending.ANSWERED
            assert len(turn.replies) == 2
            raw = setup.upstream.requests[1].body.decode()
            calls = turn.own_blocks(Kind.TOOL_CALL)
            assert all(call.result is not None for call in calls)
            assert all((call.error or call.result or "")[:20] in raw for call in calls)
            if any(block.kind is Kind.REASONING for block in turn.blocks_of(turn.replies[0])):
                assert_thought_resent(turn, routed(setup.context.catalog, top_agent.model), raw)

            steps = (ASKED, *steps_of(AnsweredTurn(round_trip(turn), "", provider)), NEXT)
            assert (
                ending(assert_legal(await all_entries(Run(top_agent, steps, context=setup.context))))
                is Ending.ANSWERED
            )

    run_story(story())


def assert_thought_resent(turn: Turn, route: Route, raw: str) -> None:
    if route.replay.form is ReplayForm.NONE:
        return
    thoughts = [block for block in turn.blocks_of(turn.replies[0]) if block.kind is Kind.REASONING]
    texts = [block.text for block in thoughts if not block.blank]
    seals = [seal.payload for block in thoughts for seal in block.seals if seal.payload[:1] != "{"]
    assert texts or seals
    assert all(json.dumps(text, ensure_ascii=False)[1:-1] in raw for text in texts), raw
    assert all(seal in raw for seal in seals), raw


def test_answer_now_offers_tools_where_they_cannot_be_forbidden() -> None:
    async def stuck(arguments: str) -> str:
        await asyncio.Event().wait()
        return "never"

    recording = CALLING["bedrock_converse/tool_in_pieces"]
    plain = recorded_bytes(PLAIN["bedrock_converse"])
    top_agent = Agent(
        name="Planner", model=model_of(recording), tools=(tool("buoy", stuck), tool("ping", "came back"))
    )

    async def story() -> None:
        async with recorded_provider("bedrock", recorded_bytes(recording.name), plain) as setup:
            run = Run(top_agent, (ASKED,), context=setup.context)
            entries: list[Entry] = []
            async for entry in run.entries():
                entries.append(entry)
                if isinstance(entry.event, ToolFinished) and entry.event.result == "came back":
                    run.answer_now()
            turn = assert_legal(entries)
            assert ending(turn) is Ending.ANSWERED
            assert list(setup.bodies[1]["toolConfig"]) == ["tools"]

    run_story(story())


@pytest.mark.parametrize("below", [False, True], ids=["the turn itself", "an assistant"])
def test_reply_that_the_provider_cancelled_is_not_repeated(below: bool) -> None:
    async def story() -> None:
        called = RECORDINGS["openai_responses/function_call"]
        worker = Agent(name="Worker", model="openai/gpt-5", tools=(tool("tide", "low"),))
        replies = [recorded_bytes(called.name), recorded_bytes("openai_responses/whole_cancelled")]
        top_agent = worker
        if below:
            top_agent = Agent(
                name="Top", model="openai/gpt-5", assistants=(msgspec.structs.replace(worker, name="Tide"),)
            )
            replies = [replies[0], replies[1], recorded_bytes(PLAIN["openai_responses"])]
        async with recorded_provider("openai", *replies) as setup:
            turn = assert_legal(await all_entries(Run(top_agent, (ASKED,), context=setup.context)))
            assert ending(turn) is (Ending.ANSWERED if below else Ending.CANCELLED)
            assert len(turn.replies) == len(replies)

    run_story(story())


PAUSED = {
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-4-5",
    "content": [
        {"type": "thinking", "thinking": "Search.", "signature": "c2VhbA=="},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "Lima"}},
    ],
    "stop_reason": "pause_turn",
    "usage": {"input_tokens": 1, "output_tokens": 2},
}


def test_paused_turn_is_continued_with_its_own_message() -> None:
    paused = http_response("200 OK", json.dumps(PAUSED).encode(), Content_Type="application/json")

    async def story() -> None:
        async with recorded_provider(
            "anthropic", paused, recorded_bytes(PLAIN["anthropic_messages"])
        ) as setup:
            top_agent = Agent(name="Planner", model=CLAUDE.model, thinking=2048, tools=(tool("tide"),))
            turn = assert_legal(await all_entries(Run(top_agent, (ASKED,), context=setup.context)))
            assert ending(turn) is Ending.ANSWERED
            assert [reply.calls for reply in turn.replies] == [(), ()]
            assert setup.bodies[1]["messages"][1:] == [{"role": "assistant", "content": PAUSED["content"]}]

    run_story(story())
