"""Requests that real providers refuse: solved before they are sent, asked again, or refused."""

import asyncio
import json
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import pytest
from tests.cli.environment import CATALOG_ROWS

import thinkaloud
from thinkaloud.client import Options, ask, prepare, stream
from thinkaloud.client.errors import ProviderRefused
from thinkaloud.core.canon import Kind, NoticeGiven, Refused, ThinkingNotOffered
from thinkaloud.core.canon.requests import Image, ToolDefinition, ToolMessage, UserMessage
from thinkaloud.core.catalog import Catalog, builtin_catalog, builtin_texts, parse_catalog
from thinkaloud.core.context import AnsweredTurn, Context, SendStatus, read_conversation
from thinkaloud.core.transcript import Block, BlockStatus, Ending, Outcome, Turn
from thinkaloud.simulators import Script, ScriptedAnswer, ScriptedToolCall, run_simulator

WEATHER = ToolDefinition(
    "get_weather", "The weather of a city", '{"type":"object","properties":{"city":{"type":"string"}}}'
)
CALL = ScriptedToolCall("get_weather", {"city": "Lima"})


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "sk-for-a-simulator")


def catalog_at(provider: str, base_url: str) -> Catalog:
    row = f'[providers.{provider}]\nbase_url = "{base_url}"\nkey = "env:A_KEY"\n'
    return parse_catalog(*builtin_texts(), row)


async def notices(model: str, thinking: str | None, options: Options) -> list[str]:
    return [
        event.text
        async for event in stream("Hello?", model=model, thinking=thinking, options=options)
        if isinstance(event, NoticeGiven)
    ]


def test_user_catalog_is_read_by_the_python_api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """R034: the file that the command obeys holds for the API too."""
    monkeypatch.setenv("THINKALOUD_HOME", str(tmp_path))
    assert thinkaloud.load_catalog() == builtin_catalog()
    row = '[providers.acme]\ndialect = "openai_chat"\nbase_url = "https://acme.test/v1"\nreplay = "none"\n'
    row += 'fact = { as_of = "2026-11-17", source = "test" }\n'
    (tmp_path / "catalog.toml").write_text(row)
    assert thinkaloud.load_catalog().providers["acme"].base_url == "https://acme.test/v1"
    assert prepare("Hello?", model="acme/anvil").route.provider.name == "acme"


def test_builtin_solver_answers_from_python() -> None:
    turn = thinkaloud.ask_sync("What is 6 * 7?", model="builtin/solver")
    assert "42" in turn.answer


def test_blank_text_of_claude_is_not_sent_back() -> None:
    """Claude writes blank text beside a call, and its API refuses it in the next request."""

    async def scenario() -> None:
        script = Script([ScriptedAnswer(thinking="Hm.", text="\n\n", tool_calls=[CALL])])
        async with run_simulator("anthropic", script=script) as server:
            options = Options(catalog=catalog_at("anthropic", f"{server.url}/v1"))
            conversation = Context(tools=(WEATHER,), steps=(UserMessage("How warm is it?"),))
            first = prepare(conversation, model="claude-opus-5.5", thinking="high", options=options)
            turn = await ask(first)
            [call] = [block for block in turn.blocks if block.call_id]
            steps = (
                *conversation.steps,
                AnsweredTurn(turn, first.prefix, "anthropic"),
                ToolMessage(call.call_id, "18"),
            )
            second = prepare(
                Context(tools=(WEATHER,), steps=steps),
                model="claude-opus-5.5",
                thinking="high",
                options=options,
            )
            await ask(second)
            assert not server.refusals
            content = server.requests[-1].body["messages"][1]["content"]
            assert [block["type"] for block in content] == ["thinking", "tool_use"]
            codes = [(line.status, line.code) for line in second.report.lines]
            assert (SendStatus.WITHHELD, "blank") in codes

    asyncio.run(scenario())


def test_summary_refused_to_an_unverified_organization_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "unverified-organization")

    async def scenario() -> None:
        async with run_simulator("openai-responses") as server:
            options = Options(catalog=catalog_at("openai", server.base_url))
            [notice] = await notices("openai/gpt-5.2", "high", options)
            assert notice.startswith("openai returns no thoughts to this account")
            assert [request.body["reasoning"] for request in server.requests] == [
                {"effort": "high", "summary": "auto"},
                {"effort": "high"},
            ]

    asyncio.run(scenario())


def test_summary_is_not_requested_when_thinking_is_off() -> None:
    prepared = prepare("Hello?", model="openai/gpt-5", thinking="off", have_key=lambda _: True)
    assert prepared.request.thinking.display == ""


