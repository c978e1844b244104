"""Checks bodies against the request types of the official client libraries, if they are installed."""

import json
from typing import Any

import msgspec
import pytest
from tests.context.conversations import (
    CHAT,
    CLAUDE,
    GEMINI,
    GPT,
    INTERACTIONS,
    CityCall,
    answer_from,
    conversation_of,
    tool_result,
    user_message,
)
from tests.requests.typed_dicts import type_mismatch

from thinkaloud.core.canon.requests import (
    File,
    Image,
    OutputFormat,
    Sampling,
    ThinkingParameters,
    UserMessage,
)
from thinkaloud.core.catalog import Route
from thinkaloud.core.context import BuildOptions, Context, build
from thinkaloud.core.dialects import build_request

pytestmark = pytest.mark.filterwarnings("ignore")

LIMA = CityCall("call_1", "Lima")
IMAGE = UserMessage("And here?", (Image("image/png", "aGk="),))


def conversation(destination: Route) -> Context:
    """Return a request with own and foreign turns, tools and an image."""
    foreign = CLAUDE if destination is not CLAUDE else GPT
    return conversation_of(
        user_message(),
        answer_from(destination, "Hm.", "Looking.", [LIMA]),
        tool_result("call_1"),
        answer_from(destination, "So.", "18 C."),
        IMAGE,
        answer_from(foreign, "Ho.", "Also.", [CityCall("call_2", "Cusco")]),
        tool_result("call_2"),
        answer_from(foreign, "", "9 C."),
        user_message("Thanks. And?"),
    )


def json_body(destination: Route, thinking: ThinkingParameters, choice: str = "auto") -> Any:
    options = BuildOptions(thinking=thinking, max_tokens=4096, tool_choice=choice)
    return json.loads(
        build_request(destination, build(conversation(destination), destination, options).request).body
    )


@pytest.mark.parametrize(
    "thinking",
    [
        ThinkingParameters(),
        ThinkingParameters(mode="enabled", budget_tokens=2048),
        ThinkingParameters(mode="adaptive", effort="high", display="summarized"),
        ThinkingParameters(mode="disabled"),
        ThinkingParameters(mode="between_tools"),
    ],
    ids=lambda thinking: thinking.mode or "none",
)
@pytest.mark.parametrize("choice", ["auto", "required", "get_weather"])
def test_anthropic(thinking: ThinkingParameters, choice: str) -> None:
    params = pytest.importorskip("anthropic.types.message_create_params", reason="anthropic is not installed")
    assert type_mismatch(json_body(CLAUDE, thinking, choice), params.MessageCreateParamsStreaming) == ""


@pytest.mark.parametrize("choice", ["auto", "required", "get_weather"])
def test_openai_chat(choice: str) -> None:
    params = pytest.importorskip(
        "openai.types.chat.completion_create_params", reason="openai is not installed"
    )
    sent_body = json_body(CHAT, ThinkingParameters(effort="low"), choice)
    assert type_mismatch(sent_body, params.CompletionCreateParamsStreaming) == ""


@pytest.mark.parametrize("choice", ["auto", "required", "get_weather"])
def test_openai_responses(choice: str) -> None:
    params = pytest.importorskip(
        "openai.types.responses.response_create_params", reason="openai is not installed"
    )
    sent_body = json_body(GPT, ThinkingParameters(effort="high", display="auto"), choice)
    assert type_mismatch(sent_body, params.ResponseCreateParamsStreaming) == ""


@pytest.mark.parametrize("choice", ["auto", "get_weather"])
@pytest.mark.parametrize(
    "thinking", [ThinkingParameters(level="high", display="include"), ThinkingParameters(budget_tokens=-1)]
)
def test_gemini(thinking: ThinkingParameters, choice: str) -> None:
    types = pytest.importorskip("google.genai.types", reason="google-genai is not installed")
    sent_body = json_body(GEMINI, thinking, choice)
    for content in (*sent_body.pop("contents"), sent_body.pop("systemInstruction")):
        types.Content.model_validate(content)
    for tool in sent_body.pop("tools"):
        types.Tool.model_validate(tool)
    types.ToolConfig.model_validate(sent_body.pop("toolConfig"))
    types.GenerationConfig.model_validate(sent_body.pop("generationConfig"))
    assert sent_body == {}


def test_gemini_interactions() -> None:
    types = pytest.importorskip(
        "google.genai._gaos.types.interactions.createmodelinteraction",
        reason="google-genai with interactions is not installed",
    )
    sent_body = json_body(INTERACTIONS, ThinkingParameters(), "get_weather")
    assert set(sent_body) <= set(types.CreateModelInteraction.model_fields)
    types.CreateModelInteraction.model_validate(sent_body)


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("destination", "module", "name"),
    [
        (CLAUDE, "anthropic.types.message_create_params", "MessageCreateParamsStreaming"),
        (CHAT, "openai.types.chat.completion_create_params", "CompletionCreateParamsStreaming"),
        (GPT, "openai.types.responses.response_create_params", "ResponseCreateParamsStreaming"),
    ],
    ids=["anthropic", "openai_chat", "openai_responses"],
)
def test_sampling_shapes_and_files_have_the_official_types(
    destination: Route, module: str, name: str
) -> None:
    params = pytest.importorskip(module, reason="the client library is not installed")
    file = UserMessage("Read this.", (), (File("application/pdf", "aGk=", "report.pdf"),))
    # The types of the newest Anthropic library have no temperature, although older models take one.
    sampling = Sampling(stop=("END",), seed=7, parallel_tool_calls=False, verbosity="low")
    if destination is not CLAUDE:
        sampling = msgspec.structs.replace(sampling, temperature=0.5, top_p=0.9)
    options = BuildOptions(
        sampling=sampling,
        output=OutputFormat(SCHEMA),
        max_tokens=4096,
    )
    sent = json.loads(
        build_request(destination, build(conversation_of(file), destination, options).request).body
    )
    assert "aGk=" in str(sent)
    assert "city" in str(sent)
    assert type_mismatch(sent, getattr(params, name)) == ""
