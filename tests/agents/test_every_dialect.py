"""An agent on every wire: thoughts and results go back as each provider demands; a kept run goes anywhere.

The simulators refuse what the vendors refuse. For dialects without one, recorded replies are played.
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
from tests.agents.legal_tree import assert_legal
from tests.agents.stage import act_out, told, tool
from tests.client.upstream import Seen, Upstream, answer, serving
from tests.dialects.recorded import OWN, RECORDINGS, Recording

from thinkaloud.agents.agent import Agent
from thinkaloud.agents.run import ANSWER_NOW, Run, Surroundings
from thinkaloud.canon import BlockGrew, Entry, Kind, ToolFinished
from thinkaloud.canon.requests import UserMessage
from thinkaloud.catalog import Catalog, Route, builtin, builtin_texts, parse
from thinkaloud.catalog import route as find
from thinkaloud.catalog.rows import ReplayForm
from thinkaloud.client.http import Client, Shell
from thinkaloud.context import (
    ContextMode,
    Conversation,
    Said,
    Step,
    read_conversation,
    steps_of,
    write_conversation,
)
from thinkaloud.dialects.bodies import BODIES
from thinkaloud.simulators import Answer, Fault, Script, Simulator, ToolCall, running
from thinkaloud.transcript import Ending, Turn, apply, unfold

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


class Player(NamedTuple):
    """A model, and how it is asked to think."""

    model: str
    thinking: str | int | None = None

    @property
    def provider(self) -> str:
        return self.model.partition("/")[0]


CLAUDE = Player("anthropic/claude-opus-4-5", 2048)
BOUND = Player("anthropic/claude-opus-5.5", "high")
DEEPSEEK = Player("deepseek/deepseek-v4-pro", "high")
GPT = Player("openai/gpt-6-sol", "high")
GEMINI = Player("gemini/gemini-3-pro-preview", "high")
PLAYERS = (
    *(CLAUDE, BOUND, DEEPSEEK, GPT, GEMINI),
    Player("gemini/gemini-2.5-flash", 1024),
    Player("moonshot/kimi-k2-thinking"),
    Player("openai-chat/gpt-4o"),
    Player("openrouter/anthropic/claude-sonnet-4.5", "high"),
    Player("openrouter/openai/gpt-5", "high"),
    Player("vllm/qwen3-8b", "high"),
    Player("vllm/qwen3-8b-raw", "high"),
    Player("ollama/qwen3:8b", "high"),
)
EVERY_PLAYER = pytest.mark.parametrize("player", PLAYERS, ids=lambda player: player.model)


@pytest.fixture(autouse=True, scope="module")
def _key() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(KEY_NAME, "sim-key")
        yield


class World(NamedTuple):
    """The simulators, and what a run needs to reach them."""

    servers: dict[str, Simulator]
    around: Surroundings

    def script(self, player: Player, *answers: Answer) -> Simulator:
        server = self.servers[player.provider]
        server.script = Script(list(answers))
        return server

    def run(self, player: Player, *before: Step, **parts: Any) -> Run:
        return Run(agent(player, **parts), before, around=self.around)


def routed(catalog: Catalog | None, model: str) -> Route:
    assert catalog is not None
    return find(catalog, model, thinking=True, have_key=lambda _: True)


def ending(turn: Turn) -> Ending:
    assert turn.outcome is not None
    return turn.outcome.ending


def agent(player: Player, name: str = "Planner", **parts: Any) -> Agent:
    parts.setdefault("tools", (tool("get_weather", "18 C in Lima"), tool("get_time", "12:00")))
    return Agent(
        name=name, model=player.model, thinking=player.thinking, system="Answer in one sentence.", **parts
    )


def _catalog(servers: dict[str, Simulator]) -> Catalog:
    rows = [
        f'[providers.{name}]\nbase_url = "{server.url}{urlsplit(builtin().providers[name].base_url).path}"\n'
        + (f'key = "env:{KEY_NAME}"\n' if builtin().providers[name].key else "")
        for name, server in servers.items()
    ]
    return parse(*builtin_texts(), "".join(rows))


async def _no_wait(_: float) -> None:
    """Retries come at once."""


@asynccontextmanager
async def world(*players: Player) -> AsyncIterator[World]:
    """All these providers; at the end none of them has refused anything."""
    names = {player.provider for player in players}
    async with AsyncExitStack() as stack:
        servers = {name: await stack.enter_async_context(running(SIMULATORS[name])) for name in names}
        shell = Shell(environ={KEY_NAME: "sim-key"}, sleep=_no_wait)
        client = await stack.enter_async_context(Client(shell=shell))
        yield World(servers, Surroundings(catalog=_catalog(servers), client=client))
        assert {name: server.refusals for name, server in servers.items() if server.refusals} == {}


LOOK = Answer(
    thinking="First-thought about it.",
    text="One moment.",
    tool_calls=[ToolCall("get_weather", {"city": "Lima"})],
)
BOTH = Answer(
    thinking="Second-thought about it.",
    tool_calls=[ToolCall("get_weather", {"city": "Lima"}), ToolCall("get_time", {"city": "Lima"})],
)
SAY = Answer(thinking="Third-thought about it.", text="It is mild.")
THOUGHTS = ("First-thought", "Second-thought", "Third-thought")
ASKED = UserMessage("What is it like in Lima?")
NEXT = UserMessage("And tomorrow?")


def went_back(turn: Turn, route: Route, raw: str) -> None:
    """The first reply is in the request as its rule says, and so is what its calls came to."""
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
        thought = "".join(block.text for block in turn.said_in(first) if block.kind is Kind.REASONING)
        assert thought
        assert f"{json.dumps(route.replay.field)}:{json.dumps(thought)}" in raw
    for number in first.calls:
        assert turn.blocks[number].result
        assert json.dumps(turn.blocks[number].result)[1:-1] in raw


def kept(turn: Turn) -> Turn:
    """The turn, after it was in a file."""
    again = Turn()
    for entry in unfold(turn):
        apply(again, entry)
    return again


@EVERY_PLAYER
def test_a_run_with_tools_and_a_turn_after_it(player: Player) -> None:
    """Nothing is refused: not between the calls, not in the next turn, not by somebody else after that."""
    other = CLAUDE if player.provider != "anthropic" else DEEPSEEK

    async def story() -> None:
        async with world(player, other) as stage:
            server = stage.script(player, LOOK, BOTH, SAY)
            turn = assert_legal(await told(stage.run(player, ASKED)))
            assert ending(turn) is Ending.ANSWERED
            assert turn.answer.split() == ["One", "moment.", "It", "is", "mild."]
            assert [block.result for block in turn.top(Kind.TOOL_CALL)] == [
                *("18 C in Lima", "18 C in Lima", "12:00")
            ]
            assert len(turn.replies) == 3
            went_back(turn, routed(stage.around.catalog, player.model), server.requests[1].raw.decode())

            before = (ASKED, *steps_of(Said(kept(turn), "", player.provider)), NEXT)
            again = read_conversation(write_conversation(Conversation(before))).steps
            stage.script(player, BOTH, SAY)
            after = assert_legal(await told(stage.run(player, *again)))
            assert after.answer.strip() == "It is mild."
            sent = server.requests[-1].raw.decode()
            assert sent.count("18 C in Lima") == 3

            foreign = stage.script(other, LOOK, SAY)
            steps = (*again, *steps_of(Said(kept(after), "", player.provider)), NEXT)
            last = assert_legal(await told(stage.run(other, *steps)))
            assert last.answer == "One moment.\n\nIt is mild."
            first = foreign.requests[0].raw.decode()
            assert first.count("18 C in Lima") == 3
            assert not any(thought in first for thought in THOUGHTS)

    act_out(story())


@pytest.mark.parametrize("mode", list(ContextMode))
@pytest.mark.parametrize("player", [CLAUDE, BOUND, DEEPSEEK, GPT, GEMINI], ids=lambda player: player.model)
def test_a_run_in_every_mode(player: Player, mode: ContextMode) -> None:
    async def story() -> None:
        async with world(player) as stage:
            stage.script(player, LOOK, BOTH, SAY)
            turn = assert_legal(await told(stage.run(player, ASKED, context_mode=mode)))
            assert turn.answer == "One moment.\n\nIt is mild."

    act_out(story())


TRIOS = [*permutations((CLAUDE, DEEPSEEK, GPT)), (BOUND, GEMINI, DEEPSEEK), (GEMINI, GPT, BOUND)]


@pytest.mark.parametrize("trio", TRIOS, ids=lambda trio: " > ".join(player.provider for player in trio))
def test_three_levels_of_different_providers(trio: tuple[Player, Player, Player]) -> None:
    """Each keeps its own thoughts between its own calls, and none sees another's."""
    top, middle, deep = trio

    def delegating(name: str, task: str, whose: str) -> Answer:
        call = ToolCall(name, {"task": task})
        return Answer(thinking=f"{whose}-thought one.", tool_calls=[call, ToolCall("get_time")])

    async def story() -> None:
        async with world(*trio) as stage:
            finder = agent(deep, "Finder")
            checker = agent(middle, "Checker", assistants=(finder,), tools=(tool("get_time", "12:00"),))
            stage.script(top, delegating("checker", "Check Lima.", "top"), SAY, SAY)
            stage.script(middle, delegating("finder", "Find Lima.", "middle"), Answer(text="It is checked."))
            stage.script(deep, LOOK, BOTH, Answer(thinking="deep-thought.", text="It is found."))
            run = stage.run(top, ASKED, assistants=(checker,), tools=(tool("get_time", "12:00"),))
            turn = assert_legal(await told(run))
            calls = [block for block in turn.blocks if block.kind is Kind.ASSISTANT_CALL]
            assert [block.result for block in calls] == ["It is checked.", "It is found."]
            assert turn.answer == "It is mild."
            raw = {player: _all(stage.servers[player.provider]) for player in trio}
            assert "middle-thought" not in raw[top]
            assert "top-thought" not in raw[middle] + raw[deep]
            assert "First-thought" not in raw[top] + raw[middle]
            assert "18 C" not in raw[top] + raw[middle]

            stage.servers[top.provider].requests.clear()
            run = stage.run(
                top,
                *(ASKED, *steps_of(Said(kept(turn), "", top.provider)), NEXT),
                assistants=(checker,),
                tools=(tool("get_time", "12:00"),),
            )
            assert assert_legal(await told(run)).answer == "It is mild."
            assert "It is checked." in _all(stage.servers[top.provider])

    act_out(story())


