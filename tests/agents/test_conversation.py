"""A conversation continues, blocking or not, with any model, and survives a file."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.cli.environment import running_simulator
from tests.patience import PATIENCE_S

import thinkaloud
from thinkaloud import Agent, Conversation, Options, Refused, Tool, ToolDefinition, ToolMessage
from thinkaloud.agents import from_function
from thinkaloud.client import ProviderRefused
from thinkaloud.core.canon import Kind
from thinkaloud.core.canon.requests import Image
from thinkaloud.core.catalog import Catalog, builtin_catalog
from thinkaloud.core.context import ContextMode, UnsupportedThoughts
from thinkaloud.core.transcript import Ending
from thinkaloud.simulators import Fault, ScriptedAnswer, ScriptedToolCall

CLAUDE = "claude-opus-4.5"
FIRST = ScriptedAnswer(thinking="Rayleigh.", text="Because it scatters.")
SECOND = ScriptedAnswer(thinking="Sunset.", text="The path is longer.")
CALL = ScriptedAnswer(thinking="I look.", tool_calls=[ScriptedToolCall("weather", {"city": "Lima"})])


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-for-a-simulator")
    monkeypatch.setenv("DEEPSEEK_API_KEY", "sk-for-a-simulator")


def simulated_catalog(**urls: str) -> Catalog:
    """Return the built-in catalog with other addresses, by provider."""
    catalog = builtin_catalog()
    for provider, url in urls.items():
        catalog = catalog.with_base_url(provider, url)
    return catalog


def weather(city: str) -> str:
    """Return the weather of a city."""
    return f"18 C in {city}"


def test_second_question_sends_the_first_turn_back() -> None:
    with running_simulator("anthropic", [FIRST, SECOND]) as server:
        options = Options(catalog=simulated_catalog(anthropic=f"{server.url}/v1"))
        conversation = Conversation(CLAUDE, thinking="high", system="Be brief.", options=options)
        first = conversation.ask("Why is the sky blue?")
        second = conversation.ask("And red?")
        assert not server.refusals
        sent = server.requests[1].body
    assert (first.reasoning, first.answer) == ("Rayleigh.", "Because it scatters.")
    assert second.answer == "The path is longer."
    assert [message["role"] for message in sent["messages"]] == ["user", "assistant", "user"]
    assert sent["messages"][1]["content"][0]["signature"]
    assert conversation.last is second


def test_stream_tells_thoughts_and_answer_apart(capfd: pytest.CaptureFixture[str]) -> None:
    with running_simulator("anthropic", [FIRST, SECOND]) as server:
        options = Options(catalog=simulated_catalog(anthropic=f"{server.url}/v1"))
        conversation = Conversation(CLAUDE, thinking="high", options=options)
        for delta in conversation.stream("Why is the sky blue?"):
            print(delta.text, end="", file=sys.stderr if delta.kind == "reasoning" else sys.stdout)
        assert conversation.ask("And red?").answer == "The path is longer."
    assert capfd.readouterr() == ("Because it scatters.", "Rayleigh.")


def test_stream_that_is_left_early_keeps_what_arrived() -> None:
    stalled = ScriptedAnswer(
        thinking=FIRST.thinking, text=FIRST.text, fault=Fault("stall", after_events=5, seconds=PATIENCE_S)
    )
    with running_simulator("anthropic", [stalled, SECOND]) as server:
        options = Options(catalog=simulated_catalog(anthropic=f"{server.url}/v1"))
        conversation = Conversation(CLAUDE, thinking="high", options=options)
        deltas = conversation.stream("Why is the sky blue?")
        assert next(deltas).kind is Kind.REASONING
        deltas.close()
        assert conversation.last is not None
        assert conversation.last.outcome is not None
        assert conversation.last.outcome.ending is Ending.CANCELLED
        assert conversation.ask("And red?").answer == "The path is longer."
        assert not server.refusals


def test_async_forms_and_any_model_for_any_question() -> None:
    async def scenario(options: Options) -> tuple[str, str]:
        conversation = Conversation(CLAUDE, thinking="high", options=options)
        first = await conversation.ask_async("Why is the sky blue?")
        deltas = conversation.stream_async("And red?", model="deepseek/deepseek-v4-pro", thinking="off")
        text = "".join([delta.text async for delta in deltas if delta.kind == "text"])
        return first.answer, text

    with (
        running_simulator("anthropic", [FIRST]) as claude,
        running_simulator("deepseek", [SECOND]) as deepseek,
    ):
        catalog = simulated_catalog(anthropic=f"{claude.url}/v1", deepseek=f"{deepseek.url}/v1")
        answers = asyncio.run(scenario(Options(catalog=catalog)))
        assert not claude.refusals + deepseek.refusals
        assert [message["content"] for message in deepseek.requests[0].body["messages"]][1] == FIRST.text
    assert answers == (FIRST.text, SECOND.text)


def test_functions_are_run_and_others_are_left_to_the_caller() -> None:
    remote = ToolDefinition("search", "Search", '{"type":"object","properties":{}}')
    search = ScriptedAnswer(tool_calls=[ScriptedToolCall("search", {})])
    with running_simulator("anthropic", [CALL, SECOND, search, FIRST]) as server:
        options = Options(catalog=simulated_catalog(anthropic=f"{server.url}/v1"))
        conversation = Conversation(CLAUDE, thinking="high", tools=[weather, remote], options=options)
        reply = conversation.ask("How warm is it in Lima?")
        assert reply.own_blocks(Kind.TOOL_CALL)[0].result == "18 C in Lima"
        assert reply.answer == "The path is longer."
        called = conversation.ask("Search.").own_blocks(Kind.TOOL_CALL)[0]
        assert called.awaiting_result
        assert conversation.ask(results=[ToolMessage(called.call_id, "Found.")]).answer == FIRST.text
        assert not server.refusals


@pytest.mark.parametrize("granted", [True, False])
def test_calls_that_need_an_approval_are_denied_unless_approved(granted: bool) -> None:
    tool: Tool = from_function(weather, approval=True)
    with running_simulator("anthropic", [CALL, SECOND]) as server:
        options = Options(catalog=simulated_catalog(anthropic=f"{server.url}/v1"))
        approve = (lambda block: block.name == "weather") if granted else None
        agent = Agent(name="Weather", model=CLAUDE, tools=(tool,))
        turn = Conversation(agent, options=options, approve=approve).ask("How warm is it in Lima?")
    call = turn.own_blocks(Kind.TOOL_CALL)[0]
    assert (call.result == "18 C in Lima") is granted
    assert bool(call.error) is not granted


def test_saved_conversation_continues(tmp_path: Path) -> None:
    path = tmp_path / "sky.json"
    with running_simulator("anthropic", [FIRST, SECOND]) as server:
        options = Options(catalog=simulated_catalog(anthropic=f"{server.url}/v1"))
        conversation = Conversation(CLAUDE, thinking="high", system="Be brief.", options=options)
        conversation.ask("Why is the sky blue?")
        conversation.save(path)
        loaded = Conversation.load(path, thinking="high", options=options)
        assert loaded.ask("And red?").answer == "The path is longer."
        assert not server.refusals
        first, second = (request.body for request in server.requests)
    assert second["messages"][0]["content"][0]["text"] == first["messages"][0]["content"][0]["text"]
    assert "Be brief." in str(second["system"])


def test_loaded_conversation_offers_its_tools_again(tmp_path: Path) -> None:
    path = tmp_path / "weather.json"
    with running_simulator("anthropic", [CALL, SECOND, FIRST, FIRST]) as server:
        options = Options(catalog=simulated_catalog(anthropic=f"{server.url}/v1"))
        conversation = Conversation(CLAUDE, thinking="high", tools=[weather], options=options)
        conversation.ask("How warm is it in Lima?")
        conversation.save(path)
        for tools in ([weather], []):
            loaded = Conversation.load(path, thinking="high", tools=tools, options=options)
            loaded.ask("And now?")
            assert server.requests[-1].body["tools"] == server.requests[0].body["tools"]
        assert not server.refusals


def test_load_refuses_a_file_without_a_model(tmp_path: Path) -> None:
    path = tmp_path / "old.json"
    path.write_text('{"messages":[{"role":"user","text":"Hi"}]}')
    with pytest.raises(Refused, match="names no model"):
        Conversation.load(path)


def test_question_that_fails_before_the_answer_is_not_part_of_the_conversation() -> None:
    failed = ScriptedAnswer(fault=Fault("status", status=400, again=False))
    with running_simulator("anthropic", [failed, SECOND]) as server:
        options = Options(catalog=simulated_catalog(anthropic=f"{server.url}/v1"))
        conversation = Conversation(CLAUDE, options=options)
        with pytest.raises(ProviderRefused):
            conversation.ask("Lost?")
        assert conversation.context.steps == ()
        assert conversation.ask("And red?").answer == "The path is longer."
    with pytest.raises(Refused, match="prompt is empty"):
        conversation.ask("")


OWN_SETTINGS: dict[str, dict[str, Any]] = {
    "thinking": {"thinking": 0},
    "temperature": {"options": Options(temperature=0)},
    "top_p": {"options": Options(top_p=0.5)},
    "stop": {"options": Options(stop=("\n",))},
    "seed": {"options": Options(seed=0)},
    "extra": {"options": Options(extra={"user": "ana"})},
    "system": {"options": Options(system="Be brief.")},
    "tools": {"options": Options(tools=(ToolDefinition("look_up"),))},
    "tool_choice": {"options": Options(tool_choice="none")},
    "max_tokens": {"options": Options(max_tokens=100)},
    "output": {"options": Options(output={"type": "object"})},
    "cache": {"options": Options(cache=False)},
    "context_mode": {"options": Options(context_mode=ContextMode.STRIP)},
}


@pytest.mark.parametrize("name", OWN_SETTINGS)
def test_agent_refuses_settings_that_it_has_itself(name: str) -> None:
    with pytest.raises(Refused, match=rf"An agent has its own settings\. Set {name} in the agent\."):
        Conversation(Agent(name="Weather", model=CLAUDE), **OWN_SETTINGS[name])


@pytest.mark.parametrize("model", [CLAUDE, Agent(name="Weather", model=CLAUDE)])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("images", Options(images=(Image("image/png", "aGk="),))),
        ("files", Options(files=("a.pdf",))),
        ("stream", Options(stream=False)),
        ("unsupported", Options(unsupported=UnsupportedThoughts.NOTE)),
    ],
)
def test_conversation_refuses_options_that_it_does_not_use(
    model: str | Agent, name: str, options: Options
) -> None:
    with pytest.raises(Refused, match=f"does not use the option {name}"):
        Conversation(model, options=options)


def test_tool_choice_of_the_options_is_sent() -> None:
    with running_simulator("anthropic", [FIRST]) as server:
        catalog = simulated_catalog(anthropic=f"{server.url}/v1")
        options = Options(catalog=catalog, tool_choice="none")
        Conversation(CLAUDE, tools=[weather], options=options).ask("Why?")
        assert server.requests[0].body["tool_choice"] == {"type": "none"}


class Sky(msgspec.Struct):
    colour: str


def test_output_of_one_question_has_a_shape() -> None:
    answer = ScriptedAnswer(thinking="Hm.", text='{"colour": "blue"}')
    with running_simulator("anthropic", [answer]) as server:
        options = Options(catalog=simulated_catalog(anthropic=f"{server.url}/v1"))
        reply = Conversation(CLAUDE, thinking="high", options=options).ask("Which colour?", output=Sky)
        sent = server.requests[0].body
    assert thinkaloud.parse_output(reply, Sky) == Sky("blue")
    assert sent["thinking"]["type"] == "enabled"
    assert sent["output_config"]["format"]["schema"]["required"] == ["colour"]


@pytest.mark.parametrize("budget", ["high", 2048])
def test_every_reply_of_a_loop_goes_on_without_thinking_that_the_server_refuses(budget: str | int) -> None:
    """Only the server knows that its model cannot think, so the fallback belongs to each request."""
    answer = ScriptedAnswer(text="Mild.")
    with running_simulator("ollama", [msgspec.structs.replace(CALL, thinking=""), answer]) as server:
        agent = Agent(
            name="Helper",
            model="ollama/tinyllama",
            thinking=budget,
            on_thinking_unavailable="warn",
            tools=(from_function(weather),),
        )
        options = Options(catalog=simulated_catalog(ollama=server.url))
        turn = Conversation(agent, options=options).ask("Warm in Lima?")
        thinks = ["think" in request.body for request in server.requests if request.method == "POST"]
    assert turn.answer == "Mild."
    assert thinks == [True, False] * 2
    assert sum("It was asked without." in notice.text for notice in turn.notices) == 1
