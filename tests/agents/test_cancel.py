"""A run that is cancelled at any point leaves nothing running, and its log can be ended."""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import pytest
from tests.agents.run_checks import CANCELLED, CONNECTION_LOST, assert_legal
from tests.agents.scripted_provider import (
    PROMPT,
    Call,
    Hold,
    PartialCall,
    Reply,
    Say,
    ScriptedProvider,
    Think,
    agent,
    all_entries,
    delegate,
    run_of,
    run_story,
    scripted_provider,
    tool,
)
from tests.patience import PATIENCE_S

from thinkaloud.agents.run import Run, waits_for_approval
from thinkaloud.agents.spec import Agent
from thinkaloud.agents.tools import Tool, from_function
from thinkaloud.core.canon import Entry, TurnEnded, TurnFailed
from thinkaloud.core.canon.requests import UserMessage
from thinkaloud.core.transcript import Turn, apply, events_to_end_turn
from thinkaloud.core.transcript.reducer import STOPPED_ERROR


@dataclass(frozen=True)
class StopPoint:
    """The point at which a run is cancelled, and how the test recognises it."""

    lines: dict[str, list[Reply]]
    tools: tuple[Tool, ...] = ()
    reached_event: asyncio.Event | None = None
    expected_text: str = ""
    needs_approval: bool = False

    def reached(self, turn: Turn) -> bool:
        event_set = self.reached_event is None or self.reached_event.is_set()
        text_seen = not self.expected_text or any(block.text == self.expected_text for block in turn.blocks)
        return event_set and text_seen and (waits_for_approval(turn) or not self.needs_approval)


def deep(*find: Reply) -> dict[str, list[Reply]]:
    """Return these replies two levels down."""
    return {
        PROMPT: [(Think("I ask."), delegate("checker", "check"))],
        "check": [(Think("I ask too."), delegate("finder", "find"))],
        "find": list(find),
    }


def blocking_tool(started: asyncio.Event) -> Callable[[str], Awaitable[str]]:
    async def work(arguments: str) -> str:
        started.set()
        await asyncio.Event().wait()
        return "never"

    return work


def first_byte() -> StopPoint:
    hold = Hold()
    return StopPoint({PROMPT: [(hold, Say("never"))]}, reached_event=hold.reached)


def thought() -> StopPoint:
    return StopPoint({PROMPT: [(Think("It is"), Hold(), Think(" never"))]}, expected_text="It is")


def text() -> StopPoint:
    return StopPoint({PROMPT: [(Think("Hm."), Say("It is"), Hold())]}, expected_text="It is")


def arguments() -> StopPoint:
    lines: list[Reply] = [(Call("weather"), PartialCall("weather", '{"ci'), Hold())]
    return StopPoint({PROMPT: lines}, (tool("weather"),), expected_text='{"ci')


def arguments_of_an_assistant() -> StopPoint:
    hold = Hold()
    lines: list[Reply] = [(Think("I ask."), PartialCall("checker", '{"ta'), hold)]
    return StopPoint({PROMPT: lines}, reached_event=hold.reached, expected_text="I ask.")


def second_reply() -> StopPoint:
    hold = Hold()
    lines: list[Reply] = [(Think("Look."), Call("weather")), (hold, Say("never"))]
    return StopPoint({PROMPT: lines}, (tool("weather"),), hold.reached)


def tool_at_work() -> StopPoint:
    started = asyncio.Event()
    lines: list[Reply] = [(Call("work"), Call("weather"))]
    return StopPoint({PROMPT: lines}, (tool("work", blocking_tool(started)), tool("weather")), started)


def tool_in_a_thread() -> StopPoint:
    started, loop, over = asyncio.Event(), asyncio.get_running_loop(), threading.Event()

    def work() -> str:
        """Work."""
        loop.call_soon_threadsafe(started.set)
        over.wait(0.2)
        return "late"

    return StopPoint({PROMPT: [(Call("work"),)]}, (from_function(work),), started)


def tool_that_tidies_up() -> StopPoint:
    """A tool that runs on for a while after its cancellation."""
    started = asyncio.Event()

    async def work(arguments: str) -> str:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0.1)
        return "late"

    return StopPoint({PROMPT: [(Call("work"),)]}, (tool("work", work),), started)


def approval() -> StopPoint:
    tools = (tool("send", approval=True), tool("weather"))
    return StopPoint({PROMPT: [(Call("send"), Call("weather"))]}, tools, needs_approval=True)


def childs_first_byte() -> StopPoint:
    hold = Hold()
    return StopPoint(deep((hold, Say("never"))), reached_event=hold.reached)


def childs_thought() -> StopPoint:
    return StopPoint(deep((Think("It is"), Hold())), expected_text="It is")


