"""Control of a run: approvals of calls, and "answer now"."""

import asyncio
from collections.abc import Callable

import pytest
from tests.agents.run_checks import assert_legal
from tests.agents.scripted_provider import (
    PROMPT,
    Call,
    ErrorStatus,
    Hold,
    PartialCall,
    Reply,
    Say,
    ScriptedProvider,
    Think,
    agent,
    all_entries,
    delegate,
    messages_of,
    run_of,
    run_story,
    scripted_provider,
    tool,
)
from tests.client.upstream import UpstreamRequest

from thinkaloud.agents.loop import DENIED, SKIPPED_FOR_ANSWER
from thinkaloud.agents.run import ANSWER_NOW, Run, waits_for_approval
from thinkaloud.agents.spec import Agent, RunLimits
from thinkaloud.core.canon import (
    ApprovalAsked,
    ApprovalSettled,
    BlockGrew,
    BlockStarted,
    Entry,
    Event,
    Kind,
    Refused,
    ToolFinished,
    TurnStarted,
)
from thinkaloud.core.transcript import Approval, BlockStatus, Ending, Turn
from thinkaloud.core.transcript.reducer import STOPPED_ERROR


async def run_with_callback(run: Run, steer: Callable[[Entry], None]) -> list[Entry]:
    """Return all entries of a run, and pass each to a callback."""
    entries: list[Entry] = []
    async for entry in run.entries():
        entries.append(entry)
        steer(entry)
    return entries


@pytest.mark.parametrize("granted", [True, False])
def test_call_waits_for_approval(granted: bool) -> None:
    done: list[str] = []

    async def send(arguments: str) -> str:
        done.append(arguments)
        return "sent"

    async def story() -> None:
        top_agent = agent(tools=(tool("send", send, approval=True), tool("weather")))
        lines: list[Reply] = [(Think("May I?"), Call("send", '{"to":"Ana"}'), Call("weather")), (Say("So."),)]
        async with scripted_provider({PROMPT: lines}) as provider:
            run = run_of(provider, top_agent)

            def steer(entry: Entry) -> None:
                if isinstance(entry.event, ApprovalAsked):
                    assert waits_for_approval(run.turn)
                    assert done == []
                    run.decide(entry.event.block, granted=granted, by="Bo")
                    with pytest.raises(Refused, match="is not waiting for an approval, or no longer"):
                        run.decide(entry.event.block, granted=not granted)

            turn = assert_legal(await run_with_callback(run, steer))
            call = turn.blocks[1]
            assert not waits_for_approval(turn)
            assert (call.approval, call.settled_by) == (
                Approval.GRANTED if granted else Approval.DENIED,
                "Bo",
            )
            assert (call.result, call.error) == (("sent", "") if granted else ("", DENIED))
            assert done == (['{"to":"Ana"}'] if granted else [])
            assert messages_of(provider.bodies[1], "tool")[0]["content"] == ("sent" if granted else DENIED)

    run_story(story())


def test_other_calls_run_while_one_waits_for_approval() -> None:
    async def story() -> None:
        top_agent = agent(tools=(tool("send", approval=True), tool("weather")))
        async with scripted_provider({PROMPT: [(Call("send"), Call("weather")), (Say("So."),)]}) as provider:
            run = run_of(provider, top_agent)

            def steer(entry: Entry) -> None:
                if entry.event == ToolFinished(1, "18 C"):
                    assert waits_for_approval(run.turn)
                    run.decide(0, granted=True)

            turn = assert_legal(await run_with_callback(run, steer))
            assert turn.blocks[0].approval is Approval.GRANTED

    run_story(story())


def test_two_approvals_are_decided_in_any_order() -> None:
    async def story() -> None:
        top_agent = agent(tools=(tool("send", approval=True),))
        async with scripted_provider({PROMPT: [(Call("send"), Call("send")), (Say("So."),)]}) as provider:
            run = run_of(provider, top_agent)

            def steer(entry: Entry) -> None:
                if entry.event == ApprovalAsked(1):
                    run.decide(1, granted=False)
                if isinstance(entry.event, ApprovalSettled) and entry.event.block == 1:
                    run.decide(0, granted=True)

            turn = assert_legal(await run_with_callback(run, steer))
            assert [block.approval.value for block in turn.blocks[:2]] == ["granted", "denied"]
            assert [block.error for block in turn.blocks[:2]] == ["", DENIED]

    run_story(story())


