"""Long conversations across providers, held against the rules of the simulators: nothing is ever refused."""

import json
import re
from typing import NamedTuple

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.context.talk import (
    BOUND,
    CLAUDE,
    DEEPSEEK,
    GEMINI,
    GPT,
    KIMI,
    OLLAMA,
    OPENROUTER,
    R1,
    WEATHER,
    route,
)

import thinkaloud
from thinkaloud.canon import Kind
from thinkaloud.canon.requests import Ask, ToolMessage, UserMessage
from thinkaloud.catalog import Route
from thinkaloud.context import ContextMode, Conversation, Said, Step, Terms, Unsupported, build
from thinkaloud.dialects.bodies import write
from thinkaloud.simulators import APIS, Answer, ToolCall
from thinkaloud.simulators.api import Api, Asked, Memory, refused
from thinkaloud.simulators.signing import Secret
from thinkaloud.transcript import Status

TAGGED = route("vllm/qwen3-raw")
BASES = {
    "anthropic": ("anthropic", "/v1"),
    "openai": ("openai-responses", "/v1"),
    "openrouter": ("openrouter", "/api/v1"),
    "deepseek": ("deepseek", "/v1"),
    "moonshot": ("kimi", "/v1"),
    "gemini": ("gemini", "/v1beta"),
    "ollama": ("ollama", ""),
    "vllm": ("vllm", "/v1"),
}
"""Which simulator stands for a provider, and where below its root the row's address is."""

WALK = (CLAUDE, DEEPSEEK, GEMINI, GPT, TAGGED, CLAUDE)
EVERYWHERE = (CLAUDE, BOUND, DEEPSEEK, R1, KIMI, GEMINI, GPT, OPENROUTER, OLLAMA, TAGGED)
KEYS = {"x-api-key": "sim-key", "authorization": "Bearer sim-key", "x-goog-api-key": "sim-key"}


class Server(NamedTuple):
    """A simulator without its socket."""

    api: Api
    base: str
    memory: Memory
    secret: Secret


class World:
    """All simulators, and one conversation that goes from one to another."""

    def __init__(self, terms: Terms) -> None:
        self.servers = {
            name: Server(APIS[sim], base, Memory(given=1000 * number), Secret(sim.encode()))
            for number, (name, (sim, base)) in enumerate(BASES.items())
        }
        self.terms = terms
        self.steps: list[Step] = []
        self.system = "Be brief."

    def conversation(self) -> Conversation:
        return Conversation(tuple(self.steps), self.system, (WEATHER,))

    def ask(self, to: Route, answer: Answer, *, asked: Ask, stream: bool, cut: float = 1.0) -> Said:
        """One request and its answer, or the first part of it."""
        server = self.servers[to.provider.name]
        conversation = self.conversation()
        if to is R1:
            conversation = msgspec.structs.replace(conversation, tools=())
        built = build(conversation, to, msgspec.structs.replace(self.terms, ask=asked, stream=stream))
        sent = write(to, built.request)
        path, _, query = (server.base + sent.path).partition("?")
        found = re.fullmatch(server.api.path, path)
        assert found, path
        body = json.loads(sent.body)
        heard = Asked(
            body=body,
            model=found.groupdict().get("model") or body["model"],
            headers=sent.headers | KEYS,
            query=dict(pair.split("=") for pair in query.split("&") if pair),
            path=path,
            secret=server.secret,
            memory=server.memory,
        )
        broken = refused(server.api.rules, heard)
        assert broken is None, (broken, sent.body)
        self.account(built.report.lines)
        reply = server.api.answer(heard, answer)
        data = b"".join(reply.events) if reply.stream else json.dumps(reply.whole).encode()
        turn = thinkaloud.read(data[: max(1, int(len(data) * cut))], to.provider.dialect, model=to.model_id)
        self.steps.append(Said(turn, built.prefix, to.provider.name))
        return Said(turn, built.prefix, to.provider.name)

    def account(self, lines: tuple[object, ...]) -> None:
        blocks = sum(len(step.turn.blocks) for step in self.steps if isinstance(step, Said))
        assert len([line for line in lines if getattr(line, "block", None) is not None]) == blocks

    def run_tools(self, said: Said) -> bool:
        calls = [
            block
            for block in said.turn.top(Kind.TOOL_CALL)
            if block.result is None and block.status is Status.DONE
        ]
        whole = said.turn.outcome is not None and said.turn.message is not None
        if not (calls and whole):
            return False
        self.steps += [ToolMessage(block.call_id, "18 C", block.name) for block in calls]
        return True

    def compact(self, keep: int) -> None:
        """Only the last so many user messages stay, with what followed them."""
        users = [at for at, step in enumerate(self.steps) if isinstance(step, UserMessage)]
        self.steps = self.steps[users[-keep] :] if len(users) > keep else self.steps


