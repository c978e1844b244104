"""Random runs: any models, tools and assistants, with "answer now", cancellation and resume anywhere.

No provider is asked: replies are generated, as events of a dialect.
"""

import asyncio
import json
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import aclosing, suppress
from itertools import count
from typing import Any, NamedTuple

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.agents.run_checks import CANCELLED, assert_legal, assert_round_trip
from tests.context.conversations import BEDROCK, CLAUDE, DEEPSEEK, GEMINI, GPT, KIMI, VLLM
from tests.export.sessions import record_content
from tests.patience import PATIENCE_S

from thinkaloud.agents.run import Run, RunContext
from thinkaloud.agents.spec import Agent, RunLimits
from thinkaloud.agents.tools import Tool, ToolFault
from thinkaloud.client.api import BatchSink, EventBatch
from thinkaloud.client.prepared_request import PreparedRequest
from thinkaloud.core.canon import (
    ApprovalAsked,
    BlockEnded,
    BlockGrew,
    BlockSealed,
    BlockStarted,
    Entry,
    Event,
    Finish,
    Kind,
    ProviderFault,
    Refused,
    Seal,
    SealForm,
    TurnEnded,
    TurnFailed,
    TurnStarted,
    Usage,
    UsageReported,
)
from thinkaloud.core.canon import requests as canon
from thinkaloud.core.canon.requests import AssistantMessage, ToolMessage, UserMessage
from thinkaloud.core.catalog import Route
from thinkaloud.core.context import AnsweredTurn, Context, Step, build, steps_of
from thinkaloud.core.dialects import build_request
from thinkaloud.core.export import (
    Exchange,
    SessionRecord,
    ThinkingStyle,
    read_json,
    read_markdown,
    without_thoughts,
    write_json,
    write_markdown,
)
from thinkaloud.core.transcript import Approval, Block, Turn, apply, events_to_end_turn

PROMPT = "Do it."
DEPTH = 3


class Part(NamedTuple):
    """A thought or a text, with an optional seal."""

    kind: Kind
    text: str
    sealed: bool = False


class PlannedCall(NamedTuple):
    """A call of a tool by name, or of an assistant with this plan."""

    name: str
    plan: "Plan | None" = None


class PlannedReply(NamedTuple):
    """One reply: its parts, calls and finish, and how often it yields to other tasks."""

    parts: tuple[Part, ...] = ()
    calls: tuple[PlannedCall, ...] = ()
    end: str = "stop"
    pause: int = 0


class Plan(NamedTuple):
    """All replies of an agent."""

    replies: tuple[PlannedReply, ...]


TEXTS = st.sampled_from(["Hm.", " \n", "Let me see.", "漢字 👩‍💻", "```\n</details>\n", "<!-- ta1 {} -->"])
PARTS = st.builds(Part, st.sampled_from([Kind.REASONING, Kind.TEXT]), TEXTS, st.booleans())
TOOLS = st.builds(PlannedCall, st.sampled_from(["ok", "fail", "slow", "ask", "nobody"]))
ENDS = st.sampled_from(["stop"] * 6 + ["length", "refusal", "cancelled", "broken", "refused", "unknown"])


def plans(depth: int) -> st.SearchStrategy[Plan]:
    calls = TOOLS if depth <= 1 else TOOLS | st.builds(PlannedCall, st.just("helper"), plans(depth - 1))
    parts = st.lists(PARTS, max_size=3).map(tuple)
    calling = st.builds(
        PlannedReply, parts, st.lists(calls, min_size=1, max_size=3).map(tuple), ENDS, st.integers(0, 3)
    )
    last = st.builds(PlannedReply, parts, st.just(()), ENDS, st.integers(0, 3))
    return st.builds(
        lambda earlier_replies, end: Plan((*earlier_replies, end)), st.lists(calling, max_size=2), last
    )