def test_call_of_an_assistant_waits_for_approval() -> None:
    async def story() -> None:
        deep = agent("Finder", tools=(tool("send", approval=True),))
        top_agent = agent(assistants=(agent("Checker", assistants=(deep,)),))
        lines: dict[str, list[Reply]] = {
            PROMPT: [(delegate("checker", "check"),), (Say("So."),)],
            "check": [(delegate("finder", "find"),), (Say("Checked."),)],
            "find": [(Call("send"),), (Say("Found."),)],
        }
        async with scripted_provider(lines) as provider:
            run = run_of(provider, top_agent)

            def steer(entry: Entry) -> None:
                if isinstance(entry.event, ApprovalAsked):
                    run.decide(entry.event.block, granted=True)

            turn = assert_legal(await run_with_callback(run, steer))
            assert [block.result for block in turn.blocks if block.kind is Kind.TOOL_CALL] == ["18 C"]
            assert turn.answer == "So."

    run_story(story())


@pytest.mark.parametrize("block", [-1, 0, 1, 7])
def test_decision_without_waiting_approval_is_refused(block: int) -> None:
    async def story() -> None:
        hold = Hold()
        top_agent = agent(tools=(tool("weather"),))
        async with scripted_provider(
            {PROMPT: [(Think("Hm."), Call("weather")), (Think("So."), hold)]}
        ) as provider:
            run = run_of(provider, top_agent)
            async for entry in run.entries():
                if entry.event == BlockStarted(2, Kind.REASONING):
                    with pytest.raises(Refused, match=f"Block {block} is not waiting"):
                        run.decide(block, granted=True)
                    break

    run_story(story())


ANSWER = (Say("Mild, I think."),)


class AnswerNowOn:
    """Asks for the answer now at the first matching event."""

    def __init__(self, run: Run, condition: Callable[[Event], bool]) -> None:
        self._run = run
        self._condition = condition
        self.done = False

    def __call__(self, entry: Entry) -> None:
        if not self.done and self._condition(entry.event):
            self.done = True
            self._run.answer_now()
            with pytest.raises(Refused, match="already answering"):
                self._run.answer_now()


def run_with_answer_now(
    top_agent: Agent, lines: dict[str, list[Reply]], condition: Callable[[Event], bool]
) -> tuple[Turn, ScriptedProvider]:
    async def story() -> tuple[Turn, ScriptedProvider]:
        async with scripted_provider(lines) as provider:
            run = run_of(provider, top_agent)
            hurry = AnswerNowOn(run, condition)
            turn = assert_legal(await run_with_callback(run, hurry))
            assert hurry.done
            assert turn.outcome is not None
            assert turn.outcome.ending is Ending.ANSWERED
            assert turn.notices.count(ANSWER_NOW) == 1
            assert len(set(turn.notices)) == len(turn.notices)
            assert provider.bodies_of(PROMPT)[-1].get("chat_template_kwargs") == {"enable_thinking": False}
            with pytest.raises(Refused, match="The turn is not running"):
                run.answer_now()
            return turn, provider

    return run_story(story())


def test_answer_now_stops_a_thought() -> None:
    lines: list[Reply] = [(Think("It is a long story"), Hold()), ANSWER]
    turn, provider = run_with_answer_now(agent(), {PROMPT: lines}, lambda event: isinstance(event, BlockGrew))
    assert turn.blocks[0].status is BlockStatus.INTERRUPTED
    assert turn.answer == "Mild, I think."
    assert messages_of(provider.bodies[1], "assistant") == []
    assert [reply.finish.value for reply in turn.replies] == ["cancelled", "stop"]


def test_answer_now_is_accepted_once() -> None:
    """A model that cannot stop thinking may still think."""

    async def story() -> None:
        again = Hold()
        lines: list[Reply] = [(Think("It is a long story"), Hold()), (Think("Still"), again, *ANSWER)]
        async with scripted_provider({PROMPT: lines}) as provider:
            run = run_of(provider, agent())
            hurry = AnswerNowOn(run, lambda event: isinstance(event, BlockGrew))

            def steer(entry: Entry) -> None:
                hurry(entry)
                if isinstance(entry.event, BlockGrew) and entry.event.text == "Still":
                    with pytest.raises(Refused, match="already answering"):
                        run.answer_now()
                    again.gate.set()

            turn = assert_legal(await run_with_callback(run, steer))
            assert again.gate.is_set()
            assert turn.answer == "Mild, I think."
            assert turn.notices.count(ANSWER_NOW) == 1

    run_story(story())


