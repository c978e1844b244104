"""The solver as a provider: asked over HTTP like any other, with thinking, tools and plain refusals."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from io import BytesIO
from typing import Any, TypeVar

import aiohttp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thinkaloud
from thinkaloud.builtin import Server, running, solve
from thinkaloud.canon import Finish, Kind, TurnEnded
from thinkaloud.canon.requests import Tool, ToolMessage, UserMessage
from thinkaloud.catalog import Catalog, builtin_texts, parse
from thinkaloud.client import asking
from thinkaloud.client.prompting import Options, ask, prepare
from thinkaloud.context import Conversation, Said
from thinkaloud.transcript import Ending, Turn, fold

Json = dict[str, Any]
T = TypeVar("T")
PUZZLE = "make 24 from 4 7 8 8"
ANSWER = "8 × (7 + 4 − 8) = 24"
CALCULATOR = Tool("calculator", "Works out an expression")
CHECKER = Tool("checker", "Checks an answer")


def row(server: Server) -> Catalog:
    """The solver as a row of the catalog."""
    text = f"""
    [providers.solver]
    dialect = "openai_chat"
    base_url = "{server.base_url}"
    auth = "none"
    local = true
    replay = "none"
    control = ["effort"]
    efforts = ["low", "high"]
    off = "none"
    fact = {{ as_of = "2026-11-15", source = "src/thinkaloud/builtin" }}
    [providers.solver.places]
    effort = "reasoning_effort"
    """
    return parse(*builtin_texts(), text)


def with_server(talk: Callable[[Server], Awaitable[T]], **options: Any) -> T:
    async def held() -> T:
        async with running(**{"pace": 0, **options}) as server:
            return await talk(server)

    return asyncio.run(held())


async def post(server: Server, body: object, path: str = "/v1/chat/completions") -> tuple[int, bytes]:
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    async with (
        aiohttp.ClientSession() as session,
        session.post(server.url + path, data=BytesIO(sent)) as response,
    ):
        return response.status, await response.read()


def completion(question: str, **fields: Any) -> Json:
    return {"model": "solver", "messages": [{"role": "user", "content": question}], **fields}


def asked(question: str, *, stream: bool = True, thinking: str | None = None) -> Turn:
    async def talk(server: Server) -> Turn:
        options = Options(catalog=row(server), stream=stream)
        return await ask(question, model="solver/solver", thinking=thinking, options=options)

    return with_server(talk)


@pytest.mark.parametrize("question", [PUZZLE, "Quem descobriu o Brasil?", "quanto é 2 + 2?"])
def test_streamed_and_whole_say_the_same(question: str) -> None:
    streamed, whole = asked(question), asked(question, stream=False)
    told = solve(question)
    for turn in (streamed, whole):
        assert [block.kind for block in turn.blocks] == [Kind.REASONING, Kind.TEXT]
        assert turn.reasoning == "\n".join(told.thinking)
        assert turn.answer == told.answer
        assert turn.outcome is not None
        assert turn.outcome.ending is Ending.ANSWERED


def test_the_reader_knows_the_dialect_by_itself_and_no_usage_is_made_up() -> None:
    async def talk(server: Server) -> list[bytes]:
        return [(await post(server, completion(PUZZLE, stream=stream)))[1] for stream in (True, False)]

    for body in with_server(talk):
        turn = thinkaloud.read(body)
        assert (turn.dialect, turn.answer) == ("openai_chat", ANSWER)
        assert turn.usage.output is None
        assert b'"usage"' not in body


def test_thinking_can_be_switched_off() -> None:
    turn = asked(PUZZLE, thinking="off")
    assert [block.kind for block in turn.blocks] == [Kind.TEXT]
    assert turn.answer == ANSWER


def test_a_question_that_was_stopped_is_no_part_of_the_next() -> None:
    """What a stopped turn was asked goes along, and only the last question is answered."""

    async def talk(server: Server) -> Turn:
        book = parse(*builtin_texts(), f'[providers.builtin]\nbase_url = "{server.base_url}"')
        stopped = Said(fold([TurnEnded(Finish.CANCELLED)]))
        steps = (UserMessage("reach 952 from 25 50 75 100 3 6"), stopped, UserMessage(PUZZLE))
        options = Options(catalog=book)
        ready = prepare(Conversation(steps), model="builtin/solver", options=options)
        return await asking.ask(ready.built.request, ready.route)

    assert with_server(talk).answer == ANSWER


def talked(answers: dict[str, str], *tools: Tool, stream: bool = True) -> list[Turn]:
    """A puzzle, and the tools' answers to whatever is called, until there is an answer."""

    async def talk(server: Server) -> list[Turn]:
        options = Options(catalog=row(server), stream=stream, tools=tools)
        conversation = Conversation(tools=tools, steps=(UserMessage(PUZZLE),))
        turns: list[Turn] = []
        while not turns or turns[-1].top(Kind.TOOL_CALL):
            ready = prepare(conversation, model="solver/solver", options=options)
            turn = await asking.ask(ready.built.request, ready.route)
            turns.append(turn)
            said = Said(turn=turn, prefix=ready.built.prefix, provider=ready.route.provider.name)
            results = (
                ToolMessage(block.call_id, answers[block.name], block.name)
                for block in turn.top(Kind.TOOL_CALL)
            )
            conversation = Conversation(tools=tools, steps=(*conversation.steps, said, *results))
        return turns

    return with_server(talk)