def _all(server: Simulator) -> str:
    return "".join(request.raw.decode() for request in server.requests)


@pytest.mark.parametrize("earlier", [0, 1], ids=["in the first reply", "after a call"])
@pytest.mark.parametrize(
    "player", [player for player in PLAYERS if "4o" not in player.model], ids=lambda player: player.model
)
def test_an_answer_now_is_taken_by_everybody_who_thinks(player: Player, earlier: int) -> None:
    async def story() -> None:
        stuck = Answer(
            thinking="It is a long long long story.",
            text="It is a long long long answer.",
            fault=Fault("stall", seconds=30, after_events=6),
        )
        async with world(player) as stage:
            answers = [LOOK, stuck, SAY][1 - earlier :]
            server = stage.script(player, *answers)
            run = stage.run(player, ASKED)
            entries: list[Entry] = []
            heard, hurried = Turn(), False
            async for entry in run.entries():
                entries.append(entry)
                apply(heard, entry)
                if not hurried and len(heard.replies) == earlier and _thinks(entry, heard):
                    hurried = True
                    run.answer_now()
            turn = assert_legal(entries)
            assert ending(turn) is Ending.ANSWERED
            assert turn.notices.count(ANSWER_NOW) == 1
            assert len(server.requests) == len(answers)

    act_out(story())


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
CALLING = {
    name: recording
    for name, recording in RECORDINGS.items()
    if recording.dialect in BODIES and recording.story["outcome"]["ending"] == "called_tools"
}