def test_answer_now_stops_a_tool() -> None:
    async def stuck(arguments: str) -> str:
        await asyncio.Event().wait()
        return "never"

    top_agent = agent(tools=(tool("stuck", stuck), tool("weather")))
    lines: list[Reply] = [(Think("Look."), Call("stuck"), Call("weather")), ANSWER]
    turn, provider = run_with_answer_now(
        top_agent, {PROMPT: lines}, lambda event: event == ToolFinished(2, "18 C")
    )
    assert (turn.blocks[1].error, turn.blocks[1].result) == (STOPPED_ERROR, "")
    assert [message["content"] for message in messages_of(provider.bodies[1], "tool")] == [
        STOPPED_ERROR,
        "18 C",
    ]
    assert provider.bodies[1]["tool_choice"] == "none"


def test_answer_now_stops_an_assistant() -> None:
    deep = agent("Finder", tools=(tool("weather"),))
    top_agent = agent(assistants=(agent("Checker", assistants=(deep,)),))
    lines: dict[str, list[Reply]] = {
        PROMPT: [(Think("I ask."), delegate("checker", "check")), ANSWER],
        "check": [(delegate("finder", "find"),)],
        "find": [(Call("weather"),), (Think("It is a long story"), Hold())],
    }
    turn, provider = run_with_answer_now(
        top_agent, lines, lambda event: isinstance(event, BlockGrew) and event.text.startswith("It is a")
    )
    assert [block.error for block in turn.blocks if block.kind is Kind.ASSISTANT_CALL] == [
        STOPPED_ERROR,
        STOPPED_ERROR,
    ]
    assert len(provider.bodies_of("check")) == 1


def test_answer_now_ends_a_waiting_approval() -> None:
    top_agent = agent(tools=(tool("send", approval=True),))
    turn, _ = run_with_answer_now(
        top_agent, {PROMPT: [(Call("send"),), ANSWER]}, lambda event: isinstance(event, ApprovalAsked)
    )
    assert (turn.blocks[0].approval, turn.blocks[0].error) == (Approval.ASKED, STOPPED_ERROR)
    assert not waits_for_approval(turn)


def test_answer_now_during_a_streamed_call() -> None:
    """The call before it was complete, and was never run."""
    top_agent = agent(tools=(tool("weather"),))
    lines: list[Reply] = [(Call("weather"), PartialCall("weather", '{"ci'), Hold()), ANSWER]
    turn, _ = run_with_answer_now(
        top_agent, {PROMPT: lines}, lambda event: isinstance(event, BlockGrew) and event.block == 1
    )
    assert turn.blocks[1].status is BlockStatus.INTERRUPTED
    assert all(block.result in (None, "") for block in turn.blocks[:2])
    assert ANSWER[0].text in turn.answer


@pytest.mark.parametrize("later", [False, True])
def test_answer_now_before_the_first_byte(later: bool) -> None:
    """The first request has no entries yet; a later one has an empty reply."""

    async def story() -> None:
        hold = Hold()
        first: list[Reply] = [(Think("Look."), Call("weather"))] if later else []
        async with scripted_provider({PROMPT: [*first, (hold, Say("never")), ANSWER]}) as provider:
            run = run_of(provider, agent(tools=(tool("weather"),)))
            telling = asyncio.create_task(all_entries(run))
            await hold.reached.wait()
            run.answer_now()
            entries = await telling
            turn = assert_legal(entries)
            assert [type(entry.event) for entry in entries][:1] == [TurnStarted]
            assert turn.notices.count(ANSWER_NOW) == 1
            assert len(set(turn.notices)) == len(turn.notices)
            assert (turn.dialect, turn.model) == ("openai_chat", "planner")
            assert turn.answer == "Mild, I think."
            assert len(turn.replies) == (3 if later else 0)
            if later:
                assert turn.blocks_of(turn.replies[1]) == []
                results = messages_of(provider.bodies[-1], "tool")
                assert [message["content"] for message in results] == ["18 C"]

    run_story(story())


def test_answer_now_is_refused_once_the_answer_has_begun() -> None:
    async def story() -> None:
        hold = Hold()
        async with scripted_provider(
            {PROMPT: [(Think("Hm."), Say("It is"), hold, Say(" mild."))]}
        ) as provider:
            run = run_of(provider, agent())
            refused = 0

            def steer(entry: Entry) -> None:
                nonlocal refused
                if entry.event == BlockGrew(1, "It is"):
                    with pytest.raises(Refused, match="The model is already answering"):
                        run.answer_now()
                    refused += 1
                    hold.gate.set()

            turn = assert_legal(await run_with_callback(run, steer))
            assert (turn.answer, refused, turn.notices) == ("It is mild.", 1, [])

    run_story(story())