def childs_text() -> StopPoint:
    return StopPoint(deep((Think("Hm."), Say("It is"), Hold())), expected_text="It is")


def childs_arguments() -> StopPoint:
    return StopPoint(deep((PartialCall("weather", '{"ci'), Hold())), (tool("weather"),), expected_text='{"ci')


def childs_tool() -> StopPoint:
    started = asyncio.Event()
    return StopPoint(deep((Call("work"),)), (tool("work", blocking_tool(started)),), started)


def childs_approval() -> StopPoint:
    return StopPoint(deep((Call("send"),)), (tool("send", approval=True),), needs_approval=True)


def childs_side_by_side() -> StopPoint:
    """One assistant thinks, one waits for its first byte, and a tool runs."""
    started, hold = asyncio.Event(), Hold()
    lines: dict[str, list[Reply]] = {
        PROMPT: [(delegate("finder", "north"), delegate("finder", "south"), Call("work"))],
        "north": [(hold, Say("never"))],
        "south": [(Think("It is"), Hold())],
    }
    return StopPoint(lines, (tool("work", blocking_tool(started)),), hold.reached, "It is")


STOP_POINTS = [
    *(first_byte, thought, text, arguments, arguments_of_an_assistant, second_reply),
    *(tool_at_work, tool_in_a_thread, tool_that_tidies_up, approval),
    *(childs_first_byte, childs_thought, childs_text, childs_arguments),
    *(childs_tool, childs_approval, childs_side_by_side),
]


def three_level_agent(tools: tuple[Tool, ...]) -> Agent:
    finder = agent("Finder", tools=tools)
    return agent(tools=tools, assistants=(agent("Checker", tools=tools, assistants=(finder,)), finder))


def own_tasks() -> set[asyncio.Task[Any]]:
    """Return all tasks but those of the server."""
    names = {task: getattr(task.get_coro(), "__qualname__", "") for task in asyncio.all_tasks()}
    return {task for task, name in names.items() if not name.startswith("serve_upstream")}


async def assert_nothing_running(provider: ScriptedProvider, tasks_before: set[asyncio.Task[Any]]) -> None:
    """No task is left, and every connection was closed by our side."""
    async with asyncio.timeout(PATIENCE_S):
        while own_tasks() - tasks_before:
            await asyncio.sleep(0.005)
        for request in provider.requests:
            await request.wait_closed()


def assert_ends_well(entries: list[Entry], end: TurnEnded | TurnFailed) -> Turn:
    """Check the entries so far with the end that is written after a cancellation."""
    turn = Turn()
    for entry in entries:
        apply(turn, entry)
    ending_events = enumerate(events_to_end_turn(turn, end), len(entries))
    return assert_legal([*entries, *(Entry(seq, event) for seq, event in ending_events)])


@pytest.mark.parametrize("end", [CANCELLED, CONNECTION_LOST], ids=["cancelled", "lost"])
@pytest.mark.parametrize("scene", STOP_POINTS)
def test_cancelled_run_leaves_nothing_running(
    scene: Callable[[], StopPoint], end: TurnEnded | TurnFailed
) -> None:
    async def story() -> None:
        setting = scene()
        async with scripted_provider(setting.lines) as provider:
            tasks_before = own_tasks()
            run = run_of(provider, three_level_agent(setting.tools))
            entries: list[Entry] = []

            async def listen() -> None:
                async with aclosing(run.entries()) as telling:
                    async for entry in telling:
                        entries.append(entry)

            listening = asyncio.create_task(listen())
            while not setting.reached(run.turn) or len(entries) <= run.turn.seq:
                await asyncio.sleep(0.002)
            listening.cancel()
            await asyncio.wait([listening])
            assert listening.cancelled()
            await assert_nothing_running(provider, tasks_before)
            turn = assert_ends_well(entries, end)
            assert all(
                call.error == STOPPED_ERROR for call in turn.blocks if call.result == "" and call.error
            )

    run_story(story())


def three_levels() -> tuple[Agent, dict[str, list[Reply]]]:
    weather = (tool("weather"),)
    lines: dict[str, list[Reply]] = {
        PROMPT: [
            (Think("I ask."), delegate("checker", "check"), delegate("finder", "south")),
            (Think("Good."), Say("Mild.")),
        ],
        "check": [(Think("Who?"), delegate("finder", "find"), Call("weather")), (Say("Checked."),)],
        "find": [(Think("Look."), Call("weather")), (Say("Found."),)],
        "south": [(Think("South."), Call("weather")), (Say("Mild there."),)],
    }
    return three_level_agent(weather), lines


