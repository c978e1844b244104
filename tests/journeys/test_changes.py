"""What came before is shortened or rewritten, or the tools are others: nobody refuses to go on with it."""

import pytest
from tests.journeys.journey import ABROAD, CLAUDE, CLAUDE_BOUND, STOPS, TOOLS, Journey, Stop, run, travelling

from thinkaloud.canon.requests import Tool, UserMessage
from thinkaloud.context import ContextMode

MODES = pytest.mark.parametrize("mode", list(ContextMode))
EVERYONE = pytest.mark.parametrize("stop", STOPS, ids=lambda stop: stop.model)
LOOP = (("think", "call"), ("think", "say", "call_both"), ("think", "say"))


async def loop(journey: Journey, stop: Stop) -> None:
    await journey.exchange(stop, *LOOP)


@MODES
@EVERYONE
def test_compaction_at_every_point(stop: Stop, mode: ContextMode) -> None:
    """Any number of earlier steps is forgotten, with a summary in their place or with none."""

    async def story() -> None:
        async with travelling(mode=mode) as journey:
            await loop(journey, CLAUDE)
            await loop(journey, stop)
            journey.say()
            journey.run_tools(await journey.ask(stop, "think", "call_both"))
            steps = list(journey.steps)
            for keep in range(len(steps)):
                journey.steps = list(steps)
                journey.compact(keep, "They spoke about Lima." if keep % 2 else "")
                if not any(isinstance(step, UserMessage) for step in journey.steps):
                    journey.say("Where were we?")
                journey.run_tools(await journey.ask(stop, "think", "call"))
                await journey.ask(stop, "think", "say")

    run(story())


@MODES
def test_a_journey_with_compaction(mode: ContextMode) -> None:
    """At every border the oldest steps are replaced by a summary, in the middle of a loop or not."""

    async def story() -> None:
        async with travelling(mode=mode) as journey:
            for at, stop in enumerate((CLAUDE_BOUND, *ABROAD, CLAUDE, CLAUDE_BOUND, *ABROAD, CLAUDE_BOUND)):
                await loop(journey, stop)
                journey.compact(9 - at % 4, "They spoke about Lima.")
            assert journey.turns == 54

    run(story())


@MODES
@EVERYONE
def test_the_system_prompt_and_the_tools_change(stop: Stop, mode: ContextMode) -> None:
    """Between questions, and between a call and what is made of its result."""

    async def story() -> None:
        async with travelling(mode=mode) as journey:
            await loop(journey, stop)
            journey.system = "Answer in two sentences."
            await loop(journey, stop)
            journey.tools = (*TOOLS, Tool("get_news", "What is new."))
            await loop(journey, stop)
            journey.say()
            journey.run_tools(await journey.ask(stop, "think", "call_both"))
            journey.system = "Answer in three sentences."
            journey.run_tools(await journey.ask(stop, "think", "call"))
            journey.tools = TOOLS[:1]
            journey.run_tools(await journey.ask(stop, "think", "call"))
            await journey.ask(stop, "think", "say")
            await loop(journey, stop)

    run(story())


@EVERYONE
def test_an_earlier_message_is_rewritten(stop: Stop) -> None:
    async def story() -> None:
        async with travelling() as journey:
            await loop(journey, stop)
            await loop(journey, stop)
            journey.steps[0] = UserMessage("Something else was asked.")
            await loop(journey, stop)
            journey.say()
            journey.run_tools(await journey.ask(stop, "think", "call"))
            journey.steps[0] = UserMessage("And something else again.")
            journey.run_tools(await journey.ask(stop, "think", "call_both"))
            await journey.ask(stop, "think", "say")

    run(story())