def test_local_model_that_cannot_think_is_asked_without() -> None:
    async def scenario() -> None:
        async with run_simulator("ollama") as server:
            catalog = catalog_at("ollama", server.base_url)
            warn = Options(catalog=catalog, on_thinking_unavailable="warn")
            [notice] = [text for text in await notices("ollama/tinyllama", "high", warn) if "asked" in text]
            assert "does not support thinking at ollama" in notice
            assert "think" not in server.requests[-1].body
            with pytest.raises(ThinkingNotOffered, match="Turn thinking off"):
                await ask(
                    "Hello?", model="ollama/tinyllama", thinking="high", options=Options(catalog=catalog)
                )

    asyncio.run(scenario())


def test_forced_tool_with_thinking_becomes_a_free_choice() -> None:
    options = Options(tools=(WEATHER,), tool_choice="get_weather")
    prepared = prepare(
        "Hello?", model="claude-opus-4.5", thinking="high", options=options, have_key=lambda _: True
    )
    assert prepared.request.tool_choice == "auto"
    assert any("does not allow a forced tool while thinking" in str(note) for note in prepared.notes)


def test_tools_of_a_conversation_count_when_thinking_is_resolved() -> None:
    row = '[models."claude-opus-4.5"]\ntools_or_thinking_at = ["anthropic"]\n'
    options = Options(catalog=parse_catalog(*builtin_texts(), row))
    conversation = Context(tools=(WEATHER,), steps=(UserMessage("Hello?"),))
    with pytest.raises(ThinkingNotOffered, match="supports only one of them"):
        prepare(
            conversation, model="claude-opus-4.5", thinking="high", options=options, have_key=lambda _: True
        )


def test_thinking_by_default_is_off_where_it_excludes_tools() -> None:
    """GPT-5.6 thinks by itself, and Chat Completions refuses its tools then."""
    options = Options(tools=(WEATHER,))
    prepared = prepare("Hello?", model="openai-chat/gpt-5.6-sol", options=options, have_key=lambda _: True)
    assert prepared.request.thinking.effort == "none"
    assert any("so thinking is off" in str(note) for note in prepared.notes)


def test_system_and_tools_of_the_options_hold_beside_a_conversation() -> None:
    bare = Context(steps=(UserMessage("Hello?"),))
    options = Options(system="Be brief.", tools=(WEATHER,))
    request = prepare(bare, model="gpt-5", options=options, have_key=lambda _: True).request
    assert (request.system, request.tools) == ("Be brief.", (WEATHER,))
    with pytest.raises(Refused, match="differ in `system`"):
        prepare(Context(bare.steps, "Be kind."), model="gpt-5", options=options, have_key=lambda _: True)
    with pytest.raises(Refused, match="images or files beside a conversation"):
        prepare(
            bare, model="gpt-5", options=Options(images=(Image("image/png", ""),)), have_key=lambda _: True
        )


def test_tools_are_left_out_for_a_model_that_takes_none() -> None:
    prepared = prepare(
        "Hello?",
        model="deepseek/deepseek-reasoner",
        options=Options(tools=(WEATHER,)),
        have_key=lambda _: True,
    )
    assert prepared.request.tools == ()
    assert "deepseek-reasoner takes no tools at deepseek, so none were offered." in map(str, prepared.notes)
    forced = Options(tools=(WEATHER,), tool_choice="required")
    with pytest.raises(Refused, match="none can be forced"):
        prepare("Hello?", model="deepseek/deepseek-reasoner", options=forced, have_key=lambda _: True)


def test_openrouter_error_names_the_provider_behind_it() -> None:
    metadata = {"raw": "Function call is missing a thought_signature", "provider_name": "Google AI Studio"}
    error = {"message": "Provider returned error", "code": 400, "metadata": metadata}
    turn = thinkaloud.read(json.dumps({"error": error}).encode(), "openai_chat")
    assert turn.outcome is not None
    assert turn.outcome.message == (
        "Provider returned error: Function call is missing a thought_signature (from Google AI Studio)"
    )


def test_refusal_of_a_retired_model_names_its_successor() -> None:
    async def scenario() -> None:
        async with run_simulator("anthropic") as server:
            options = Options(catalog=catalog_at("anthropic", f"{server.url}/v1"))
            with pytest.raises(
                ProviderRefused, match=r"retired claude-3-opus on .* Use claude-opus-4.8 instead"
            ):
                await ask("Hello?", model="anthropic/claude-3-opus", options=options)

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        '{"messages": [], "sytem": "Be brief."}',
        '{"messages": [{"role": "user", "text": "Hello?", "image": []}]}',
        '{"messages": [{"role": "tool", "call_id": "a", "result": "18", "ok": true}]}',
    ],
)
def test_file_that_is_no_conversation_is_refused(text: str) -> None:
    with pytest.raises(Refused, match="This is not a conversation"):
        read_conversation(text.encode())


