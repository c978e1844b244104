"""Long conversations across providers, checked by the rules of the simulators: no request is refused."""

import json
import re
from typing import NamedTuple

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.context.conversations import (
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
from thinkaloud.core.canon import Kind
from thinkaloud.core.canon.requests import ThinkingParameters, ToolMessage, UserMessage
from thinkaloud.core.catalog import Route
from thinkaloud.core.context import (
    AnsweredTurn,
    BuildOptions,
    Context,
    ContextMode,
    Step,
    UnsupportedThoughts,
    build,
)
from thinkaloud.core.dialects import build_request
from thinkaloud.core.transcript import BlockStatus
from thinkaloud.simulators import APIS, ScriptedAnswer, ScriptedToolCall
from thinkaloud.simulators.api import ApiRequest, ServerState, SimulatedApi, first_violation
from thinkaloud.simulators.seals import SigningKey

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
"""The simulator for each provider, and the path of the base URL below its root."""

ROUND_TRIP = (CLAUDE, DEEPSEEK, GEMINI, GPT, TAGGED, CLAUDE)
ALL_ROUTES = (CLAUDE, BOUND, DEEPSEEK, R1, KIMI, GEMINI, GPT, OPENROUTER, OLLAMA, TAGGED)
KEYS = {"x-api-key": "sim-key", "authorization": "Bearer sim-key", "x-goog-api-key": "sim-key"}


class Server(NamedTuple):
    """A simulator without its socket."""

    api: SimulatedApi
    base: str
    memory: ServerState
    secret: SigningKey


class SimulatedConversation:
    """All simulators, and one conversation that moves between them."""

    def __init__(self, build_options: BuildOptions) -> None:
        self.servers = {
            name: Server(APIS[sim], base, ServerState(issued_ids=1000 * number), SigningKey(sim.encode()))
            for number, (name, (sim, base)) in enumerate(BASES.items())
        }
        self.build_options = build_options
        self.steps: list[Step] = []
        self.system = "Be brief."

    def conversation(self) -> Context:
        return Context(tuple(self.steps), self.system, (WEATHER,))

    def ask(
        self,
        target: Route,
        answer: ScriptedAnswer,
        *,
        thinking: ThinkingParameters,
        stream: bool,
        cut: float = 1.0,
    ) -> AnsweredTurn:
        """Send one request and read its response, or the first part of it."""
        server = self.servers[target.provider.name]
        conversation = self.conversation()
        if target is R1:
            conversation = msgspec.structs.replace(conversation, tools=())
        built = build(
            conversation,
            target,
            msgspec.structs.replace(self.build_options, thinking=thinking, stream=stream),
        )
        http_request = build_request(target, built.request)
        path, _, query = (server.base + http_request.path).partition("?")
        match = re.fullmatch(server.api.path_pattern, path)
        assert match, path
        body = json.loads(http_request.body)
        api_request = ApiRequest(
            body=body,
            model=match.groupdict().get("model") or body["model"],
            headers=http_request.headers | KEYS,
            query=dict(pair.split("=") for pair in query.split("&") if pair),
            path=path,
            signing_key=server.secret,
            state=server.memory,
        )
        violation = first_violation(server.api.rules, api_request)
        assert violation is None, (violation, http_request.body)
        self.check_report(built.report.lines)
        response = server.api.respond(api_request, answer)
        data = b"".join(response.events) if response.stream else json.dumps(response.body).encode()
        turn = thinkaloud.read(
            data[: max(1, int(len(data) * cut))], target.provider.dialect, model=target.model_id
        )
        self.steps.append(AnsweredTurn(turn, built.prefix, target.provider.name))
        return AnsweredTurn(turn, built.prefix, target.provider.name)

    def check_report(self, lines: tuple[object, ...]) -> None:
        blocks = sum(len(step.turn.blocks) for step in self.steps if isinstance(step, AnsweredTurn))
        assert len([line for line in lines if getattr(line, "block", None) is not None]) == blocks

    def run_tools(self, answered: AnsweredTurn) -> bool:
        calls = [
            block
            for block in answered.turn.own_blocks(Kind.TOOL_CALL)
            if block.result is None and block.status is BlockStatus.DONE
        ]
        whole = answered.turn.outcome is not None and answered.turn.message is not None
        if not (calls and whole):
            return False
        self.steps += [ToolMessage(block.call_id, "18 C", block.name) for block in calls]
        return True

    def compact(self, keep: int) -> None:
        """Keep only the last user messages, with what followed them."""
        users = [at for at, step in enumerate(self.steps) if isinstance(step, UserMessage)]
        self.steps = self.steps[users[-keep] :] if len(users) > keep else self.steps


def thinking_ask(target: Route) -> ThinkingParameters:
    if target is CLAUDE:
        return ThinkingParameters(mode="enabled", budget_tokens=1024)
    return ThinkingParameters(mode="adaptive") if target is BOUND else ThinkingParameters()


CALLING = ScriptedAnswer(
    thinking="Look it up.", text="One moment.", tool_calls=[ScriptedToolCall("get_weather", {"city": "Lima"})]
)
TWICE = ScriptedAnswer(
    thinking="Both.",
    tool_calls=[ScriptedToolCall("get_weather", {"city": city}) for city in ("Lima", "Cusco")],
)
ANSWERING = ScriptedAnswer(thinking="So it is.", text="It is warm.")


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("mode", list(ContextMode))
def test_thirty_turns_across_providers_and_back(mode: ContextMode, stream: bool) -> None:
    """R059, K12: nothing is refused, and every block of the first provider goes back to it verbatim."""
    world = SimulatedConversation(BuildOptions(mode=mode))
    for target in ROUND_TRIP * 2:
        world.steps.append(UserMessage(f"Weather, {target.provider.name}?"))
        for answer in (CALLING, TWICE, ANSWERING):
            world.run_tools(world.ask(target, answer, thinking=thinking_ask(target), stream=stream))
    assert len([step for step in world.steps if isinstance(step, AnsweredTurn)]) == 36
    if mode is ContextMode.KEEP:
        body = build_request(
            CLAUDE, build(world.conversation(), CLAUDE, world.build_options).request
        ).body.decode()
        for step in world.steps:
            if isinstance(step, AnsweredTurn) and step.provider == "anthropic":
                assert step.turn.message is not None
                assert step.turn.message.payload in body


ANSWERS = {
    "calling": CALLING,
    "twice": TWICE,
    "answering": ANSWERING,
    "plain": ScriptedAnswer(text="Hi."),
    "thinking": ScriptedAnswer(thinking="Only this."),
}
Move = tuple[str, int, str, bool, float]
"""What happens first, where the request goes, what comes back, in what form, and how much of it."""

moves: st.SearchStrategy[list[Move]] = st.lists(
    st.tuples(
        st.sampled_from(("ask", "ask", "ask", "cut", "compact", "rewrite", "steer")),
        st.integers(0, len(ALL_ROUTES) - 1),
        st.sampled_from(sorted(ANSWERS)),
        st.booleans(),
        st.floats(0.05, 0.95),
    ),
    max_size=14,
)


def possible(world: SimulatedConversation, target: Route) -> bool:
    """Return whether the model can make this move: R1 takes no tools."""
    return target is not R1 or not any(isinstance(step, ToolMessage) for step in world.steps)


@settings(max_examples=300, deadline=None)
@given(moves, st.sampled_from(ContextMode), st.sampled_from(UnsupportedThoughts))
def test_no_built_request_breaks_a_rule(
    moves: list[Move], mode: ContextMode, unsupported: UnsupportedThoughts
) -> None:
    """With interruptions anywhere, compaction, a changed system prompt, and switches in an open loop."""
    world = SimulatedConversation(BuildOptions(mode=mode, unsupported=unsupported))
    world.steps.append(UserMessage("Hello."))
    for kind, number, name, stream, cut in moves:
        target, answer = ALL_ROUTES[number], ANSWERS[name]
        if kind == "compact":
            world.compact(1)
        elif kind == "rewrite":
            world.system += " Now."
        elif kind == "steer":
            world.steps.append(UserMessage("Wait."))
        if not possible(world, target):
            continue
        if target is R1:
            answer = msgspec.structs.replace(answer, tool_calls=[])
        kept_share = cut if kind == "cut" else 1.0
        answered = world.ask(target, answer, thinking=thinking_ask(target), stream=stream, cut=kept_share)
        if not world.run_tools(answered):
            world.steps.append(UserMessage("Go on."))
