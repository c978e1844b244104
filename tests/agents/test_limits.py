"""Limits of agents: replies, tokens and time, their own and those of their callers."""

import asyncio
import gc

import pytest
from tests.agents.run_checks import assert_legal
from tests.agents.scripted_provider import (
    PROMPT,
    Call,
    Hold,
    Reply,
    Say,
    ScriptedProvider,
    Think,
    advance_clock,
    agent,
    all_entries,
    delegate,
    messages_of,
    run_of,
    run_story,
    run_story_with_fake_clock,
    scripted_provider,
    tool,
)

from thinkaloud.agents.run import Run
from thinkaloud.agents.spec import Agent, RunLimits, exceeded_limit
from thinkaloud.core.canon import ApprovalAsked, Entry, Kind, Usage
from thinkaloud.core.transcript import BlockStatus, Ending, Turn
from thinkaloud.core.transcript import Reply as Spent


def limit_message(*, name: str, limit: str, what: str) -> str:
    number, unit = limit.split(" ", 1)
    return (
        f"{name} was stopped by its limit on {unit}, {number} (limits.{what}). The answer so far is kept. "
        "Raise the limit to let it continue."
    )


def run_agent(top_agent: Agent, lines: dict[str, list[Reply]]) -> tuple[Turn, ScriptedProvider]:
    async def story() -> tuple[Turn, ScriptedProvider]:
        async with scripted_provider(lines) as provider:
            return assert_legal(await all_entries(run_of(provider, top_agent))), provider

    return run_story(story())


def assert_limit_reached(turn: Turn, what: str, name: str, limit: str) -> None:
    assert turn.outcome is not None
    assert (turn.outcome.ending, turn.outcome.cause) == (Ending.CUT_OFF, f"limit_{what}")
    assert [notice.text for notice in turn.notices] == [limit_message(name=name, limit=limit, what=what)]


def test_limit_of_replies_ends_the_turn() -> None:
    top_agent = agent(tools=(tool("weather"),), limits=RunLimits(replies=2))
    turn, provider = run_agent(top_agent, {PROMPT: [(Think("Look."), Call("weather"))] * 3})
    assert_limit_reached(turn, "replies", "Planner", "2 replies")
    assert len(provider.bodies) == 2
    assert [block.result for block in turn.own_blocks(Kind.TOOL_CALL)] == ["18 C", "18 C"]


def test_last_reply_within_the_limit_may_be_the_answer() -> None:
    top_agent = agent(tools=(tool("weather"),), limits=RunLimits(replies=2))
    turn, _ = run_agent(top_agent, {PROMPT: [(Call("weather"),), (Say("Mild."),)]})
    assert turn.outcome is not None
    assert turn.outcome.ending is Ending.ANSWERED


def test_limit_of_an_assistant_ends_only_the_assistant() -> None:
    """The call gets an error and the last text; the caller continues."""
    below = agent("Checker", tools=(tool("weather"),), limits=RunLimits(replies=1))
    lines: dict[str, list[Reply]] = {
        PROMPT: [(delegate("checker", "check"),), (Say("Good enough."),)],
        "check": [(Say("I looked."), Call("weather"))],
    }
    turn, provider = run_agent(agent(assistants=(below,)), lines)
    call = turn.blocks[0]
    why = limit_message(name="Checker", limit="1 replies", what="replies")
    assert (call.result, call.error, call.status) == ("I looked.", why, BlockStatus.ERROR)
    assert messages_of(provider.bodies_of(PROMPT)[1], "tool")[0]["content"] == f"{why}\n\nI looked."
    assert turn.notices == []
    assert turn.answer == "Good enough."


def test_replies_of_assistants_count_for_their_callers() -> None:
    """The limit of the middle agent is reached by the one below it, and ends both, but not the top agent."""
    weather = (tool("weather"),)
    deep = agent("Finder", tools=weather)
    middle = agent("Checker", assistants=(deep,), limits=RunLimits(replies=3))
    lines: dict[str, list[Reply]] = {
        PROMPT: [(delegate("checker", "check"),), (Say("Good enough."),)],
        "check": [(Say("I let look."), delegate("finder", "find"))],
        "find": [(Think("One."), Call("weather")), (Think("Two."), Call("weather"))],
    }
    turn, _ = run_agent(agent(assistants=(middle,)), lines)
    checker, finder = (block for block in turn.blocks if block.kind is Kind.ASSISTANT_CALL)
    assert checker.error == limit_message(name="Checker", limit="3 replies", what="replies")
    assert checker.result == "I let look."
    assert finder.error == "The call was stopped before it returned a result."
    assert turn.answer == "Good enough."