def test_run_can_be_cancelled_after_any_entry() -> None:
    """The reader may stop after any entry; the run ends there."""

    async def story() -> None:
        top_agent, lines = three_levels()
        async with scripted_provider(lines) as provider:
            whole = len(await all_entries(run_of(provider, top_agent)))
        for index in range(0, whole, 3):
            top_agent, lines = three_levels()
            async with scripted_provider(lines) as provider:
                tasks_before = own_tasks()
                entries: list[Entry] = []
                async with aclosing(run_of(provider, top_agent).entries()) as telling:
                    async for entry in telling:
                        entries.append(entry)
                        if len(entries) > index:
                            break
                await assert_nothing_running(provider, tasks_before)
                assert_ends_well(entries, CANCELLED)

    run_story(story())


def test_run_does_not_start_before_its_entries_are_read() -> None:
    async def story() -> None:
        async with scripted_provider({PROMPT: [(Say("never"),)]}) as provider:
            run = run_of(provider, agent())
            await run.entries().aclose()
            assert provider.bodies == []
            assert run.turn == Turn()

    run_story(story())


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_tool_that_ignores_its_cancellation_is_abandoned(
    depth: int, caplog: pytest.LogCaptureFixture
) -> None:
    """The run ends with a log line, and the late result of the tool is ignored."""

    async def story() -> None:
        started, let_go = asyncio.Event(), asyncio.Event()

        async def stubborn(arguments: str) -> str:
            started.set()
            while not let_go.is_set():
                try:
                    await let_go.wait()
                except asyncio.CancelledError:
                    continue
            return "late"

        finder = agent("Finder", tools=(tool("stubborn", stubborn),))
        checker = agent("Checker", assistants=(finder,))
        top_agent = (finder, agent(assistants=(finder,)), agent(assistants=(checker,)))[depth]
        lines = deep((Call("stubborn"),))
        lines[PROMPT] = [[(Call("stubborn"),), (delegate("finder", "find"),), *lines[PROMPT]][depth]]
        async with scripted_provider(lines) as provider:
            tasks_before = own_tasks()
            run = run_of(provider, top_agent)
            entries: list[Entry] = []

            async def listen() -> None:
                async with aclosing(run.entries()) as telling:
                    async for entry in telling:
                        entries.append(entry)

            listening = asyncio.create_task(listen())
            await started.wait()
            listening.cancel()
            async with asyncio.timeout(PATIENCE_S):
                await asyncio.wait([listening])
            try:
                async with asyncio.timeout(PATIENCE_S):
                    while len(own_tasks() - tasks_before) > 1:  # the callers of the tool are still ending
                        await asyncio.sleep(0.005)
                (remaining_task,) = own_tasks() - tasks_before
                assert not remaining_task.done()
            finally:
                let_go.set()
            await assert_nothing_running(provider, tasks_before)
            turn = assert_ends_well(entries, CANCELLED)
            assert "late" not in [block.result for block in turn.blocks]

    run_story(story())
    assert {record.message for record in caplog.records} == {
        "a tool ignored its cancellation and is still running"
    }


def test_errors_during_cancellation_are_ignored(caplog: pytest.LogCaptureFixture) -> None:
    """A tool that fails when it is cancelled, beside one that fails by itself."""

    async def story() -> None:
        started = asyncio.Event()

        async def fails(arguments: str) -> str:
            started.set()
            try:
                await asyncio.Event().wait()
            finally:
                raise SystemError("in the middle of tidying up")

        async with scripted_provider({PROMPT: [(Call("fails"), Call("fails"))]}) as provider:
            tasks_before = own_tasks()
            run = run_of(provider, agent(tools=(tool("fails", fails),)))
            listening = asyncio.create_task(all_entries(run))
            await started.wait()
            listening.cancel()
            await asyncio.wait([listening])
            await assert_nothing_running(provider, tasks_before)

    with caplog.at_level(logging.ERROR, "asyncio"):
        run_story(story())
    assert [record for record in caplog.records if record.name == "asyncio"] == []


def test_two_runs_of_one_agent_are_independent() -> None:
    async def story() -> None:
        hold = Hold()
        top_agent = agent(tools=(tool("weather"),))
        lines: dict[str, list[Reply]] = {
            PROMPT: [(Think("Hm."), hold)],
            "And there?": [(Call("weather"),), (Say("Mild."),)],
        }
        async with scripted_provider(lines) as provider:
            first = asyncio.create_task(all_entries(run_of(provider, top_agent)))
            await hold.reached.wait()
            other = Run(top_agent, (UserMessage("And there?"),), context=provider.context)
            first.cancel()
            turn = assert_legal(await all_entries(other))
            assert turn.answer == "Mild."
            await asyncio.wait([first])

    run_story(story())