def played(name: str) -> bytes:
    """A recorded reply, as a response."""
    (body,) = (OWN / name).glob("body.*")
    return answer("200 OK", body.read_bytes(), Content_Type=MEDIA[body.suffix[1:]])


def model_of(recording: Recording) -> str:
    """A name for it that the recorded model is at home with."""
    named = {"bedrock": "us.anthropic.claude-opus-4-5-20251101-v1:0", "cohere": "command-a-reasoning-08-2025"}
    provider = ROWS[recording.dialect]
    return f"{provider}/{named.get(provider) or recording.turn().model}"


def test_every_dialect_that_can_be_asked_is_played() -> None:
    assert {recording.dialect for recording in CALLING.values()} == set(BODIES) == set(ROWS) == set(PLAIN)


class Played(NamedTuple):
    """A provider that plays what was recorded."""

    upstream: Upstream
    around: Surroundings

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(seen.body) for seen in self.upstream.seen]


@asynccontextmanager
async def playing(provider: str, *replies: bytes) -> AsyncIterator[Played]:
    """These replies, one after the other; at the end all of them were asked for."""
    left = list(replies)

    async def act(seen: Seen) -> None:
        await seen.send(left.pop(0))

    shell = Shell(environ={KEY_NAME: "sim-key"}, sleep=_no_wait)
    async with serving(act) as upstream, Client(shell=shell) as client:
        row = f'[providers.{provider}]\nbase_url = "{upstream.base_url}"\nlocal = true\n'
        row += "" if provider in ("interactions", "ollama") else f'key = "env:{KEY_NAME}"\n'
        catalog = parse(*builtin_texts(), INTERACTIONS, row)
        yield Played(upstream, Surroundings(catalog=catalog, client=client))
        assert left == []


