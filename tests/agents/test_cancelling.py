"""A run that is left in the middle of anything: nothing goes on, and its log can be brought to an end."""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import pytest
from tests.agents.legal_tree import CANCELLED, LOST, assert_legal
from tests.agents.stage import (
    PROMPT,
    Begin,
    Call,
    Hold,
    Reply,
    Say,
    Stage,
    Think,
    act_out,
    agent,
    delegate,
    playing,
    run_of,
    told,
    tool,
)
from tests.patience import PATIENCE_S

from thinkaloud.agents.agent import Agent
from thinkaloud.agents.functions import from_function
from thinkaloud.agents.run import Run, waits
from thinkaloud.agents.tools import Tool
from thinkaloud.canon import Entry, TurnEnded, TurnFailed, TurnStarted
from thinkaloud.canon.requests import UserMessage
from thinkaloud.transcript import Turn, apply, stopped
from thinkaloud.transcript.stopping import STOPPED


@dataclass(frozen=True)
class Scene:
    """Where a run is when it is left, and how one knows that it is there."""

    lines: dict[str, list[Reply]]
    tools: tuple[Tool, ...] = ()
    there: asyncio.Event | None = None
    said: str = ""
    asks: bool = False

    def reached(self, turn: Turn) -> bool:
        there = self.there is None or self.there.is_set()
        said = not self.said or any(block.text == self.said for block in turn.blocks)
        return there and said and (waits(turn) or not self.asks)


def deep(*find: Reply) -> dict[str, list[Reply]]:
    """These replies, two levels down."""
    return {
        PROMPT: [(Think("I ask."), delegate("checker", "check"))],
        "check": [(Think("I ask too."), delegate("finder", "find"))],
        "find": list(find),
    }


def at_work(there: asyncio.Event) -> Callable[[str], Awaitable[str]]:
    async def work(arguments: str) -> str:
        there.set()
        await asyncio.Event().wait()
        return "never"

    return work


def first_byte() -> Scene:
    hold = Hold()
    return Scene({PROMPT: [(hold, Say("never"))]}, there=hold.reached)


def thought() -> Scene:
    return Scene({PROMPT: [(Think("It is"), Hold(), Think(" never"))]}, said="It is")


def text() -> Scene:
    return Scene({PROMPT: [(Think("Hm."), Say("It is"), Hold())]}, said="It is")


def arguments() -> Scene:
    lines: list[Reply] = [(Call("weather"), Begin("weather", '{"ci'), Hold())]
    return Scene({PROMPT: lines}, (tool("weather"),), said='{"ci')


def arguments_of_an_assistant() -> Scene:
    hold = Hold()
    lines: list[Reply] = [(Think("I ask."), Begin("checker", '{"ta'), hold)]
    return Scene({PROMPT: lines}, there=hold.reached, said="I ask.")


def second_reply() -> Scene:
    hold = Hold()
    lines: list[Reply] = [(Think("Look."), Call("weather")), (hold, Say("never"))]
    return Scene({PROMPT: lines}, (tool("weather"),), hold.reached)


def tool_at_work() -> Scene:
    there = asyncio.Event()
    lines: list[Reply] = [(Call("work"), Call("weather"))]
    return Scene({PROMPT: lines}, (tool("work", at_work(there)), tool("weather")), there)


def tool_in_a_thread() -> Scene:
    there, loop, over = asyncio.Event(), asyncio.get_running_loop(), threading.Event()

    def work() -> str:
        """Work."""
        loop.call_soon_threadsafe(there.set)
        over.wait(0.2)
        return "late"

    return Scene({PROMPT: [(Call("work"),)]}, (from_function(work),), there)


def tool_that_tidies_up() -> Scene:
    """It goes on for a while though it was cancelled."""
    there = asyncio.Event()

    async def work(arguments: str) -> str:
        there.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0.1)
        return "late"

    return Scene({PROMPT: [(Call("work"),)]}, (tool("work", work),), there)


