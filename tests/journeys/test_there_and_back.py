"""A long conversation with tools crosses every provider and comes back, and nobody refuses anything."""

import pytest
from tests.journeys.journey import (
    ABROAD,
    CLAUDE,
    CLAUDE_BOUND,
    DEEPSEEK,
    GEMINI,
    GPT,
    KIMI,
    OPENROUTER,
    STOPS,
    Journey,
    Stop,
    run,
    travelling,
)

from thinkaloud.context import ContextMode, read_conversation, write_conversation

FORMS = pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
MODES = pytest.mark.parametrize("mode", list(ContextMode))
HOMES = pytest.mark.parametrize("home", [CLAUDE, CLAUDE_BOUND], ids=["budget", "prefix-bound"])


async def stay(journey: Journey, stop: Stop) -> None:
    """Six turns with one model: a loop of one call, parallel calls and thoughts in between, and plain."""
    await journey.exchange(
        stop, ("think", "call"), ("think_twice", "say", "call_both"), ("call",), ("think", "say")
    )
    await journey.exchange(stop, ("think", "say"))
    await journey.exchange(stop, ("say",))


@FORMS
@MODES
@HOMES
def test_there_and_back(home: Stop, mode: ContextMode, stream: bool) -> None:
    """54 turns: home, seven models abroad, and home again."""

    async def story() -> None:
        async with travelling(stream=stream, mode=mode) as journey:
            for stop in (home, *ABROAD, home):
                await stay(journey, stop)
            assert journey.turns == 54
            if mode is not ContextMode.STRIP:
                assert journey.assert_whole_turns_return(home) == 11

    run(story())


@FORMS
def test_everyone_gets_its_own_words_back(stream: bool) -> None:
    """Every model is left and visited again: its own messages are in the request as it sent them."""

    async def story() -> None:
        async with travelling(stream=stream, mode=ContextMode.KEEP) as journey:
            for stop in STOPS:
                await journey.exchange(
                    stop, ("think", "say", "call_both"), ("think", "call"), ("think", "say")
                )
            for stop in STOPS:
                await journey.exchange(stop, ("say",))
                assert journey.assert_whole_turns_return(stop) == 3

    run(story())


@FORMS
def test_the_journey_goes_on_from_a_file(stream: bool) -> None:
    """Between two turns the conversation is written down and read again, in the middle of a loop too."""

    async def story() -> None:
        async with travelling(stream=stream) as journey:
            for stop in (CLAUDE_BOUND, GPT, GEMINI, OPENROUTER, DEEPSEEK, KIMI, CLAUDE_BOUND):
                journey.say()
                for told in (("think", "call"), ("think", "call_both"), ("think", "say")):
                    journey.run_tools(await journey.ask(stop, *told))
                    kept = read_conversation(write_conversation(journey.conversation))
                    assert write_conversation(kept) == write_conversation(journey.conversation)
                    journey.steps = list(kept.steps)
            assert journey.assert_whole_turns_return(CLAUDE_BOUND) == 5

    run(story())


@FORMS
@MODES
def test_a_loop_is_handed_on(mode: ContextMode, stream: bool) -> None:
    """One question, and every answer to it is another provider's: each goes on with the loop of the last."""

    async def story() -> None:
        async with travelling(stream=stream, mode=mode) as journey:
            journey.say()
            for stop in (CLAUDE, *ABROAD, CLAUDE, GEMINI, GPT, OPENROUTER, DEEPSEEK, KIMI, CLAUDE):
                journey.run_tools(await journey.ask(stop, "think", "call_both"))
            await journey.ask(CLAUDE, "think", "say")

    run(story())


@FORMS
def test_a_loop_is_handed_to_another_model_of_the_same_provider(stream: bool) -> None:
    """What one Claude thought is not another's to read, and the loop goes on without it."""

    async def story() -> None:
        async with travelling(stream=stream) as journey:
            for stop in (CLAUDE, CLAUDE_BOUND, CLAUDE):
                journey.say()
                journey.run_tools(await journey.ask(stop, "think", "call"))
                other = CLAUDE if stop is CLAUDE_BOUND else CLAUDE_BOUND
                journey.run_tools(await journey.ask(other, "think", "call_both"))
                await journey.ask(stop, "think", "say")

    run(story())
