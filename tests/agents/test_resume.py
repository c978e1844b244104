"""A turn that waits for an approval is resumed from its entries."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field

import msgspec
import pytest
from tests.agents.run_checks import assert_legal
from tests.agents.scripted_provider import (
    PROMPT,
    Call,
    Hold,
    Line,
    Reply,
    Say,
    ScriptedProvider,
    Think,
    agent,
    delegate,
    messages_of,
    run_of,
    run_story,
    scripted_provider,
    tool,
)

from thinkaloud.agents.loop import DENIED
from thinkaloud.agents.run import Run, events_to_resume, waits_for_approval
from thinkaloud.agents.spec import Agent
from thinkaloud.core.canon import (
    BlockEnded,
    BlockGrew,
    BlockStarted,
    Entry,
    Event,
    Finish,
    Kind,
    Refused,
    ReplyEnded,
    ToolFinished,
    TurnEnded,
    TurnStarted,
    Usage,
    UsageReported,
)
from thinkaloud.core.canon import requests as canon
from thinkaloud.core.canon.requests import UserMessage
from thinkaloud.core.transcript import Ending, Turn, apply, fold
from thinkaloud.core.transcript.reducer import STOPPED_ERROR


@dataclass
class RecordedRun:
    """The entries of a turn over several runs."""

    entries: list[Entry] = field(default_factory=list)

    def turn(self) -> Turn:
        """Return the turn as another process reads it from disk."""
        turn = Turn()
        for entry in msgspec.json.decode(msgspec.json.encode(self.entries), type=list[Entry]):
            apply(turn, entry)
        return turn

    async def record(self, run: Run, *, until: Callable[[Turn], bool] = lambda turn: False) -> None:
        """Record the entries of a run to its end, or until the condition holds; then cancel it."""
        async with aclosing(run.entries()) as telling:
            async for entry in telling:
                self.entries.append(entry)
                if until(run.turn) and len(self.entries) == run.turn.seq + 1:
                    return


@asynccontextmanager
async def resume_run(provider: ScriptedProvider, top_agent: Agent, log: RecordedRun) -> AsyncIterator[Run]:
    """Resume a run from a log and run it to its end."""
    run = Run(top_agent, (UserMessage(PROMPT),), context=provider.context, turn=log.turn())
    telling = asyncio.create_task(log.record(run))
    yield run
    await telling


def assert_answered(turn: Turn) -> Turn:
    assert turn.outcome is not None
    assert turn.outcome.ending is Ending.ANSWERED
    return turn


SEND = tool("send", "sent", approval=True)


@pytest.mark.parametrize("granted", [True, False])
def test_waiting_call_is_decided_after_a_restart(granted: bool) -> None:
    async def story() -> None:
        top_agent, log = agent(tools=(SEND,)), RecordedRun()
        async with scripted_provider(
            {PROMPT: [(Think("May I?"), Call("send")), (Say("Done."),)]}
        ) as provider:
            await log.record(run_of(provider, top_agent), until=waits_for_approval)
            assert len(provider.bodies) == 1
            async with resume_run(provider, top_agent, log) as run:
                assert waits_for_approval(run.turn)
                run.decide(1, granted=granted, by="Bo")
            turn = assert_answered(assert_legal(log.entries))
            assert turn.blocks[1].result == ("sent" if granted else "")
            assert turn.blocks[1].error == ("" if granted else DENIED)
            assert turn.blocks[1].settled_by == "Bo"
            assert [message["content"] for message in messages_of(provider.bodies[1], "tool")] == [
                "sent" if granted else DENIED
            ]
            assert messages_of(provider.bodies[1], "assistant")[0]["reasoning"] == "May I?"

    run_story(story())


def test_waiting_turn_can_be_resumed_many_times() -> None:
    async def story() -> None:
        top_agent, log = agent(tools=(SEND,)), RecordedRun()
        async with scripted_provider({PROMPT: [(Call("send"), Call("send")), (Say("Done."),)]}) as provider:
            await log.record(
                run_of(provider, top_agent),
                until=lambda turn: turn.blocks[1:] != [] and waits_for_approval(turn),
            )
            for _ in range(3):
                run = Run(top_agent, (UserMessage(PROMPT),), context=provider.context, turn=log.turn())
                telling = asyncio.create_task(log.record(run))
                await asyncio.sleep(0.01)
                telling.cancel()
                await asyncio.wait([telling])
            async with resume_run(provider, top_agent, log) as run:
                run.decide(0, granted=True)
                run.decide(1, granted=False)
            turn = assert_answered(assert_legal(log.entries))
            assert [block.approval.value for block in turn.blocks[:2]] == ["granted", "denied"]
            assert len(provider.bodies) == 2

    run_story(story())


def test_waiting_call_of_a_nested_assistant_is_decided_after_a_restart() -> None:
    async def story() -> None:
        finder = agent("Finder", tools=(SEND,))
        top_agent, log = agent(assistants=(agent("Checker", assistants=(finder,)),)), RecordedRun()
        lines: dict[str, list[Reply]] = {
            PROMPT: [(delegate("checker", "check"),), (Say("Good."),)],
            "check": [(Think("Who?"), delegate("finder", "find")), (Say("Checked."),)],
            "find": [(Think("May I?"), Call("send")), (Say("Found."),)],
        }
        async with scripted_provider(lines) as provider:
            await log.record(run_of(provider, top_agent), until=waits_for_approval)
            async with resume_run(provider, top_agent, log) as run:
                (block,) = (block.number for block in run.turn.blocks if block.name == "send")
                run.decide(block, granted=True)
            turn = assert_answered(assert_legal(log.entries))
            calls = [block for block in turn.blocks if block.kind is Kind.ASSISTANT_CALL]
            assert [block.result for block in calls] == ["Checked.", "Found."]
            assert [len(provider.bodies_of(words)) for words in lines] == [2, 2, 2]

    run_story(story())


@pytest.mark.parametrize(
    "held",
    [(Think("I think"),), (Think("I thought."), Say("I s")), (Think("I look."), Call("weather"))],
    ids=["thought", "text", "call"],
)
def test_incomplete_reply_of_a_sibling_is_requested_again_on_resume(held: tuple[Line, ...]) -> None:
    """An assistant worked beside the waiting call. Its incomplete reply stays, and is not sent back."""

    async def story() -> None:
        hold = Hold()
        top_agent, log = (
            agent(tools=(SEND,), assistants=(agent("Finder", tools=(tool("weather"),)),)),
            RecordedRun(),
        )
        lines: dict[str, list[Reply]] = {
            PROMPT: [(Call("send"), delegate("finder", "find")), (Say("Good."),)],
            "find": [(*held, hold), (Think("Once more."), Call("weather")), (Say("Found."),)],
        }
        async with scripted_provider(lines) as provider:
            partial_text = held[-1].text if not isinstance(held[-1], Call) else "{}"  # type: ignore[union-attr]

            def sibling_interrupted(turn: Turn) -> bool:
                return waits_for_approval(turn) and any(
                    block.text == partial_text for block in turn.blocks if block.parent == 1
                )

            await log.record(run_of(provider, top_agent), until=sibling_interrupted)
            async with resume_run(provider, top_agent, log) as run:
                run.decide(0, granted=True)
            turn = assert_answered(assert_legal(log.entries))
            assert turn.blocks[1].result == "Found."
            first, repeated_request, _ = provider.bodies_of("find")
            assert messages_of(first, "assistant") == messages_of(repeated_request, "assistant") == []
            assert [reply.finish.value for reply in turn.replies if reply.parent == 1] == [
                *("cancelled", "tool_calls", "stop")
            ]
            texts = [
                [block.text for block in turn.blocks_of(reply)] for reply in turn.replies if reply.parent == 1
            ]
            assert texts[1:] == [["Once more.", "{}"], ["Found."]]

    run_story(story())


def test_running_tool_of_a_sibling_is_not_repeated_on_resume() -> None:
    async def story() -> None:
        runs: list[str] = []
        started = asyncio.Event()

        async def mail(arguments: str) -> str:
            runs.append(arguments)
            started.set()
            await asyncio.Event().wait()
            return "never"

        top_agent, log = agent(tools=(SEND, tool("mail", mail), tool("weather"))), RecordedRun()
        lines: list[Reply] = [(Call("send"), Call("mail"), Call("weather")), (Say("Done."),)]
        async with scripted_provider({PROMPT: lines}) as provider:
            await log.record(
                run_of(provider, top_agent),
                until=lambda turn: (
                    waits_for_approval(turn) and started.is_set() and turn.blocks[2].result is not None
                ),
            )
            async with resume_run(provider, top_agent, log) as run:
                run.decide(0, granted=True)
            turn = assert_answered(assert_legal(log.entries))
            assert len(runs) == 1
            assert [(block.result, block.error) for block in turn.blocks[:3]] == [
                *(("sent", ""), ("", STOPPED_ERROR), ("18 C", ""))
            ]
            assert [message["content"] for message in messages_of(provider.bodies[1], "tool")] == [
                *("sent", STOPPED_ERROR, "18 C")
            ]

    run_story(story())


def test_approved_tool_is_not_repeated_on_resume() -> None:
    """It was approved and running when the process died, beside another call that waits."""

    async def story() -> None:
        runs: list[str] = []
        started = asyncio.Event()

        async def mail(arguments: str) -> str:
            runs.append(arguments)
            started.set()
            await asyncio.Event().wait()
            return "never"

        top_agent, log = agent(tools=(SEND, tool("mail", mail, approval=True))), RecordedRun()
        async with scripted_provider({PROMPT: [(Call("send"), Call("mail")), (Say("Done."),)]}) as provider:
            run = run_of(provider, top_agent)
            telling = asyncio.create_task(log.record(run))
            while (
                len(run.turn.blocks) < 2
                or not waits_for_approval(run.turn)
                or not run.turn.blocks[1].approval
            ):
                await asyncio.sleep(0.002)
            run.decide(1, granted=True)
            await started.wait()
            telling.cancel()
            await asyncio.wait([telling])
            async with resume_run(provider, top_agent, log) as run:
                run.decide(0, granted=True)
            turn = assert_answered(assert_legal(log.entries))
            assert len(runs) == 1
            assert turn.blocks[1].error == STOPPED_ERROR

    run_story(story())


def test_client_tool_call_is_left_to_the_client_on_resume() -> None:
    """An own call beside it waits for an approval; the client's call stays open."""

    async def story() -> None:
        top_agent, log = (
            agent(tools=(SEND,), client_tools=(canon.ToolDefinition("their_map"),)),
            RecordedRun(),
        )
        async with scripted_provider({PROMPT: [(Call("send"), Call("their_map"))]}) as provider:
            await log.record(run_of(provider, top_agent), until=waits_for_approval)
            async with resume_run(provider, top_agent, log) as run:
                run.decide(0, granted=True)
            turn = assert_legal(log.entries, client=("their_map",))
            assert turn.outcome is not None
            assert turn.outcome.ending is Ending.CALLED_TOOLS
            assert turn.blocks[1].result is None

    run_story(story())