SENT_WITHIN_RULES: dict[str, tuple[str, str, str | int | None, Options]] = {
    "max_tokens above the limit": ("anthropic", "claude-opus-4-5", None, Options(max_tokens=200_000)),
    "one sampling parameter": ("anthropic", "claude-opus-4-5", "off", Options(temperature=0.5, top_p=0.5)),
    "budget above max_tokens": ("anthropic", "claude-opus-4-5", 4096, Options(max_tokens=100)),
    "max_tokens below 16": ("openai-responses", "gpt-5", None, Options(max_tokens=5)),
    "stop while reasoning": ("openai-chat", "gpt-5", None, Options(stop=("x",), temperature=0.2)),
    "forced tool of Kimi": ("kimi", "kimi-k2.6", None, Options(tool_choice="required", tools=(WEATHER,))),
    "max_tokens of DeepSeek": ("deepseek", "deepseek-v4-pro", None, Options(max_tokens=500_000)),
    "Claude at Bedrock": (
        "bedrock",
        "us.anthropic.claude-opus-4-5-20251101-v1:0",
        "high",
        Options(max_tokens=100, temperature=0.5, tool_choice="required", tools=(WEATHER,)),
    ),
}


@pytest.mark.parametrize("name", SENT_WITHIN_RULES)
def test_settings_that_a_provider_refuses_are_fitted_with_a_note(name: str) -> None:
    simulator, model, thinking, options = SENT_WITHIN_RULES[name]
    provider = builtin_catalog().providers[CATALOG_ROWS[simulator]]

    async def scenario() -> None:
        async with run_simulator(simulator) as server:
            url = server.url + urlsplit(provider.base_url).path
            catalog = catalog_at(provider.name, url)
            fitted = msgspec.structs.replace(options, catalog=catalog)
            prepared = prepare("Hello?", model=f"{provider.name}/{model}", thinking=thinking, options=fitted)
            assert prepared.notes
            await ask(prepared)
            assert server.refusals == []

    asyncio.run(scenario())


def test_long_call_ids_of_clients_are_shortened() -> None:
    """OpenAI takes 40 characters in Chat Completions and 64 in Responses; Claude takes no colon."""
    call_id = "functions.get_weather:0-" + "x" * 100
    called = Turn(
        blocks=[Block(0, Kind.TOOL_CALL, "get_weather", call_id, status=BlockStatus.DONE, pieces=["{}"])],
        outcome=Outcome(Ending.CALLED_TOOLS, "tool_calls"),
    )
    steps = (UserMessage("Warm?"), AnsweredTurn(called), ToolMessage(call_id, "18"))

    async def scenario(simulator: str, model: str) -> None:
        provider = builtin_catalog().providers[CATALOG_ROWS[simulator]]
        async with run_simulator(simulator) as server:
            catalog = catalog_at(provider.name, server.url + urlsplit(provider.base_url).path)
            options = Options(catalog=catalog)
            conversation = Context(tools=(WEATHER,), steps=steps)
            await ask(prepare(conversation, model=f"{provider.name}/{model}", options=options))
            assert server.refusals == []

    for simulator, model in (
        ("openai-chat", "gpt-4o"),
        ("openai-responses", "gpt-4o"),
        ("anthropic", "claude-opus-4-5"),
        ("mistral", "mistral-small-latest"),
        ("cohere", "command-a-reasoning-08-2025"),
        ("gemini", "gemini-3-pro-preview"),
    ):
        asyncio.run(scenario(simulator, model))


@pytest.mark.parametrize(
    ("simulator", "model"),
    [("bedrock", "us.anthropic.claude-opus-4-5-20251101-v1:0"), ("gemini", "gemini-3.1-pro-preview")],
)
def test_conversation_without_its_first_question_is_accepted(simulator: str, model: str) -> None:
    """These APIs refuse a conversation that starts with an answer, so a note takes the question's place."""
    provider = builtin_catalog().providers[CATALOG_ROWS[simulator]]
    called = Turn(
        blocks=[Block(0, Kind.TOOL_CALL, "get_weather", "c1", status=BlockStatus.DONE, pieces=["{}"])],
        outcome=Outcome(Ending.CALLED_TOOLS, "tool_calls"),
    )
    steps = (AnsweredTurn(called), ToolMessage("c1", "18"), UserMessage("And now?"))

    async def scenario() -> None:
        async with run_simulator(simulator) as server:
            catalog = catalog_at(provider.name, server.url + urlsplit(provider.base_url).path)
            conversation = Context(tools=(WEATHER,), steps=steps)
            options = Options(catalog=catalog)
            await ask(prepare(conversation, model=f"{provider.name}/{model}", options=options))
            assert server.refusals == []
            assert "The earlier part of this conversation was left out." in server.requests[0].raw.decode()

    asyncio.run(scenario())