def approval() -> Scene:
    tools = (tool("send", approval=True), tool("weather"))
    return Scene({PROMPT: [(Call("send"), Call("weather"))]}, tools, asks=True)


def childs_first_byte() -> Scene:
    hold = Hold()
    return Scene(deep((hold, Say("never"))), there=hold.reached)


def childs_thought() -> Scene:
    return Scene(deep((Think("It is"), Hold())), said="It is")


def childs_text() -> Scene:
    return Scene(deep((Think("Hm."), Say("It is"), Hold())), said="It is")


def childs_arguments() -> Scene:
    return Scene(deep((Begin("weather", '{"ci'), Hold())), (tool("weather"),), said='{"ci')


def childs_tool() -> Scene:
    there = asyncio.Event()
    return Scene(deep((Call("work"),)), (tool("work", at_work(there)),), there)


def childs_approval() -> Scene:
    return Scene(deep((Call("send"),)), (tool("send", approval=True),), asks=True)


def childs_side_by_side() -> Scene:
    """One thinks, one waits for its first byte, and a tool works."""
    there, hold = asyncio.Event(), Hold()
    lines: dict[str, list[Reply]] = {
        PROMPT: [(delegate("finder", "north"), delegate("finder", "south"), Call("work"))],
        "north": [(hold, Say("never"))],
        "south": [(Think("It is"), Hold())],
    }
    return Scene(lines, (tool("work", at_work(there)),), hold.reached, "It is")


SCENES = [
    *(first_byte, thought, text, arguments, arguments_of_an_assistant, second_reply),
    *(tool_at_work, tool_in_a_thread, tool_that_tidies_up, approval),
    *(childs_first_byte, childs_thought, childs_text, childs_arguments),
    *(childs_tool, childs_approval, childs_side_by_side),
]


def everybody(tools: tuple[Tool, ...]) -> Agent:
    finder = agent("Finder", tools=tools)
    return agent(tools=tools, assistants=(agent("Checker", tools=tools, assistants=(finder,)), finder))


def ours() -> set[asyncio.Task[Any]]:
    """All tasks but those of the server."""
    return {task for task in asyncio.all_tasks() if not task.get_coro().__qualname__.startswith("serving")}  # type: ignore[union-attr]


async def assert_nothing_goes_on(stage: Stage, before: set[asyncio.Task[Any]]) -> None:
    """No task is left, and every connection was closed by our side."""
    async with asyncio.timeout(PATIENCE_S):
        while ours() - before:
            await asyncio.sleep(0.005)
        for seen in stage.seen:
            await seen.gone()


def assert_ends_well(entries: list[Entry], end: TurnEnded | TurnFailed) -> Turn:
    """What was told so far, and the end that whoever left it writes after it."""
    turn = Turn()
    for entry in entries:
        apply(turn, entry)
    begun = [] if entries else [TurnStarted()]
    rest = enumerate((*begun, *stopped(turn, end)), len(entries))
    return assert_legal([*entries, *(Entry(seq, event) for seq, event in rest)])


@pytest.mark.parametrize("end", [CANCELLED, LOST], ids=["cancelled", "lost"])
@pytest.mark.parametrize("scene", SCENES)
def test_a_run_that_is_left_leaves_nothing_behind(
    scene: Callable[[], Scene], end: TurnEnded | TurnFailed
) -> None:
    async def story() -> None:
        setting = scene()
        async with playing(setting.lines) as stage:
            before = ours()
            run = run_of(stage, everybody(setting.tools))
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
            await assert_nothing_goes_on(stage, before)
            turn = assert_ends_well(entries, end)
            assert all(call.error == STOPPED for call in turn.blocks if call.result == "" and call.error)

    act_out(story())


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
    return everybody(weather), lines


