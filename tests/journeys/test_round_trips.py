"""A long conversation with tools crosses every provider and returns; nothing is refused."""

import pytest
from tests.journeys.journey import (
    CLAUDE,
    CLAUDE_BOUND,
    DEEPSEEK,
    GEMINI,
    GPT,
    KIMI,
    MODEL_CHOICES,
    OPENROUTER,
    OTHER_PROVIDERS,
    Journey,
    ModelChoice,
    run,
    start_journey,
)

from thinkaloud.core.context import ContextMode, read_conversation, write_conversation

FORMS = pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
MODES = pytest.mark.parametrize("mode", list(ContextMode))
HOME_PARAMETER = pytest.mark.parametrize("home", [CLAUDE, CLAUDE_BOUND], ids=["budget", "prefix-bound"])


async def ask_with_tools(journey: Journey, choice: ModelChoice) -> None:
    """Ask one model for six turns: single and parallel calls with thoughts in between, and plain answers."""
    await journey.exchange(
        choice, ("think", "call"), ("think_twice", "say", "call_both"), ("call",), ("think", "say")
    )
    await journey.exchange(choice, ("think", "say"))
    await journey.exchange(choice, ("say",))


@pytest.mark.some_cases(4)
@FORMS
@MODES
@HOME_PARAMETER
def test_a_conversation_crosses_every_provider_and_returns(
    home: ModelChoice, mode: ContextMode, stream: bool
) -> None:
    """72 turns: the first model, ten others, and the first one again."""

    async def scenario() -> None:
        async with start_journey(stream=stream, mode=mode) as journey:
            for choice in (home, *OTHER_PROVIDERS, home):
                await ask_with_tools(journey, choice)
            assert journey.turns == 72
            if mode is not ContextMode.STRIP:
                assert journey.assert_complete_turns_return(home) == 11

    run(scenario())


@FORMS
def test_every_model_gets_its_own_messages_back(stream: bool) -> None:
    """Every model is left and asked again: its own messages are in the request as it sent them."""

    async def scenario() -> None:
        async with start_journey(stream=stream, mode=ContextMode.KEEP) as journey:
            for choice in MODEL_CHOICES:
                await journey.exchange(
                    choice, ("think", "say", "call_both"), ("think", "call"), ("think", "say")
                )
            for choice in MODEL_CHOICES:
                await journey.exchange(choice, ("say",))
                assert journey.assert_complete_turns_return(choice) == 3

    run(scenario())


@FORMS
def test_a_journey_continues_from_a_file(stream: bool) -> None:
    """Between two turns the conversation is written to a file and read again, even inside a tool loop."""

    async def scenario() -> None:
        async with start_journey(stream=stream) as journey:
            for choice in (CLAUDE_BOUND, GPT, GEMINI, OPENROUTER, DEEPSEEK, KIMI, CLAUDE_BOUND):
                journey.add_user_message()
                for actions in (("think", "call"), ("think", "call_both"), ("think", "say")):
                    journey.run_tools(await journey.ask(choice, *actions))
                    restored = read_conversation(write_conversation(journey.conversation))
                    assert write_conversation(restored) == write_conversation(journey.conversation)
                    journey.steps = list(restored.steps)
            assert journey.assert_complete_turns_return(CLAUDE_BOUND) == 5

    run(scenario())


@FORMS
@MODES
def test_a_tool_loop_is_handed_over_to_other_providers(mode: ContextMode, stream: bool) -> None:
    """One question, and each answer comes from another provider, which continues the loop of the last."""

    async def scenario() -> None:
        async with start_journey(stream=stream, mode=mode) as journey:
            journey.add_user_message()
            for choice in (CLAUDE, *OTHER_PROVIDERS, CLAUDE, GEMINI, GPT, OPENROUTER, DEEPSEEK, KIMI, CLAUDE):
                journey.run_tools(await journey.ask(choice, "think", "call_both"))
            await journey.ask(CLAUDE, "think", "say")

    run(scenario())


@FORMS
def test_a_tool_loop_is_handed_over_within_a_provider(stream: bool) -> None:
    """One Claude model's thoughts are not sent to another; the loop continues without them."""

    async def scenario() -> None:
        async with start_journey(stream=stream) as journey:
            for choice in (CLAUDE, CLAUDE_BOUND, CLAUDE):
                journey.add_user_message()
                journey.run_tools(await journey.ask(choice, "think", "call"))
                other = CLAUDE if choice is CLAUDE_BOUND else CLAUDE_BOUND
                journey.run_tools(await journey.ask(other, "think", "call_both"))
                await journey.ask(choice, "think", "say")

    run(scenario())