@pytest.mark.parametrize("name", CALLING)
def test_recorded_calls_are_run_and_go_back(name: str) -> None:
    recording = CALLING[name]
    provider, plain = ROWS[recording.dialect], played(PLAIN[recording.dialect])
    names = {block.name for block in recording.turn().blocks if block.kind is Kind.TOOL_CALL}
    tools = tuple(tool(known, f"{known} came back") for known in sorted(names))
    who = Agent(name="Planner", model=model_of(recording), tools=tools)

    async def story() -> None:
        async with playing(provider, played(name), plain, plain) as stage:
            turn = assert_legal(await told(Run(who, (ASKED,), around=stage.around)))
            assert ending(turn) is Ending.ANSWERED
            assert len(turn.replies) == 2
            raw = stage.upstream.seen[1].body.decode()
            calls = turn.top(Kind.TOOL_CALL)
            assert all(call.result is not None for call in calls)
            assert all((call.error or call.result or "")[:20] in raw for call in calls)
            if any(block.kind is Kind.REASONING for block in turn.said_in(turn.replies[0])):
                thought_went_back(turn, routed(stage.around.catalog, who.model), raw)

            steps = (ASKED, *steps_of(Said(kept(turn), "", provider)), NEXT)
            assert ending(assert_legal(await told(Run(who, steps, around=stage.around)))) is Ending.ANSWERED

    act_out(story())


def thought_went_back(turn: Turn, route: Route, raw: str) -> None:
    if route.replay.form is ReplayForm.NONE:
        return
    thoughts = [block for block in turn.said_in(turn.replies[0]) if block.kind is Kind.REASONING]
    texts = [block.text for block in thoughts if not block.blank]
    seals = [seal.payload for block in thoughts for seal in block.seals if seal.payload[:1] != "{"]
    assert texts or seals
    assert all(json.dumps(text, ensure_ascii=False)[1:-1] in raw for text in texts), raw
    assert all(seal in raw for seal in seals), raw


def test_where_tools_cannot_be_forbidden_an_answer_now_leaves_them_on_offer() -> None:
    async def stuck(arguments: str) -> str:
        await asyncio.Event().wait()
        return "never"

    recording = CALLING["bedrock_converse/tool_in_pieces"]
    plain = played(PLAIN["bedrock_converse"])
    who = Agent(
        name="Planner", model=model_of(recording), tools=(tool("buoy", stuck), tool("ping", "came back"))
    )

    async def story() -> None:
        async with playing("bedrock", played(recording.name), plain) as stage:
            run = Run(who, (ASKED,), around=stage.around)
            entries: list[Entry] = []
            async for entry in run.entries():
                entries.append(entry)
                if isinstance(entry.event, ToolFinished) and entry.event.result == "came back":
                    run.answer_now()
            turn = assert_legal(entries)
            assert ending(turn) is Ending.ANSWERED
            assert list(stage.bodies[1]["toolConfig"]) == ["tools"]

    act_out(story())


@pytest.mark.parametrize("below", [False, True], ids=["the turn itself", "an assistant"])
def test_a_reply_that_the_provider_cancelled_is_not_asked_for_again(below: bool) -> None:
    async def story() -> None:
        called = RECORDINGS["openai_responses/function_call"]
        worker = Agent(name="Worker", model="openai/gpt-5", tools=(tool("tide", "low"),))
        replies = [played(called.name), played("openai_responses/whole_cancelled")]
        who = worker
        if below:
            who = Agent(
                name="Top", model="openai/gpt-5", assistants=(msgspec.structs.replace(worker, name="Tide"),)
            )
            replies = [replies[0], replies[1], played(PLAIN["openai_responses"])]
        async with playing("openai", *replies) as stage:
            turn = assert_legal(await told(Run(who, (ASKED,), around=stage.around)))
            assert ending(turn) is (Ending.ANSWERED if below else Ending.CANCELLED)
            assert len(turn.replies) == len(replies)

    act_out(story())


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


def test_a_provider_that_pauses_gets_its_own_message_back_and_no_result() -> None:
    paused = answer("200 OK", json.dumps(PAUSED).encode(), Content_Type="application/json")

    async def story() -> None:
        async with playing("anthropic", paused, played(PLAIN["anthropic_messages"])) as stage:
            who = Agent(name="Planner", model=CLAUDE.model, thinking=2048, tools=(tool("tide"),))
            turn = assert_legal(await told(Run(who, (ASKED,), around=stage.around)))
            assert ending(turn) is Ending.ANSWERED
            assert [reply.calls for reply in turn.replies] == [(), ()]
            assert stage.bodies[1]["messages"][1:] == [{"role": "assistant", "content": PAUSED["content"]}]

    act_out(story())
