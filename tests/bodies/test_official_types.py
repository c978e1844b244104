"""Bodies against the request types of the official client libraries; skipped where they are not installed."""

import json
from typing import Any

import pytest
from tests.bodies.typed_dicts import misfit
from tests.context.talk import CHAT, CLAUDE, GEMINI, GPT, INTERACTIONS, Calls, ask, result, speak, talk

from thinkaloud.canon.requests import Ask, Image, UserMessage
from thinkaloud.catalog import Route
from thinkaloud.context import Conversation, Terms, build
from thinkaloud.dialects.bodies import write

pytestmark = pytest.mark.filterwarnings("ignore")

LIMA = Calls("call_1", "Lima")
PICTURE = UserMessage("And here?", (Image("image/png", "aGk="),))


def conversation(to: Route) -> Conversation:
    """Own and foreign turns, tools, a picture."""
    foreign = CLAUDE if to is not CLAUDE else GPT
    return talk(
        ask(),
        speak(to, "Hm.", "Looking.", [LIMA]),
        result("call_1"),
        speak(to, "So.", "18 C."),
        PICTURE,
        speak(foreign, "Ho.", "Also.", [Calls("call_2", "Cusco")]),
        result("call_2"),
        speak(foreign, "", "9 C."),
        ask("Thanks. And?"),
    )


def body(to: Route, asked: Ask, choice: str = "auto") -> Any:
    terms = Terms(ask=asked, max_tokens=4096, tool_choice=choice)
    return json.loads(write(to, build(conversation(to), to, terms).request).body)


@pytest.mark.parametrize(
    "asked",
    [
        Ask(),
        Ask(mode="enabled", budget_tokens=2048),
        Ask(mode="adaptive", effort="high", display="summarized"),
        Ask(mode="disabled"),
        Ask(mode="between_tools"),
    ],
    ids=lambda asked: asked.mode or "none",
)
@pytest.mark.parametrize("choice", ["auto", "required", "get_weather"])
def test_anthropic(asked: Ask, choice: str) -> None:
    params = pytest.importorskip("anthropic.types.message_create_params", reason="anthropic is not installed")
    assert misfit(body(CLAUDE, asked, choice), params.MessageCreateParamsStreaming) == ""


@pytest.mark.parametrize("choice", ["auto", "required", "get_weather"])
def test_openai_chat(choice: str) -> None:
    params = pytest.importorskip(
        "openai.types.chat.completion_create_params", reason="openai is not installed"
    )
    told = body(CHAT, Ask(effort="low"), choice)
    assert misfit(told, params.CompletionCreateParamsStreaming) == ""


@pytest.mark.parametrize("choice", ["auto", "required", "get_weather"])
def test_openai_responses(choice: str) -> None:
    params = pytest.importorskip(
        "openai.types.responses.response_create_params", reason="openai is not installed"
    )
    told = body(GPT, Ask(effort="high", display="auto"), choice)
    assert misfit(told, params.ResponseCreateParamsStreaming) == ""


@pytest.mark.parametrize("choice", ["auto", "get_weather"])
@pytest.mark.parametrize("asked", [Ask(level="high", display="include"), Ask(budget_tokens=-1)])
def test_gemini(asked: Ask, choice: str) -> None:
    types = pytest.importorskip("google.genai.types", reason="google-genai is not installed")
    told = body(GEMINI, asked, choice)
    for content in (*told.pop("contents"), told.pop("systemInstruction")):
        types.Content.model_validate(content)
    for tool in told.pop("tools"):
        types.Tool.model_validate(tool)
    types.ToolConfig.model_validate(told.pop("toolConfig"))
    types.GenerationConfig.model_validate(told.pop("generationConfig"))
    assert told == {}


def test_gemini_interactions() -> None:
    types = pytest.importorskip(
        "google.genai._gaos.types.interactions.createmodelinteraction",
        reason="google-genai with interactions is not installed",
    )
    told = body(INTERACTIONS, Ask(), "get_weather")
    assert set(told) <= set(types.CreateModelInteraction.model_fields)
    types.CreateModelInteraction.model_validate(told)
