"""The solver as a provider over HTTP: thinking, tools and errors."""

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
from thinkaloud.builtin import SolverServer, run_solver, solve
from thinkaloud.client import Options, ask, prepare
from thinkaloud.core.canon import Finish, Kind, TurnEnded
from thinkaloud.core.canon.requests import ToolDefinition, ToolMessage, UserMessage
from thinkaloud.core.catalog import Catalog, builtin_texts, parse_catalog
from thinkaloud.core.context import AnsweredTurn, Context
from thinkaloud.core.transcript import Ending, Turn, fold

Json = dict[str, Any]
T = TypeVar("T")
PUZZLE = "make 24 from 4 7 8 8"
ANSWER = "8 × (7 + 4 − 8) = 24"
CALCULATOR = ToolDefinition("calculator", "Works out an expression")
CHECKER = ToolDefinition("checker", "Checks an answer")


def row(server: SolverServer) -> Catalog:
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
    return parse_catalog(*builtin_texts(), text)


def with_server(talk: Callable[[SolverServer], Awaitable[T]], **options: Any) -> T:
    async def held() -> T:
        async with run_solver(**{"pace": 0, **options}) as server:
            return await talk(server)

    return asyncio.run(held())


async def post(server: SolverServer, body: object, path: str = "/v1/chat/completions") -> tuple[int, bytes]:
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    async with (
        aiohttp.ClientSession() as session,
        session.post(server.url + path, data=BytesIO(sent)) as response,
    ):
        return response.status, await response.read()


def completion(question: str, **fields: Any) -> Json:
    return {"model": "solver", "messages": [{"role": "user", "content": question}], **fields}


def asked(question: str, *, stream: bool = True, thinking: str | None = None) -> Turn:
    async def talk(server: SolverServer) -> Turn:
        options = Options(catalog=row(server), stream=stream)
        return await ask(question, model="solver/solver", thinking=thinking, options=options)

    return with_server(talk)


@pytest.mark.parametrize("question", [PUZZLE, "Quem descobriu o Brasil?", "quanto é 2 + 2?"])
def test_streamed_and_whole_replies_are_the_same(question: str) -> None:
    streamed, whole = asked(question), asked(question, stream=False)
    reply = solve(question)
    for turn in (streamed, whole):
        assert [block.kind for block in turn.blocks] == [Kind.REASONING, Kind.TEXT]
        assert turn.reasoning == "\n".join(reply.thinking)
        assert turn.answer == reply.answer
        assert turn.outcome is not None
        assert turn.outcome.ending is Ending.ANSWERED


def test_dialect_is_detected_and_usage_is_not_reported() -> None:
    async def talk(server: SolverServer) -> list[bytes]:
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


def test_a_stopped_question_is_not_answered_later() -> None:
    """The messages hold the question of the stopped turn too; only the last question is answered."""

    async def talk(server: SolverServer) -> Turn:
        book = parse_catalog(*builtin_texts(), f'[providers.builtin]\nbase_url = "{server.base_url}"')
        stopped = AnsweredTurn(fold([TurnEnded(Finish.CANCELLED)]))
        steps = (UserMessage("reach 952 from 25 50 75 100 3 6"), stopped, UserMessage(PUZZLE))
        options = Options(catalog=book)
        ready = prepare(Context(steps), model="builtin/solver", options=options)
        return await ask(ready)

    assert with_server(talk).answer == ANSWER


def talked(answers: dict[str, str], *tools: ToolDefinition, stream: bool = True) -> list[Turn]:
    """A puzzle, and the tools' answers to whatever is called, until there is an answer."""

    async def talk(server: SolverServer) -> list[Turn]:
        options = Options(catalog=row(server), stream=stream, tools=tools)
        conversation = Context(tools=tools, steps=(UserMessage(PUZZLE),))
        turns: list[Turn] = []
        while not turns or turns[-1].own_blocks(Kind.TOOL_CALL):
            ready = prepare(conversation, model="solver/solver", options=options)
            turn = await ask(ready)
            turns.append(turn)
            said = AnsweredTurn(turn=turn, prefix=ready.prefix, provider=ready.route.provider.name)
            results = (
                ToolMessage(block.call_id, answers[block.name], block.name)
                for block in turn.own_blocks(Kind.TOOL_CALL)
            )
            conversation = Context(tools=tools, steps=(*conversation.steps, said, *results))
        return turns

    return with_server(talk)


