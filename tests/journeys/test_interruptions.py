"""Answers break off anywhere: the conversation goes on, and half a thought is never sent as a whole one."""

import random

import pytest
from tests.journeys.journey import ABROAD, CLAUDE, CLAUDE_BOUND, STALL_S, STOPS, Stop, run, travelling, whole

from thinkaloud.context import ContextMode
from thinkaloud.simulators import Fault
from thinkaloud.transcript import Ending

EVENTS = 26
"""More than any of these answers has; a fault after the last event breaks the last."""


def breaking(at: int) -> tuple[Fault, bool]:
    """Some fault after so many events, and whether the client is to give up on it."""
    kinds = (
        Fault("cut", after_events=at),
        Fault("cut", after_events=at, inside_bytes=25),
        Fault("overload", after_events=at),
        Fault("stall", after_events=at, seconds=STALL_S),
    )
    fault = kinds[at % len(kinds)]
    return fault, fault.kind == "stall"


@pytest.mark.parametrize("stop", STOPS, ids=lambda stop: stop.model)
def test_a_break_after_every_event(stop: Stop) -> None:
    """Each answer breaks one event later than the last, and is asked for again or talked over."""

    async def story() -> None:
        async with travelling() as journey:
            broken = 0
            for at in range(EVENTS):
                fault, cancel = breaking(at + STOPS.index(stop))
                journey.say()
                said = await journey.ask(stop, "think", "say", "call_both", fault=fault, cancel=cancel)
                broken += not whole(said.turn)
                if at % 3 == 1:
                    journey.say("Never mind that. Go on.")
                if not journey.run_tools(said):
                    journey.run_tools(await journey.ask(stop, "think", "call"))
                said = await journey.ask(stop, "think", "say")
                assert said.turn.outcome is not None
                assert said.turn.outcome.ending is Ending.ANSWERED
            assert broken > 3

    run(story())


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("seed", range(6))
def test_a_journey_with_breaks_at_random_points(seed: int, stream: bool) -> None:
    """There and back, with every other answer broken somewhere; what broke goes on with anyone."""
    drawn = random.Random(seed)
    mode = drawn.choice(list(ContextMode))
    home = drawn.choice((CLAUDE, CLAUDE_BOUND))

    async def story() -> None:
        async with travelling(stream=stream, mode=mode) as journey:
            for stop in (home, *drawn.sample(ABROAD, len(ABROAD)), home):
                journey.say()
                for told in (("think", "call"), ("think_twice", "say", "call_both"), ("think", "say")):
                    broken = drawn.random() < 0.5
                    fault, cancel = breaking(drawn.randrange(EVENTS)) if broken else (None, False)
                    said = await journey.ask(stop, *told, fault=fault, cancel=cancel)
                    if not journey.run_tools(said) and drawn.random() < 0.5:
                        journey.say("Go on.")
            journey.say("And so?")
            said = await journey.ask(home, "think", "say")
            assert whole(said.turn)

    run(story())


@pytest.mark.parametrize("finish", ["length", "refusal"])
@pytest.mark.parametrize("stop", STOPS, ids=lambda stop: stop.model)
def test_an_answer_that_its_provider_ends_early(stop: Stop, finish: str) -> None:
    async def story() -> None:
        async with travelling() as journey:
            for told in (("think", finish), ("think", "say", finish), ("think", "say", "call", finish)):
                journey.say()
                journey.run_tools(await journey.ask(stop, "think", "call"))
                said = await journey.ask(stop, *told)
                assert not whole(said.turn)
                journey.say("Go on.")
                journey.run_tools(await journey.ask(stop, "think", "call"))
                await journey.ask(stop, "think", "say")

    run(story())


@pytest.mark.parametrize(
    "stop",
    [
        CLAUDE,
        CLAUDE_BOUND,
        *ABROAD,
    ],
    ids=lambda stop: stop.model,
)
def test_tools_that_were_run_before_the_answer_broke(stop: Stop) -> None:
    """A call that was complete is run at once; then the answer breaks, and the results are there."""

    async def story() -> None:
        async with travelling() as journey:
            for at in range(6, EVENTS):
                journey.say()
                fault = Fault("cut", after_events=at)
                said = await journey.ask(stop, "think", "call_both", fault=fault)
                journey.run_tools(said, eager=True)
                said = await journey.ask(stop, "think", "say")
                assert whole(said.turn)

    run(story())