def test_limit_of_the_top_agent_ends_the_turn() -> None:
    deep = agent("Finder", tools=(tool("weather"),))
    lines: dict[str, list[Reply]] = {
        PROMPT: [(delegate("finder", "find"),)],
        "find": [(Think("One."), Call("weather")), (Think("Two."), Call("weather"))],
    }
    turn, _ = run_agent(agent(assistants=(deep,), limits=RunLimits(replies=3)), lines)
    assert_limit_reached(turn, "replies", "Planner", "3 replies")


@pytest.mark.parametrize("most", [2, 3])
def test_concurrent_replies_count_before_they_end(most: int, caplog: pytest.LogCaptureFixture) -> None:
    """Three assistants start at once with room for one: two get an error, one answers."""
    lines: dict[str, list[Reply]] = {
        PROMPT: [tuple(delegate("finder", place) for place in ("north", "south", "west"))],
        "north": [(Hold(), Say("never"))],
        "south": [(Hold(), Say("never"))],
        "west": [(Hold(), Say("never"))],
    }
    turn, provider = run_agent(agent(assistants=(agent("Finder"),), limits=RunLimits(replies=most)), lines)
    assert_limit_reached(turn, "replies", "Planner", f"{most} replies")
    assert len(provider.bodies) <= most
    gc.collect()  # an error that nobody looked at is told of when it is thrown away
    assert [record.message for record in caplog.records] == []


def test_limit_of_output_tokens_includes_assistants() -> None:
    """Each reply takes 5 of them."""
    deep = agent("Finder", tools=(tool("weather"),))
    lines: dict[str, list[Reply]] = {
        PROMPT: [(delegate("finder", "find"),), (Say("never"),)],
        "find": [(Call("weather"),), (Say("There."),)],
    }
    turn, _ = run_agent(agent(assistants=(deep,), limits=RunLimits(output_tokens=15)), lines)
    assert_limit_reached(turn, "output_tokens", "Planner", "15 output tokens")
    assert turn.usage.output == 15


def test_limit_of_output_tokens_ignores_unreported_usage() -> None:
    spent = [Spent(usage=Usage(output=None)), Spent(usage=Usage(output=9))]
    assert exceeded_limit(RunLimits(output_tokens=10), spent) == ""
    assert exceeded_limit(RunLimits(output_tokens=9), spent) == "output_tokens"
    assert exceeded_limit(RunLimits(replies=3), spent, pending=1) == "replies"


LIMIT_S = 50.0
"""Less than any time-out of the client, which runs by the same clock."""


async def run_until_waiting(run: Run, *events: asyncio.Event) -> list[Entry]:
    """Return the entries of a run whose time ends when all of these points are reached."""
    telling = asyncio.create_task(all_entries(run))
    for reached in events:
        await reached.wait()
    advance_clock(LIMIT_S + 1)
    return await telling


@pytest.mark.parametrize("at", ["first byte", "thought", "tool", "assistant", "second reply"])
def test_limit_of_seconds_ends_the_turn(at: str) -> None:
    async def story() -> None:
        hold = Hold()

        async def stuck(arguments: str) -> str:
            await hold.wait()
            return "never"

        played: dict[str, list[Reply]] = {
            "first byte": [(hold, Say("never"))],
            "thought": [(Think("Hm."), hold)],
            "tool": [(Call("stuck"),)],
            "assistant": [(delegate("finder", "find"),)],
            "second reply": [(Call("weather"),), (hold, Say("never"))],
        }
        top_agent = agent(
            tools=(tool("stuck", stuck, timeout_s=1000), tool("weather")),
            assistants=(agent("Finder"),),
            limits=RunLimits(seconds=LIMIT_S),
        )
        async with scripted_provider({PROMPT: played[at], "find": [(Think("Looking."), hold)]}) as provider:
            turn = assert_legal(await run_until_waiting(run_of(provider, top_agent), hold.reached))
            assert_limit_reached(turn, "seconds", "Planner", "50.0 seconds")

    run_story_with_fake_clock(story())