def test_removed_assistant_is_an_error_step_on_resume() -> None:
    """The agent was changed while its turn waited."""

    async def story() -> None:
        log = RecordedRun()
        finder = agent("Finder", tools=(SEND,))
        lines: dict[str, list[Reply]] = {
            PROMPT: [(delegate("finder", "find"), Call("send")), (Say("Good."),)],
            "find": [(Call("send"),)],
        }
        async with scripted_provider(lines) as provider:
            await log.record(
                run_of(provider, agent(tools=(SEND,), assistants=(finder,))),
                until=lambda turn: sum(block.approval == "asked" for block in turn.blocks) == 2,
            )
            async with resume_run(provider, agent(tools=(SEND,)), log) as run:
                run.decide(1, granted=True)
            turn = assert_answered(assert_legal(log.entries))
            assert turn.blocks[0].error == "The assistant 'Finder' no longer exists. Continue without it."

    run_story(story())


def test_approval_before_resume_is_decided_once() -> None:
    async def story() -> None:
        top_agent, log = agent(tools=(SEND,)), RecordedRun()
        async with scripted_provider({PROMPT: [(Call("send"),), (Say("Done."),)]}) as provider:
            await log.record(run_of(provider, top_agent), until=waits_for_approval)
            run = Run(top_agent, (UserMessage(PROMPT),), context=provider.context, turn=log.turn())
            run.decide(0, granted=True)
            with pytest.raises(Refused):
                run.decide(0, granted=False)
            await log.record(run)
            assert assert_answered(assert_legal(log.entries)).blocks[0].result == "sent"

    run_story(story())


