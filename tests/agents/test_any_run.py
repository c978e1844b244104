"""Any run at all: whatever models, tools and assistants do, wherever it is hurried, left or taken up again.

No provider is asked: what a model says is thought up, and told as a dialect would tell it.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import aclosing, suppress
from itertools import count
from typing import Any, NamedTuple

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.agents.legal_tree import CANCELLED, assert_comes_back, assert_legal
from tests.context.talk import BEDROCK, CLAUDE, DEEPSEEK, GEMINI, GPT, KIMI, VLLM
from tests.patience import PATIENCE_S
from tests.view.sessions import content

from thinkaloud.agents.agent import Agent
from thinkaloud.agents.limits import Limits
from thinkaloud.agents.run import Run, Surroundings
from thinkaloud.agents.tools import Tool, ToolFault
from thinkaloud.canon import (
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
from thinkaloud.canon import requests as canon
from thinkaloud.canon.requests import AssistantMessage, ToolMessage, UserMessage
from thinkaloud.catalog import Route
from thinkaloud.client.prompting import Prepared
from thinkaloud.context import Conversation, Said, Step, build, steps_of
from thinkaloud.dialects.bodies import write
from thinkaloud.transcript import Approval, Block, Turn, apply, stopped
from thinkaloud.view import (
    Exchange,
    SessionRecord,
    Style,
    read_json,
    read_markdown,
    without_thoughts,
    write_json,
    write_markdown,
)

PROMPT = "Do it."
DEPTH = 3


class Part(NamedTuple):
    """A thought or a text, and perhaps a seal on it."""

    kind: Kind
    text: str
    sealed: bool = False


class Made(NamedTuple):
    """A call: of a tool by its name, or of an assistant that does this."""

    name: str
    plan: "Plan | None" = None


class Spoken(NamedTuple):
    """One reply: what it says, what it calls, how it ends, and how often it lets others go first."""

    parts: tuple[Part, ...] = ()
    calls: tuple[Made, ...] = ()
    end: str = "stop"
    pause: int = 0


class Plan(NamedTuple):
    """All that an agent says."""

    replies: tuple[Spoken, ...]


TEXTS = st.sampled_from(["Hm.", " \n", "Let me see.", "漢字 👩‍💻", "```\n</details>\n", "<!-- ta1 {} -->"])
PARTS = st.builds(Part, st.sampled_from([Kind.REASONING, Kind.TEXT]), TEXTS, st.booleans())
TOOLS = st.builds(Made, st.sampled_from(["ok", "fail", "slow", "ask", "nobody"]))
ENDS = st.sampled_from(["stop"] * 6 + ["length", "refusal", "cancelled", "broken", "refused", "unknown"])


def plans(depth: int) -> st.SearchStrategy[Plan]:
    calls = TOOLS if depth <= 1 else TOOLS | st.builds(Made, st.just("helper"), plans(depth - 1))
    parts = st.lists(PARTS, max_size=3).map(tuple)
    calling = st.builds(
        Spoken, parts, st.lists(calls, min_size=1, max_size=3).map(tuple), ENDS, st.integers(0, 3)
    )
    last = st.builds(Spoken, parts, st.just(()), ENDS, st.integers(0, 3))
    return st.builds(lambda before, end: Plan((*before, end)), st.lists(calling, max_size=2), last)


PLANS = plans(DEPTH)
FINISHES = {
    "stop": Finish.STOP,
    "length": Finish.LENGTH,
    "refusal": Finish.REFUSAL,
    "cancelled": Finish.CANCELLED,
    "unknown": Finish.UNKNOWN,
}


class Out(ProviderFault):
    """The provider cannot be had."""

    code = "unreachable"


class Improvised(Run):
    """A run whose models say what is in a plan; which reply is next follows from the turn."""

    def __init__(self, who: Agent, plan: Plan, turn: Turn, ticks: Iterator[int]) -> None:
        around = Surroundings(clock=lambda: next(ticks))
        super().__init__(who, (UserMessage(PROMPT),), around=around, turn=turn)
        self._plans = dict(_tasks(PROMPT, plan))

    async def ask(self, ready: Prepared) -> AsyncGenerator[Entry, None]:
        """What the model says next."""
        first = ready.built.request.messages[0]
        assert isinstance(first, UserMessage)
        place, spoken = 0, Spoken((Part(Kind.TEXT, "Now."),))
        if ready.built.request.tool_choice != "none":
            place, spoken = self._next(first.text)
        for _ in range(spoken.pause):
            await asyncio.sleep(0)
        if spoken.end == "refused":
            raise Out("nobody is there")
        for seq, event in enumerate(_told(spoken, f"{first.text} {place}")):
            yield Entry(seq, event, self._around.clock())
            if spoken.pause:
                await asyncio.sleep(0)

    def _next(self, task: str) -> tuple[int, Spoken]:
        calls = [block for block in self.turn.blocks if block.kind is Kind.ASSISTANT_CALL and block.awaited]
        parent = next((block.number for block in calls if block.text == task), None)
        own = [reply for reply in self.turn.replies if reply.parent == parent]
        place = len([reply for reply in own if reply.finish is not Finish.CANCELLED])
        replies = self._plans[task].replies
        return place, replies[place] if place < len(replies) else Spoken((Part(Kind.TEXT, "Done."),))


def _tasks(task: str, plan: Plan) -> Iterator[tuple[str, Plan]]:
    """Every plan by the words that its conversation begins with."""
    yield task, plan
    for place, spoken in enumerate(plan.replies):
        for number, call in enumerate(spoken.calls):
            if call.plan is not None:
                yield from _tasks(f"{task} {place}.{number}", call.plan)


def _told(spoken: Spoken, whose: str) -> Iterator[Event]:
    """A reply as a dialect tells it."""
    yield TurnStarted("openai_chat", "planner")
    blocks = count()
    for part in spoken.parts:
        block = next(blocks)
        yield BlockStarted(block, part.kind)
        yield BlockGrew(block, part.text)
        if part.sealed and part.kind is Kind.REASONING:
            yield BlockSealed(block, Seal("openai_chat", SealForm.SIGNATURE, "c2VhbA=="))
        yield BlockEnded(block, interrupted=spoken.end == "broken" and part is spoken.parts[-1])
    for number, call in enumerate(spoken.calls):
        block = next(blocks)
        yield BlockStarted(block, Kind.TOOL_CALL, call.name, f"{whose}.{number}")
        yield BlockGrew(block, json.dumps({"task": f"{whose}.{number}"}))
        yield BlockEnded(block)
    yield UsageReported(Usage(output=7))
    if spoken.end == "broken":
        yield TurnFailed("overloaded", "It broke.")
        return
    finish = FINISHES[spoken.end]
    called = bool(spoken.calls) and finish is Finish.STOP
    message = Seal("openai_chat", SealForm.MESSAGE, '{"role":"assistant"}')
    yield TurnEnded(Finish.TOOL_CALLS if called else finish, spoken.end, message)


async def _ok(arguments: str) -> str:
    return "it is done"


async def _fail(arguments: str) -> str:
    raise ToolFault("it cannot be done")


async def _slow(arguments: str) -> str:
    for _ in range(5):
        await asyncio.sleep(0)
    return ""


def _cast() -> Agent:
    tools = tuple(
        Tool(definition=canon.Tool(name), run=run, approval=name == "ask")
        for name, run in (("ok", _ok), ("fail", _fail), ("slow", _slow), ("ask", _ok))
    )
    who: tuple[Agent, ...] = ()
    for depth in range(DEPTH):
        name = "Planner" if depth == DEPTH - 1 else "Helper"
        limits = Limits(replies=12 if depth == DEPTH - 1 else 4, seconds=None)
        who = (Agent(name=name, id=name, model="vllm/planner", tools=tools, assistants=who, limits=limits),)
    return who[0]


WHO = _cast()


class Inline(ThreadPoolExecutor):
    """Does at once what a thread would do, so that the same run is always told the same."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **options: Any) -> Future[Any]:
        done: Future[Any] = Future()
        try:
            done.set_result(fn(*args, **options))
        except Exception as error:  # noqa: BLE001 whoever waits for it gets it
            done.set_exception(error)
        return done