@pytest.mark.parametrize("stream", [True, False])
def test_tools_check_the_answer_before_it_is_given(stream: bool) -> None:
    """The calculator works the expression out, the checker judges the answer, and the answer names both."""
    called, judged, answered = talked(
        {"calculator": "24", "checker": "Right."}, CALCULATOR, CHECKER, stream=stream
    )
    (calculation,), (task,) = called.own_blocks(Kind.TOOL_CALL), judged.own_blocks(Kind.TOOL_CALL)
    assert (calculation.name, json.loads(calculation.text)) == (
        "calculator",
        {"expression": "8 * (7 + 4 - 8)"},
    )
    assert called.reasoning.startswith("From 4 7 8 8")
    assert (task.name, list(json.loads(task.text))) == ("checker", ["task"])
    assert judged.reasoning.startswith("“calculator” gives 24, as I have it.")
    assert answered.reasoning == f"“checker” says: Right.\nWith that my answer stands: {ANSWER}"
    assert answered.answer == f"{ANSWER}\n\nThe calculator agrees. The checker agrees."


def test_the_solver_can_answer_the_checker_task() -> None:
    _, judged, _ = talked({"calculator": "24", "checker": "Right."}, CALCULATOR, CHECKER)
    task = json.loads(judged.own_blocks(Kind.TOOL_CALL)[0].text)["task"]
    assert solve(task).answer == "Right. 8 × (7 + 4 − 8) gives 24."


@pytest.mark.parametrize(
    ("calculator", "checker", "remark"),
    [
        ("24.0", "**Right**", "The calculator agrees. The checker agrees."),
        ("= 24", "Correct!", "The calculator agrees. The checker agrees."),
        ("8 * 3 = 24", "certo", "The calculator agrees. The checker agrees."),
        ("25", "Right.", "But the calculator gives 25, where I have 24."),
        ("Error: out of memory", "Right.", "was no help: it came back with “Error: out of memory”."),
        ('{"error": 24}', "Right.", "The calculator was no help"),
        ("24", '{"right": false}', "I cannot read as yes or no"),
        ("1e999999999", "Right.", "The calculator was no help"),
        ("24/0", "Right.", "The calculator was no help"),
        ("48/2", "Wrong. It is 25.", "But the checker does not agree: “Wrong. It is 25.”"),
        ("24", "Hm, who knows?", "I cannot read as yes or no: “Hm, who knows?”"),
    ],
)
def test_tool_results_are_reported_in_the_answer(calculator: str, checker: str, remark: str) -> None:
    answer = talked({"calculator": calculator, "checker": checker}, CALCULATOR, CHECKER)[-1].answer
    assert answer.startswith(ANSWER)
    assert remark in answer


def test_only_known_and_allowed_tools_are_called() -> None:
    assert len(talked({}, ToolDefinition("get_weather"))) == 1
    assert len(talked({"checker": "Right."}, CHECKER)) == 2

    async def talk(server: SolverServer) -> Json:
        tools = [{"type": "function", "function": {"name": "calculator"}}]
        body = completion(PUZZLE, tools=tools, tool_choice="none")
        return dict(json.loads((await post(server, body))[1])["choices"][0])

    assert with_server(talk)["finish_reason"] == "stop"


def test_a_tool_is_called_with_its_own_parameter_name() -> None:
    schema = '{"type":"object","properties":{"formula":{"type":"string"}}}'
    called, _ = talked({"calculator": "24"}, ToolDefinition("calculator", "", schema))
    assert json.loads(called.own_blocks(Kind.TOOL_CALL)[0].text) == {"formula": "8 * (7 + 4 - 8)"}