PLANS = plans(DEPTH)
FINISHES = {
    "stop": Finish.STOP,
    "length": Finish.LENGTH,
    "refusal": Finish.REFUSAL,
    "cancelled": Finish.CANCELLED,
    "unknown": Finish.UNKNOWN,
}


class ProviderUnreachable(ProviderFault):
    """The provider is unreachable."""

    code = "unreachable"


class PlannedRun(Run):
    """A run whose models reply as planned; the turn determines the next reply."""

    def __init__(self, top_agent: Agent, plan: Plan, turn: Turn, ticks: Iterator[int]) -> None:
        context = RunContext(clock=lambda: next(ticks))
        super().__init__(top_agent, (UserMessage(PROMPT),), context=context, turn=turn)
        self._plans = dict(_plans_by_task(PROMPT, plan))

    async def send(self, ready: PreparedRequest, sink: BatchSink) -> None:
        """Send the next planned reply."""
        first = ready.request.messages[0]
        assert isinstance(first, UserMessage)
        place, spoken = 0, PlannedReply((Part(Kind.TEXT, "Now."),))
        if ready.request.tool_choice != "none":
            place, spoken = self._next_reply(first.text)
        for _ in range(spoken.pause):
            await asyncio.sleep(0)
        if spoken.end == "refused":
            raise ProviderUnreachable("nobody is there")
        for event in _reply_events(spoken, f"{first.text} {place}"):
            sink(EventBatch([event], 0))
            if spoken.pause:
                await asyncio.sleep(0)

    def _next_reply(self, task: str) -> tuple[int, PlannedReply]:
        calls = [
            block for block in self.turn.blocks if block.kind is Kind.ASSISTANT_CALL and block.awaiting_result
        ]
        parent = next((block.number for block in calls if block.text == task), None)
        own_replies = [reply for reply in self.turn.replies if reply.parent == parent]
        index = len([reply for reply in own_replies if reply.finish is not Finish.CANCELLED])
        replies = self._plans[task].replies
        return index, replies[index] if index < len(replies) else PlannedReply((Part(Kind.TEXT, "Done."),))


def _plans_by_task(task: str, plan: Plan) -> Iterator[tuple[str, Plan]]:
    """Return every plan by the first prompt of its conversation."""
    yield task, plan
    for index, reply in enumerate(plan.replies):
        for number, call in enumerate(reply.calls):
            if call.plan is not None:
                yield from _plans_by_task(f"{task} {index}.{number}", call.plan)


def _reply_events(reply: PlannedReply, reply_id: str) -> Iterator[Event]:
    """Return the events of a reply, as a dialect emits them."""
    yield TurnStarted("openai_chat", "planner")
    blocks = count()
    for part in reply.parts:
        block = next(blocks)
        yield BlockStarted(block, part.kind)
        yield BlockGrew(block, part.text)
        if part.sealed and part.kind is Kind.REASONING:
            yield BlockSealed(block, Seal("openai_chat", SealForm.SIGNATURE, "c2VhbA=="))
        yield BlockEnded(block, interrupted=reply.end == "broken" and part is reply.parts[-1])
    for number, call in enumerate(reply.calls):
        block = next(blocks)
        yield BlockStarted(block, Kind.TOOL_CALL, call.name, f"{reply_id}.{number}")
        yield BlockGrew(block, json.dumps({"task": f"{reply_id}.{number}"}))
        yield BlockEnded(block)
    yield UsageReported(Usage(output=7))
    if reply.end == "broken":
        yield TurnFailed("overloaded", "It broke.")
        return
    finish = FINISHES[reply.end]
    ends_in_calls = bool(reply.calls) and finish is Finish.STOP
    message = Seal("openai_chat", SealForm.MESSAGE, '{"role":"assistant"}')
    yield TurnEnded(Finish.TOOL_CALLS if ends_in_calls else finish, reply.end, message)


async def _ok(arguments: str) -> str:
    return "it is done"


async def _fail(arguments: str) -> str:
    raise ToolFault("it cannot be done")