@pytest.mark.parametrize("stream", [True, False])
def test_tools_check_the_answer_before_it_is_said(stream: bool) -> None:
    """The calculator works the expression out, the checker judges the answer, and the answer names both."""
    called, judged, answered = talked(
        {"calculator": "24", "checker": "Right."}, CALCULATOR, CHECKER, stream=stream
    )
    (calculation,), (task,) = called.top(Kind.TOOL_CALL), judged.top(Kind.TOOL_CALL)
    assert (calculation.name, json.loads(calculation.text)) == (
        "calculator",
        {"expression": "8 * (7 + 4 - 8)"},
    )
    assert called.reasoning.startswith("From 4 7 8 8")
    assert (task.name, list(json.loads(task.text))) == ("checker", ["task"])
    assert judged.reasoning.startswith("“calculator” gives 24, as I have it.")
    assert answered.reasoning == "“checker” says: Right."
    assert answered.answer == f"{ANSWER}\n\nThe calculator agrees. The checker agrees."


def test_the_checkers_task_can_be_answered_by_the_solver_itself() -> None:
    _, judged, _ = talked({"calculator": "24", "checker": "Right."}, CALCULATOR, CHECKER)
    task = json.loads(judged.top(Kind.TOOL_CALL)[0].text)["task"]
    assert solve(task).answer == "Right. 8 × (7 + 4 − 8) gives 24."


@pytest.mark.parametrize(
    ("calculator", "checker", "said"),
    [
        ("24.0", '{"right": true}', "The calculator agrees. The checker agrees."),
        ('{"result": 24}', "Correct!", "The calculator agrees. The checker agrees."),
        ("8 * 3 = 24", "certo", "The calculator agrees. The checker agrees."),
        ("25", "Right.", "But the calculator gives 25, where I have 24."),
        ("Error: out of memory", "Right.", "was no help: it came back with “Error: out of memory”."),
        ('{"error": 24}', "Right.", "The calculator was no help"),
        ("1e999999999", "Right.", "The calculator was no help"),
        ("24/0", "Right.", "The calculator was no help"),
        ("48/2", "Wrong. It is 25.", "But the checker does not agree: “Wrong. It is 25.”"),
        ("24", "Hm, who knows?", "I cannot read as yes or no: “Hm, who knows?”"),
    ],
)
def test_what_tools_come_back_with_is_said_as_it_is(calculator: str, checker: str, said: str) -> None:
    answer = talked({"calculator": calculator, "checker": checker}, CALCULATOR, CHECKER)[-1].answer
    assert answer.startswith(ANSWER)
    assert said in answer


def test_only_tools_that_are_known_and_allowed_are_called() -> None:
    assert len(talked({}, Tool("get_weather"))) == 1
    assert len(talked({"checker": "Right."}, CHECKER)) == 2

    async def talk(server: Server) -> Json:
        tools = [{"type": "function", "function": {"name": "calculator"}}]
        body = completion(PUZZLE, tools=tools, tool_choice="none")
        return dict(json.loads((await post(server, body))[1])["choices"][0])

    assert with_server(talk)["finish_reason"] == "stop"


def test_a_tool_that_names_its_argument_otherwise_is_called_its_way() -> None:
    schema = '{"type":"object","properties":{"formula":{"type":"string"}}}'
    called, _ = talked({"calculator": "24"}, Tool("calculator", "", schema))
    assert json.loads(called.top(Kind.TOOL_CALL)[0].text) == {"formula": "8 * (7 + 4 - 8)"}


def test_a_call_without_a_result_is_not_made_again() -> None:
    async def talk(server: Server) -> str:
        call = {"id": "1", "type": "function", "function": {"name": "calculator", "arguments": "{}"}}
        messages = [{"role": "user", "content": PUZZLE}, {"role": "assistant", "tool_calls": [call]}]
        tools = [{"type": "function", "function": {"name": "calculator"}}]
        _, told = await post(server, {"messages": messages, "tools": tools})
        return str(json.loads(told)["choices"][0]["message"]["content"])

    assert with_server(talk) == f"{ANSWER}\n\nThe tool “calculator” never came back with a result."


