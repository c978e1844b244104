"""Long conversations that change the model on every request, over all models of all simulators.

They run inside one process. `make journeys` runs twenty of them; the suite runs fewer.
"""

import json
import os
import random
import re
from typing import NamedTuple
from urllib.parse import unquote

import pytest

import thinkaloud
from thinkaloud.client.prepared_request import Options, PreparedRequest, prepare
from thinkaloud.core.canon import Kind
from thinkaloud.core.canon.requests import Request, ToolDefinition, ToolMessage, UserMessage
from thinkaloud.core.context import AnsweredTurn, Context, ContextMode, Step
from thinkaloud.core.dialects import build_request
from thinkaloud.core.transcript import BlockStatus
from thinkaloud.simulators import APIS, ScriptedAnswer, ScriptedToolCall, deepseek, groq, kimi, mistral
from thinkaloud.simulators import bedrock as bedrock_rules
from thinkaloud.simulators import cohere as cohere_rules
from thinkaloud.simulators import gemini as gemini_rules
from thinkaloud.simulators import openrouter as openrouter_rules
from thinkaloud.simulators.anthropic import models as anthropic_models
from thinkaloud.simulators.api import ApiRequest, ServerState, SimulatedApi, first_violation
from thinkaloud.simulators.openai import models as openai_models
from thinkaloud.simulators.seals import SigningKey

CONVERSATIONS = int(os.environ.get("JOURNEYS", "3"))
TURNS = 40
MODELS = {
    "anthropic": ("anthropic", "/v1", tuple(anthropic_models.MODELS)),
    "openai": ("openai-responses", "/v1", tuple(openai_models.MODELS)),
    "openai-chat": ("openai-chat", "/v1", tuple(openai_models.MODELS)),
    "openrouter": ("openrouter", "/api/v1", tuple(openrouter_rules.MODELS)),
    "deepseek": ("deepseek", "/v1", tuple(deepseek.MODELS)),
    "moonshot": ("kimi", "/v1", tuple(kimi.MODELS)),
    "gemini": ("gemini", "/v1beta", tuple(gemini_rules.MODELS)),
    "mistral": ("mistral", "/v1", tuple(mistral.MODELS)),
    "groq": ("groq", "/openai/v1", tuple(groq.MODELS)),
    "xai": ("xai", "/v1", tuple(openai_models.XAI_MODELS)),
    "bedrock": ("bedrock", "", bedrock_rules.MODELS),
    "cohere": ("cohere", "/v2", tuple(cohere_rules.MODELS)),
    "ollama": ("ollama", "", ("qwen3:8b", "gpt-oss:20b", "llama3.2", "deepseek-v3.1")),
    "vllm": ("vllm", "/v1", ("qwen3-8b", "qwen3-8b-raw", "gpt-oss-20b")),
}
"""For each provider: its simulator, the path of its base URL, and the models of the simulator."""

CHOICES = [f"{provider}/{model}" for provider, (_, _, models) in MODELS.items() for model in models]
KEYS = {
    "x-api-key": "sim-key",
    "authorization": "Bearer sim-key",
    "x-goog-api-key": "sim-key",
    "anthropic-version": "2023-06-01",
}
TOOL = ToolDefinition(
    "get_weather", "The weather.", '{"type":"object","properties":{"city":{"type":"string"}}}'
)
CALL = ScriptedToolCall("get_weather", {"city": "Lima"})


class Server(NamedTuple):
    """A simulator without its socket."""

    api: SimulatedApi
    base_path: str
    state: ServerState
    key: SigningKey