def test_a_tool_call_without_a_result_is_not_repeated() -> None:
    async def talk(server: SolverServer) -> str:
        call = {"id": "1", "type": "function", "function": {"name": "calculator", "arguments": "{}"}}
        messages = [{"role": "user", "content": PUZZLE}, {"role": "assistant", "tool_calls": [call]}]
        tools = [{"type": "function", "function": {"name": "calculator"}}]
        _, body = await post(server, {"messages": messages, "tools": tools})
        return str(json.loads(body)["choices"][0]["message"]["content"])

    assert with_server(talk) == f"{ANSWER}\n\nThe tool “calculator” never came back with a result."


def test_only_the_last_user_message_is_answered() -> None:
    async def talk(server: SolverServer) -> str:
        messages = [
            {"role": "system", "content": "make 10 from 5 5"},
            {"role": "user", "content": "make 24 from 3 3 8 8"},
            {"role": "assistant", "content": "8 ÷ (3 − 8 ÷ 3) = 24"},
            {
                "role": "user",
                "content": [{"type": "text", "text": "make 24 "}, {"type": "text", "text": "from 4 7 8 8"}],
            },
        ]
        _, body = await post(server, {"model": "solver", "messages": messages})
        return str(json.loads(body)["choices"][0]["message"]["content"])

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
    (b" " * (16 * 1024 * 1024 + 1), 413),
]


def test_bad_requests_get_an_openai_error() -> None:
    async def talk(server: SolverServer) -> list[tuple[int, bytes]]:
        return [await post(server, body) for body, _ in BAD]

    for (body, expected), (status, response) in zip(BAD, with_server(talk), strict=True):
        assert status == expected, (body, response)
        error = json.loads(response)["error"]
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
    async def talk(server: SolverServer) -> list[int]:
        responses = [await post(server, completion(PUZZLE) | body) for body in bodies]
        return [status for status, _ in responses]

    assert set(with_server(talk)) <= {200, 400, 404}


def test_models_are_listed_and_other_paths_are_404() -> None:
    async def talk(server: SolverServer) -> list[tuple[int, Json]]:
        async with aiohttp.ClientSession() as session:
            responses = []
            for path in ("/v1/models", "/v1/models/solver", "/v1/models/gpt-6", "/v1/chat/completions"):
                async with session.get(server.url + path) as response:
                    responses.append((response.status, await response.json()))
            return responses

    listed, one, other, wrong = with_server(talk)
    assert [model["id"] for model in listed[1]["data"]] == ["solver"]
    assert one == (200, listed[1]["data"][0])
    assert (other[0], wrong[0]) == (404, 404)


def test_thinking_is_paced() -> None:
    """At 50 pieces a second ten words take a fifth of a second at least."""

    async def took(server: SolverServer, question: str) -> float:
        start = time.monotonic()
        await post(server, completion(question, stream=True))
        return time.monotonic() - start

    words = sum(len(line.split()) for line in solve("how much is 17 * 3 - 9").thinking)
    paced = with_server(lambda server: took(server, "how much is 17 * 3 - 9"), pace=50)
    assert paced >= words / 50


def test_a_long_search_does_not_block_other_requests() -> None:
    """While the hardest puzzle is searched, the loop still turns."""

    async def talk(server: SolverServer) -> float:
        hard = asyncio.create_task(post(server, completion("make 9973 from 3 7 11 13 17")))
        begun = before = time.monotonic()
        longest = 0.0
        while not hard.done():
            await asyncio.sleep(0.001)
            longest, before = max(longest, time.monotonic() - before), time.monotonic()
        assert (await hard)[0] == 200
        return longest / (before - begun)

    assert min(with_server(talk) for _ in range(3)) < 0.5, "the loop stood still for half of the search"


def test_a_client_that_disconnects_stops_the_stream() -> None:
    async def talk(server: SolverServer) -> int:
        async with aiohttp.ClientSession() as session:
            async with session.post(
                f"{server.base_url}/chat/completions", json=completion(PUZZLE, stream=True)
            ) as response:
                await response.content.readany()
            return (await post(server, completion(PUZZLE)))[0]

    assert with_server(talk, pace=5) == 200


def test_a_question_of_a_megabyte_gets_an_honest_answer() -> None:
    async def talk(server: SolverServer) -> tuple[int, bytes]:
        return await post(server, completion("why? " * 210_000))

    status, body = with_server(talk)
    assert status == 200
    assert "too long: I read at most 2000 characters" in body.decode()
