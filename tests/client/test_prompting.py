"""From a prompt and a model's name to an answer: settings, routes, notes, notices and stamps."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.patience import PATIENCE_S

from thinkaloud.canon import (
    Entry,
    Event,
    KeyMissing,
    NoticeGiven,
    Refused,
    ThinkingNotOffered,
    TurnEnded,
    TurnStarted,
)
from thinkaloud.canon.requests import Image, Level, ThinkingSetting, Tool, UserMessage
from thinkaloud.catalog import Catalog, Provider, builtin_texts, parse
from thinkaloud.client import Client, Shell
from thinkaloud.client.prompting import Options, ask, entries, has_key, prepare, setting, stream
from thinkaloud.context import ContextMode, Conversation
from thinkaloud.simulators import Simulator, running
from thinkaloud.transcript import Ending

SCRIPT = [{"thinking": "17 * 3 is 51.", "text": "51", "delay_ms": 30}]
QUESTION = "How much is 17 * 3?"
MODEL = "deepseek/deepseek-v4-pro"


def anyone(provider: Provider) -> bool:
    """Everybody has a key."""
    return True


@asynccontextmanager
async def simulated(
    script: list[Any] | None = None, **given: Any
) -> AsyncIterator[tuple[Simulator, Options]]:
    async with running("deepseek", script=SCRIPT if script is None else script) as server:
        yield server, Options(catalog=pointing_at(server), **given)


def pointing_at(server: Simulator) -> Catalog:
    return parse(*builtin_texts(), f'[providers.deepseek]\nbase_url = "{server.base_url}"')


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPSEEK_API_KEY", "any-key")


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (None, ThinkingSetting()),
        ("", ThinkingSetting()),
        *((level.value, ThinkingSetting(level=level)) for level in Level),
        (4096, ThinkingSetting(budget_tokens=4096)),
        ("4096", ThinkingSetting(budget_tokens=4096)),
    ],
)
def test_what_a_person_writes_is_a_setting(said: str | int | None, meant: ThinkingSetting) -> None:
    assert setting(said) == meant


@pytest.mark.parametrize("said", ["lots", "High", "-5", "4k", "4.5"])
def test_what_is_no_way_to_think_is_refused(said: str) -> None:
    with pytest.raises(Refused, match=r"is no way to think\. Use one of off, low, medium, high, max, or"):
        setting(said)


@pytest.mark.parametrize(
    ("model", "thinking", "provider", "model_id", "notes"),
    [
        ("claude-opus-4.5", "high", "anthropic", "claude-opus-4-5", 0),
        ("claude-opus-4.8", 20_000, "anthropic", "claude-opus-4-8", 1),
        ("gpt-5", "high", "openrouter", "openai/gpt-5", 0),
        ("gpt-5", "", "openai", "gpt-5", 0),
        ("openai/gpt-5", "off", "openai", "gpt-5", 1),
        ("claude-3.7-sonnet:thinking", "", "openrouter", "anthropic/claude-3.7-sonnet:thinking", 0),
        ("vllm/my-own", "low", "vllm", "my-own", 2),
        ("deepseek-r1", "low", "deepseek", "deepseek-reasoner", 1),
    ],
)
def test_a_request_is_prepared(
    model: str, thinking: str | int, provider: str, model_id: str, notes: int
) -> None:
    """R034-R036 R038: where to, and what could not be honoured."""
    ready = prepare(QUESTION, model=model, thinking=thinking, have_key=anyone)
    assert (ready.route.provider.name, ready.route.model_id) == (provider, model_id)
    assert len(ready.notes) == notes, ready.notes
    assert ready.built.request.messages == (UserMessage(QUESTION),)


def test_the_suffix_asks_for_thinking_as_a_setting_does() -> None:
    ready = prepare(QUESTION, model="claude-3.7-sonnet:thinking", have_key=anyone)
    assert ready.built.request.ask.budget_tokens == 8192


def test_thinking_that_cannot_be_had_is_refused_or_noted() -> None:
    """R046: by the caller's own wish only."""
    with pytest.raises(ThinkingNotOffered):
        prepare(QUESTION, model="gpt-4o", thinking="low", have_key=anyone)
    warned = prepare(
        QUESTION,
        model="gpt-4o",
        thinking="low",
        options=Options(on_thinking_unavailable="warn"),
        have_key=anyone,
    )
    assert "gpt-4o does not think" in warned.notes[0]


