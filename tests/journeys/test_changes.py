"""Earlier messages are compacted or rewritten, or the tools change: no provider refuses to continue."""

import pytest
from tests.journeys.journey import (
    CLAUDE,
    CLAUDE_BOUND,
    MODEL_CHOICES,
    OTHER_PROVIDERS,
    TOOLS,
    Journey,
    ModelChoice,
    run,
    start_journey,
)

from thinkaloud.core.canon.requests import ToolDefinition, UserMessage
from thinkaloud.core.context import ContextMode

MODES = pytest.mark.parametrize("mode", list(ContextMode))
MODEL_PARAMETER = pytest.mark.parametrize("stop", MODEL_CHOICES, ids=lambda stop: stop.model)
LOOP = (("think", "call"), ("think", "say", "call_both"), ("think", "say"))


async def tool_loop(journey: Journey, choice: ModelChoice) -> None:
    await journey.exchange(choice, *LOOP)


@pytest.mark.some_cases(12)
@MODES
@MODEL_PARAMETER
def test_compaction_at_every_point(stop: ModelChoice, mode: ContextMode) -> None:
    """Any number of earlier steps is dropped, with or without a summary in their place."""

    async def scenario() -> None:
        async with start_journey(mode=mode) as journey:
            await tool_loop(journey, CLAUDE)
            await tool_loop(journey, stop)
            journey.add_user_message()
            journey.run_tools(await journey.ask(stop, "think", "call_both"))
            steps = list(journey.steps)
            for keep in range(len(steps)):
                journey.steps = list(steps)
                journey.compact(keep, "They spoke about Lima." if keep % 2 else "")
                if not any(isinstance(step, UserMessage) for step in journey.steps):
                    journey.add_user_message("Where were we?")
                journey.run_tools(await journey.ask(stop, "think", "call"))
                await journey.ask(stop, "think", "say")

    run(scenario())


@MODES
def test_a_journey_with_compaction(mode: ContextMode) -> None:
    """Before every change of model, the oldest steps are replaced by a summary, even inside a tool loop."""

    async def scenario() -> None:
        async with start_journey(mode=mode) as journey:
            for at, choice in enumerate(
                (CLAUDE_BOUND, *OTHER_PROVIDERS, CLAUDE, CLAUDE_BOUND, *OTHER_PROVIDERS, CLAUDE_BOUND)
            ):
                await tool_loop(journey, choice)
                journey.compact(9 - at % 4, "They spoke about Lima.")
            assert journey.turns == 72

    run(scenario())


@pytest.mark.some_cases(12)
@MODES
@MODEL_PARAMETER
def test_the_system_prompt_and_the_tools_change(stop: ModelChoice, mode: ContextMode) -> None:
    """Between questions, and between a call and the answer to its result."""

    async def scenario() -> None:
        async with start_journey(mode=mode) as journey:
            await tool_loop(journey, stop)
            journey.system = "Answer in two sentences."
            await tool_loop(journey, stop)
            journey.tools = (*TOOLS, ToolDefinition("get_news", "What is new."))
            await tool_loop(journey, stop)
            journey.add_user_message()
            journey.run_tools(await journey.ask(stop, "think", "call_both"))
            journey.system = "Answer in three sentences."
            journey.run_tools(await journey.ask(stop, "think", "call"))
            journey.tools = TOOLS[:1]
            journey.run_tools(await journey.ask(stop, "think", "call"))
            await journey.ask(stop, "think", "say")
            await tool_loop(journey, stop)

    run(scenario())


@MODEL_PARAMETER
def test_an_earlier_message_is_rewritten(stop: ModelChoice) -> None:
    async def scenario() -> None:
        async with start_journey() as journey:
            await tool_loop(journey, stop)
            await tool_loop(journey, stop)
            journey.steps[0] = UserMessage("Something else was asked.")
            await tool_loop(journey, stop)
            journey.add_user_message()
            journey.run_tools(await journey.ask(stop, "think", "call"))
            journey.steps[0] = UserMessage("And something else again.")
            journey.run_tools(await journey.ask(stop, "think", "call_both"))
            await journey.ask(stop, "think", "say")

    run(scenario())