def test_a_run_can_be_left_after_any_entry() -> None:
    """Whoever reads it may break off at any place, and there it is left."""

    async def story() -> None:
        who, lines = three_levels()
        async with playing(lines) as stage:
            whole = len(await told(run_of(stage, who)))
        for place in range(0, whole, 3):
            who, lines = three_levels()
            async with playing(lines) as stage:
                before = ours()
                entries: list[Entry] = []
                async with aclosing(run_of(stage, who).entries()) as telling:
                    async for entry in telling:
                        entries.append(entry)
                        if len(entries) > place:
                            break
                await assert_nothing_goes_on(stage, before)
                assert_ends_well(entries, CANCELLED)

    act_out(story())


def test_a_run_nobody_listens_to_does_not_begin() -> None:
    async def story() -> None:
        async with playing({PROMPT: [(Say("never"),)]}) as stage:
            run = run_of(stage, agent())
            await run.entries().aclose()
            assert stage.asked == []
            assert run.turn == Turn()

    act_out(story())


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_a_tool_that_does_not_care_is_left_to_itself(depth: int, caplog: pytest.LogCaptureFixture) -> None:
    """The run is over all the same, says so, and what the tool comes back with is not heard."""

    async def story() -> None:
        there, let_go = asyncio.Event(), asyncio.Event()

        async def stubborn(arguments: str) -> str:
            there.set()
            while not let_go.is_set():
                try:
                    await let_go.wait()
                except asyncio.CancelledError:
                    continue
            return "late"

        finder = agent("Finder", tools=(tool("stubborn", stubborn),))
        checker = agent("Checker", assistants=(finder,))
        who = (finder, agent(assistants=(finder,)), agent(assistants=(checker,)))[depth]
        lines = deep((Call("stubborn"),))
        lines[PROMPT] = [[(Call("stubborn"),), (delegate("finder", "find"),), *lines[PROMPT]][depth]]
        async with playing(lines) as stage:
            before = ours()
            run = run_of(stage, who)
            entries: list[Entry] = []

            async def listen() -> None:
                async with aclosing(run.entries()) as telling:
                    async for entry in telling:
                        entries.append(entry)

            listening = asyncio.create_task(listen())
            await there.wait()
            listening.cancel()
            async with asyncio.timeout(PATIENCE_S):
                await asyncio.wait([listening])
            (left,) = ours() - before
            assert not left.done()
            let_go.set()
            await assert_nothing_goes_on(stage, before)
            turn = assert_ends_well(entries, CANCELLED)
            assert "late" not in [block.result for block in turn.blocks]

    act_out(story())
    assert {record.message for record in caplog.records} == {
        "a tool goes on after it was stopped, and is left to itself"
    }


def test_what_goes_wrong_while_a_run_is_left_is_nobodys_trouble(caplog: pytest.LogCaptureFixture) -> None:
    """A tool that fails when it is cancelled, beside one that fails by itself."""

    async def story() -> None:
        there = asyncio.Event()

        async def fails(arguments: str) -> str:
            there.set()
            try:
                await asyncio.Event().wait()
            finally:
                raise SystemError("in the middle of tidying up")

        async with playing({PROMPT: [(Call("fails"), Call("fails"))]}) as stage:
            before = ours()
            run = run_of(stage, agent(tools=(tool("fails", fails),)))
            listening = asyncio.create_task(told(run))
            await there.wait()
            listening.cancel()
            await asyncio.wait([listening])
            await assert_nothing_goes_on(stage, before)

    with caplog.at_level(logging.ERROR, "asyncio"):
        act_out(story())
    assert [record for record in caplog.records if record.name == "asyncio"] == []


def test_two_runs_of_one_agent_do_not_disturb_each_other() -> None:
    async def story() -> None:
        hold = Hold()
        who = agent(tools=(tool("weather"),))
        lines: dict[str, list[Reply]] = {
            PROMPT: [(Think("Hm."), hold)],
            "And there?": [(Call("weather"),), (Say("Mild."),)],
        }
        async with playing(lines) as stage:
            one = asyncio.create_task(told(run_of(stage, who)))
            await hold.reached.wait()
            other = Run(who, (UserMessage("And there?"),), around=stage.around)
            one.cancel()
            turn = assert_legal(await told(other))
            assert turn.answer == "Mild."
            await asyncio.wait([one])

    act_out(story())