def test_options_reach_the_request() -> None:
    image = Image("image/png", "aGk=")
    options = Options(
        system="Be brief.",
        tools=(Tool("get_weather"),),
        images=(image,),
        max_tokens=900,
        stream=False,
        context_mode=ContextMode.STRIP,
    )
    request = prepare(QUESTION, model="openai/gpt-5", options=options, have_key=anyone).built.request
    assert (request.system, request.max_tokens, request.stream) == ("Be brief.", 900, False)
    assert request.tools == options.tools
    assert request.messages == (UserMessage(QUESTION, (image,)),)


def test_a_conversation_brings_its_own_system_and_tools() -> None:
    talk = Conversation((UserMessage("One"), UserMessage("Two")), "Be brief.", (Tool("get_weather"),))
    request = prepare(talk, model="openai/gpt-5", have_key=anyone).built.request
    assert (request.system, request.tools) == ("Be brief.", talk.tools)


def test_whether_there_is_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    providers = prepare("", model="vllm/x").route.provider, prepare("", model=MODEL).route.provider
    monkeypatch.delenv("DEEPSEEK_API_KEY", raising=False)
    assert [has_key(provider) for provider in providers] == [True, False]
    monkeypatch.setenv("DEEPSEEK_API_KEY", "any-key")
    assert [has_key(provider) for provider in providers] == [True, True]


@pytest.mark.usefixtures("key")
def test_notices_follow_the_start_and_places_go_on() -> None:
    """What could not be honoured is told first, and no place is taken twice."""

    async def told() -> list[Entry]:
        async with simulated() as (_, options):
            return [entry async for entry in entries(QUESTION, model=MODEL, thinking=4096, options=options)]

    found = asyncio.run(told())
    assert [entry.seq for entry in found] == list(range(len(found)))
    assert isinstance(found[0].event, TurnStarted)
    assert isinstance(found[1].event, NoticeGiven)
    assert found[1].event.code == "not_honoured"
    assert not any(isinstance(entry.event, NoticeGiven) for entry in found[2:])
    assert isinstance(found[-1].event, TurnEnded)
    stamps = [entry.at_ms for entry in found if entry.at_ms is not None]
    assert len(stamps) == len(found)
    assert stamps == sorted(stamps)


@pytest.mark.usefixtures("key")
def test_an_answer_is_a_turn_with_true_times() -> None:
    async def answered() -> Any:
        async with simulated([{"thinking": "a b c d e", "text": "51", "delay_ms": 200}]) as (_, options):
            return await ask(QUESTION, model=MODEL, options=options)

    begun = time.monotonic()
    turn = asyncio.run(answered())
    took_ms = (time.monotonic() - begun) * 1000
    assert (turn.reasoning, turn.answer) == ("a b c d e", "51")
    assert turn.outcome.ending is Ending.ANSWERED
    thought = turn.blocks[0]
    assert 150 < thought.ended_ms - thought.started_ms <= took_ms + 1


@pytest.mark.usefixtures("key")
@pytest.mark.parametrize("whole", [True, False])
def test_r048_streamed_and_whole_tell_the_same(whole: bool) -> None:
    """R048: the same thought either way."""

    async def told() -> list[Event]:
        async with simulated(stream=not whole) as (_, options):
            return [event async for event in stream(QUESTION, model=MODEL, options=options)]

    events = asyncio.run(told())
    assert "".join(getattr(event, "text", "") for event in events) == "17 * 3 is 51.51"


def test_without_a_key_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DEEPSEEK_API_KEY", raising=False)

    async def refused() -> list[Any]:
        async with simulated() as (server, options):
            with pytest.raises(KeyMissing, match="env:DEEPSEEK_API_KEY leads to nothing"):
                await ask(QUESTION, model=MODEL, options=options)
            return server.requests

    assert asyncio.run(refused()) == []


@pytest.mark.usefixtures("key")
def test_a_client_of_ones_own_is_used_and_stays_open() -> None:
    async def asked() -> tuple[bool, str]:
        shell = Shell(environ={"DEEPSEEK_API_KEY": "mine"})
        async with running("deepseek", script=SCRIPT) as server, Client(shell=shell) as client:
            await ask(QUESTION, model=MODEL, options=Options(catalog=pointing_at(server), client=client))
            return client.is_open, server.requests[0].headers["authorization"]

    assert asyncio.run(asked()) == (True, "Bearer mine")


@pytest.mark.usefixtures("key")
def test_leaving_the_loop_ends_the_request() -> None:
    async def left() -> int:
        async with simulated([{"thinking": "a " * 500, "text": "b", "delay_ms": 20}]) as (_, options):
            told: AsyncGenerator[Event, None] = stream(QUESTION, model=MODEL, options=options)
            count = 0
            async for _ in told:
                count += 1
                if count == 4:
                    break
            await told.aclose()
            return count

    assert asyncio.run(asyncio.wait_for(left(), PATIENCE_S)) == 4