class Moment(NamedTuple):
    """After so many entries, something is done with the run."""

    at: int
    what: str


MOMENTS = st.lists(
    st.builds(Moment, st.integers(0, 60), st.sampled_from(["leave", "hurry"])), max_size=3
).map(sorted)


async def _steered(plan: Plan, moments: list[Moment]) -> list[Entry]:
    """The log of a run; where it is left, another goes on with it. Every other call is let run."""
    asyncio.get_running_loop().set_default_executor(Inline())
    entries: list[Entry] = []
    todo, ticks = list(moments), count(1000)
    while True:
        turn = _folded(entries)
        if not turn.live:
            return entries
        run = Improvised(WHO, plan, turn, ticks)
        for block in turn.blocks:
            if block.approval is Approval.ASKED and block.awaited:
                run.settle(block.number, granted=block.number % 2 == 0)
        async with aclosing(run.entries()) as telling:
            async for entry in telling:
                entries.append(entry)
                if isinstance(entry.event, ApprovalAsked):
                    with suppress(Refused):  # it may have been stopped meanwhile
                        run.settle(entry.event.block, granted=entry.event.block % 2 == 0)
                if todo and len(entries) > todo[0].at:
                    if todo.pop(0).what == "leave":
                        break
                    with suppress(Refused):
                        run.answer_now()