def asked_of(to: Route) -> Ask:
    if to is CLAUDE:
        return Ask(mode="enabled", budget_tokens=1024)
    return Ask(mode="adaptive") if to is BOUND else Ask()


CALLING = Answer(
    thinking="Look it up.", text="One moment.", tool_calls=[ToolCall("get_weather", {"city": "Lima"})]
)
TWICE = Answer(
    thinking="Both.", tool_calls=[ToolCall("get_weather", {"city": city}) for city in ("Lima", "Cusco")]
)
ANSWERING = Answer(thinking="So it is.", text="It is warm.")


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("mode", list(ContextMode))
def test_thirty_turns_across_providers_and_back(mode: ContextMode, stream: bool) -> None:
    """R059, K12: nothing refused, and every block of the first provider goes back to it verbatim."""
    world = World(Terms(mode=mode))
    for to in WALK * 2:
        world.steps.append(UserMessage(f"Weather, {to.provider.name}?"))
        for answer in (CALLING, TWICE, ANSWERING):
            world.run_tools(world.ask(to, answer, asked=asked_of(to), stream=stream))
    assert len([step for step in world.steps if isinstance(step, Said)]) == 36
    if mode is ContextMode.KEEP:
        body = write(CLAUDE, build(world.conversation(), CLAUDE, world.terms).request).body.decode()
        for step in world.steps:
            if isinstance(step, Said) and step.provider == "anthropic":
                assert step.turn.message is not None
                assert step.turn.message.payload in body


ANSWERS = {
    "calling": CALLING,
    "twice": TWICE,
    "answering": ANSWERING,
    "plain": Answer(text="Hi."),
    "thinking": Answer(thinking="Only this."),
}
Move = tuple[str, int, str, bool, float]
"""What happens first, where the request goes, what comes back, in what form, and how much of it."""

moves: st.SearchStrategy[list[Move]] = st.lists(
    st.tuples(
        st.sampled_from(("ask", "ask", "ask", "cut", "compact", "rewrite", "steer")),
        st.integers(0, len(EVERYWHERE) - 1),
        st.sampled_from(sorted(ANSWERS)),
        st.booleans(),
        st.floats(0.05, 0.95),
    ),
    max_size=14,
)


def possible(world: World, to: Route) -> bool:
    """R1 takes no tools."""
    return to is not R1 or not any(isinstance(step, ToolMessage) for step in world.steps)


@settings(max_examples=300, deadline=None)
@given(moves, st.sampled_from(ContextMode), st.sampled_from(Unsupported))
def test_no_build_ever_breaks_a_rule(told: list[Move], mode: ContextMode, unsupported: Unsupported) -> None:
    """With interruptions anywhere, compaction, a changed system prompt, and switches in an open loop."""
    world = World(Terms(mode=mode, unsupported=unsupported))
    world.steps.append(UserMessage("Hello."))
    for kind, number, name, stream, cut in told:
        to, answer = EVERYWHERE[number], ANSWERS[name]
        if kind == "compact":
            world.compact(1)
        elif kind == "rewrite":
            world.system += " Now."
        elif kind == "steer":
            world.steps.append(UserMessage("Wait."))
        if not possible(world, to):
            continue
        if to is R1:
            answer = msgspec.structs.replace(answer, tool_calls=[])
        rest = cut if kind == "cut" else 1.0
        said = world.ask(to, answer, asked=asked_of(to), stream=stream, cut=rest)
        if not world.run_tools(said):
            world.steps.append(UserMessage("Go on."))
