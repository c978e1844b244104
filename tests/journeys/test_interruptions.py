"""Answers are interrupted anywhere: the conversation continues, and an incomplete thought is never sent."""

import random

import pytest
from tests.journeys.journey import (
    CLAUDE,
    CLAUDE_BOUND,
    MODEL_CHOICES,
    OTHER_PROVIDERS,
    STALL_S,
    ModelChoice,
    complete,
    run,
    start_journey,
)

from thinkaloud.core.context import ContextMode
from thinkaloud.core.transcript import Ending
from thinkaloud.simulators import Fault

EVENTS = 26
"""More than any of these answers has; a fault after the last event breaks the last one."""


def fault_after(event_index: int) -> tuple[Fault, bool]:
    """Return a fault after this many events, and whether the client cancels instead of waiting."""
    kinds = (
        Fault("cut", after_events=event_index),
        Fault("cut", after_events=event_index, inside_bytes=25),
        Fault("overload", after_events=event_index),
        Fault("stall", after_events=event_index, seconds=STALL_S),
    )
    fault = kinds[event_index % len(kinds)]
    return fault, fault.kind == "stall"


@pytest.mark.some_cases(4)
@pytest.mark.parametrize("stop", MODEL_CHOICES, ids=lambda stop: stop.model)
def test_an_interruption_after_every_event(stop: ModelChoice) -> None:
    """Each answer is interrupted one event later than the last, then retried or followed by a question."""

    async def scenario() -> None:
        async with start_journey() as journey:
            broken = 0
            for at in range(EVENTS):
                fault, cancel = fault_after(at + MODEL_CHOICES.index(stop))
                journey.add_user_message()
                answered = await journey.ask(stop, "think", "say", "call_both", fault=fault, cancel=cancel)
                broken += not complete(answered.turn)
                if at % 3 == 1:
                    journey.add_user_message("Never mind that. Go on.")
                if not journey.run_tools(answered):
                    journey.run_tools(await journey.ask(stop, "think", "call"))
                answered = await journey.ask(stop, "think", "say")
                assert answered.turn.outcome is not None
                assert answered.turn.outcome.ending is Ending.ANSWERED
            assert broken > 3

    run(scenario())


@pytest.mark.some_cases(4)
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("seed", range(6))
def test_a_journey_with_interruptions_at_random_points(seed: int, stream: bool) -> None:
    """Across all providers and back, with every other answer interrupted somewhere."""
    drawn = random.Random(seed)
    mode = drawn.choice(list(ContextMode))
    home = drawn.choice((CLAUDE, CLAUDE_BOUND))

    async def scenario() -> None:
        async with start_journey(stream=stream, mode=mode) as journey:
            for choice in (home, *drawn.sample(OTHER_PROVIDERS, len(OTHER_PROVIDERS)), home):
                journey.add_user_message()
                for actions in (("think", "call"), ("think_twice", "say", "call_both"), ("think", "say")):
                    broken = drawn.random() < 0.5
                    fault, cancel = fault_after(drawn.randrange(EVENTS)) if broken else (None, False)
                    answered = await journey.ask(choice, *actions, fault=fault, cancel=cancel)
                    if not journey.run_tools(answered) and drawn.random() < 0.5:
                        journey.add_user_message("Go on.")
            journey.add_user_message("And so?")
            answered = await journey.ask(home, "think", "say")
            assert complete(answered.turn)

    run(scenario())


@pytest.mark.parametrize("finish", ["length", "refusal"])
@pytest.mark.parametrize("stop", MODEL_CHOICES, ids=lambda stop: stop.model)
def test_an_answer_that_its_provider_ends_early(stop: ModelChoice, finish: str) -> None:
    async def scenario() -> None:
        async with start_journey() as journey:
            for actions in (("think", finish), ("think", "say", finish), ("think", "say", "call", finish)):
                journey.add_user_message()
                journey.run_tools(await journey.ask(stop, "think", "call"))
                answered = await journey.ask(stop, *actions)
                assert not complete(answered.turn)
                journey.add_user_message("Go on.")
                journey.run_tools(await journey.ask(stop, "think", "call"))
                await journey.ask(stop, "think", "say")

    run(scenario())


@pytest.mark.some_cases(4)
@pytest.mark.parametrize(
    "stop",
    [
        CLAUDE,
        CLAUDE_BOUND,
        *OTHER_PROVIDERS,
    ],
    ids=lambda stop: stop.model,
)
def test_tools_that_were_run_before_the_answer_was_interrupted(stop: ModelChoice) -> None:
    """A complete call is run at once; then the answer is interrupted, and the results exist."""

    async def scenario() -> None:
        async with start_journey() as journey:
            for at in range(6, EVENTS):
                journey.add_user_message()
                fault = Fault("cut", after_events=at)
                answered = await journey.ask(stop, "think", "call_both", fault=fault)
                journey.run_tools(answered, eager=True)
                answered = await journey.ask(stop, "think", "say")
                assert complete(answered.turn)

    run(scenario())