async def _slow(arguments: str) -> str:
    for _ in range(5):
        await asyncio.sleep(0)
    return ""


def _agents() -> Agent:
    tools = tuple(
        Tool(definition=canon.ToolDefinition(name), run=run, approval=name == "ask")
        for name, run in (("ok", _ok), ("fail", _fail), ("slow", _slow), ("ask", _ok))
    )
    assistants: tuple[Agent, ...] = ()
    for depth in range(DEPTH):
        name = "Planner" if depth == DEPTH - 1 else "Helper"
        limits = RunLimits(replies=12 if depth == DEPTH - 1 else 4, seconds=None)
        assistants = (
            Agent(
                name=name, id=name, model="vllm/planner", tools=tools, assistants=assistants, limits=limits
            ),
        )
    return assistants[0]


PLANNER = _agents()


class InlineExecutor(ThreadPoolExecutor):
    """Runs work immediately instead of in a thread, so that runs are deterministic."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **options: Any) -> Future[Any]:
        done: Future[Any] = Future()
        try:
            done.set_result(fn(*args, **options))
        except Exception as error:  # noqa: BLE001 whoever waits for it gets it
            done.set_exception(error)
        return done


class Interruption(NamedTuple):
    """An action after a number of entries."""

    after_entries: int
    action: str


INTERRUPTIONS = st.lists(
    st.builds(Interruption, st.integers(0, 60), st.sampled_from(["leave", "hurry"])), max_size=3
).map(sorted)


async def _run_with_interruptions(plan: Plan, moments: list[Interruption]) -> list[Entry]:
    """Return the log of a run. A cancelled run is resumed by another; every other approval is granted."""
    asyncio.get_running_loop().set_default_executor(InlineExecutor())
    entries: list[Entry] = []
    todo, ticks = list(moments), count(1000)
    while True:
        turn = _fold_entries(entries)
        if not turn.live:
            return entries
        run = PlannedRun(PLANNER, plan, turn, ticks)
        for block in turn.blocks:
            if block.approval is Approval.ASKED and block.awaiting_result:
                run.decide(block.number, granted=block.number % 2 == 0)
        async with aclosing(run.entries()) as telling:
            async for entry in telling:
                entries.append(entry)
                if isinstance(entry.event, ApprovalAsked):
                    with suppress(Refused):  # it may have been stopped meanwhile
                        run.decide(entry.event.block, granted=entry.event.block % 2 == 0)
                if todo and len(entries) > todo[0].after_entries:
                    if todo.pop(0).action == "leave":
                        break
                    with suppress(Refused):
                        run.answer_now()


def _fold_entries(entries: list[Entry]) -> Turn:
    turn = Turn()
    for entry in entries:
        apply(turn, entry)
    return turn


def run(plan: Plan, moments: list[Interruption]) -> list[Entry]:
    """Return the whole log; empty if the first request failed."""
    try:
        return asyncio.run(asyncio.wait_for(_run_with_interruptions(plan, moments), PATIENCE_S))
    except ProviderUnreachable:
        assert plan.replies[0].end == "refused"
        return []


@settings(max_examples=100, deadline=None)
@given(
    PLANS,
    INTERRUPTIONS,
    st.integers(1, 100),
    st.sampled_from([BEDROCK, CLAUDE, DEEPSEEK, GEMINI, GPT, KIMI, VLLM]),
)
def test_any_run_ends_well(plan: Plan, moments: list[Interruption], cut: int, route: Route) -> None:
    """Its log is valid. Whole or cut anywhere, it can be exported and any model can continue from it."""
    whole = run(plan, moments)
    beginning = whole[:cut]
    ending_events = enumerate(events_to_end_turn(_fold_entries(beginning), CANCELLED), len(beginning))
    for entries in (whole, beginning + [Entry(seq, event, 10**6) for seq, event in ending_events]):
        if whole:
            turn = assert_legal(entries)
            prompts = (UserMessage(PROMPT),)
            record = SessionRecord("A run", 5, (Exchange(prompts, tuple(entries), "m1", "vllm"),))
            assert_files_lossless(record)
            assert_without_thoughts(turn, record)
            assert_can_continue(turn, route)


@settings(max_examples=20, deadline=None)
@given(PLANS)
def test_repeated_run_has_the_same_entries(plan: Plan) -> None:
    """Also when it was stored in between."""
    entries = run(plan, [])
    assert run(plan, []) == entries
    assert msgspec.json.decode(msgspec.json.encode(entries), type=list[Entry]) == entries


def assert_files_lossless(record: SessionRecord) -> None:
    """Check that an export loses nothing."""
    assert read_json(write_json(record)) == record
    for style in (ThinkingStyle.DETAILS, ThinkingStyle.CALLOUT):
        assert record_content(read_markdown(write_markdown(record, thinking=style))) == record_content(record)


def assert_without_thoughts(turn: Turn, record: SessionRecord) -> None:
    """Check that an export without thoughts has everything else."""
    silent = without_thoughts(record)
    bare = silent.exchanges[0].turn
    assert_round_trip(bare)
    assert [block for block in bare.blocks if block.kind is Kind.REASONING or block.seals] == []
    assert all(reply.message is None for reply in bare.replies)
    visible_blocks = [block for block in turn.blocks if block.kind is not Kind.REASONING]
    assert list(map(_visible_state, bare.blocks)) == list(map(_visible_state, visible_blocks))
    assert (bare.answer, bare.usage, len(bare.replies)) == (turn.answer, turn.usage, len(turn.replies))
    for reply, other in zip(bare.replies, turn.replies, strict=True):
        reply_blocks = [block for block in turn.blocks_of(other) if block.kind is not Kind.REASONING]
        assert list(map(_visible_state, bare.blocks_of(reply))) == list(map(_visible_state, reply_blocks))
    assert record_content(
        read_markdown(write_markdown(record, thinking=ThinkingStyle.OMIT))
    ) == record_content(silent)


def _visible_state(block: Block) -> tuple[object, ...]:
    return block.text, block.result, block.error, block.status, block.approval


def assert_can_continue(turn: Turn, route: Route) -> None:
    """Check that the turn can be sent to any provider: each call with one result."""
    steps = steps_of(AnsweredTurn(turn, "", "vllm"))
    assert_steps_complete(turn, steps)
    talk = Context((UserMessage(PROMPT), *steps, UserMessage("And now?")), "", PLANNER.tool_definitions)
    built = build(talk, route)
    assert build_request(route, built.request).body
    waiting: list[str] = []
    for message in built.request.messages:
        if isinstance(message, ToolMessage):
            waiting.remove(message.call_id)
            continue
        assert waiting == []
        if isinstance(message, AssistantMessage) and not message.verbatim:
            waiting = [call.call_id for call in message.calls]
            assert len(set(waiting)) == len(waiting)
    assert waiting == []


def assert_steps_complete(turn: Turn, steps: tuple[Step, ...]) -> None:
    """Check that the steps contain all thoughts, texts and results of the turn in order."""
    text_kinds = (Kind.REASONING, Kind.TEXT)
    step_blocks = [
        block
        for step in steps
        if isinstance(step, AnsweredTurn)
        for block in step.turn.own_blocks(*text_kinds)
    ]
    assert [block.text for block in step_blocks if not block.blank] == [
        block.text for block in turn.own_blocks(*text_kinds) if not block.blank
    ]
    results = [step for step in steps if isinstance(step, ToolMessage)]
    calls = [turn.blocks[call] for reply in turn.replies if reply.parent is None for call in reply.calls]
    finished_calls = [block for block in calls if block.result is not None]
    assert [(one.call_id, one.failed) for one in results] == [
        (one.call_id, bool(one.error)) for one in finished_calls
    ]