def test_answer_now_does_not_repeat_a_complete_answer() -> None:
    """The answer is complete, and only the connection is still open."""

    async def story() -> None:
        hold = Hold()

        class Open(ScriptedProvider):
            async def send_reply(self, request: UpstreamRequest, reply: Reply) -> None:
                await super().send_reply(request, reply)
                await hold.wait()

        lines: dict[str, list[Reply]] = {PROMPT: [(Think("Hm."), Say("Mild."))]}
        async with scripted_provider(lines, provider_type=Open) as provider:
            run = run_of(provider, agent())
            telling = asyncio.create_task(all_entries(run))
            while not (run.turn.blocks and run.turn.blocks[-1].text == "Mild."):
                await asyncio.sleep(0.005)
            run.answer_now()
            turn = assert_legal(await telling)
            assert turn.answer == "Mild."
            assert len(provider.bodies) == 1

    run_story(story())


def test_answer_now_does_not_run_tools_that_the_model_calls() -> None:
    async def never(arguments: str) -> str:
        raise AssertionError

    top_agent = agent(tools=(tool("weather", never),), assistants=(agent("Checker"),))
    lines: list[Reply] = [
        (Think("It is a long story"), Hold()),
        (Call("weather"), delegate("checker", "check")),
        ANSWER,
    ]
    turn, _ = run_with_answer_now(top_agent, {PROMPT: lines}, lambda event: isinstance(event, BlockGrew))
    assert [block.error for block in turn.blocks[1:3]] == [SKIPPED_FOR_ANSWER, SKIPPED_FOR_ANSWER]


def test_answer_now_respects_the_limits() -> None:
    async def story() -> None:
        top_agent = agent(tools=(tool("weather"),), limits=RunLimits(replies=3))
        lines: list[Reply] = [(Think("Hm."), Hold()), (Call("weather"),), (Call("weather"),)]
        async with scripted_provider({PROMPT: lines}) as provider:
            run = run_of(provider, top_agent)
            turn = assert_legal(
                await run_with_callback(run, AnswerNowOn(run, lambda event: isinstance(event, BlockGrew)))
            )
            assert turn.outcome is not None
            assert turn.outcome.cause == "limit_replies"

    run_story(story())


def test_answer_now_that_is_refused_fails_the_turn() -> None:
    async def story() -> None:
        async with scripted_provider({PROMPT: [(Think("Hm."), Hold()), (ErrorStatus(500),)]}) as provider:
            run = run_of(provider, agent())
            turn = assert_legal(
                await run_with_callback(run, AnswerNowOn(run, lambda event: isinstance(event, BlockGrew)))
            )
            assert turn.outcome is not None
            assert turn.outcome.ending is Ending.FAILED
            assert turn.reasoning == "Hm."

    run_story(story())


def test_result_of_a_tool_that_ignored_answer_now_is_dropped() -> None:
    """The call gets one error, and a later result is ignored."""

    async def story() -> None:
        let_go = asyncio.Event()
        returned = asyncio.Event()

        async def stubborn(arguments: str) -> str:
            while not let_go.is_set():
                try:
                    await let_go.wait()
                except asyncio.CancelledError:
                    continue
            returned.set()
            return "late"

        hold = Hold()
        top_agent = agent(tools=(tool("stubborn", stubborn),))
        lines: list[Reply] = [(Call("stubborn"),), (Say("Mild"), hold, Say(", I think."))]
        async with scripted_provider({PROMPT: lines}) as provider:
            run = run_of(provider, top_agent)
            entries: list[Entry] = []
            async for entry in run.entries():
                entries.append(entry)
                if type(entry.event).__name__ == "ReplyEnded" and len(run.turn.replies) == 1:
                    await asyncio.sleep(0)
                    run.answer_now()
                if entry.event == BlockGrew(1, "Mild"):
                    let_go.set()
                    await returned.wait()
                    hold.gate.set()
            turn = assert_legal(entries)
            assert (turn.blocks[0].error, turn.blocks[0].result) == (STOPPED_ERROR, "")
            assert turn.notices.count(ANSWER_NOW) == 1

    run_story(story())


def test_answer_now_before_the_run_is_refused() -> None:
    async def story() -> None:
        async with scripted_provider({}) as provider:
            with pytest.raises(Refused, match="The turn is not running"):
                run_of(provider, agent()).answer_now()

    run_story(story())