def test_only_the_last_thing_the_user_said_is_answered() -> None:
    async def talk(server: Server) -> str:
        messages = [
            {"role": "system", "content": "make 10 from 5 5"},
            {"role": "user", "content": "make 24 from 3 3 8 8"},
            {"role": "assistant", "content": "8 ÷ (3 − 8 ÷ 3) = 24"},
            {
                "role": "user",
                "content": [{"type": "text", "text": "make 24 "}, {"type": "text", "text": "from 4 7 8 8"}],
            },
        ]
        _, told = await post(server, {"model": "solver", "messages": messages})
        return str(json.loads(told)["choices"][0]["message"]["content"])

    assert with_server(talk) == ANSWER


BAD: list[tuple[object, int]] = [
    (b"", 400),
    (b"{", 400),
    (b"\xff\xfe", 400),
    (b"[" * 100_000, 400),
    (b'{"messages": [], "extra": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", 400),
    ([], 400),
    ({}, 400),
    ({"messages": []}, 400),
    ({"messages": [{"role": "assistant", "content": "Hello"}]}, 400),
    ({"messages": [{"role": "user", "content": 7}]}, 400),
    ({"messages": "make 24 from 4 7 8 8"}, 400),
    (completion("Hello", tools=[{"function": {}}]), 400),
    (completion("Hello", stream="yes"), 400),
    (completion("Hello", model="gpt-6"), 404),
    (b" " * (1024 * 1024 + 1), 413),
]


def test_bad_bodies_are_refused_in_openais_shape() -> None:
    async def talk(server: Server) -> list[tuple[int, bytes]]:
        return [await post(server, body) for body, _ in BAD]

    for (body, due), (status, told) in zip(BAD, with_server(talk), strict=True):
        assert status == due, (body, told)
        error = json.loads(told)["error"]
        assert error["message"]
        assert error["type"] == "invalid_request_error"
        assert set(error) == {"message", "type", "param", "code"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.sampled_from(["model", "messages", "tools", "tool_choice", "stream", "reasoning_effort", "n"])


@settings(max_examples=25)
@given(st.lists(st.dictionaries(FIELDS, JSON, max_size=3), min_size=4, max_size=4))
def test_no_body_breaks_the_server(bodies: list[Json]) -> None:
    async def talk(server: Server) -> list[int]:
        told = [await post(server, completion(PUZZLE) | body) for body in bodies]
        return [status for status, _ in told]

    assert set(with_server(talk)) <= {200, 400, 404}


def test_the_models_are_listed_and_other_places_are_not_there() -> None:
    async def talk(server: Server) -> list[tuple[int, Json]]:
        async with aiohttp.ClientSession() as session:
            told = []
            for path in ("/v1/models", "/v1/models/solver", "/v1/models/gpt-6", "/v1/chat/completions"):
                async with session.get(server.url + path) as response:
                    told.append((response.status, await response.json()))
            return told

    listed, one, other, wrong = with_server(talk)
    assert [model["id"] for model in listed[1]["data"]] == ["solver"]
    assert one == (200, listed[1]["data"][0])
    assert (other[0], wrong[0]) == (404, 404)


def test_thinking_is_paced() -> None:
    """At 50 pieces a second ten words take a fifth of a second at least."""

    async def took(server: Server, question: str) -> float:
        start = time.monotonic()
        await post(server, completion(question, stream=True))
        return time.monotonic() - start

    words = sum(len(line.split()) for line in solve("how much is 17 * 3 - 9").thinking)
    paced = with_server(lambda server: took(server, "how much is 17 * 3 - 9"), pace=50)
    assert paced >= words / 50


def test_a_search_does_not_hold_up_others() -> None:
    """While the hardest puzzle is searched, the loop still turns."""

    async def talk(server: Server) -> float:
        hard = asyncio.create_task(post(server, completion("make 9973 from 3 7 11 13 17")))
        begun = before = time.monotonic()
        longest = 0.0
        while not hard.done():
            await asyncio.sleep(0.001)
            longest, before = max(longest, time.monotonic() - before), time.monotonic()
        assert (await hard)[0] == 200
        return longest / (before - begun)

    assert min(with_server(talk) for _ in range(3)) < 0.5, "the loop stood still for half of the search"


def test_a_reader_that_goes_away_stops_the_telling() -> None:
    async def talk(server: Server) -> int:
        async with aiohttp.ClientSession() as session:
            async with session.post(
                f"{server.base_url}/chat/completions", json=completion(PUZZLE, stream=True)
            ) as response:
                await response.content.readany()
            return (await post(server, completion(PUZZLE)))[0]

    assert with_server(talk, pace=5) == 200