def test_ended_turn_has_no_events_to_resume() -> None:
    async def story() -> None:
        log = RecordedRun()
        async with scripted_provider({PROMPT: [(Say("Done."),)]}) as provider:
            await log.record(run_of(provider, agent()))
            entry_count = len(log.entries)
            async with resume_run(provider, agent(), log):
                pass
            assert len(log.entries) == entry_count
            assert len(provider.bodies) == 1

    run_story(story())


def test_answer_now_after_a_restart() -> None:
    async def story() -> None:
        top_agent, log = agent(tools=(SEND,)), RecordedRun()
        async with scripted_provider({PROMPT: [(Call("send"),), (Say("Done."),)]}) as provider:
            await log.record(run_of(provider, top_agent), until=waits_for_approval)
            async with resume_run(provider, top_agent, log) as run:
                while True:
                    try:
                        run.answer_now()
                        break
                    except Refused:
                        await asyncio.sleep(0.002)
            turn = assert_answered(assert_legal(log.entries))
            assert turn.blocks[0].error == STOPPED_ERROR

    run_story(story())


START: list[Event] = [TurnStarted("openai_chat", "m")]
INTERRUPTED_TURNS: dict[str, tuple[list[Event], list[Event]]] = {
    "nothing": ([], []),
    "a start": (START, []),
    "an end": ([*START, TurnEnded(Finish.STOP)], []),
    "half a first reply, with its counts": (
        [*START, BlockStarted(0, Kind.REASONING), UsageReported(Usage(output=3))],
        [BlockEnded(0, interrupted=True), ReplyEnded(Finish.CANCELLED, usage=Usage(output=3))],
    ),
    "a call before its reply ended": (
        [*START, BlockStarted(0, Kind.TOOL_CALL, "a"), BlockEnded(0)],
        [ReplyEnded(Finish.CANCELLED), ToolFinished(0, error=STOPPED_ERROR)],
    ),
    "an assistant before its reply ended": (
        [*START, BlockStarted(0, Kind.ASSISTANT_CALL, "A"), BlockGrew(0, "find"), BlockEnded(0)],
        [ReplyEnded(Finish.CANCELLED), ToolFinished(0, error=STOPPED_ERROR)],
    ),
    "half a reply of an assistant": (
        [
            *START,
            *(BlockStarted(0, Kind.ASSISTANT_CALL, "A"), BlockEnded(0), ReplyEnded(Finish.TOOL_CALLS)),
            BlockStarted(1, Kind.TEXT, parent=0),
        ],
        [BlockEnded(1, interrupted=True), ReplyEnded(Finish.CANCELLED, parent=0)],
    ),
}


@pytest.mark.parametrize("name", INTERRUPTED_TURNS)
def test_events_to_resume_a_turn(name: str) -> None:
    events, owed = INTERRUPTED_TURNS[name]
    turn = fold(events)
    assert events_to_resume(turn) == owed
    fold(owed, turn)
    assert events_to_resume(turn) == []