def _folded(entries: list[Entry]) -> Turn:
    turn = Turn()
    for entry in entries:
        apply(turn, entry)
    return turn


def run(plan: Plan, moments: list[Moment]) -> list[Entry]:
    """The whole log; nothing, where the first reply could not be had."""
    try:
        return asyncio.run(asyncio.wait_for(_steered(plan, moments), PATIENCE_S))
    except Out:
        assert plan.replies[0].end == "refused"
        return []


@settings(max_examples=100, deadline=None)
@given(
    PLANS,
    MOMENTS,
    st.integers(1, 100),
    st.sampled_from([BEDROCK, CLAUDE, DEEPSEEK, GEMINI, GPT, KIMI, VLLM]),
)
def test_any_run(plan: Plan, moments: list[Moment], cut: int, route: Route) -> None:
    """It tells a legal log. Whole or cut anywhere, files keep it, and any model can go on from it."""
    whole = run(plan, moments)
    half = whole[:cut]
    rest = enumerate(stopped(_folded(half), CANCELLED), len(half))
    for entries in (whole, half + [Entry(seq, event, 10**6) for seq, event in rest]):
        if whole:
            turn = assert_legal(entries)
            asked = (UserMessage(PROMPT),)
            record = SessionRecord("A run", 5, (Exchange(asked, tuple(entries), "m1", "vllm"),))
            assert_kept(record)
            assert_bare(turn, record)
            assert_goes_on(turn, route)


@settings(max_examples=20, deadline=None)
@given(PLANS)
def test_the_same_run_is_told_the_same_again(plan: Plan) -> None:
    """Also when it was stored in between."""
    entries = run(plan, [])
    assert run(plan, []) == entries
    assert msgspec.json.decode(msgspec.json.encode(entries), type=list[Entry]) == entries


def assert_kept(record: SessionRecord) -> None:
    """Nothing of it is lost in a file."""
    assert read_json(write_json(record)) == record
    for style in (Style.DETAILS, Style.CALLOUT):
        assert content(read_markdown(write_markdown(record, thinking=style))) == content(record)


def assert_bare(turn: Turn, record: SessionRecord) -> None:
    """Without its thoughts, and all that may hold one, everything else is still there."""
    silent = without_thoughts(record)
    bare = silent.exchanges[0].turn
    assert_comes_back(bare)
    assert [block for block in bare.blocks if block.kind is Kind.REASONING or block.seals] == []
    assert all(reply.message is None for reply in bare.replies)
    said = [block for block in turn.blocks if block.kind is not Kind.REASONING]
    assert list(map(_fate, bare.blocks)) == list(map(_fate, said))
    assert (bare.answer, bare.usage, len(bare.replies)) == (turn.answer, turn.usage, len(turn.replies))
    for reply, other in zip(bare.replies, turn.replies, strict=True):
        spoken = [block for block in turn.said_in(other) if block.kind is not Kind.REASONING]
        assert list(map(_fate, bare.said_in(reply))) == list(map(_fate, spoken))
    assert content(read_markdown(write_markdown(record, thinking=Style.OMIT))) == content(silent)


def _fate(block: Block) -> tuple[object, ...]:
    return block.text, block.result, block.error, block.status, block.approval


def assert_goes_on(turn: Turn, route: Route) -> None:
    """As steps it is a conversation that can be sent anywhere: each call with its result, once."""
    steps = steps_of(Said(turn, "", "vllm"))
    assert_says_it_all(turn, steps)
    talk = Conversation((UserMessage(PROMPT), *steps, UserMessage("And now?")), "", WHO.offered)
    built = build(talk, route)
    assert write(route, built.request).body
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


def assert_says_it_all(turn: Turn, steps: tuple[Step, ...]) -> None:
    """All that the turn itself thought and said is in its steps, and all that its calls came to, in order."""
    told = (Kind.REASONING, Kind.TEXT)
    said = [block for step in steps if isinstance(step, Said) for block in step.turn.top(*told)]
    assert [block.text for block in said if not block.blank] == [
        block.text for block in turn.top(*told) if not block.blank
    ]
    results = [step for step in steps if isinstance(step, ToolMessage)]
    calls = [turn.blocks[call] for reply in turn.replies if reply.parent is None for call in reply.calls]
    came = [block for block in calls if block.result is not None]
    assert [(one.call_id, one.failed) for one in results] == [(one.call_id, bool(one.error)) for one in came]
