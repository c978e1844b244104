"""Prepare and ask: thinking settings, routes, notes, notices and stamps."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.patience import PATIENCE_S

from thinkaloud.client import Client, ClientEnvironment, Options, ask, entries, prepare, stream
from thinkaloud.client.prepared_request import has_key, parse_thinking
from thinkaloud.core.canon import (
    Entry,
    Event,
    KeyMissing,
    NoticeGiven,
    Refused,
    ThinkingNotOffered,
    TurnEnded,
    TurnStarted,
)
from thinkaloud.core.canon.requests import Image, ThinkingLevel, ThinkingSetting, ToolDefinition, UserMessage
from thinkaloud.core.catalog import Catalog, Provider, builtin_texts, parse_catalog
from thinkaloud.core.context import Context, ContextMode
from thinkaloud.core.transcript import Ending
from thinkaloud.simulators import Simulator, run_simulator

SCRIPT = [{"thinking": "17 * 3 is 51.", "text": "51", "delay_ms": 30}]
QUESTION = "How much is 17 * 3?"
MODEL = "deepseek/deepseek-v4-pro"


def any_key(provider: Provider) -> bool:
    """Claim that every provider has a key."""
    return True


@asynccontextmanager
async def run_simulated(
    script: list[Any] | None = None, **option_fields: Any
) -> AsyncIterator[tuple[Simulator, Options]]:
    async with run_simulator("deepseek", script=SCRIPT if script is None else script) as server:
        yield server, Options(catalog=catalog_for(server), **option_fields)


def catalog_for(server: Simulator) -> Catalog:
    return parse_catalog(*builtin_texts(), f'[providers.deepseek]\nbase_url = "{server.base_url}"')


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPSEEK_API_KEY", "any-key")


@pytest.mark.parametrize(
    ("thinking", "setting"),
    [
        (None, ThinkingSetting()),
        ("", ThinkingSetting()),
        *((level.value, ThinkingSetting(level=level)) for level in ThinkingLevel),
        (4096, ThinkingSetting(budget_tokens=4096)),
        ("4096", ThinkingSetting(budget_tokens=4096)),
    ],
)
def test_parse_thinking(thinking: str | int | None, setting: ThinkingSetting) -> None:
    assert parse_thinking(thinking) == setting


@pytest.mark.parametrize("thinking", ["lots", "High", "-5", "4k", "4.5"])
def test_an_invalid_thinking_level_is_refused(thinking: str) -> None:
    with pytest.raises(
        Refused, match=r"Invalid thinking level: .*\. Use one of off, low, medium, high, max, or"
    ):
        parse_thinking(thinking)


@pytest.mark.parametrize(
    ("model", "thinking", "provider", "model_id", "notes"),
    [
        ("claude-opus-4.5", "high", "anthropic", "claude-opus-4-5", 0),
        ("claude-opus-4.8", 20_000, "anthropic", "claude-opus-4-8", 1),
        ("gpt-5", "high", "openrouter", "openai/gpt-5", 0),
        ("gpt-5.2", "", "openai", "gpt-5.2", 0),
        ("openai/gpt-6-astra", "off", "openai", "gpt-6-astra", 1),
        ("claude-3.7-sonnet:thinking", "", "openrouter", "anthropic/claude-3.7-sonnet:thinking", 0),
        ("vllm/my-own", "low", "vllm", "my-own", 2),
        ("deepseek-r1", "low", "deepseek", "deepseek-reasoner", 2),
    ],
)
def test_prepare_chooses_a_route_and_notes(
    model: str, thinking: str | int, provider: str, model_id: str, notes: int
) -> None:
    """R034-R036 R038: the route, and the settings that could not be honoured."""
    prepared = prepare(QUESTION, model=model, thinking=thinking, have_key=any_key)
    assert (prepared.route.provider.name, prepared.route.model_id) == (provider, model_id)
    assert len(prepared.notes) == notes, prepared.notes
    assert prepared.request.messages == (UserMessage(QUESTION),)


def test_prepare_notes_that_a_model_is_retired() -> None:
    prepared = prepare(QUESTION, model="anthropic/claude-3.7-sonnet", have_key=any_key)
    assert tuple(map(str, prepared.notes)) == (
        "anthropic retired claude-3.7-sonnet on 2026-02-19. Use claude-sonnet-4.6 instead.",
    )


def test_the_thinking_suffix_turns_thinking_on() -> None:
    prepared = prepare(QUESTION, model="claude-3.7-sonnet:thinking", have_key=any_key)
    assert prepared.request.thinking.budget_tokens == 8192


def test_unavailable_thinking_is_refused_or_noted() -> None:
    """R046: a request without thinking is sent only if the caller allows it."""
    with pytest.raises(ThinkingNotOffered):
        prepare(QUESTION, model="gpt-4o", thinking="low", have_key=any_key)
    warned = prepare(
        QUESTION,
        model="gpt-4o",
        thinking="low",
        options=Options(on_thinking_unavailable="warn"),
        have_key=any_key,
    )
    assert "gpt-4o does not support thinking" in str(warned.notes[0])


def test_options_reach_the_request() -> None:
    image = Image("image/png", "aGk=")
    options = Options(
        system="Be brief.",
        tools=(ToolDefinition("get_weather"),),
        images=(image,),
        max_tokens=900,
        stream=False,
        context_mode=ContextMode.STRIP,
    )
    request = prepare(QUESTION, model="openai/gpt-5", options=options, have_key=any_key).request
    assert (request.system, request.max_tokens, request.stream) == ("Be brief.", 900, False)
    assert request.tools == options.tools
    assert request.messages == (UserMessage(QUESTION, (image,)),)


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("max_tokens", "5", "Expected `int | null`, got `str`"),
        ("max_tokens", 0, "Expected `int` >= 1"),
        ("system", 3, "Expected `str`, got `int`"),
    ],
)
def test_options_of_a_wrong_type_are_refused(name: str, value: Any, reason: str) -> None:
    options = Options(**{name: value})
    with pytest.raises(Refused) as error:
        prepare(QUESTION, model=MODEL, options=options, have_key=any_key)
    assert str(error.value) == f"Invalid option: {reason} - at `$.{name}`. Correct it."


@pytest.mark.parametrize("prompt", [None, 5, ["a"], b"a"])
def test_a_prompt_of_a_wrong_type_is_refused(prompt: Any) -> None:
    with pytest.raises(Refused, match=f"The prompt is of type {type(prompt).__name__}. Give a text"):
        prepare(prompt, model=MODEL, have_key=any_key)


def test_levels_and_modes_are_accepted_as_members_of_their_enums() -> None:
    options = Options(thinking=ThinkingLevel.HIGH, context_mode=ContextMode.PROVIDER_DEFAULT)
    prepared = prepare(QUESTION, model=MODEL, options=options, have_key=any_key)
    assert prepared.request.thinking.effort == "high"


def test_a_conversation_has_its_own_system_and_tools() -> None:
    conversation = Context(
        (UserMessage("One"), UserMessage("Two")), "Be brief.", (ToolDefinition("get_weather"),)
    )
    request = prepare(conversation, model="openai/gpt-5", have_key=any_key).request
    assert (request.system, request.tools) == ("Be brief.", conversation.tools)


def test_has_key(monkeypatch: pytest.MonkeyPatch) -> None:
    providers = prepare("", model="vllm/x").route.provider, prepare("", model=MODEL).route.provider
    monkeypatch.delenv("DEEPSEEK_API_KEY", raising=False)
    assert [has_key(provider) for provider in providers] == [True, False]
    monkeypatch.setenv("DEEPSEEK_API_KEY", "any-key")
    assert [has_key(provider) for provider in providers] == [True, True]


@pytest.mark.usefixtures("key")
def test_notices_follow_the_start_and_sequence_numbers_continue() -> None:
    """Notices come right after the start, and no sequence number is used twice."""

    async def read_entries() -> list[Entry]:
        async with run_simulated() as (_, options):
            return [entry async for entry in entries(QUESTION, model=MODEL, thinking=4096, options=options)]

    answer_entries = asyncio.run(read_entries())
    assert [entry.seq for entry in answer_entries] == list(range(len(answer_entries)))
    assert isinstance(answer_entries[0].event, TurnStarted)
    assert isinstance(answer_entries[1].event, NoticeGiven)
    assert answer_entries[1].event.code == "not_honoured"
    assert not any(isinstance(entry.event, NoticeGiven) for entry in answer_entries[2:])
    assert isinstance(answer_entries[-1].event, TurnEnded)
    stamps = [entry.at_ms for entry in answer_entries if entry.at_ms is not None]
    assert len(stamps) == len(answer_entries)
    assert stamps == sorted(stamps)


@pytest.mark.usefixtures("key")
def test_ask_returns_a_turn_with_the_times_of_arrival() -> None:
    async def read_turn() -> Any:
        async with run_simulated([{"thinking": "a b c d e", "text": "51", "delay_ms": 200}]) as (_, options):
            return await ask(QUESTION, model=MODEL, options=options)

    begun = time.monotonic()
    turn = asyncio.run(read_turn())
    took_ms = (time.monotonic() - begun) * 1000
    assert (turn.reasoning, turn.answer) == ("a b c d e", "51")
    assert turn.outcome.ending is Ending.ANSWERED
    thought = turn.blocks[0]
    assert 150 < thought.ended_ms - thought.started_ms <= took_ms + 1


@pytest.mark.usefixtures("key")
@pytest.mark.parametrize("whole", [True, False])
def test_r048_streamed_and_whole_responses_are_equal(whole: bool) -> None:
    """R048: the same thought either way."""

    async def read_events() -> list[Event]:
        async with run_simulated(stream=not whole) as (_, options):
            return [event async for event in stream(QUESTION, model=MODEL, options=options)]

    events = asyncio.run(read_events())
    assert "".join(getattr(event, "text", "") for event in events) == "17 * 3 is 51.51"


def test_without_a_key_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DEEPSEEK_API_KEY", raising=False)

    async def refused() -> list[Any]:
        async with run_simulated() as (server, options):
            with pytest.raises(KeyMissing, match="Set DEEPSEEK_API_KEY"):
                await ask(QUESTION, model=MODEL, options=options)
            return server.requests

    assert asyncio.run(refused()) == []


@pytest.mark.usefixtures("key")
def test_a_client_passed_by_the_caller_stays_open() -> None:
    async def ask_once() -> tuple[bool, str]:
        shell = ClientEnvironment(environ={"DEEPSEEK_API_KEY": "mine"})
        async with run_simulator("deepseek", script=SCRIPT) as server, Client(environment=shell) as client:
            await ask(QUESTION, model=MODEL, options=Options(catalog=catalog_for(server), client=client))
            return client.opened, server.requests[0].headers["authorization"]

    assert asyncio.run(ask_once()) == (True, "Bearer mine")


@pytest.mark.usefixtures("key")
def test_leaving_the_loop_ends_the_request() -> None:
    async def leave_loop() -> int:
        async with run_simulated([{"thinking": "a " * 500, "text": "b", "delay_ms": 20}]) as (_, options):
            answer_events: AsyncGenerator[Event, None] = stream(QUESTION, model=MODEL, options=options)
            count = 0
            async for _ in answer_events:
                count += 1
                if count == 4:
                    break
            await answer_events.aclose()
            return count

    assert asyncio.run(asyncio.wait_for(leave_loop(), PATIENCE_S)) == 4
