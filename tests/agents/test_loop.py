"""The agent loop: replies, tool calls and assistants make a valid log."""

import asyncio
import json
from collections.abc import Awaitable, Callable

import pytest
from tests.agents.run_checks import assert_legal
from tests.agents.scripted_provider import (
    PROMPT,
    Call,
    Cut,
    ErrorStatus,
    FinishReason,
    Hold,
    PartialCall,
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

from thinkaloud.agents.loop import CUT_OFF, NO_ANSWER
from thinkaloud.agents.run import Run
from thinkaloud.agents.spec import MAX_ASSISTANT_DEPTH, Agent, agent_tree, assemble, check_unique_tool_names
from thinkaloud.agents.tools import MAX_RESULT_CHARS, ToolFault, from_function
from thinkaloud.client import entries as plain_entries
from thinkaloud.client.prepared_request import Options, prepare
from thinkaloud.core.canon import BlockStarted, Entry, Kind, ProviderFault, Refused, ReplyEnded, TurnStarted
from thinkaloud.core.canon import requests as canon
from thinkaloud.core.canon.requests import ToolMessage, UserMessage
from thinkaloud.core.context import AnsweredTurn, Step, steps_of
from thinkaloud.core.transcript import Block, BlockStatus, Ending, Turn
from thinkaloud.core.view import thinking_block

CLIENT = canon.ToolDefinition("their_map")


def run_agent(
    top_agent: Agent, lines: dict[str, list[Reply]], *history: Step, client: tuple[str, ...] = ()
) -> tuple[Turn, ScriptedProvider]:
    """Run an agent; return its checked turn and the scripted provider."""

    async def story() -> tuple[Turn, ScriptedProvider]:
        async with scripted_provider(lines) as provider:
            return assert_legal(
                await all_entries(run_of(provider, top_agent, *history)), client=client
            ), provider

    return run_story(story())


def only_block(turn: Turn, kind: Kind = Kind.TOOL_CALL) -> Block:
    (block,) = (block for block in turn.blocks if block.kind is kind)
    return block


def ending(turn: Turn) -> tuple[Ending, str]:
    assert turn.outcome is not None
    return turn.outcome.ending, turn.outcome.cause


@pytest.mark.parametrize(
    "reply",
    [
        (Think("Two and two."), Say("Four.")),
        (Say("Four."),),
        (Think("Hm."),),
        (FinishReason("stop"),),
        (Say("Fo"), FinishReason("length")),
        (Say("No."), FinishReason("content_filter")),
        (Think("Look."), Call("their_map")),
        (Think("Look."), Call("weather"), FinishReason("length")),
        (Think("Two and"), Cut()),
        (Say("Fo"), Cut()),
        (PartialCall("weather", '{"ci'), Cut()),
    ],
    ids=str,
)
def test_single_reply_turn_has_the_same_events_as_without_an_agent(reply: Reply) -> None:
    top_agent = agent(tools=(tool("weather"),), client_tools=(CLIENT,), system="Be brief.")

    async def story() -> tuple[list[Entry], list[Entry]]:
        async with scripted_provider({PROMPT: [reply, reply]}) as provider:
            request = prepare(
                PROMPT,
                model=top_agent.model,
                options=Options(
                    system=top_agent.system,
                    tools=top_agent.tool_definitions,
                    catalog=provider.context.catalog,
                ),
            )
            plain = [
                entry
                async for entry in plain_entries(request, options=Options(client=provider.context.client))
            ]
            run = Run(top_agent, (UserMessage(PROMPT),), context=provider.context, first_request=request)
            entries = await all_entries(run)
            assert provider.bodies[0] == provider.bodies[1]
            return plain, entries

    def same(entries: list[Entry]) -> str:
        """Call ids are numbered by the scripted provider, so they are removed."""
        text = "\n".join(str((entry.seq, entry.event)) for entry in entries)
        return text.replace("call_1", "call_0")

    plain, entries = run_story(story())
    assert same(entries) == same(plain)
    assert_legal(entries, client=(CLIENT.name,))


def test_call_has_the_description_of_its_tool() -> None:
    """R101: from the docstring, in one line."""

    def weather(city: str) -> str:
        """Look up the weather
        of a city.

        Args:
            city: Its name.
        """
        return f"Sunny in {city}"

    replies: list[Reply] = [(Call("weather", '{"city":"Lima"}'),), (Say("Sunny."),)]
    turn, _ = run_agent(agent(tools=(from_function(weather),)), {PROMPT: replies})
    assert only_block(turn).description == "Look up the weather of a city."
    block = thinking_block(turn)
    assert block is not None
    (step,) = block.steps
    assert (step.content, step.tool_input) == ("Look up the weather of a city.", '{"city":"Lima"}')


def test_not_honoured_notice_is_given_once() -> None:
    """A note of the first request follows the start of the turn and is not repeated."""
    top_agent = Agent(name="Planner", model="vllm/planner", tools=(tool("weather"),), thinking=4096)
    notes = prepare(
        PROMPT, model=top_agent.model, thinking=4096, options=Options(tools=top_agent.tool_definitions)
    ).notes
    turn, _ = run_agent(top_agent, {PROMPT: [(Call("weather"),), (Call("weather"),), (Say("Mild."),)]})
    assert notes
    assert [notice.text for notice in turn.notices] == list(map(str, notes))


def test_thoughts_between_calls_are_sent_back() -> None:
    lines: list[Reply] = [
        (Think("Look it up."), Call("weather", '{"city":"Lima"}')),
        (Think("And the time."), Say("One moment."), Call("clock")),
        (Think("So."), Say("Mild.")),
    ]
    top_agent = agent(tools=(tool("weather", "18 C"), tool("clock", "12:00")))
    turn, provider = run_agent(top_agent, {PROMPT: lines})
    assert [block.kind.value for block in turn.blocks] == [
        *("reasoning", "tool_call"),
        *("reasoning", "text", "tool_call"),
        *("reasoning", "text"),
    ]
    assert ending(turn) == (Ending.ANSWERED, "stop")
    assert turn.answer == "One moment.\n\nMild."
    assert [reply.calls for reply in turn.replies] == [(1,), (4,), ()]
    first, second = messages_of(provider.bodies[-1], "assistant")
    assert (first["reasoning"], second["reasoning"]) == ("Look it up.", "And the time.")
    assert [message["content"] for message in messages_of(provider.bodies[-1], "tool")] == ["18 C", "12:00"]
    assert turn.usage.output == 15


def test_calls_of_one_reply_run_concurrently() -> None:
    """Each waits until the other has started, so running them one by one would never end."""

    async def story() -> None:
        met = asyncio.Barrier(2)

        async def meet(arguments: str) -> str:
            await met.wait()
            return arguments

        lines: list[Reply] = [(Call("meet", '{"a":1}'), Call("meet", '{"b":2}')), (Say("Both."),)]
        async with scripted_provider({PROMPT: lines}) as provider:
            turn = assert_legal(await all_entries(run_of(provider, agent(tools=(tool("meet", meet),)))))
            assert [block.result for block in turn.own_blocks(Kind.TOOL_CALL)] == ['{"a":1}', '{"b":2}']

    run_story(story())


def test_assistants_of_one_reply_run_concurrently() -> None:
    """The same with two assistants; their blocks are interleaved."""

    async def story() -> None:
        met = asyncio.Barrier(2)

        async def meet(arguments: str) -> str:
            await met.wait()
            return "met"

        worker = agent("Worker", tools=(tool("meet", meet),))
        lines: dict[str, list[Reply]] = {
            PROMPT: [(delegate("worker", "north"), delegate("worker", "south")), (Say("Done."),)],
            "north": [(Think("N."), Call("meet")), (Think("N again."), Say("north is met"))],
            "south": [(Think("S."), Call("meet")), (Think("S again."), Say("south is met"))],
        }
        async with scripted_provider(lines) as provider:
            turn = assert_legal(await all_entries(run_of(provider, agent(assistants=(worker,)))))
        north, south = turn.own_blocks(Kind.ASSISTANT_CALL)
        assert (north.result, south.result) == ("north is met", "south is met")
        assert [block.text for block in turn.children(north)] == ["N.", "{}", "N again.", "north is met"]
        assert [block.text for block in turn.children(south)] == ["S.", "{}", "S again.", "south is met"]

    run_story(story())


def test_assistants_three_levels_deep() -> None:
    """R120-R125: each is below the call that gave it its task, with its own conversation."""
    weather = tool("weather")
    deepest = agent("Fact Finder", tools=(weather,))
    middle = agent("Checker", assistants=(deepest,), tools=(weather,))
    top = agent(assistants=(middle,), tools=(weather,))
    lines: dict[str, list[Reply]] = {
        PROMPT: [
            (Think("I ask."), delegate("checker", "check Lima"), Call("weather")),
            (Think("Good."), Say("Mild.")),
        ],
        "check Lima": [
            (Think("Who knows?"), delegate("fact_finder", "find Lima"), Call("weather")),
            (Think("He does."), Say("It is checked.")),
        ],
        "find Lima": [(Think("Look."), Call("weather")), (Think("There."), Say("It is 18 C."))],
    }
    turn, provider = run_agent(top, lines)
    checker, finder = (block for block in turn.blocks if block.kind is Kind.ASSISTANT_CALL)
    assert (checker.name, checker.assistant_id, checker.text) == ("Checker", "id-Checker", "check Lima")
    assert (finder.name, finder.parent, finder.text) == ("Fact Finder", checker.number, "find Lima")
    assert (checker.result, finder.result) == ("It is checked.", "It is 18 C.")
    assert turn.answer == "Mild."
    assert turn.reasoning == "I ask.Good."
    assert [block.text for block in turn.children(finder)] == ["Look.", "{}", "There.", "It is 18 C."]
    assert [reply.model for reply in turn.replies if turn.within(reply.parent, checker.number)] == [
        *("checker", "fact finder", "fact finder", "checker")
    ]
    assert turn.usage.output == 30
    (assistant_message,) = messages_of(provider.bodies_of(PROMPT)[1], "assistant")
    assert [call["function"]["name"] for call in assistant_message["tool_calls"]] == ["checker", "weather"]
    assert json.loads(assistant_message["tool_calls"][0]["function"]["arguments"]) == {"task": "check Lima"}
    assert [message["content"] for message in messages_of(provider.bodies_of(PROMPT)[1], "tool")] == [
        *("It is checked.", "18 C")
    ]
    assert "find Lima" not in json.dumps(provider.bodies_of(PROMPT))


def test_call_of_an_unknown_tool_is_an_error_step() -> None:
    top_agent = agent(tools=(tool("weather"),), assistants=(agent("Checker"),))
    turn, provider = run_agent(top_agent, {PROMPT: [(Call("wether"),), (Say("Never mind."),)]})
    assert only_block(turn).error == "There is no tool 'wether'. Use one of these: weather, checker."
    assert only_block(turn).status is BlockStatus.ERROR
    assert messages_of(provider.bodies[1], "tool")[0]["content"] == only_block(turn).error
    assert ending(turn) == (Ending.ANSWERED, "stop")


def test_call_of_a_tool_without_tools_is_an_error_step() -> None:
    turn, _ = run_agent(agent(), {PROMPT: [(Call("weather"),), (Say("Never mind."),)]})
    assert only_block(turn).error == "There is no tool 'weather'. Use one of these: none."


async def faulty(arguments: str) -> str:
    raise ToolFault("The city is unknown; name its country too.")


async def broken(arguments: str) -> str:
    raise ZeroDivisionError("division by zero")


async def slow(arguments: str) -> str:
    await asyncio.sleep(60)
    return "late"


async def large(arguments: str) -> str:
    return "x" * (MAX_RESULT_CHARS + 1)


async def cancelled_inside(arguments: str) -> str:
    """A tool whose own inner task is cancelled."""
    other = asyncio.get_running_loop().create_future()
    other.cancel()
    await other
    return "never"


@pytest.mark.parametrize(
    ("run", "why"),
    [
        (faulty, "The city is unknown; name its country too."),
        (broken, "weather failed with ZeroDivisionError: division by zero"),
        (slow, "weather did not finish within 0.05 s and was stopped."),
        (large, f"The result of weather is {MAX_RESULT_CHARS + 1:,} characters long"),
        (cancelled_inside, "weather"),
    ],
)
def test_failing_tool_is_an_error_step(run: Callable[[str], Awaitable[str]], why: str) -> None:
    timeout_s = 0.05 if run is slow else 60
    top_agent = agent(tools=(tool("weather", run, timeout_s=timeout_s), tool("clock", "12:00")))
    turn, provider = run_agent(top_agent, {PROMPT: [(Call("weather"), Call("clock")), (Say("Never mind."),)]})
    weather, clock = turn.own_blocks(Kind.TOOL_CALL)
    assert why in weather.error
    assert weather.status is BlockStatus.ERROR
    assert (clock.result, clock.status) == ("12:00", BlockStatus.DONE)
    assert why in messages_of(provider.bodies[1], "tool")[0]["content"]
    assert ending(turn) == (Ending.ANSWERED, "stop")


def test_invalid_json_arguments_are_an_error_step() -> None:
    turn, _ = run_agent(
        agent(tools=(tool("weather"),)), {PROMPT: [(Call("weather", "Lima"),), (Say("Oh."),)]}
    )
    assert "not JSON" in only_block(turn).error


@pytest.mark.parametrize(
    ("replies", "result", "why"),
    [
        ([(ErrorStatus(500),)], "", "It is out of order."),
        ([(Think("I am"), Cut())], "", "was lost before"),
        ([(Say("It is che"), Cut())], "It is che", "was lost before"),
        ([(PartialCall("weather", '{"ci'), Cut())], "", "was lost before"),
        ([(Say("It is"), FinishReason("length"))], "It is", CUT_OFF),
        ([(Call("weather"), FinishReason("length"))], "", CUT_OFF),
        ([(Call("weather"),), (ErrorStatus(503),)], "", "It is out of order."),
        ([(Think("Nothing to say."),)], "", NO_ANSWER),
        ([(Say(" \n"),)], "", NO_ANSWER),
        ([(FinishReason("stop"),)], "", NO_ANSWER),
        ([(Say("I looked."), Call("weather")), (FinishReason("stop"),)], "", NO_ANSWER),
    ],
    ids=str,
)
def test_failing_assistant_is_an_error_step(replies: list[Reply], result: str, why: str) -> None:
    top_agent = agent(assistants=(agent("Checker", tools=(tool("weather"),)),))
    own: list[Reply] = [(delegate("checker", "check"),), (Say("Without it, then."),)]
    lines = {PROMPT: own, "check": replies}
    turn, provider = run_agent(top_agent, lines)
    call = only_block(turn, Kind.ASSISTANT_CALL)
    assert why in call.error
    assert (call.result, call.status) == (result, BlockStatus.ERROR)
    sent = messages_of(provider.bodies_of(PROMPT)[1], "tool")[0]["content"]
    assert why in sent
    assert result in sent
    assert ending(turn) == (Ending.ANSWERED, "stop")


@pytest.mark.parametrize(
    "model", ["nobody/knows-it", "anthropic/claude-opus-4-5", "an-unheard-of-model"], ids=str
)
def test_refused_assistant_is_an_error_step(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unknown provider, a missing key or an unknown model of an assistant does not fail the agent."""
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    top_agent = agent(assistants=(Agent(name="Checker", model=model),))
    turn, _ = run_agent(top_agent, {PROMPT: [(delegate("checker", "check"),), (Say("Without it, then."),)]})
    assert only_block(turn, Kind.ASSISTANT_CALL).error
    assert ending(turn) == (Ending.ANSWERED, "stop")


@pytest.mark.parametrize(
    ("arguments", "task"),
    [
        ('{"task": "check"}', "check"),
        ('{"task": "check", "why": "I must know"}', "check"),
        ('{"what": "check"}', '{"what": "check"}'),
        ("check", "check"),
        ("{}", "{}"),
    ],
)
def test_task_arguments_may_have_any_shape(arguments: str, task: str) -> None:
    top_agent = agent(assistants=(agent("Checker"),))
    lines: dict[str, list[Reply]] = {
        PROMPT: [(Call("checker", arguments),), (Say("Good."),)],
        task: [(Say("Checked."),)],
    }
    turn, _ = run_agent(top_agent, lines)
    assert only_block(turn, Kind.ASSISTANT_CALL).text == task
    assert only_block(turn, Kind.ASSISTANT_CALL).result == "Checked."


def test_incomplete_task_is_not_shown() -> None:
    """Half of its JSON arguments is not readable."""
    top_agent = agent(assistants=(agent("Checker"),))
    turn, _ = run_agent(
        top_agent, {PROMPT: [(Think("I ask."), PartialCall("checker", '{"task": "ch'), Cut())]}
    )
    call = only_block(turn, Kind.ASSISTANT_CALL)
    assert (call.text, call.status) == ("", BlockStatus.INTERRUPTED)


@pytest.mark.parametrize("arguments", ['{"task": ""}', '{"task": " \\n"}', ""], ids=repr)
def test_assistant_without_task_is_not_asked(arguments: str) -> None:
    """Providers refuse an empty message."""
    turn, provider = run_agent(
        agent(assistants=(agent("Checker"),)), {PROMPT: [(Call("checker", arguments),), (Say("Oh."),)]}
    )
    assert "task" in only_block(turn, Kind.ASSISTANT_CALL).error
    assert len(provider.bodies) == 2


def test_failure_of_the_first_request_is_raised() -> None:
    async def story() -> None:
        async with scripted_provider({PROMPT: [(ErrorStatus(500),)]}) as provider:
            run = run_of(provider, agent())
            with pytest.raises(ProviderFault, match="It is out of order"):
                await all_entries(run)
            assert run.turn == Turn()

    run_story(story())


def test_failure_of_a_later_request_fails_the_turn() -> None:
    top_agent = agent(tools=(tool("weather"),))
    turn, _ = run_agent(top_agent, {PROMPT: [(Think("Look."), Call("weather")), (ErrorStatus(500),)]})
    assert ending(turn)[0] is Ending.FAILED
    assert turn.outcome is not None
    assert "out of order" in turn.outcome.message
    assert only_block(turn).result == "18 C"
    assert [reply.finish.value for reply in turn.replies] == ["tool_calls", "cancelled"]


def test_interrupted_later_reply_fails_the_turn_and_keeps_its_text() -> None:
    top_agent = agent(tools=(tool("weather"),))
    turn, _ = run_agent(top_agent, {PROMPT: [(Call("weather"),), (Think("It is"), Say("Mil"), Cut())]})
    assert ending(turn) == (Ending.CUT_OFF, "cut_off")
    assert turn.answer == "Mil"
    assert turn.blocks[-1].status is BlockStatus.INTERRUPTED


def test_empty_reply_ends_the_turn() -> None:
    """The answer is empty: the text of the previous reply is not part of it."""
    top_agent = agent(tools=(tool("weather"),))
    turn, _ = run_agent(top_agent, {PROMPT: [(Say("I look."), Call("weather")), (FinishReason("stop"),)]})
    assert [[block.number for block in turn.blocks_of(reply)] for reply in turn.replies] == [[0, 1], []]
    assert turn.answer == "I look."


@pytest.mark.parametrize("finish", ["length", "content_filter"])
def test_calls_of_a_cut_off_reply_are_not_run(finish: str) -> None:
    """They may be incomplete."""

    async def never(arguments: str) -> str:
        raise AssertionError

    top_agent = agent(tools=(tool("weather", never), tool("clock")))
    lines: list[Reply] = [(Call("clock"),), (Call("weather"), FinishReason(finish))]
    turn, _ = run_agent(top_agent, {PROMPT: lines})
    assert ending(turn) == ({"length": Ending.CUT_OFF}.get(finish, Ending.REFUSED), finish)
    assert turn.blocks[1].result is None


def test_client_tool_ends_the_turn_and_its_result_starts_the_next() -> None:
    """Also after other calls, and together with an own tool, which runs first."""
    top_agent = agent(tools=(tool("weather"),), client_tools=(CLIENT,))
    first: list[Reply] = [
        (Think("Look."), Call("weather")),
        (Think("Where is it?"), Say("A moment."), Call("their_map"), Call("weather")),
    ]
    turn, provider = run_agent(top_agent, {PROMPT: first}, client=(CLIENT.name,))
    assert ending(turn) == (Ending.CALLED_TOOLS, "tool_calls")
    assert [block.result for block in turn.own_blocks(Kind.TOOL_CALL)] == ["18 C", None, "18 C"]
    client_call = next(block for block in turn.blocks if block.name == "their_map")

    history = (
        UserMessage(PROMPT),
        *steps_of(AnsweredTurn(turn, "", "vllm")),
        ToolMessage(client_call.call_id, "a map"),
    )
    next_turn, provider = run_agent(top_agent, {PROMPT: [(Think("There."), Say("By the sea."))]}, *history)
    assert ending(next_turn) == (Ending.ANSWERED, "stop")
    sent = provider.bodies[0]["messages"]
    assert [message["role"] for message in sent] == [
        *("user", "assistant", "tool", "assistant", "tool", "tool")
    ]
    results = {
        message["tool_call_id"]: message["content"] for message in messages_of(provider.bodies[0], "tool")
    }
    assert results[client_call.call_id] == "a map"
    assert [message["reasoning"] for message in messages_of(provider.bodies[0], "assistant")] == [
        *("Look.", "Where is it?")
    ]


def test_single_reply_with_own_and_client_tool() -> None:
    top_agent = agent(tools=(tool("weather"),), client_tools=(CLIENT,))
    turn, _ = run_agent(
        top_agent, {PROMPT: [(Say("Hm."), Call("their_map"), Call("weather"))]}, client=(CLIENT.name,)
    )
    assert ending(turn) == (Ending.CALLED_TOOLS, "tool_calls")
    assert len(turn.replies) == 1


def test_client_tool_is_called_despite_finish_stop() -> None:
    """Some providers end every reply with the same finish reason."""
    top_agent = agent(tools=(tool("weather"),), client_tools=(CLIENT,))
    lines: list[Reply] = [(Call("weather"),), (Say("A moment."), Call("their_map"), FinishReason("stop"))]
    turn, _ = run_agent(top_agent, {PROMPT: lines}, client=(CLIENT.name,))
    assert ending(turn)[0] is Ending.CALLED_TOOLS


def test_assistant_has_no_client_tools() -> None:
    """A client tool would end the turn, but the caller of the assistant waits for its result."""
    top_agent = agent(assistants=(agent("Checker", client_tools=(CLIENT,)),))
    lines: dict[str, list[Reply]] = {
        PROMPT: [(delegate("checker", "check"),), (Say("Good."),)],
        "check": [(Call("their_map"),), (Say("Checked."),)],
    }
    turn, provider = run_agent(top_agent, lines)
    assert only_block(turn).error == "There is no tool 'their_map'. Use one of these: none."
    assert "tools" not in provider.bodies_of("check")[0]


def test_pause_turn_sends_the_message_back() -> None:
    """Calls of the provider's own tools are neither run nor answered."""
    top_agent = agent(tools=(tool("weather"),))
    lines: list[Reply] = [
        (Think("Look."), Call("web_search"), FinishReason("pause_turn")),
        (Think("There."), Say("Mild.")),
    ]
    turn, provider = run_agent(top_agent, {PROMPT: lines})
    assert [reply.calls for reply in turn.replies] == [(), ()]
    assert only_block(turn).result is None
    assert messages_of(provider.bodies[1], "tool") == []
    assert ending(turn) == (Ending.ANSWERED, "stop")


def test_silence_notice_of_a_run_is_given_once() -> None:
    async def story() -> None:
        hold = Hold()
        lines: list[Reply] = [(Think("Hm."), hold, Say("Yes."))]
        async with scripted_provider({PROMPT: lines}, silent_s=0.0) as provider:
            run = run_of(provider, agent())
            entries = []
            async for entry in run.entries():
                entries.append(entry)
                if getattr(entry.event, "code", "") == "silent":
                    hold.gate.set()
                elif not hold.gate.is_set():
                    advance_clock(1.1)
            turn = assert_legal(entries)
            assert [notice.code for notice in turn.notices] == ["silent"]

    run_story_with_fake_clock(story())


def by_name(*agents: tuple[Agent, tuple[str, ...]]) -> dict[str, tuple[Agent, tuple[str, ...]]]:
    return {top_agent.id: (top_agent, assistant_ids) for top_agent, assistant_ids in agents}


def agent_with_assistants(
    name: str, *assistant_ids: str, tools: tuple[str, ...] = ()
) -> tuple[Agent, tuple[str, ...]]:
    return Agent(
        name=name, id=name, model="m", tools=tuple(tool(tool_name) for tool_name in tools)
    ), assistant_ids


def test_agents_are_assembled_with_their_assistants() -> None:
    book = by_name(
        agent_with_assistants("a", "b", "c"), agent_with_assistants("b", "c"), agent_with_assistants("c")
    )
    top = assemble("a", book.__getitem__)
    assert [top_agent.name for top_agent in agent_tree(top)] == ["a", "b", "c"]
    assert top.assistants[1] is top.assistants[0].assistants[0]


@pytest.mark.parametrize(
    ("book", "cycle"),
    [
        (by_name(agent_with_assistants("a", "a")), "a → a"),
        (
            by_name(
                agent_with_assistants("a", "b"),
                agent_with_assistants("b", "c"),
                agent_with_assistants("c", "a"),
            ),
            "a → b → c → a",
        ),
        (
            by_name(
                agent_with_assistants("a", "b"),
                agent_with_assistants("b", "c"),
                agent_with_assistants("c", "b"),
            ),
            "b → c → b",
        ),
    ],
)
def test_cycles_of_assistants_are_refused(book: dict[str, tuple[Agent, tuple[str, ...]]], cycle: str) -> None:
    with pytest.raises(Refused, match=f"in a cycle: {cycle}\\."):
        assemble("a", book.__getitem__)


@pytest.mark.parametrize(
    ("book", "name"),
    [
        (by_name(agent_with_assistants("a", tools=("weather", "weather"))), "weather"),
        (
            by_name(
                agent_with_assistants("a", "Weather!", tools=("weather",)), agent_with_assistants("Weather!")
            ),
            "weather",
        ),
        (
            by_name(
                agent_with_assistants("a", "Fact Finder", "fact-finder"),
                agent_with_assistants("Fact Finder"),
                agent_with_assistants("fact-finder"),
            ),
            "fact_finder",
        ),
        (
            by_name(agent_with_assistants("a", "b"), agent_with_assistants("b", tools=("clock", "clock"))),
            "clock",
        ),
    ],
)
def test_duplicate_tool_names_are_refused(book: dict[str, tuple[Agent, tuple[str, ...]]], name: str) -> None:
    with pytest.raises(Refused, match=f"more than one tool or assistant called {name}\\."):
        assemble("a", book.__getitem__)


def test_client_tool_with_the_name_of_an_own_tool_is_refused() -> None:
    with pytest.raises(Refused, match="more than one tool or assistant called their_map"):
        check_unique_tool_names(agent(tools=(tool("their_map"),), client_tools=(CLIENT,)))


def chain(length: int) -> dict[str, tuple[Agent, tuple[str, ...]]]:
    return by_name(
        *(agent_with_assistants(f"a{n}", *([f"a{n + 1}"] if n < length else [])) for n in range(length + 1))
    )


def test_too_many_levels_of_assistants_are_refused() -> None:
    assert (
        len(list(agent_tree(assemble("a0", chain(MAX_ASSISTANT_DEPTH).__getitem__))))
        == MAX_ASSISTANT_DEPTH + 1
    )
    for length in (MAX_ASSISTANT_DEPTH + 1, 5000):
        with pytest.raises(Refused, match=f"^a0 → a1 .* nested more than {MAX_ASSISTANT_DEPTH} levels deep"):
            assemble("a0", chain(length).__getitem__)


def test_assistant_that_is_too_deep_on_one_path_is_refused() -> None:
    book = chain(MAX_ASSISTANT_DEPTH) | by_name(
        agent_with_assistants("b", f"a{MAX_ASSISTANT_DEPTH - 1}", "a0")
    )
    with pytest.raises(Refused, match=f"^b → a0 .* nested more than {MAX_ASSISTANT_DEPTH} levels deep"):
        assemble("b", book.__getitem__)


def test_shared_assistants_are_assembled_in_linear_time() -> None:
    """Eight levels of eight agents, each of which calls all of the next level: no path is walked twice."""
    levels = [[f"{level}-{n}" for n in range(8)] for level in range(MAX_ASSISTANT_DEPTH + 1)]
    below = [*levels[1:], []]
    book = by_name(
        *(agent_with_assistants(name, *below[at]) for at, names in enumerate(levels) for name in names)
    )
    top = assemble("0-0", book.__getitem__)
    assert len(list(agent_tree(top))) == 1 + 8 * MAX_ASSISTANT_DEPTH


def test_every_entry_has_a_timestamp() -> None:
    top_agent = agent(tools=(tool("weather"),))

    async def story() -> None:
        async with scripted_provider(
            {PROMPT: [(Think("Look."), Call("weather")), (Say("Mild."),)]}
        ) as provider:
            entries = await all_entries(run_of(provider, top_agent))
            assert all(entry.at_ms is not None for entry in entries)
            kinds = [type(entry.event) for entry in entries]
            assert kinds.count(TurnStarted) == 1
            assert kinds.count(ReplyEnded) == 2
            assert kinds.count(BlockStarted) == 3

    run_story(story())