def test_limit_of_seconds_of_an_assistant_ends_only_the_assistant() -> None:
    async def story() -> None:
        hold = Hold()
        below = agent("Finder", limits=RunLimits(seconds=LIMIT_S))
        lines: dict[str, list[Reply]] = {
            PROMPT: [(delegate("finder", "find"), Call("weather")), (Say("Good enough."),)],
            "find": [(Say("I am loo"), hold)],
        }
        async with scripted_provider(lines) as provider:
            run = run_of(provider, agent(assistants=(below,), tools=(tool("weather"),)))
            turn = assert_legal(await run_until_waiting(run, hold.reached))
        call = turn.blocks[0]
        assert call.error == limit_message(name="Finder", limit="50.0 seconds", what="seconds")
        assert call.result in ("", "I am loo")  # as far as it had come
        assert turn.answer == "Good enough."

    run_story_with_fake_clock(story())


def test_limit_of_seconds_of_the_caller_ends_before_its_assistant() -> None:
    async def story() -> None:
        hold = Hold()
        deep = agent("Finder", limits=RunLimits(seconds=2 * LIMIT_S))
        middle = agent("Checker", assistants=(deep,), limits=RunLimits(seconds=LIMIT_S))
        lines: dict[str, list[Reply]] = {
            PROMPT: [(delegate("checker", "check"),), (Say("Good enough."),)],
            "check": [(delegate("finder", "find"),)],
            "find": [(Think("Looking."), hold)],
        }
        async with scripted_provider(lines) as provider:
            run = run_of(provider, agent(assistants=(middle,)))
            turn = assert_legal(await run_until_waiting(run, hold.reached))
        checker, finder = (block for block in turn.blocks if block.kind is Kind.ASSISTANT_CALL)
        assert "limit on seconds, 50.0" in checker.error
        assert finder.error == "The call was stopped before it returned a result."
        assert turn.answer == "Good enough."

    run_story_with_fake_clock(story())


async def approve_late(run: Run) -> list[Entry]:
    """Return the entries of a run in which each approval takes longer than the limit."""
    entries: list[Entry] = []
    async for entry in run.entries():
        entries.append(entry)
        if isinstance(entry.event, ApprovalAsked):
            advance_clock(10 * LIMIT_S)
            await asyncio.sleep(0)
            run.decide(entry.event.block, granted=True)
    return entries


@pytest.mark.parametrize("calls", [1, 2], ids=["one", "two at once"])
def test_limit_of_seconds_excludes_approvals(calls: int) -> None:
    """Neither for the assistant that waits nor for its callers."""

    async def story() -> None:
        limits = RunLimits(seconds=LIMIT_S)
        below = agent("Finder", tools=(tool("look", approval=True),), limits=limits)
        lines: dict[str, list[Reply]] = {
            PROMPT: [(delegate("finder", "find"),), (Say("Good."),)],
            "find": [(Call("look"),) * calls, (Say("There."),)],
        }
        async with scripted_provider(lines) as provider:
            run = run_of(provider, agent(assistants=(below,), limits=limits))
            turn = assert_legal(await approve_late(run))
            assert turn.blocks[0].result == "There."
            assert turn.answer == "Good."

    run_story_with_fake_clock(story())


@pytest.mark.parametrize("calls", [1, 2], ids=["one", "two at once"])
def test_limit_of_seconds_resumes_after_the_last_approval(calls: int) -> None:
    async def story() -> None:
        hold = Hold()
        top_agent = agent(tools=(tool("look", approval=True),), limits=RunLimits(seconds=LIMIT_S))
        lines: list[Reply] = [(Call("look"),) * calls, (Think("Hm."), hold)]
        async with scripted_provider({PROMPT: lines}) as provider:
            telling = asyncio.create_task(approve_late(run_of(provider, top_agent)))
            await hold.reached.wait()
            advance_clock(LIMIT_S + 1)
            turn = assert_legal(await telling)
            assert [block.result for block in turn.own_blocks(Kind.TOOL_CALL)] == ["18 C"] * calls
            assert_limit_reached(turn, "seconds", "Planner", "50.0 seconds")

    run_story_with_fake_clock(story())


def test_limit_of_seconds_none_is_unlimited() -> None:
    async def story() -> None:
        top_agent = agent(tools=(tool("look", approval=True),), limits=RunLimits(seconds=None))
        async with scripted_provider({PROMPT: [(Call("look"),), (Say("There."),)]}) as provider:
            assert assert_legal(await approve_late(run_of(provider, top_agent))).answer == "There."

    run_story_with_fake_clock(story())