class RandomConversation:
    """One conversation with all simulators. The seed decides the models and their answers."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.servers = {
            provider: Server(APIS[name], path, ServerState(id_prefix=f"{number:02}"), SigningKey(b"secret"))
            for number, (provider, (name, path, _)) in enumerate(MODELS.items())
        }
        self.steps: list[Step] = [UserMessage("What is it like in Lima?")]
        self.mode = self.random.choice(list(ContextMode))

    def take_turn(self, number: int, model: str) -> None:
        """Ask a model, check the request and the response, and run the tools that it calls."""
        thinking = self.random.choice((None, "off", "low", "high", "max"))
        options = Options(
            tools=(TOOL,),
            context_mode=self.mode,
            stream=self.random.random() < 0.5,
            on_thinking_unavailable="warn",
        )
        prepared = prepare(
            Context(tuple(self.steps)),
            model=model,
            thinking=thinking,
            options=options,
            have_key=lambda _: True,
        )
        self._check_report(prepared)
        word = f"thought-{number:02}-word"
        turn = thinkaloud.read(
            self._response(prepared, self._answer(word, prepared)),
            prepared.route.provider.dialect,
            model=prepared.route.model_id,
        )
        provider = prepared.route.provider.name
        self.steps.append(AnsweredTurn(turn, prepared.prefix, provider))
        calls = [block for block in turn.own_blocks(Kind.TOOL_CALL) if block.status is BlockStatus.DONE]
        results = [ToolMessage(block.call_id, "18 degrees", block.name) for block in calls]
        self.steps += results or [UserMessage(f"And then? ({number})")]

    def _answer(self, word: str, prepared: PreparedRequest) -> ScriptedAnswer:
        calls = [CALL] if prepared.request.tools and self.random.random() < 0.5 else []
        text = self.random.choice(("", "\n\n")) if calls else "It is mild."
        return ScriptedAnswer(thinking=f"{word} is what I think.", text=text, tool_calls=calls)

    def _response(self, prepared: PreparedRequest, answer: ScriptedAnswer) -> bytes:
        """Send the request, or the fallback for a refusal that only the provider can know of."""
        request = self._api_request(prepared, prepared.request)
        server = self.servers[prepared.route.provider.name]
        violation = first_violation(server.api.rules, request)
        if violation is not None:
            fallbacks = [row.request for row in prepared.fallbacks if row.refusal in violation[1].message]
            assert fallbacks, (prepared.route.model_id, violation)
            assert fallbacks[0] is not None
            request = self._api_request(prepared, fallbacks[0])
            assert first_violation(server.api.rules, request) is None
        response = server.api.respond(request, answer)
        return b"".join(response.events) if response.stream else json.dumps(response.body).encode()

    def _api_request(self, prepared: PreparedRequest, request: Request) -> ApiRequest:
        server = self.servers[prepared.route.provider.name]
        outgoing = build_request(prepared.route, request)
        self._check_thoughts_sent(prepared, outgoing.body.decode())
        path, _, query = (server.base_path + outgoing.path).partition("?")
        match = re.fullmatch(server.api.path_pattern, path)
        assert match, path
        body = json.loads(outgoing.body)
        return ApiRequest(
            body=body,
            model=unquote(match.groupdict().get("model") or body["model"]),
            headers={name.lower(): value for name, value in outgoing.headers.items()} | KEYS,
            query=dict(pair.split("=") for pair in query.split("&") if pair),
            path=path,
            signing_key=server.key,
            state=server.state,
        )

    def _check_report(self, prepared: PreparedRequest) -> None:
        """Check that every block of every turn has its line in the report."""
        blocks = [
            (number, block.number)
            for number, step in enumerate(self.steps)
            if isinstance(step, AnsweredTurn)
            for block in step.turn.blocks
        ]
        lines = [(line.step, line.block) for line in prepared.report.lines if line.block is not None]
        assert sorted(lines) == blocks

    def _check_thoughts_sent(self, prepared: PreparedRequest, body: str) -> None:
        """Check that a thought is in the request exactly if the report says so."""
        for line in prepared.report.lines:
            step = self.steps[line.step]
            if not isinstance(step, AnsweredTurn) or line.kind != Kind.REASONING or line.block is None:
                continue
            word = re.search(r"thought-\d\d-word", step.turn.blocks[line.block].text)
            if word:
                assert (word[0] in body) == (line.status == "sent"), (prepared.route.model_id, line)


@pytest.mark.parametrize("seed", range(CONVERSATIONS))
def test_no_request_is_refused_when_the_model_changes_every_time(seed: int) -> None:
    """R059: no simulator refuses a request, and each captured thought is sent back or accounted for."""
    conversation = RandomConversation(seed)
    model = ""
    for number in range(TURNS):
        model = conversation.random.choice([choice for choice in CHOICES if choice != model])
        conversation.take_turn(number, model)
    turns = [step.turn for step in conversation.steps if isinstance(step, AnsweredTurn)]
    assert len(turns) == TURNS
    assert any("-word" in turn.reasoning for turn in turns)


def test_every_model_of_every_simulator_is_asked_once() -> None:
    conversation = RandomConversation(1000)
    for number, model in enumerate(CHOICES):
        if number % TURNS == 0:
            conversation.steps = conversation.steps[:1]
        conversation.take_turn(number % TURNS, model)
